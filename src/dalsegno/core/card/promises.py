"""Who has promised what, until when.

Rules of this module:

* A promise is the speaker's own word (`core/facts/speech.py`), a task given to someone by name (`@Li 周三前出报告`,
  `Bob, please send it by Friday`), or what a named person is said to do (`Alice will send the draft by Monday`,
  `由张三负责风险清单`).
* In Chinese people promise without a word for it: `我下周三之前把风险清单补上`, `我今晚跑一版`. A time and a deed of
  the speaker's own, stated and not asked, are a promise.
* Without a time a deed counts where someone who may decide states it of himself, as people do among each other; what an
  assistant says it is doing is done by the time that anyone reads it.
* What is written down as a task (`TODO: …`, `Action item: Kevin to …`, `待办：…`) is one. What a user asks of nobody by
  name, until a date, to be reminded of, or for when something has happened (`Please send it by Monday`, `Send it once
  Dana signs off`, `等财务批了再下单`), is a task of the assistant's.
* The due date is given in the words that were used, and only where a word says that it is one: `by Friday`,
  `no later than May 5`, `周五前`, `3个工作日内`.
"""

from __future__ import annotations

import re

from dalsegno.core.facts.words import words

__all__ = ["asked_for", "deferred", "due_in", "given_to", "noted", "own_plan", "own_task", "taken_on"]

