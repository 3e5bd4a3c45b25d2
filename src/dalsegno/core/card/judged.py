"""What one sentence is, besides what it says: a question, a condition, a report, a wish, or meant as it stands.

Rules of this module:

* A sentence is looked at in lower case, folded, with foreign words already taken out.
* Of two readings the weaker is taken.
"""

from __future__ import annotations

import re

from dalsegno.core.card import phrases

__all__ = [
    "AT_ONCE",
    "DEADLINE",
    "DELIVERS",
    "IN_RETURN",
    "POLITE",
    "asked",
    "conditional",
    "denied_choice",
    "informs",
    "open_question",
    "reported",
    "rest_of",
    "takes_instead",
    "wholehearted",
    "willing",
]

_BUT = re.compile(r"\b(?:but|however|although|though|except)\b|但|不过|可是|只是|然而")
_INFORMS = re.compile(
    r"^\W*(?:yes|yeah|yep|sure|ok|okay|great|right|correct|是的|对|好的?|嗯)[,，.!。\s]+(?:it's|it\sis|my\s"
    r"|i\s(?:have|am|was|do\shave|did|already|still)|i've|i'm\s(?!fine|ok|good|happy)|here|"
    r"the\s[a-z ]{2,24}(?:id|name|email|number|date)\sis|there|我的(?!意思)|我是|我叫|我有|这是|他|她)"
)
AT_ONCE = re.compile(
    r"\b(?:now|check|look|looking|retrieve|transfer|search|calculate|verify|proceed|assist|help|guide|review"
    r"|gather|go\sahead|keep|do\smy\sbest|let\syou\sknow|update\syou|be\sable|need)\b"
    r"|马上|立刻|这就|帮您查|帮你查|查询一下|查一下|看一下|为您查"
)
IN_RETURN = re.compile(r"\b(?:please|once|when|after|let\sme\sknow)\b.{0,80}\bi(?:'ll|\swill)\b")
POLITE = re.compile(
    r"我(?:们|也|以后|现在|还|就|先|真的|经常|有时候?|非常)*(?:一定)?(?:会|将|要)(?:去|试着|再|好好|认真|虚心|多|一定)*"
    r"(?:尝试|试试|试着|试一?下|考虑|注意|努力|尽量|尽力|继续|珍惜|记住|谨记|感到|陷入|忘记|体会|学习|查找|寻找|看一?看|享受|参加|听取"
    r"|践行|实践|加油|支持|想念|[^，。！？；\n]{0,6}(?:出去|瑜伽|唱歌|跳舞))"
    r"|[去看读写学]了(?:一|[^，。！？；\n]{0,6}的)|体会到|领会到|(?:最近|正)在看"
)
"""Good intentions, and what somebody tells of his day: nothing that anyone waits for."""
DEADLINE = re.compile(r"\b(?:by|before|within|until|no\slater)\b|前|内|底")
DELIVERS = re.compile(
    r"\b(?:send|upload|e-?mail|share|prepare|write|review|sign|pay|deliver|submit|draft|finish|call|bring"
    r"|forward|provide|refund|ship|fix|build|test|deploy|publish|release|book|order|ask|talk\sto|check\swith"
    r"|confirm\swith)\b"
)
_FILLER = re.compile(
    r"\b(?:yes|yeah|yep|yup|ok|okay|sure|please|thanks?|thank\syou|great|perfect|fine|good|then|so|just|i|we|it"
    r"|that|this|with|the|a|and|to|go|ahead|proceed|do|is|are|'s|confirmed|confirm|"
    r"agreed|agree|approved|approve|deal|sounds|looks|works|for|me|us|all|right|correct|absolutely|let's|as|you"
    r"|suggested|proposed|said|everything|very|much|decided|option|plan|one)\b"
    r"|[好的行可以没问题同意确认对是嗯就这么样按定了吧啊呀呢哈我们咱你您那请办做来执继续通过批准它个先谢都已经]+"
)
_WILL = re.compile(
    r"\b(?:please|proceed|go\s(?:ahead|with)|book|cancel|send|change|update|upgrade|add|remove|use|do|i'd\slike"
    r"|i\swould\slike|i\swant|let's|that\s(?:works|would|will|sounds|is)|works|"
    r"that's\s(?:fine|correct|right|good|perfect|great|ok))\b|就|请|帮我|按|用|办|发|订|改|取消|加|买|选|做|执行"
    r"|继续|推进|走"
)


def open_question(low: str) -> bool:
    """Whether a question asks for a choice, so that a mere yes does not answer it."""
    return bool(phrases.WHICH.search(low)) and not _YES_OR_NO.search(low)


