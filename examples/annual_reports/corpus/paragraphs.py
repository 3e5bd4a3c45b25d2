"""Lines of a page as paragraphs.

Rules of this module:

* A line that fills its column and does not end a sentence goes on in the next one. Latin words are joined by a blank,
  Chinese by nothing; a word cut by a hyphen at a line's end stays cut, since nobody can tell `long-` from `co-`.
* Pure: no I/O.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["join", "paragraphs", "weight"]

_ENDS = (".", "。", "；", "：", "！", "？", "!", "?", ":")
_FILLS = 0.75
_MIN_COLUMN = 24
_WIDE = "\u2e80"


def weight(text: str) -> int:
    """A text's size: its letters, a Chinese character as two."""
    return len(text) + sum(char > _WIDE for char in text) if not text.isascii() else len(text)


def join(before: str, after: str) -> str:
    """Two parts of one paragraph."""
    between = "" if before[-1:] > _WIDE and after[:1] > _WIDE else " "
    return f"{before}{between}{after}"


def paragraphs(lines: Sequence[str]) -> list[str]:
    """The paragraphs of consecutive lines, without blank ones."""
    kept = [line for line in (line.strip() for line in lines) if line]
    full = max((weight(line) for line in kept), default=0)
    found: list[str] = []
    goes_on = False
    for line in kept:
        if goes_on:
            found[-1] = join(found[-1], line)
        else:
            found.append(line)
        goes_on = full >= _MIN_COLUMN and weight(line) >= _FILLS * full and not line.endswith(_ENDS)
    return found
