"""Explicit commitments and approvals, as the sentences in which they are given.

Rules of this module:

* A commitment is the speaker's own word about what will be done: `I will refund $50`, `we'll send it by Friday`, `you
  will receive …`, `我们会在周五前退款`, `我来处理`, `款项将于3个工作日内退回`. Needs, guesses and announcements of
  the talk itself (`I'll need your id`, `we'll go back to`) are none.
* An approval is an assent that lets something happen: `I approve`, `yes, go ahead`, `Confirmed.`, `我同意`,
  `请按此执行`, or the report of one (`Alice approved the budget`). A bare acknowledgement (`ok`, `好的`) is none.
* A question is neither. A negated or conditional assent (`I do not approve`, `once you approve`, `不同意`,
  `等你批准后`) is no approval; a refusal to act (`we will not charge you`) is a commitment.
* The fact is the whole sentence, because conditions and terms stand in it; a sentence of more than 400 characters is
  cut at the clause. Who gave it is the author of the event.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dalsegno.core.facts.kinds import Kind
from dalsegno.core.facts.reading import Reading
from dalsegno.core.facts.words import words

__all__ = ["LISTENED", "sentences", "speech"]

_Found = tuple[int, int, Kind, str]

_MAX_SENTENCE = 400
_MAX_TRIES = 12
_SENTENCE_END = re.compile(r"[.。！？；!?\n][.。！？；!?\n]*+[\"')\]*_”」』）]*")
_ABBREVIATIONS = ("mr", "dr", "vs", "ms", "mrs", "e.g", "i.e", "no", "approx")
_ADVERBS = (
    r"(?:\s(?:not|never|also|now|then|just|certainly|definitely|personally|immediately|gladly|always|make\ssure"
    r"|go\sahead\sand|be\ssure\sto)){0,2}"
)
_WILL = re.compile(
    rf"(?:i|we)(?:'ll|\swill|\sshall|\swon't|'m\sgoing\sto|\sam\sgoing\sto|\sare\sgoing\sto|'re\sgoing\sto){_ADVERBS}\s(?P<v>[a-z]+)(?:\s(?P<n>[a-z]+))?"
)
_NO_DEEDS = frozenset(
    words(
        "need have be see want like love think guess know assume require appreciate admit probably try hope say "
        "ask mention talk start begin turn move come pass repeat quote read note finish stop explain describe "
        "imagine bet wonder believe suppose feel get become find miss"
    )
)
_ANNOUNCING = frozenset(("to", "back", "on", "over", "through", "into"))
_BE = frozenset(["there", "back", "responsible", "sure", "refunded", "credited", "available", "using", "sending"])
_PLEDGE = re.compile(
    r"(?:i|we)(?:'ve|\shave)?\s(?:hereby\s|solemnly\s)?(?:promised?|commit(?:ted)?|guaranteed?|undertake|pledged?|agreed?)\sto\b|(?:i|we)\s(?:hereby\s)?(?:promise|guarantee)\b"
)
_DEED = (
    "refunded|credited|reimbursed|compensated|sent|shipped|delivered|processed|returned|issued|completed|paid|charged|transferred|replaced|waived|fixed|"
    "released|deployed|contacted|notified|cancelled|canceled|updated|provided|finished"
)
_PASSIVE = re.compile(
    rf"you(?:'ll|\swill|\sshall)\s(?:receive|(?:not\s)?be\s(?:{_DEED}))\b|(?:will|shall)\s(?:not\s|also\s|now\s)?be\s(?:{_DEED})\b"
)
_HYPOTHETICAL = re.compile(
    r"\b(?:that|which|who|what|as)\s\Z|\b(?:if|whether|unless|where|which|when|once|before|after|until|in\scase|not\ssure)\s[^,;:]*\Z"
)

_ASSENT = re.compile(
    r"(?:i|we)\s(?:hereby\s|fully\s|also\s|totally\s|completely\s|do\s)?(?:approve|confirm|agree|accept|authori[sz]e|consent|sign\soff)\b(?!\sif\b)"
    r"|(?:i|we)(?:'ve|\shave)\s(?:approved|confirmed|agreed|accepted|authori[sz]ed|signed\soff)\b"
    r"|(?<!pre-)(?:approved|green-?lit|signed\soff\son)\b"
    r"|sounds\s(?:good|great|perfect|fine)\b|looks\sgood(?:\sto\sme)?\b|lgtm\b|that\sworks\b|works\sfor\sme\b|ship\sit\b|go\sfor\sit\b"
    r"|you\shave\s(?:my|our)\s(?:approval|permission|consent|authori[sz]ation|go-ahead)\b|permission\sgranted\b"
    r"|i'm\s(?:fine|ok|okay|good|happy|on\sboard)\swith\b"
    r"|(?:i|we)(?:'d|\swould)\slike\s(?:you\s)?to\s(?:proceed|go\sahead)\b|(?:i|we)\swant\s(?:you\s)?to\s(?:proceed|go\sahead)\b"
    r"|(?:please|you\s(?:can|may)|let's|then|yes|okay|ok|sure)[,.]?\s(?:go\sahead|proceed)\b(?!\s(?:and\s)?(?:provide|share|tell|give))"
)
_FITS = (
    r"(?:it|that|this|everything|those|they)(?:\s[a-z]+)?(?:(?:'s|\sis|\sare|\slooks?|\ssounds?|\s(?:would|will)\sbe)\s(?:all\s)?"
    r"(?:correct|right|fine|good|ok|okay|perfect|great|accurate|acceptable)|\s(?:works|will\swork|would\swork|will\sdo|sounds|looks)\b)"
)
_AT_START = re.compile(
    r"[\s\"'*>_-]*(?:(?:confirmed|agreed|approved)(?=[\s.,!:;]|\Z)|(?:accepted|granted)(?=[.,!:;]|\Z)|deal[.!]"
    r"|(?:go\sahead|proceed)\b(?!\s(?:and\s)?(?:provide|share|tell|give))|(?:yes|yep|yeah|yup)[.!,]*\Z"
    r"|(?:yes|yep|yeah|yup|absolutely|certainly|of\scourse)[.!,]*\s(?:please|i\s(?:do|confirm|agree|approve|accept)\b"
    r"|i(?:'d|\swould)\slike\sto\s(?:proceed|go)|i\swant\sto\s(?:proceed|go)|go\b|proceed|do\s(?:it|that|so)|book|cancel|send|you\s(?:can|may)"
    rf"|let's|{_FITS}))"
)
_NEAR_DENIAL = re.compile(
    r"(?:\bnot|n't|\bnever|\bcannot|\bwithout|\bunless|\bif|\bonce|\bwhen|\buntil|\bbefore|\bafter|\bwhether|\bin\scase|\bassuming|\bprovided|\bshould|\bcould|\bhow|\bwhat|\bwhich)\s(?:[^,;:]{0,60}\s)?\Z"
)
_ADJECTIVE = re.compile(
    r"\b(?:be|the|an|any|all|of|for|get|gets|getting|not|yet|is\snot|and|or|to|(?:that|which|who)\s(?:is|are|was|were))"
    r"\s(?:[a-z]+ly\s)?\Z"
)

_HAN_DEEDS = "整处安做写准跟负搞联修对弄推改补提出更发查拉组排完设测梳调协统收约订办给通同落评优确编起画部帮跑"
_HAN_WILL = re.compile(
    rf"[我咱本](?:方|司|公司|人|们)?(?:这边|这里|自己)?(?:[^，。！？；\n、我你您]{{0,10}}?)(?:(?<!不)(?<!机)(?<!一)(?<!可能)(?<!通常)(?<!一般)(?<!经常)(?<!应该)会(?![不更觉想认议员很是说用有计遇被让因])"
    rf"|(?<!已)(?<!已经)将(?!来|军|就)|一定(?![是程得要很不有能]|会更)|(?<!以)保证|承诺|答应|负责(?!人)|马上|立刻|尽快|立即|这就|绝不会|不会再"
    rf"|(?:来|去|先|再|继续|今天|明天|晚上|周[一二三四五六日末])(?=[{_HAN_DEEDS}]))"
)
_TO_ME = re.compile("(?:给|发|告诉|发给|提供给|交给|联系)我")
_HAN_DONE = "|".join(
    words(
        "退款 退回 退还 退给 到账 发货 寄出 送达 发送 交付 补发 赔付 赔偿 返还 解决 完成 上线 回复 答复 联系您 "
        "通知您 处理好 为您处理 办理"
    )
)
_HAN_PASSIVE = re.compile(
    rf"[将会](?<!不会)(?<!机会)(?!议|员)会?(?:于|在|尽快|马上|按时|立即)?[^，。！？；\n]{{0,16}}?(?:{_HAN_DONE})"
)
_HAN_DEADLINE = re.compile(
    r"[前内](?:我们?|就?能|可以|会|把[^，。！？；\n]{1,12})?(?:给到|给你|给您|给大家|发给|发到|发群|提交|完成|交付|搞定|同步|更新|上线|出一|出个|发布)"
)
_BEFORE_DEADLINE = re.compile("(?:[日号天底午点末一二三四五六周班]|小时|分钟|工作日)[之以]?\\Z")
_HAN_REQUEST = re.compile(
    "请|麻烦|你|您|大家|各位|能否|可否|是否|需要|希望|要求|应该|必须|如果|要是|如何|怎么|什么|谁|哪|@"
)

_HAN_ASSENT = re.compile(
    r"[同批准核授拍赞就请按照可我现予特确审评验申说一成](?:(?<=同)意|(?<=批)准|(?<=准)予|(?<=核)准|(?<=授)权|(?<=拍)板|(?<=赞)成"
    r"|(?<=就)(?:这么|这样)[定办做干]|(?:(?<=请)就?按|(?<=就)按|(?<=按))照?[^，。！？；\n]{1,12}?(?:来办|来做|来执行|执行|办理|推进)|(?:(?<=请)照|(?<=照))此(?:执行|办理)"
    r"|(?<=可)以(?:执行|开始|上线|发布|推进|发货|付款|签约|签字|下单|启动|合并)"
    r"|(?:(?<=我)们?|(?<=现)|(?<=予)以|(?<=特)此)(?:已经?|都)?确认(?!一下|下)|(?<=确)认(?:无误|通过|执行|下单|预订|预定|付款)"
    r"|(?:(?<=审)[批核计]|(?<=评)审|(?<=验)收|(?<=申)请)(?:已经?|都)?通过|(?<=说)定了|(?<=就)定了|(?<=一)言为定|(?<=成)交)"
)
_HAN_AT_START = re.compile(
    r"[\s“\"*>-]*(?:@\S{1,16}\s?)?(?:没问题|没意见|可以|行|好|好的|嗯|对|是的|收到)?[，,。！!\s]{0,2}(?:(?:没问题|没意见)(?=[。！!]|\Z)|可以，就|行，就|就按|同意|赞同|通过|批准|确认(?=[。，！!]|\Z)|支持(?=[。，！!]|\Z))"
)
_HAN_DENIAL = re.compile(
    r"(?:不|没|未|无|拒绝|反对|别|暂缓|尚|勿|难以|如果|假如|要是|若|一旦|等|待|(?<!已)经|需|须|请|是否|能否|可否|要不要|希望|申请|争取|获得|得到|征得|除非|只有|取得|谁|哪|什么|怎么|的话|需要|向)[^，。！？；\n]{0,10}\Z"
)
_HAN_UNDONE = re.compile(r"[^，。！？；\n]{0,8}(?:后|之后|以后|吗|的话|才|之?前(?!提)|权|书|与否|不|人|方|流程)")
_ASKED = re.compile(r"[?？][\"'”」』）)*_\s]*\Z|(?:吗|呢|么|没有|不)[。.!！\s]*\Z")


LISTENED = frozenset(
    (
        *words("i we you will shall approved greenlit green signed sounds looks lgtm that"),
        *("works", "ship", "go", "permission", "please", "let", "then", "yes", "okay", "ok", "sure"),
    )
)
"""Words at which a commitment or an approval may begin."""


def speech(reading: Reading) -> Iterator[_Found]:
    """Commitments and approvals of a text, as start, end, kind and value; one of each kind in a sentence."""
    triggers = sorted({start for start, word in reading.words if word in LISTENED} | set(_han_triggers(reading)))
    place = 0
    for start, end in sentences(reading.low):
        first = place
        while place < len(triggers) and triggers[place] < end:
            place += 1
        yield from _in_sentence(reading, start, end, triggers[first : min(place, first + _MAX_TRIES)])


def _han_triggers(reading: Reading) -> Iterator[int]:
    if not reading.ascii:
        for found in _HAN_TRIGGER.finditer(reading.low):
            yield found.start()


_HAN_TRIGGER = re.compile(
    "[我咱本将会前内](?!们?[，。,.])|同意|批准|准予|核准|授权|拍板|赞成|就这|就?按|请按|照此|可以|现确|予以|特此|确认|审[批核计]|评审|验收|申请|说定|就定|一言|成交"
)


def sentences(low: str) -> Iterator[tuple[int, int]]:
    """Sentences without blanks and markers of a list at their start; long ones cut at a comma."""
    start = 0
    for found in _SENTENCE_END.finditer(low):
        if low[found.start()] == "." and not _ends(low, start, found):
            continue
        yield from _pieces(low, start, found.end())
        start = found.end()
    yield from _pieces(low, start, len(low))


def _ends(low: str, start: int, found: re.Match[str]) -> bool:
    """Whether a full stop ends a sentence: no decimal point, no abbreviation."""
    following = low[found.end() : found.end() + 1]
    if following and not following.isspace() and "\n" not in found[0]:
        return False
    before = low[max(start, found.start() - 6) : found.start()]
    word = before.rsplit(None, 1)[-1] if before.strip() else ""
    return not (
        word in _ABBREVIATIONS or (len(word) == 1 and word.isalpha() and word != "i") or word in {"a.m", "p.m", "u.s"}
    )


def _pieces(low: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while end - start > _MAX_SENTENCE:
        cut = max(low.rfind(sign, start + _MAX_SENTENCE // 2, start + _MAX_SENTENCE) for sign in ",，;:：、 ")
        cut = cut + 1 if cut > start else start + _MAX_SENTENCE
        yield _trimmed(low, start, cut)
        start = cut
    if end > start:
        yield _trimmed(low, start, end)


def _trimmed(low: str, start: int, end: int) -> tuple[int, int]:
    piece = low[start:end]
    left = len(piece) - len(piece.lstrip(" \t\n\r-*>•#\"'_“"))
    right = len(piece) - len(piece.rstrip(" \t\n\r*_\"'”"))
    return start + left, max(start + left, end - right)


def _in_sentence(reading: Reading, start: int, end: int, triggers: list[int]) -> Iterator[_Found]:
    low = reading.low
    commits = approves = False
    if (
        end > start
        and low[start] in _FIRSTS
        and (head := _AT_START.match(low, start, end) or _HAN_AT_START.match(low, start, end))
    ):
        approves = not _HAN_UNDONE.match(low, head.end(), end) and not _is_entry(low, start, end)
    for at in triggers:
        if not commits:
            commits = _commits(low, start, at, end)
        if not approves:
            approves = _approves(low, start, at, end)
        if commits and approves:
            break
    if (commits or approves) and not _ASKED.search(low, max(start, end - 12), end):
        value = _value(reading.plain[start:end])
        if commits:
            yield start, end, Kind.COMMITMENT, value
        if approves:
            yield start, end, Kind.APPROVAL, value


def _is_entry(low: str, start: int, end: int) -> bool:
    """Whether a sentence is the one word of an item of a list: `- Yes` under a heading states a value."""
    return low[max(0, start - 2) : start] in ("- ", "* ", "• ") and " " not in low[start:end]


_FIRSTS = frozenset("cagpdyo@没可行好嗯对是收就同通批确支赞")


def _commits(low: str, start: int, at: int, end: int) -> bool:
    """Whether a commitment begins at a trigger."""
    if low[at].isascii():
        if not _deed(low, at, end):
            return False
        return not _HYPOTHETICAL.search(low, max(start, at - 80), at)
    if low[at] in "我咱本":
        will = _HAN_WILL.match(low, at, end)
        return will is not None and not _TO_ME.match(low, will.end(), end)
    passive = low[at] in "将会" and _HAN_PASSIVE.match(low, at, end)
    due = (
        low[at] in "前内" and _BEFORE_DEADLINE.search(low, max(start, at - 4), at) and _HAN_DEADLINE.match(low, at, end)
    )
    if not passive and not due:
        return False
    clause = low[max(start, at - 24) : min(end, at + 12)]
    head = clause[: at - max(start, at - 24)]
    cut = max(head.rfind(sign) for sign in "，,；：:") + 1
    return not _HAN_REQUEST.search(
        clause[cut:]
        .replace("通知您", "")
        .replace("联系您", "")
        .replace("给您", "")
        .replace("给你", "")
        .replace("为您", "")
    )


def _deed(low: str, at: int, end: int) -> bool:
    found = _WILL.match(low, at, end)
    if found:
        verb, following = found["v"], found["n"] or ""
        if verb == "be":
            return following.endswith("ing") or following in _BE
        return verb not in _NO_DEEDS and not (verb == "go" and following in _ANNOUNCING)
    return bool(_PLEDGE.match(low, at, end) or _PASSIVE.match(low, at, end))


def _approves(low: str, start: int, at: int, end: int) -> bool:
    """Whether an approval begins at a trigger, neither denied nor made to depend on something."""
    if low[at].isascii():
        if not _ASSENT.match(low, at, end):
            return False
        if low.startswith(("approved", "green", "signed"), at) and _ADJECTIVE.search(low, max(start, at - 24), at):
            return False
        return not _NEAR_DENIAL.search(low, max(start, at - 80), at)
    found = _HAN_ASSENT.match(low, at, end)
    if not found or _HAN_DENIAL.search(low, max(start, at - 14), at):
        return False
    return not _HAN_UNDONE.match(low, found.end(), min(end, found.end() + 12))


def _value(sentence: str) -> str:
    return " ".join(sentence.split()).rstrip(".!。！；;, ")
