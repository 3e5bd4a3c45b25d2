"""Values that are stated outright, whatever they are: `环境是室内`, `my seat preference is the aisle`, `颜色：蓝色`.

Rules of this module:

* A clause that names something and says what it is, and nothing besides. Facts with a figure have their own rules
  (`core/facts`); this is for values that are words.
* What points at something (`这是…`, `that is …`), gives reasons, or says what something is not names no value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["slots"]

_MOST = 8
_CLAUSE = re.compile(r"[^，,。；;！!？?\n、]+")
_HAN = re.compile(
    r"\s*(?:好的?|嗯|那么?|然后|另外|还有|以及|其中|并且|而且|同时|目前的?|当前的?|现在的?|我们?的|它的|该|这个|请记住)*"
    r"(?P<s>[^是为：:=我你您他她它这那谁哪什怎不都也就还只很太真在有]{2,14}?)(?:的)?(?:现在|目前|应该|就|都|设)?"
    r"(?:[是为=]\s?(?P<v>(?!否|不|什么|怎么|因为|为了|想|要|如何|多少|谁|哪|吗|呢|我|你|您|个|很|非常|在|从|可)[^：:]{1,30}?)"
    r"|[：:]\s?(?P<w>[^：:\s-][^：:]{0,15}?))(?:的)?\s*"
)
_ENGLISH = re.compile(
    r"\s*(?:and\s|so\s|yes\s|well\s|also\s|please\snote\sthat\s)*(?:my|our|the|its|his|her)\s"
    r"(?P<s>[a-z][a-z '-]{1,30}?)(?:\s(?:is|are|should\sbe|will\sbe)\s|\s?[=:]\s?)"
    r"(?P<v>(?!not\b|n't|that\b|to\b|if\b|what\b|how\b|very\b|so\b|on\b|in\b|within\b)[^:.]{1,40}?)[.\s]*"
)
_NO_SUBJECT = re.compile(
    r"^(?:今天|明天|昨天|补充|更正|提交|记录|小提醒|两点|第[0-9一二三四五六七八九十百]+[步条点项个章节]?$)|最好|最喜欢|[总倒着后]$|确实|重要|当然|听起来|[已通冻]|意思|问题|原因|关键|重点|目的|想法|建议|时候|觉得|认为|希望|以为|如果|因|所以|虽|但|特别|尤其|比如|例如|应该|应当|可能|大概|也许|好像|似乎|肯定|一定|估计|本来|原来|其实|或者|而|主要|成|作|认|变|分|称"
    r"|\b(?:problem|question|thing|reason|point|idea|only|rest|first|second|last|issue|way)\b"
)
_NO_VALUE = re.compile(r"咋|哪|什么|多少|多钱|多长|怎|啊|呀|呢|吗|^(?:a|an|the)$")


def slots(text: str, low: str) -> Iterator[tuple[int, str, str]]:
    """Where each value stands, of what it is, and the value.

    Args:
        text: what the author says himself.
        low: the same in lower case, of the same length.
    """
    count = 0
    for clause in _CLAUSE.finditer(low):
        found = (_ENGLISH if clause[0].isascii() else _HAN).fullmatch(clause[0])
        if found is None or _NO_SUBJECT.search(found["s"]) or count == _MOST:
            continue
        name = "v" if found["v"] else "w"
        start, end = (clause.start() + at for at in found.span(name))
        if (
            not text[start:end].strip()
            or _NO_VALUE.search(low[start:end])
            or (name == "w" and text[end : end + 1] in ("、", "，", ",", "；", ";"))
        ):
            continue
        count += 1
        yield start, " ".join(found["s"].split()), " ".join(text[start:end].split())
