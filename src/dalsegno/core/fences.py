"""Fences around what others said, which nothing inside can close, and no other text can imitate.

Rules of this module:

* Two defences, each sufficient alone. A fence may carry a *mark* that stands in none of the texts of the request, so no
  text can name it. And whatever looks like the start of a fence, of a chat template's role mark or of a line said by
  another role is broken: seen through full-width and mathematical letters, letters of other alphabets of the same
  shape, accents, blanks and invisible characters.
* Breaking changes one character or puts two before a line, so the text stays readable; the rest of it stays as it is.
  Characters that no person sees and a model reads (Unicode's tags) are taken out.
* Pure and deterministic: the same text has the same fence, which keeps a request's beginning the same between turns.
"""

from __future__ import annotations

import hashlib
import itertools
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence

__all__ = ["broken", "fenced", "folded", "marks_for", "section"]

NAMES = ("section", "record")
"""Names of fences; no text inside one may seem to open or close any of them."""

_MARK_LENGTH = 10

_HIDDEN = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_TAGS = re.compile("[\U000e0000-\U000e007f]")
_PASSED = re.compile(rf"[\s{_HIDDEN}\u0300-\u036f\u0483-\u0489\u20d0-\u20ff\x00-\x1f\x7f-\x9f]*")
"""What the eye passes over: blanks, controls, invisible characters, accents put on the character before."""

_OPENERS = "<＜﹤˂ᐸ❮〈⟨〈≪《⋘«"
_OPENER = re.compile(f"[{_OPENERS}]")
_SLASHES = "/／⁄∕╱⧸\\＼"
_BARS = "|｜¦ǀ∣│"
_BROKEN = "‹"

_ALIKE = str.maketrans(
    {
        **dict.fromkeys("сϲⅽᴄςҫ", "c"),
        **dict.fromkeys("ԁⅾɗժ", "d"),
        **dict.fromkeys("еєҽεɛ℮ё", "e"),
        **dict.fromkeys("һհ", "h"),
        **dict.fromkeys("іιıⅰɩӏ1|!ї", "i"),
        **dict.fromkeys("пոռηɴ", "n"),
        **dict.fromkeys("оοօσᴏ0ө", "o"),
        **dict.fromkeys("гᴦɾʀ", "r"),
        **dict.fromkeys("ѕꜱʂտ5$", "s"),
        **dict.fromkeys("тτᴛ+", "t"),
        **dict.fromkeys("υᴜսц", "u"),
        **dict.fromkeys("мⅿᴍ", "m"),
        **dict.fromkeys("аαɑ", "a"),
        **dict.fromkeys("уγүʏ", "y"),
        **dict.fromkeys("ⅼ", "l"),
    }
)
"""Letters, digits and signs that pass for one of the letters in the names."""

_ROLES = "system|user|human|assistant|ai|developer|tool|function|系统|用户|人类|助手|助理|工具"
_ENDS = "\\n\\r\\v\\f\\x1c-\\x1e\\x85\\u2028\\u2029"
_BLANKS = " \\t\\u00a0\\u1680\\u2000-\\u200a\\u202f\\u205f\\u3000"
_COLONS = ":：﹕"
_ROLE_LINE = re.compile(
    rf"(?:^|(?<=[{_ENDS}]))(?=[{_BLANKS}{_HIDDEN}#*_>(\[-]*+(?P<head>[^{_ENDS}{_COLONS}]{{1,40}})[{_COLONS}])"
)
_ROLE = re.compile(rf"(?:{_ROLES})(?:\W*|\s*[(\[<].*)")
_TEMPLATE = re.compile(r"\[(?=\s*/?\s*(?:INST|SYSTEM|USER|ASSISTANT)\b)", re.IGNORECASE)
_QUOTE = "| "


def fenced(text: str, name: str = "record") -> str:
    """A text between two marks; whatever looks like one of them inside it is broken, so that it cannot close them."""
    return f"<{name}>\n{broken(text)}\n</{name}>"


def section(text: str, mark: str, about: Mapping[str, str]) -> str:
    """A text as a section of a request.

    Args:
        text: any text.
        mark: as `marks_for` gives it.
        about: what the opening mark says of it: its name, whose text it is, where it comes from.
    """
    said = "".join(f' {key}="{_attribute(value)}"' for key, value in about.items() if value)
    return f"<section-{mark}{said}>\n{broken(text)}\n</section-{mark}>"


