"""Serving over standard input and output, and ending.

Rules of this module:

* Standard output carries the protocol and nothing else; what this process logs or prints goes to standard error.
* The end of standard input and a first SIGTERM or SIGINT are the same: the server ends, and a call in progress is
  answered with an error. A second signal ends at once.
* Input is read by a thread of its own, so that a signal need not wait for the next line.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any, Final, cast

from mcp.server.stdio import stdio_server

from dalsegno.connect import Dalsegno
from dalsegno.mcp.server import server_for

__all__ = ["serve"]

_SIGNALLED: Final = 128
_CHUNK: Final = 65_536


def serve(ds: Dalsegno, thread_id: str) -> None:
    """Serve one thread over standard input and output until the client goes away or a signal comes.

    Raises:
        ThreadNotFound: no such thread, or another user's; nothing was written to standard output.
    """
    asyncio.run(_serve(ds, thread_id))


async def _serve(ds: Dalsegno, thread_id: str) -> None:
    server = server_for(ds, thread_id)
    lines = _Lines(os.dup(0))
    loop = asyncio.get_running_loop()
    asked: list[int] = []

    def end(number: int) -> None:
        if asked:
            os._exit(_SIGNALLED + number)
        asked.append(number)
        lines.end()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, end, number)
    try:
        lines.begin(loop)
        async with stdio_server(stdin=cast("Any", lines)) as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)
        await ds.aclose()


class _Lines:
    """The lines of a file, as they come, until it ends or `end` is called."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._queue: asyncio.Queue[str | None] = asyncio.Queue()
        self._ended = False

    def begin(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start to read."""
        threading.Thread(target=self._read, args=(loop,), name="dalsegno mcp input", daemon=True).start()

    def end(self) -> None:
        """Let the lines end here."""
        self._queue.put_nowait(None)

    async def __aiter__(self) -> AsyncIterator[str]:
        while (line := await self._queue.get()) is not None:
            yield line

    def _read(self, loop: asyncio.AbstractEventLoop) -> None:
        rest = b""
        with suppress(RuntimeError):  # the loop has closed: nobody listens any more
            with suppress(OSError):
                while part := os.read(self._fd, _CHUNK):
                    *whole, rest = (rest + part).split(b"\n")
                    for line in whole:
                        loop.call_soon_threadsafe(self._queue.put_nowait, line.decode("utf-8", "replace"))
            if rest:
                loop.call_soon_threadsafe(self._queue.put_nowait, rest.decode("utf-8", "replace"))
            loop.call_soon_threadsafe(self._queue.put_nowait, None)
