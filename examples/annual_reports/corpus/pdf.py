"""Words of a PDF's pages with their places, by PDFium.

Rules of this module:

* PDFium is asked for characters and their boxes only; what is a line, a cell or a table is decided in `layout.py`.
* A page whose text runs sideways (a wide table, turned) is read as it is meant: turned back first.
* One page is held at a time. What cannot be read is `Unreadable`, with the next step in its message.
"""

from __future__ import annotations

import ctypes
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from examples.annual_reports.corpus.passages import Unreadable

__all__ = ["Word", "read_pdf"]

_PASSWORD_ERROR = 4
_JUMP = 0.8
_WORD_CHARS = 200
_SAMPLES = 60
_MAX_PAGES = 5000
_FLAT = 0.05
_DASHES = frozenset(map(ord, "-‐‑‒–—―−_"))
_FIRST, _BEYOND = 0x20, 0x110000
_DELETES = range(0x7F, 0xA0)
_SURROGATES = range(0xD800, 0xE000)


@dataclass(frozen=True, slots=True)
class Word:
    """A word and its box in points; y grows upwards."""

    text: str
    left: float
    bottom: float
    right: float
    top: float


class _Box(NamedTuple):
    left: float
    bottom: float
    right: float
    top: float


def read_pdf(path: Path) -> Iterator[tuple[int, int, list[Word]]]:
    """Page by page: its number from 1, how many there are, and its words in the order of the file.

    Raises:
        Unreadable: damaged, encrypted or without pages, or PDFium is not installed.
    """
    try:
        import pypdfium2  # noqa: PLC0415 - only where a PDF is read
        from pypdfium2 import raw  # noqa: PLC0415 - as above
    except ImportError as missing:
        raise Unreadable("reading PDFs needs pypdfium2: pip install 'dalsegno[examples]'") from missing
    try:
        document = pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError as error:
        if getattr(error, "err_code", None) == _PASSWORD_ERROR:
            raise Unreadable("encrypted: save a copy without a password, and ingest that") from error
        raise Unreadable(f"damaged, or no PDF: {error}") from error
    try:
        pages = len(document)
        if not 0 < pages <= _MAX_PAGES:
            raise Unreadable(f"{pages} pages: from 1 to {_MAX_PAGES} can be read")
        for number in range(pages):
            yield number + 1, pages, _words_of(document, number, raw, pypdfium2.PdfiumError)
    finally:
        document.close()


def _words_of(document: Any, number: int, raw: Any, failure: type[Exception]) -> list[Word]:
    try:
        page = document[number]
        text = page.get_textpage()
    except failure as error:
        raise Unreadable(f"page {number + 1} is damaged: {error}") from error
    try:
        return list(_words(text, raw))
    finally:
        text.close()
        page.close()


def _words(text: Any, raw: Any) -> Iterator[Word]:
    """Runs of characters that are not parted by a blank, a jump or a new line."""
    left, right, bottom, top = (ctypes.c_double() for _ in range(4))
    refs = [ctypes.byref(each) for each in (left, right, bottom, top)]
    handle, unicode_of, box_of = text.raw, raw.FPDFText_GetUnicode, raw.FPDFText_GetCharBox
    loose, loose_of = raw.FS_RECTF(), raw.FPDFText_GetLooseCharBox
    quarter = _quarter(handle, text.count_chars(), raw.FPDFText_GetCharAngle)
    run: list[str] = []
    box = _Box(0.0, 0.0, 0.0, 0.0)
    for at in range(text.count_chars()):
        code = unicode_of(handle, at)
        char = chr(code) if _FIRST <= code < _BEYOND and code not in _DELETES and code not in _SURROGATES else " "
        if char.isspace() or char in "\ufffe\uffff\ufeff":
            if run:
                yield Word("".join(run), *box)
                run = []
            continue
        if not box_of(handle, at, *refs):
            continue
        here = _Box(left.value, bottom.value, right.value, top.value)
        if top.value - bottom.value < _FLAT and loose_of(handle, at, ctypes.byref(loose)) and code not in _DASHES:
            here = _Box(
                loose.left, loose.bottom, loose.right, loose.top
            )  # a font that is not here: its glyphs have no ink
        here = _turned(here, quarter)
        if run and (_apart(box, here) or len(run) >= _WORD_CHARS):
            yield Word("".join(run), *box)
            run = []
        box = (
            here
            if not run
            else _Box(min(box[0], here[0]), min(box[1], here[1]), max(box[2], here[2]), max(box[3], here[3]))
        )
        run.append(char)
    if run:
        yield Word("".join(run), *box)


def _quarter(handle: Any, chars: int, angle_of: Any) -> int:
    """How many quarters of a turn, against the clock, most of the text runs at."""
    angles = (angle_of(handle, at) for at in range(0, chars, max(chars // _SAMPLES, 1)))
    quarters = Counter(
        round(-angle / (math.pi / 2)) % 4 for angle in angles if angle >= 0
    )  # PDFium turns with the clock
    return quarters.most_common(1)[0][0] if quarters else 0


def _turned(box: _Box, quarter: int) -> _Box:
    """A box as it lies when its text is turned level."""
    left, bottom, right, top = box
    match quarter:
        case 1:
            return _Box(bottom, -right, top, -left)
        case 2:
            return _Box(-right, -top, -left, -bottom)
        case 3:
            return _Box(-top, left, -bottom, right)
        case _:
            return box


def _apart(box: _Box, here: _Box) -> bool:
    """Whether a character cannot belong to the word that ends at `box`."""
    height = max(box[3] - box[1], here[3] - here[1], 1.0)
    return (
        here[0] - box[2] > _JUMP * height
        or here[0] < box[0] - height
        or min(box[3], here[3]) < max(box[1], here[1]) - height
    )
