"""The pages of the web face, as text. Pure functions.

Rules of this module:

* Whatever others wrote is text: everything that is put into a page is escaped, in its content and in its attributes.
* A page holds no script and no style of its own, so that the policy that is sent with it can forbid both.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any
from urllib.parse import quote

__all__ = ["answer", "chart", "conversation", "source"]

_MARK = re.compile(r"\[(\d{1,3})\]")
_WIDE, _HIGH, _EDGE = 640, 240, 40


def conversation(
    thread_id: str, said: Sequence[tuple[str, str]], newest: str, waiting: str, note: str, other: str
) -> str:
    """The page of a thread.

    Args:
        thread_id: the thread.
        said: who, and what, oldest first; without what `newest` shows.
        newest: the newest answer, as `answer` gives it.
        waiting: a question that waits for a reply; "" for none.
        note: where the reports come from, and who answers.
        other: a thread to begin a new conversation in.
    """
    older = "\n".join(f'<div class="said {escape(who)}">{escape(text)}</div>' for who, text in said)
    back = f'<div class="said ai newest">{escape(waiting)}</div>' if waiting else ""
    body = f"""\
<h1>Annual reports</h1>
<p class="quiet">{escape(note)} · <a href="/?thread={quote(other, safe="")}">new conversation</a></p>
{older}
{newest}
{back}
<ol id="steps"></ol>
<p id="trouble" role="alert"></p>
<form id="ask" data-thread="{escape(thread_id)}">
<input name="text" maxlength="2000" autocomplete="off" autofocus aria-label="Question"
 placeholder="{"Your reply" if waiting else "Ask about a company"}">
<button name="send">Ask</button>
</form>
<script src="/static/app.js"></script>"""
    return _page("Annual reports", body)


def answer(outcome: Mapping[str, Any]) -> str:
    """An answer with its sources to follow, its chart and its warning."""
    sources = outcome["sources"]

    def mark(found: re.Match[str]) -> str:
        number = int(found[1])
        if not 1 <= number <= len(sources):
            return found[0]
        return f'<a href="{_link(sources[number - 1])}">[{number}]</a>'

    text = _MARK.sub(mark, escape(outcome["text"]))
    listed = "".join(
        f'<li><a href="{_link(each)}">[{number}] {escape(each["header"])}</a></li>'
        for number, each in enumerate(sources, 1)
    )
    parts = [f'<div class="said ai newest">{text}</div>']
    if outcome["chart"]:
        parts.append(chart(outcome["chart"]))
    if listed:
        parts.append(f'<ul class="sources">{listed}</ul>')
    if outcome["warning"]:
        parts.append(f'<p class="warning">{escape(outcome["warning"])}</p>')
    kept = "from an earlier answer" if outcome["kind"] == "cached" else f"confidence {outcome['confidence']}"
    parts.append(f'<p class="quiet">{escape(kept)}</p>')
    return "\n".join(parts)


def _link(given: Mapping[str, str]) -> str:
    return escape(f"/source?id={quote(given['id'], safe='')}")


def chart(given: Mapping[str, Any]) -> str:
    """A series as inline SVG: a line, a dot and a value for each point."""
    points = given["points"]
    values = [point["value"] for point in points]
    low, high = min(0.0, *values), max(0.0, *values)
    span = (high - low) or 1.0
    step = (_WIDE - 2 * _EDGE) / (len(points) - 1)

    def place(at: int, value: float) -> tuple[float, float]:
        return _EDGE + at * step, _HIGH - _EDGE - (value - low) / span * (_HIGH - 2 * _EDGE)

    places = [place(at, value) for at, value in enumerate(values)]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    dots = "".join(
        f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="3"/>'
        f'<text x="{x:.1f}" y="{y - 8:.1f}" text-anchor="middle">{point["value"]:,g}</text>'
        f'<text x="{x:.1f}" y="{_HIGH - 12}" text-anchor="middle">{escape(point["label"])}</text>'
        for point, (x, y) in zip(points, places, strict=True)
    )
    title = f"{given['title']} ({given['unit']})" if given["unit"] else given["title"]
    _, zero = place(0, 0.0)
    return (
        f'<svg class="chart" viewBox="0 0 {_WIDE} {_HIGH}" role="img" aria-label="{escape(title)}">'
        f'<text x="{_EDGE}" y="16">{escape(title)}</text>'
        f'<line class="axis" x1="{_EDGE}" y1="{zero:.1f}" x2="{_WIDE - _EDGE}" y2="{zero:.1f}"/>'
        f'<polyline class="line" points="{line}"/>{dots}</svg>'
    )


def source(header: str, document: str, text: str) -> str:
    """The page of a passage."""
    body = f'<h1>{escape(header)}</h1>\n<p class="quiet">{escape(document)}</p>\n<div class="said">{escape(text)}</div>'
    return _page(header, body)


def _page(title: str, body: str) -> str:
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{escape(title)}</title>\n'
        '<meta name="viewport" content="width=device-width">\n<link rel="stylesheet" href="/static/style.css">\n'
        f"</head>\n<body>\n{body}\n</body>\n</html>\n"
    )
