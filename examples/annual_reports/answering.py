"""An answer as it leaves the graph: sources renumbered, charts held against the figures, the warning, the fallbacks.

Rules of this module:

* A mark of a source that does not exist is taken out; those that are cited are numbered anew in the order in which they
  come, and sources that are not cited are dropped.
* A chart is taken where a series was asked for, and its every value stands in the material, or there is no chart. Chart
  blocks are no part of the text, however many there are.
* The clean answer, with its sources and its chart, is one text (`whole`) that can be kept and read back (`read`). The
  warning is no part of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from examples.annual_reports.words import is_chinese, unstated, years_of

__all__ = [
    "MOST_POINTS",
    "chart_of",
    "cited",
    "drawn",
    "fallback",
    "read",
    "renumbered",
    "shown",
    "unmarked",
    "warning",
    "whole",
]

_MARK = re.compile(r"\[([0-9]{1,3}(?:\s*[,，]\s*[0-9]{1,3})*)\]")
_CHART = re.compile(r"```chart\b(?P<body>.*?)(?:```|\Z)", re.DOTALL)
_NO_CHART = (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError)
_SOURCE = re.compile(r"^\[(?P<number>\d{1,3})\] (?P<header>.{1,200}) · (?P<id>\S{1,200})$")
MOST_POINTS = 40
_LONG = 80


def cited(text: str) -> list[int]:
    """The numbers of sources that a text names, in its order, each once."""
    found = [int(each) for mark in _MARK.findall(text) for each in re.split(r"\s*[,，]\s*", mark)]
    return list(dict.fromkeys(found))


def renumbered(text: str, count: int, start: int = 0, order: Sequence[int] | None = None) -> tuple[str, list[int]]:
    """A text with its sources numbered anew.

    Args:
        text: cites sources from 1 to `count`.
        count: how many there are.
        start: the new numbers begin after it.
        order: the old numbers in their new order; by itself the order in which they are cited.

    Returns:
        The text, and the old numbers that are left, in their new order. Marks of sources that do not exist are gone.
    """
    left = [number for number in (cited(text) if order is None else order) if 1 <= number <= count]
    new = {old: start + at for at, old in enumerate(left, 1)}

    def mark(found: re.Match[str]) -> str:
        numbers = [new[int(each)] for each in re.split(r"\s*[,，]\s*", found[1]) if int(each) in new]
        return "".join(f"[{number}]" for number in dict.fromkeys(numbers))

    return re.sub(r" +(?=[.,;。，；\n]|$)", "", _MARK.sub(mark, text)), left


def unmarked(text: str) -> str:
    """A text of others, in which `[3]` becomes `[n3]`: a note of its own, and no source of an answer that quotes it."""
    return _MARK.sub(lambda mark: f"[{', '.join(f'n{each}' for each in re.findall(r'[0-9]+', mark[1]))}]", text)


def chart_of(text: str, material: Sequence[str], *, asked: bool = True) -> tuple[str, dict[str, Any] | None]:
    """A text without its chart blocks, and the chart if it may stand.

    Args:
        text: of an answer.
        material: what its values must stand in.
        asked: whether a series was asked for.
    """
    found = _CHART.search(text)
    if found is None:
        return text, None
    plain = _CHART.sub("", text).strip()
    try:
        chart = _chart(json.loads(found["body"]))
    except _NO_CHART:
        return plain, None
    if not asked:
        return plain, None
    values = [f"{point['value']:.6f}".rstrip("0").rstrip(".") for point in chart["points"]]
    return plain, None if any(_is_new(value, material) for value in values) else chart


def _is_new(value: str, material: Sequence[str]) -> bool:
    return value not in {str(year) for text in material for year in years_of(text)} and bool(unstated(value, material))


def _chart(given: Mapping[str, Any]) -> dict[str, Any]:
    points: list[dict[str, Any]] = [
        {"label": str(point["label"])[:_LONG], "value": float(point["value"])}
        for point in given["points"][:MOST_POINTS]
    ]
    if len(points) < 2 or not all(abs(point["value"]) < float("inf") for point in points):  # noqa: PLR2004 - one point is no series
        raise ValueError("no series")
    return {"title": str(given.get("title", ""))[:_LONG], "unit": str(given.get("unit", ""))[:_LONG], "points": points}


def whole(text: str, sources: Sequence[Mapping[str, str]], chart: Mapping[str, Any] | None) -> str:
    """An answer with its sources and its chart, as one text."""
    parts = [text]
    if sources:
        lines = [f"[{number}] {each['header']} · {each['id']}" for number, each in enumerate(sources, 1)]
        parts.append("\n".join(lines))
    if chart:
        parts.append(f"```chart\n{json.dumps(chart, ensure_ascii=False)}\n```")
    return "\n\n".join(parts)


def read(kept: str) -> tuple[str, list[dict[str, str]], dict[str, Any] | None]:
    """The parts of a text that `whole` made."""
    found = _CHART.search(kept)
    chart = None
    if found is not None:
        kept = kept[: found.start()].rstrip()
        try:
            chart = _chart(json.loads(found["body"]))
        except _NO_CHART:
            chart = None
    lines = kept.rstrip().splitlines()
    sources: list[dict[str, str]] = []
    while lines and (one := _SOURCE.match(lines[-1])):
        sources.insert(0, {"header": one["header"], "id": one["id"]})
        lines.pop()
    return "\n".join(lines).rstrip(), sources, chart


# --- fixed words ------------------------------------------------------------------------------------

_SAID: Mapping[str, tuple[str, str]] = {
    "low": (
        "Low confidence: not every statement could be checked against the reports{about}. Please look at the sources.",
        "置信度低：并非每个说法都能在年报中核实{about}。请查看来源。",
    ),
    "out_of_scope": (
        "I answer questions about companies and their annual reports. This one is not about them.",
        "我只回答与公司及其年报有关的问题，这个问题不在此范围内。",
    ),
    "unclear": (
        "I still cannot tell which company or figure is meant. The reports here are of: {about}.",
        "我仍无法确定问的是哪家公司或哪项数据。这里有以下公司的年报：{about}。",
    ),
    "nothing_found": (
        "The reports here do not answer this. Searched in: {about}.",
        "这里的年报没有回答这个问题。检索过：{about}。",
    ),
    "no_news": ("There is no news here about {about}.", "这里没有关于{about}的新闻。"),
    "no_answer": ("No answer could be written. Please ask again.", "未能写出回答，请再问一次。"),
}


def _said(key: str, question: str, about: str) -> str:
    return _SAID[key][1 if is_chinese(question) else 0].format(about=about)


def warning(question: str, claims: Sequence[str]) -> str:
    """What stands under an answer of low confidence."""
    about = ""
    if claims:
        told = "; ".join(claim[:160] for claim in claims[:3])
        about = f"（{told}）" if is_chinese(question) else f" ({told})"
    return _said("low", question, about)


def fallback(problem: str, question: str, about: Sequence[str]) -> str:
    """The reply where there is nothing to answer from."""
    return _said(problem, question, ", ".join(about) or "-")


def shown(outcome: Mapping[str, Any]) -> str:
    """What the user reads: the answer, its sources, and the warning."""
    parts = [outcome["text"]]
    if outcome["sources"]:
        parts.append("\n".join(f"[{number}] {each['header']}" for number, each in enumerate(outcome["sources"], 1)))
    if outcome["warning"]:
        parts.append(f"⚠ {outcome['warning']}")
    return "\n\n".join(parts)


def drawn(chart: Mapping[str, Any]) -> str:
    """A chart for a terminal: a bar for each point."""
    most = max((abs(point["value"]) for point in chart["points"]), default=0.0) or 1.0
    wide = max(len(point["label"]) for point in chart["points"])
    rows = [
        f"{point['label']:>{wide}} {'█' * max(1, round(30 * abs(point['value']) / most))} {point['value']:,g}"
        for point in chart["points"]
    ]
    return "\n".join([f"{chart['title']} ({chart['unit']})" if chart["unit"] else str(chart["title"]), *rows])
