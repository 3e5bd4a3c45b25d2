"""A text in the form in which patterns look at it, with every offset unchanged.

Rules of this module:

* One character becomes exactly one: full-width letters, digits and signs their ASCII forms, other decimal digits
  (`５`, `𝟓`, `٥`) ASCII digits, unusual blanks and those without width a blank. What NFKC would make longer (`㎏`,
  `½`) stays.
* Chinese punctuation stays, since `，` and `。` end clauses; a full-width comma between full-width digits groups
  them, and so does a thin or no-break blank before every three.
* Case is folded for ASCII letters alone where offsets count (`lowered`).
"""

from __future__ import annotations

import re
import string
import unicodedata

__all__ = ["folded", "lowered"]

_KEPT = "！，：；？（）｛｝［］～"
_WIDE = {chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F) if chr(code) not in _KEPT}
_BLANKS = dict.fromkeys(
    "\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000\u00ad\u200b\u200c\u200d\u2060\ufeff",
    " ",
)
_SIGNS = {
    "￥": "¥",
    "￡": "£",
    "￠": "¢",
    "￦": "₩",
    "−": "-",
    "‐": "-",
    "‑": "-",
    "﹣": "-",
    "﹪": "%",
    "﹟": "#",
    "﹩": "$",
    "’": "'",
}
_ONE = _WIDE | _BLANKS | _SIGNS
_ODD = re.compile(f"[{re.escape(''.join(_ONE))}]")
_GROUPED = re.compile("(?<![0-9+,.-])[0-9]{1,3}(?:[\u00a0\u2009\u202f][0-9]{3})+(?![0-9]|[\u00a0\u2009\u202f -][0-9])")
_GROUP_BLANK = re.compile("[\u00a0\u2009\u202f]")
_FOREIGN_DIGIT = re.compile(r"(?![0-9])\d")
_WIDE_COMMA = re.compile("(?<=[０-９])，(?=[０-９]{3}(?![０-９]))")
_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


def folded(text: str) -> str:
    """`text` with look-alikes replaced one for one; the same length, the same offsets."""
    if text.isascii():
        return text
    text = _WIDE_COMMA.sub(",", text)
    text = _GROUPED.sub(lambda found: _GROUP_BLANK.sub(",", found[0]), text)
    text = _ODD.sub(lambda found: _ONE[found[0]], text)
    return _FOREIGN_DIGIT.sub(lambda found: str(unicodedata.decimal(found[0])), text)


def lowered(text: str) -> str:
    """`text` with ASCII letters in lower case; the same length, the same offsets."""
    return text.lower() if text.isascii() else text.translate(_LOWER)