def _attribute(value: str) -> str:
    """A value within the opening mark: one line that can end neither the value nor the mark."""
    line = "".join(sign if sign.isprintable() else " " for sign in _TAGS.sub("", value))
    return " ".join(broken(line).translate({ord('"'): "'", ord(">"): "›", ord("<"): "‹"}).split())[:200]


def marks_for(sections: Sequence[tuple[str, str]], others: Iterable[str] = ()) -> list[str]:
    """Marks for sections: each made of what is in it, and found in none of the texts.

    Args:
        sections: name and text of each.
        others: every other text of the request.

    Returns:
        Ten hexadecimal digits for each: the same while its name and text are. No text can hold its own mark, nor
        another's.
    """
    texts = [folded(text) for text in (*(text for _, text in sections), *others)]
    found: list[str] = []
    for name, text in sections:
        for attempt in itertools.count():
            seed = f"{attempt}\x00{name}\x00{text}".encode("utf-8", "surrogatepass")
            mark = hashlib.sha256(seed).hexdigest()[:_MARK_LENGTH]
            if mark not in found and not any(mark in each for each in texts):
                found.append(mark)
                break
    return found


def folded(text: str) -> str:
    """A text as the eye takes it: no accents, no invisible characters, plain letters, small."""
    if text.isascii():
        return text.lower()
    plain = _PASSED_ONE.sub("", unicodedata.normalize("NFKD", text))
    return plain.translate(_ALIKE_LETTERS).lower()


_PASSED_ONE = re.compile(rf"[{_HIDDEN}\u0300-\u036f\u0483-\u0489\u20d0-\u20ff]")
_ALIKE_LETTERS = {sign: plain for sign, plain in _ALIKE.items() if sign > 0x7F}  # noqa: PLR2004 - ASCII is itself


def broken(text: str) -> str:
    """A text in which nothing looks like a fence, a chat template's mark or another role's line."""
    text = _TAGS.sub("", text)
    cuts = [found.start() for found in _OPENER.finditer(text) if _opens(text, found.start())]
    if cuts:
        signs = list(text)
        for at in cuts:
            signs[at] = _BROKEN
        text = "".join(signs)
    text = _TEMPLATE.sub("(", text)
    return _ROLE_LINE.sub(lambda found: _QUOTE if _ROLE.fullmatch(_plain(found["head"])) else "", text)


def _opens(text: str, at: int) -> bool:
    """Whether what follows an opening sign reads as a mark's name, or as a chat template's sign."""
    at += 1
    at = _PASSED.match(text, at).end()  # type: ignore[union-attr] # matches the empty text too
    while at < len(text) and (text[at] in _SLASHES or text[at] in _OPENERS):
        at = _PASSED.match(text, at + 1).end()  # type: ignore[union-attr] # matches the empty text too
    if text[at : at + 1] in _BARS:
        return at < len(text)
    longest = max(map(len, _MARKED))
    read = ""
    while at < len(text) and len(read) < longest:
        read += _plain(text[at])
        if not any(name.startswith(read[: len(name)]) for name in _MARKED):
            return False
        if read.startswith(_MARKED):
            return True
        at = _PASSED.match(text, at + 1).end()  # type: ignore[union-attr] # matches the empty text too
    return False


_TEMPLATES = (
    "sys>", "system", "user", "human", "assistant", "im_start", "im_end", "start_of_turn", "end_of_turn", "s>", "bos>",
    "eos>", "tool_call", "tool_response", "function_call", "function_response",
)  # fmt: skip
"""What chat templates write between `<` and `>`: those of Llama 2, ChatML, Gemma, Mistral and Hermes."""
_MARKED = (*NAMES, *_TEMPLATES)


def _plain(text: str) -> str:
    """Letters as they look: compatible forms taken apart, accents dropped, look-alikes of other alphabets replaced."""
    apart = _PASSED_ONE.sub("", unicodedata.normalize("NFKD", text))
    return apart.casefold().translate(_ALIKE).strip()
