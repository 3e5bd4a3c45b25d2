"""Figures."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dalsegno.core.facts.kinds import Kind
from dalsegno.core.facts.numerals import shown, written

__all__ = ["figures"]

_MAX = 40
_NUMBER = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})++(?![0-9])(?:\.[0-9]++)?|[0-9]++(?:\.[0-9]++)?")


def figures(text: str) -> Iterator[tuple[int, int, Kind, str]]:
    """Numbers."""
    for found in _NUMBER.finditer(text):
        if found.end() - found.start() < _MAX:
            yield *found.span(), Kind.NUMBER, shown(written(found[0]))
