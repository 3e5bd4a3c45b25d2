"""Who has promised what, until when.

Rules of this module:

* A promise is the speaker's own word (`core/facts/speech.py`), a task given to someone by name (`@Li 周三前出报告`,
  `Bob, please send it by Friday`), or what a named person is said to do (`Alice will send the draft by Monday`,
  `由张三负责风险清单`).
* In Chinese people promise without a word for it: `我下周三之前把风险清单补上`, `我今晚跑一版`. A time and a deed of
  the speaker's own, stated and not asked, are a promise.
* The due date is given in the words that were used, and only where a word says that it is one: `by Friday`,
  `no later than May 5`, `周五前`, `3个工作日内`.
"""

from __future__ import annotations

import re

from dalsegno.core.facts.words import words

__all__ = ["due_in", "given_to", "own_task"]

_DAY = (
    r"(?:(?:this|next|coming)\s)?(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday|week|month|quarter"
    r"|year|weekend)"
    r"|today|tonight|tomorrow(?:\s(?:morning|afternoon|evening|night))?|noon|midnight|eod|eow|cob"
    r"|end\sof\s(?:the\s)?(?:day|week|month|quarter|year)"
    r"|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|sept|oct|nov|dec)[a-z]*\.?\s\d{1,2}(?:st|nd|rd|th)?(?:,?\s\d{4})?"
    r"|\d{1,2}(?:st|nd|rd|th)?\s(?:of\s)?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
    r"|\d{4}-\d{2}-\d{2}|\d{1,2}/\d{1,2}(?:/\d{2,4})?|\d{1,2}(?::\d{2})?\s?(?:a\.?m\.?|p\.?m\.?|o'clock)"
    r"|the\s\d{1,2}(?:st|nd|rd|th)"
)
_BY = re.compile(
    rf"\b(?:by|before|until|no\slater\sthan|due|at\sthe\slatest|not\slater\sthan"
    rf"|on)\s(?:the\s)?(?P<d>(?:{_DAY})(?:\s(?:at\s)?\d{{1,2}}(?::\d{{2}})?\s?(?:am|pm|a\.m\.|p\.m\.))?)\b"
    r"|\b(?P<w>(?:with)?in\s(?:the\snext\s)?(?:\d+|an?|one|two|three|four|five|ten|a\sfew)\s(?:business\s"
    r"|working\s)?(?:hours?|days?|weeks?|months?|minutes?))\b"
    rf"|\b(?P<t>tomorrow(?:\smorning|\safternoon|\sevening)?|tonight|today|next\s(?:week|month|monday|tuesday"
    rf"|wednesday|thursday|friday))\b"
)
_HAN = "[一二三四五六日天1-6]"
_HAN_DAY = (
    rf"(?:本|这|下下?|上)?(?:个)?(?:周|星期|礼拜){_HAN}|今[天晚日]|明[天晚早日]|后天|大后天|(?:本|这|下)个?(?:周"
    rf"|月|季度)(?:[初中末底])?|周末|月底|月末|年底|年前|季度末|节前"
    r"|(?:\d{4}\s?年)?\s?\d{1,2}\s?月\s?\d{1,2}\s?[日号]|\d{1,2}\s?[日号]"
    r"|[一二三四五六七八九十]{1,3}月[一二三四五六七八九十]{1,3}[日号]?|\d{1,2}\s?月[初中底]|\d{4}-\d{2}-\d{2}"
    r"|下班|中午|晚上|早上|上午|下午"
)
_HAN_TIME = r"(?:上午|下午|早上|晚上|中午)?\s?\d{1,2}\s?(?:点半?|[:：]\d{2})"
_HAN_BY = re.compile(
    rf"(?P<a>(?:(?:{_HAN_DAY})\s?(?:{_HAN_TIME})?|{_HAN_TIME})(?:之前|以前|前|内|之内|截止|为止))"
    r"|(?P<b>\d{1,3}\s?(?:个)?(?:工作日|小时|天|周|分钟|月)(?:之?内|以内)"
    r"|[一二两三四五六七八九十]{1,2}(?:个)?(?:工作日|小时|天|周|月)(?:之?内|以内))"
    rf"|(?P<c>(?:{_HAN_DAY})\s?(?:{_HAN_TIME})?)(?=[^，。！？；\n]{{0,12}}(?:给|发|出|交|提交|完成|上线|发布"
    rf"|同步|更新|搞定|确认|开|做|处理|跑|补|回))"
)


