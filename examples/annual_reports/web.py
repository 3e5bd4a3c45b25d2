"""The web face: a question, the steps as they come, the answer with its sources to follow, a chart.

Rules of this module:

* It listens on this machine alone unless told otherwise, answers only under its own names, and takes questions only
  from its own page: there is no login, so no other page in the same browser may ask.
* The policy that goes with every page lets it use the one script and the one style that are served here, no others.
* A run goes on when its page is closed. One question at a time in a conversation, and `AT_ONCE` in all: each takes a
  thread of this process, and its page another.
"""

from __future__ import annotations

import json
import logging
import queue
import re
import secrets
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from dalsegno.errors import DalsegnoError, Misuse, ThreadNotFound
from examples.annual_reports import pages
from examples.annual_reports.ports import header
from examples.annual_reports.session import Analyst

try:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.middleware.trustedhost import TrustedHostMiddleware
    from starlette.requests import Request
    from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
    from starlette.routing import Mount, Route
    from starlette.staticfiles import StaticFiles
except ImportError as missing:
    msg = "the web page needs a web server: pip install '.[examples]' (Starlette and Uvicorn)"
    raise Misuse(msg) from missing

__all__ = ["AT_ONCE", "LOCAL", "app_of", "serve"]

AT_ONCE = 16
LOCAL = ("127.0.0.1", "localhost")
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}
_THREAD = re.compile(r"[\w.-]{1,64}")
_MOST_CHARACTERS, _MOST_BYTES = 2_000, 16_000
_log = logging.getLogger("examples.annual_reports")


def serve(analyst: Analyst, host: str, port: int) -> int:
    """Serve until interrupted."""
    if host not in LOCAL:
        print(f"warning: {host} can be reached from elsewhere, and there is no login")
    print(f"http://{host}:{port}")
    uvicorn.run(app_of(analyst, hosts=[*LOCAL, host]), host=host, port=port, log_level="warning")
    return 0


def app_of(analyst: Analyst, hosts: list[str] | None = None) -> Starlette:
    """The application over an analyst.

    Args:
        analyst: answers.
        hosts: the names that it answers under; those of this machine if left out.
    """
    face = _Face(analyst)
    return Starlette(
        routes=[
            Route("/", face.page),
            Route("/ask", face.ask, methods=["POST"]),
            Route("/source", face.source),
            Mount("/static", StaticFiles(directory=Path(__file__).parent / "static")),
        ],
        middleware=[
            Middleware(TrustedHostMiddleware, allowed_hosts=hosts or list(LOCAL), www_redirect=False),
            Middleware(_Guarded),
        ],
    )


class _Guarded:
    """Sends the policy with every answer."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async def guarded(message: Any) -> None:
            if message["type"] == "http.response.start":
                own = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message = {**message, "headers": [*message["headers"], *own]}
            await send(message)

        await self._app(scope, receive, guarded if scope["type"] == "http" else send)


class _Face:
    """The pages and what they ask."""

    def __init__(self, analyst: Analyst) -> None:
        self._analyst = analyst
        self._busy: set[str] = set()
        self._lock = threading.Lock()

    def page(self, request: Request) -> Response:
        """A thread's conversation."""
        thread_id = request.query_params.get("thread", "web")
        if not _THREAD.fullmatch(thread_id):
            return HTMLResponse("no such thread", status_code=404)
        said, newest, waiting = self._conversation(thread_id)
        note = f"{', '.join(sorted(self._analyst.corpus.companies()))} · answers by {self._analyst.mind.name}"
        return HTMLResponse(pages.conversation(thread_id, said, newest, waiting, note, f"web-{secrets.token_hex(4)}"))

    def _conversation(self, thread_id: str) -> tuple[list[tuple[str, str]], str, str]:
        try:
            values = self._analyst.ds.threads.state(thread_id)
        except ThreadNotFound:
            return [], "", ""
        turn = self._analyst.turn(thread_id)
        messages = [(message.type, str(message.text)) for message in values.get("messages", [])]
        if turn.outcome is None:
            return messages, "", turn.question
        return messages[:-1], pages.answer(turn.outcome), ""

    def source(self, request: Request) -> Response:
        """A passage."""
        try:
            passage = self._analyst.corpus.passage(request.query_params.get("id", ""))
        except (KeyError, ValueError):
            return HTMLResponse("no such passage", status_code=404)
        return HTMLResponse(pages.source(header(0, passage).removeprefix("[0] "), passage.source, passage.text))

    async def ask(self, request: Request) -> Response:
        """A question; the steps come as lines of JSON, then the end."""
        origin = request.headers.get("origin")
        if origin is not None and urlsplit(origin).netloc != request.headers.get("host"):
            return JSONResponse({"error": "questions come from this page alone"}, status_code=403)
        if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            return JSONResponse({"error": "a question is JSON"}, status_code=415)
        given = await _given(request)
        if given is None:
            return JSONResponse({"error": "give a thread and a text of at most 2,000 characters"}, status_code=400)
        thread_id, text = given
        with self._lock:
            if thread_id in self._busy:
                return JSONResponse({"error": "this conversation is still at its last question"}, status_code=409)
            if len(self._busy) >= AT_ONCE:
                return JSONResponse({"error": "too many questions at once; ask again in a moment"}, status_code=503)
            self._busy.add(thread_id)
        lines: queue.Queue[dict[str, Any] | None] = queue.Queue()
        threading.Thread(target=self._run, args=(thread_id, text, lines), daemon=True).start()
        return StreamingResponse(_lines(lines), media_type="application/x-ndjson")

    def _run(self, thread_id: str, text: str, lines: queue.Queue[dict[str, Any] | None]) -> None:
        try:
            self._analyst.say(thread_id, text, lambda node, about: lines.put({"step": node, "about": about}))
            lines.put({"done": True})
        except DalsegnoError as error:
            lines.put({"error": str(error)})
        except Exception:  # noqa: BLE001 - the edge of a thread of its own: who waits is told, the log knows why
            _log.exception("a question in %r failed", thread_id)
            lines.put({"error": "this failed; ask again to go on where it stopped"})
        finally:
            with self._lock:
                self._busy.discard(thread_id)
            lines.put(None)


async def _given(request: Request) -> tuple[str, str] | None:
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > _MOST_BYTES:
            return None
    try:
        read = json.loads(body)
        thread_id, text = read["thread"], read["text"]
        if not isinstance(thread_id, str) or not isinstance(text, str) or not _THREAD.fullmatch(thread_id):
            return None
        text.encode()  # a lone half of a character is no question
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return (thread_id, text) if text.strip() and len(text) <= _MOST_CHARACTERS else None


def _lines(lines: queue.Queue[dict[str, Any] | None]) -> Iterator[str]:
    while (line := lines.get()) is not None:
        yield json.dumps(line, ensure_ascii=False) + "\n"