_YES_OR_NO = re.compile(
    r"\b(?:would\syou\slike\s(?:me\s)?to|shall\s(?:i|we)|should\s(?:i|we)|do\syou\swant\sme|may\si"
    r"|please\sconfirm|is\s(?:that|this)\s(?:ok|okay|correct|right|fine)|do\syou\s(?:agree|approve|confirm))\b"
    r"|是否|要不要|可以吗|好吗|行吗|对吗|同意吗|可行吗"
)


def asked(low: str) -> bool:
    """Whether it asks."""
    return bool(phrases.ASKED.search(low))


def conditional(low: str) -> bool:
    """Whether it depends on something."""
    return bool(phrases.CONDITIONS.search(phrases.WILLING.sub("", low)))


def reported(low: str) -> bool:
    """Whether it tells what somebody else says or wants."""
    return bool(phrases.REPORTS.search(phrases.OWN_REPORT.sub("", low)))


def informs(low: str) -> bool:
    """Whether it agrees only to tell something: `yes, my id is …`."""
    return bool(_INFORMS.match(low))


def willing(low: str) -> bool:
    """Whether it has words of the speaker's own will."""
    return bool(_WILL.search(low))


def rest_of(low: str, chosen: re.Match[str] | None) -> str:
    """What a deciding sentence says besides deciding, letters alone."""
    rest = low if chosen is None else low[: chosen.start()] + " " + low[chosen.end() :]
    return "".join(character for character in _FILLER.sub("", rest) if character.isalnum())


def takes_instead(low: str, dropped: re.Match[str] | None) -> bool:
    """Whether a sentence takes something, beside what it drops."""
    chosen = phrases.CHOOSES.search(low, dropped.end()) if dropped else None
    return chosen is not None and not denied_choice(low[dropped.end() :] if dropped else low)


def denied_choice(low: str) -> bool:
    """Whether deciding words are denied: `let's not go with B`, `先不按方案B`."""
    return any(phrases.DENIES.search(_clause_before(low, found.start())) for found in phrases.CHOOSES.finditer(low))


def _clause_before(low: str, at: int) -> str:
    start = max((low.rfind(sign, 0, at) for sign in ",，;；:：.。"), default=-1)
    return low[start + 1 : at]


def wholehearted(low: str, chosen: re.Match[str] | None, accepted: re.Match[str] | None) -> bool:
    """Whether deciding words are meant: not denied, hedged, made to depend on something, or somebody else's."""
    plain = phrases.WILLING.sub(lambda found: " " * len(found[0]), low)
    at = chosen.start() if chosen else len(plain)
    before = plain[:at]
    if chosen and (phrases.DENIES.search(_clause_before(plain, at)) or phrases.HEDGES.search(before)):
        return False
    if phrases.UNDECIDED.search(plain) or (chosen and _others(plain, chosen)):
        return False
    if phrases.CONDITIONS.search(plain[: chosen.end()] if chosen else before) or _IF_AFTER.search(plain):
        return False
    if phrases.REPORTS.search(phrases.OWN_REPORT.sub("", before)):
        return False
    if chosen is None and (phrases.HEDGES.search(plain) or phrases.DENIES.search(plain) or _BUT.search(plain)):
        return bool(accepted) and not _MOOD.search(plain)
    return not (accepted and _BUT.search(plain) and chosen is None)


def _others(low: str, chosen: re.Match[str]) -> bool:
    """Whether somebody else decides, or something has to come first: `他们就按B做了`, `等老板回来就定了`."""
    clause = _clause_before(low, chosen.start())
    if _AWAITED.search(clause):
        return True
    found = list(phrases.OTHERS.finditer(clause))
    between = clause[found[-1].end() :] if found else ""
    return bool(found) and clause[: found[0].start()].strip() in _AND and _NEARLY.fullmatch(between) is not None


_AWAITED = re.compile(r"(?<!等)等(?![等级于候])[^，。]{2,14}$")
_AND = ("", "and", "but", "so", "因为", "听说", "但", "不过", "而", "其实")
_NEARLY = re.compile(
    r"\s*(?:have|has|had|already|finally|just|'ve|'s|最后|最终|已经?|都|也|后来|昨天|今天|早就|刚|[\s])*"
)
_IF_AFTER = re.compile(
    r"\b(?:if|unless|provided|assuming|as\slong\sas|subject\sto|depending)\b|如果|要是|的话|前提是|只要|除非"
)
_MOOD = re.compile(
    r"\b(?:but|however|although|though|not|n't|maybe|perhaps|might|could|would|think|guess|sure\sabout)\b|n't\b"
    r"|但|不过|可是|只是|也许|可能|考虑|想想|觉得|没|不|别|再"
)