def due_in(text: str, low: str) -> str:
    """Until when something is promised, in its own words; nothing where nothing says so.

    Args:
        text: the sentence.
        low: the same, folded and in lower case, of the same length.
    """
    for pattern in (_HAN_BY, _BY):
        found = pattern.search(low)
        if found:
            name = found.lastgroup or ""
            return " ".join(text[slice(*found.span(name))].split())
    return ""


_NAMED = re.compile(
    r"(?<![\w.+-])@(?P<a>[\w\u4e00-\u9fff.-]{1,24}?)(?=[\s,，:：]|请|麻烦|你|$)[\s,，:：]?(?P<at>[^\n]{2,})"
    r"|(?:^|[.!?]\s|\n)(?P<b>[A-Z][a-z]{1,15}),\s(?:please|can\syou|could\syou|you)\s"
    r"|(?:^|[.!?,;]\s|\n|\band\s)(?P<c>[A-Z][a-z]{1,15}(?:\s[A-Z][a-z]{1,15})?)\s(?:will|is\sgoing\sto|is\sto"
    r"|owns|takes|handles|is\sresponsible\sfor)\s(?!be\s(?:a|the|in|on|at)\b|need\b|have\sto\b)"
    r"|由(?P<d>[\u4e00-\u9fffA-Za-z_0-9]{1,8}?)(?:来)?(?:负责|跟进|处理|提交|完成|牵头|出)"
    r"|(?:请|让|麻烦)(?P<e>(?!你|您|大家|各位|问|再|帮|把|先|注意|确认|参考|查|看)[\u4e00-\u9fff]{2,3}?)(?:在|于"
    r"|尽快|今天|明天|周|下周|本周|来|去|负责|跟进|提交|整理|补)"
)
_NOBODY = frozenset(
    words(
        "It This That There He She They We You The What Which Who If When Please Yes No Ok Okay Sure Thanks Also "
        "And But So Then Here Now All Everything Nothing Each Both Our My Your His Her Their Its One"
    )
)
_TASKS = re.compile(
    r"\b(?:please|can\syou|could\syou|by\s|send|prepare|write|finish|check|review|fix|share|update|draft|submit"
    r"|call|book|will|owns|takes|handles|responsible)\b"
    r"|前|内|请|麻烦|负责|跟进|提交|整理|完成|出一|给|补|发|更新|处理|确认|准备|看一下|看下|做"
)


def given_to(text: str) -> str:
    """The one whom a sentence gives a task by name, or who is said to do it; nothing where there is none."""
    found = _NAMED.search(text)
    if not found:
        return ""
    name = next(group for key, group in found.groupdict().items() if group and key != "at")
    if name in _NOBODY or name.split()[0] in _NOBODY or not _TASKS.search(text[found.start() :].lower()):
        return ""
    return name.strip()


_OWN_TASK = re.compile(
    rf"(?:^|[，,。；;：:\s])我(?:们|这边|来|先|再|会|就|也)?(?:{_HAN_DAY}|{_HAN_TIME}|晚些|稍后|会后|回头|等下"
    rf"|待会)(?:之前|以前|前|内|就|再|先|会|之后|后)?(?:我)?(?:再|先|会)?"
    r"(?:把|将|给|出|发|补|跑|写|整理|做|提交|更新|同步|上线|弄|交|改|测|画|联系|确认|安排|完成)(?!过|的时候|不)"
)


def own_task(low: str) -> bool:
    """Whether a Chinese sentence states a deed of the speaker's own with the time when it will be done."""
    return not low.isascii() and _OWN_TASK.search(low) is not None
