"""`dalsegno mcp`: the history of one thread for clients of the Model Context Protocol.

Rules of this module:

* Standard output belongs to the protocol. What is wrong before it begins, such as a thread that is not there, is one
  line on standard error and the exit code of its family.
"""

from __future__ import annotations

from typing import Annotated

import typer

from dalsegno.cli.frame import Frame, command
from dalsegno.core.extras import require

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "mcp")(mcp)


def mcp(
    frame: Frame,
    *,
    thread: Annotated[str, typer.Option("--thread", metavar="ID", help="The thread; the tools reach no other.")],
) -> None:
    """Serve `card`, `search_history` and `read_events` of one thread over standard input and output (MCP)."""
    require("mcp", "mcp")
    from dalsegno.mcp import serve  # noqa: PLC0415 - an optional package, and slow to load

    with frame.connect(thread) as ds:
        serve(ds, thread)