_DAY = (
    r"(?:(?:this|next|coming)\s)?(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday|week|month|quarter"
    r"|year|weekend)"
    r"|today|tonight|tomorrow(?:\s(?:morning|afternoon|evening|night))?|noon|midnight|(?:eod|eow|cob)(?:\s(?:on\s)?(?:monday|tuesday|wednesday|thursday|friday|today|tomorrow))?"
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
_HAN_PART = rf"(?:{_HAN_TIME}|上午|下午|早上|晚上|中午)"
_HAN_BY = re.compile(
    rf"(?P<a>(?:(?:{_HAN_DAY})\s?{_HAN_PART}?|{_HAN_TIME})(?:之前|以前|前|内|之内|截止|为止))"
    r"|(?P<b>\d{1,3}\s?(?:个)?(?:工作日|小时|天|周|分钟|月)(?:之?内|以内)"
    r"|[一二两三四五六七八九十]{1,2}(?:个)?(?:工作日|小时|天|周|月)(?:之?内|以内))"
    rf"|(?P<c>(?:{_HAN_DAY})\s?{_HAN_PART}?)(?=[^，。！？；\n]{{0,12}}(?:给|发|出|交|提交|完成|上线|发布"
    rf"|同步|更新|搞定|确认|开|做|处理|跑|补|回|联系|通知|打|寄|送|约))"
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
    r"|(?i:\baction\s(?:item|point)s?\s?:|\btodo\s?:)\s?(?P<f>[A-Z][a-z]{1,15}(?:\s[A-Z][a-z]{1,15})?)\s(?:to|will)\s"
    r"|由(?P<d>[\u4e00-\u9fffA-Za-z_0-9]{1,8}?)(?:来)?(?:负责|跟进|处理|提交|完成|牵头|出)"
    r"|(?:请|让|麻烦)(?P<e>(?!你|您|大家|各位|问|再|帮|把|先|注意|确认|参考|查|看|在|给|为|用|按|到|从|于|以|将|对|推荐|提供|介绍|告诉|安排|预订)[\u4e00-\u9fff]{2,3}?)(?:在|于"
    r"|尽快|今天|明天|周|下周|本周|来|去|负责|跟进|提交|整理|补)"
)
_NOBODY = frozenset(
    words(
        "It This That There He She They We You The What Which Who If When Please Yes No Ok Okay Sure Thanks Also "
        "And But So Then Here Now All Everything Nothing Each Both Our My Your His Her Their Its One"
    )
)
_TASKS = re.compile(
    r"\b(?:please|can\syou|could\syou|action\s(?:item|point)s?|todo|by\s|send|prepare|write|finish|check|review|fix|share|update|draft|submit"
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


_OWN_PLAN = re.compile(
    r"\b(?:i|we)(?:'m|'re|\sam|\sare)\s(?:also\s|then\s)?going\sto\s(?!be\b|need\b|have\sto\b|want\b|miss\b|go\b|try\b|think\b)[a-z]"
    r"|\b(?:i|we)(?:'ll|\swill)\s(?:also\s)?(?:have|get|make\ssure|see\sto\sit)\b"
)
_NOTED = re.compile(
    r"^[\s*>_#•-]*(?:\[\s?\]\s?)?(?:todo|to-do|action(?:\s(?:item|point))s?|follow-?up|待办(?:事项)?|行动项|跟进事项)[\s*_]*[:：]\s*\S"
)
_REQUEST = re.compile(
    r"^\W*(?:and\s|also\s|then\s|ok(?:ay)?,?\s|so\s)?(?:please|(?:can|could|would|will)\syou(?:\splease)?|i(?:'d|\swould)\slike\syou\sto"
    r"|i\s(?:need|want)\syou\sto)\s(?!note\b|be\saware\b|let\sme\sknow\b)[a-z]"
    r"|[把将][^，。！？；\n]{1,20}(?:给|发|交|传|寄|提交)(?:给|到)?(?:我|我们|我方)|(?:发|交|传|寄)(?:给)?我(?!们?(?:的|说|看|讲|了|想))|给我们?(?=[，,。.！!；;\s]|\Z)"
)
_REMIND = re.compile(
    r"^\W*(?:and\s|also\s|please\s|ok(?:ay)?,?\s)*(?:remind\s(?:me|us)\s(?:to|about|of|that)\b|don't\sforget\sto\b)"
    r"|^[\s*]*(?:还有|另外|对了|请|麻烦)?[，,]?(?:你|您)?(?:记得|别忘了|不要忘了|到时候?提醒我|提醒我)(?![吗么的这那当]|你|您|(?:按时|早点|多)?(?:吃|喝|休息|睡|保重))"
)


_TAKEN_ON = re.compile(
    r"(?:^|[，,。；;：:\s])(?:[^，。！？；\n]{0,12}?)我来(?!自|到|说|看|问|讲|了|过|的|得|晚|这|那|找|给您|给你|帮)"
    r"|(?:^|[，,。；;：:\s])我(?:们|这边)?(?:先|再|顺手|顺便|也|会|就|去|单独|稍后|晚点|重新)*"
    r"(?:[把将][^，。！？；\n]{1,14}?|给[^我，。]{0,6}|在[^，。！？；\n]{1,10})?"
    r"(?:搭|加(?!班|油|入|起|深|强)|做(?!梦|饭|菜|人|到|不|得|事)|写(?!作|字|信)|出(?!生|差|门|去|来|现|于|发|国|院|席|事|不)"
    r"|补(?!充|习|觉)|跑(?!步|去|到|来|不)|改(?!天|变|不)|调(?!到|侃|皮)|接(?!到|受|下|触|着|待|近|不)|建(?!议)|拉(?!肚)"
    r"|催|收敛|收集|整理|标(?!准|志)|配(?!合|不)|画|清(?!楚|醒|晨|洗)|试(?!图|过|着)|贴(?!心)|测(?!出)|负责|跟进|准备(?=[^去来看，。]{2})"
    r"|提交|更新|同步|上线|处理|安排|预留|录|回归|修(?!养|行)|扩|推(?!荐|测|断)|定义|挂(?!念|科)|迁移|验证|联系|通知|起草|组织"
    r"|放(?!松|弃|心|假|学)|减小|减少|提高|统一|采集|盯|订|约(?!会)|打通|微调|抽样|拆|重写|重跑)"
)
_PAST = re.compile(
    r"了|过(?!期|程|滤|一遍|来)|已|刚|昨|前天|上周|上次|之前(?!给|发|把|出|交|补)|平时|经常|总是|每天|一直|通常|一般|喜欢|以前|曾|常常"
    r"|的时候|能不能|可以吗|是不是|想|觉得|希望|打算|如果|要是"
)


def own_task(low: str) -> bool:
    """Whether a Chinese sentence states a deed of the speaker's own with the time when it will be done."""
    return not low.isascii() and _OWN_TASK.search(low) is not None


def taken_on(low: str) -> bool:
    """Whether a Chinese sentence says no more than what its speaker is about to do: `接口我来改`, `我补两条用例`."""
    return not low.isascii() and _PAST.search(low) is None and _TAKEN_ON.search(low) is not None


_DEFERRED = re.compile(
    r"^\W*(?:(?:please|then|ok(?:ay)?|and|so|yes|just)[\s,]+)*(?:send|book|order|submit|publish|release|deploy|pay|refund|cancel|call"
    r"|e-?mail|file|sign|ship|merge|start|launch|post|share|go\sahead)\b[^!?\n]{0,80}\b(?:once|after|when|as\ssoon\sas|only\safter)\s"
    r"(?!you\scan\b|possible\b|all\b|that\b|this\b|which\b|in\sa\b|again\b|more\b|a\s)[a-z]"
    r"|(?:^|[，,。；;])\s?(?:先)?(?:等|待)(?!等|于|级|候|会|一|下)[^，。！？；\n]{1,16}?(?:了|后|之后|以后|完)?再"
    r"(?![说看议想来考讨聊谈见])(?:给|帮|去|把)?[^，。！？；\n]{1,20}"
)


def own_plan(low: str) -> bool:
    """Whether an English sentence says what its speaker is going to do; with a date that is a promise."""
    return _OWN_PLAN.search(low) is not None


def noted(low: str) -> bool:
    """Whether a sentence is written down as a task: `TODO: update the README`, `待办：更新接口文档`."""
    return _NOTED.match(low) is not None


def asked_for(low: str, due: str) -> bool:
    """Whether a user's sentence asks for something until a date, or to be reminded of something."""
    return _REMIND.match(low) is not None or (
        bool(due) and _LIMIT.search(low) is not None and bool(_REQUEST.search(low))
    )


def deferred(low: str) -> bool:
    """Whether a user's sentence asks for something that has to wait for something else."""
    return _DEFERRED.search(low) is not None


_LIMIT = re.compile(r"\b(?:by|before|no\slater\sthan|within|until|due)\s|前|之内|以内|[天日周时]内|截止|为止")
