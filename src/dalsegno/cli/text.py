r"""Text of unknown origin, made fit for a terminal.

Rules of this module:

* What a message says is shown as text. A control character, an escape sequence, a change of direction or a lone
  surrogate is written out (`\x1b[2J`), never sent: whoever reads a conversation must not be steered by it.
* An id, a name, a note, a line of a log or a cell stays one line: a line break in it is written out as well, so that
  nothing can pose as the next row. Only `block`, for what people and models say, keeps line breaks.
* Rich markup in a text is text: only what `shown` or `block` made reaches the console.
* A long text is cut at a stated length and says how much is missing.
"""

from __future__ import annotations

import re
from datetime import UTC
from typing import TYPE_CHECKING, Final

from rich.text import Text

if TYPE_CHECKING:
    from datetime import datetime

__all__ = ["HOSTILE", "block", "clean", "clip", "counted", "inline", "one_line", "shown", "size", "time"]

HOSTILE: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b\u200e\u200f"
    "\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U00013438\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e007f\ud800-\udfff]"
)
"""A character that acts on a terminal instead of standing in it.

Unicode's categories Cc, Cf, Cs, Zl and Zp, without line break and tab, and without the two joiners: those are part of
how Persian words and families of emoji are written, and move nothing.
"""

_CLIP: Final = 400
_UNIT: Final = 1000


_BREAKS: Final = re.compile(f"{HOSTILE.pattern}|[\n\t]")


def _written_out(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape", "surrogatepass").decode()


def clean(text: str) -> str:
    """The text with every character that acts on a terminal written out as an escape; line breaks and tabs stay."""
    return HOSTILE.sub(_written_out, text)


def inline(text: str) -> str:
    """The text cleaned, and on one line: line breaks and tabs are written out as well."""
    return _BREAKS.sub(_written_out, text)


def clip(text: str, limit: int = _CLIP) -> str:
    """The first `limit` characters of a text, and how many follow."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}… (+{len(text) - limit:,} characters)"


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number and what it counts: `1 event`, `2 events`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def one_line(text: str) -> str:
    """The text on one line, cleaned; for errors and for cells that must not grow."""
    return clean(" ".join(text.split()))


def shown(text: str, style: str = "") -> Text:
    """A cleaned text for the console, on one line, in which nothing is markup."""
    return Text(inline(text), style=style)


def block(text: str, style: str = "") -> Text:
    """A cleaned text for the console that may have several lines."""
    return Text(clean(text).expandtabs(4), style=style)


def size(number: int) -> str:
    """A number of bytes, in the unit that says it in a few digits."""
    amount = float(number)
    for unit in ("bytes", "KB", "MB"):
        if amount < _UNIT:
            return f"{amount:,.0f} {unit}" if unit == "bytes" else f"{amount:,.1f} {unit}"
        amount /= _UNIT
    return f"{amount:,.1f} GB"


def time(at: datetime) -> str:
    """A time in UTC, to the second."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S}Z"
