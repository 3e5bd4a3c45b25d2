"""The form of a question: what is left of its wording when everything is taken away that can change no answer.

Rules of this module:

* Two questions are one question when their forms are equal, and only then. There is no measure of likeness in it: a
  year, a name, a metric, a unit, a negation, the order of two names, any word at all that is not known to be
  harmless stays in the form and keeps the two apart.
* Taken away: width, case, blanks, courtesy (`请问`, `could you tell me`), articles, contractions, final particles, the
  spelling of numbers and dates (`1,200`, `一千二百`; `FY24`, `FY2024`, `fiscal 2024`, `2024年度`; `Q3 2024`,
  `2024年第三季度`), a few names of one thing (`words.SYNONYMS`), and where the one period of a question stands, at its
  head or at its end. Is and was are one word where the question says when.
* Not every `a` is an article: `hepatitis A`, `A-share`, `Ping An`. One that may be a letter or a name stays. Of a
  forecast, a target or a payment, `for 2024` is not `in 2024`, and what it was is not what it is.
* Kept on purpose: the calendar year beside the fiscal one, singular and plural, capitals that make another word of one
  (`US`, `IT`), signs (`C++`, `>`, `-`, `、`), `的` between two nouns (`中国的银行` is not `中国银行`), `元` beside
  `万元`.
* Pure: no clock, no I/O. Time grows with the question's length, which `MAX_CHARACTERS` bounds.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from dalsegno.core.answers import words
from dalsegno.core.answers.periods import periods_in
from dalsegno.core.facts import Fact, Kind, facts_in
from dalsegno.core.search import fold

__all__ = ["MAX_CHARACTERS", "RULES", "Form", "entities_in", "form_of", "key_of", "names_somebody"]

RULES = 1
"""Number of these rules. Another number, another key: what was kept under older rules is not found by its form."""

MAX_CHARACTERS = 2000
"""A longer text is no question to keep."""

_PERIOD, _FIGURE, _LAST = 0xE000, 0xE800, 0xF8FF
_PERIODS = "\ue000-\ue7ff"
_FACTORIAL = re.compile("([\ue800-\uf8ff])!")
_SIGNS = re.compile("[\ue000-\uf8ff]")
_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff〇"
_TOKEN = re.compile(r"[a-z0-9_\u00c0-\u1fff]+(?:[+#]+|'(?!s\b)[a-z]+)?|[^\s]")
_SPACE_HAN = re.compile(rf"(?<=[{_HAN}\ue000-\uf8ff])\s+(?=[{_HAN}\ue000-\uf8ff])|\s+(?=[,、。:;?!)])|(?<=[(])\s+")
_HYPHEN = re.compile(r"(?<=\w)-(?=\w)")
_QUOTES = re.compile("[\"“”‘’«»《》〈〉「」『』`*]|(?<![a-z0-9])'|'(?![a-z])")
_STOPS = str.maketrans(
    {"，": ",", "。": ".", "；": ";", "：": ":", "？": "?", "！": "!", "（": "(", "）": ")", "’": "'"}
)
_ENDS = re.compile(r"[\s?.!,;:~…]+$|^[\s?.!,;:~…]+")
_GLUED_BEFORE = re.compile(r"[A-Za-z0-9][.,]?$")
_GLUED_AFTER = re.compile(r"[.,]?[0-9]")
_BEFORE_CODE, _CODE_AFTER = re.compile(r"[年月日号]$"), re.compile(r"[0-9]{3}")
_SIGN = re.compile(r"[$¥€£₩₹฿₽]")
_CURRENCY = re.compile(r"(?i:dollar|euro|pound|yen|yuan|rupee|won|[a-z]{3}$)|[元圆镑]")
_NOTHING = re.compile(r"(?:[A-Z]{3} )?-?0(?![\d.])")
_YEAR = re.compile(r"(?:19|20)\d\d$")
_FILLER = re.compile("[多余餘几]|[+-]$")
_MILLIONS = re.compile(r"\d ?[MBKT]$")
_RAISED = re.compile("(?<![mM])[\u00b2\u00b3\u00b9\u2070\u2074-\u2079]+")
_AMBIGUOUS = re.compile(r"\d{1,2}[/.-]\d{1,2}[/.-]\d{2,4}$")
_TENSES = {
    "is": "is",
    "are": "is",
    "was": "was",
    "were": "was",
    "do": "do",
    "does": "do",
    "has": "have",
    "have": "have",
}
_TIMELESS = {"was": "is", "did": "do", "had": "have"}

_SUFFIX = (
    "股份有限公司|有限责任公司|有限公司|集团公司|集团|总公司|分公司|公司|银行|基金|证券|保险|信托|期货|股份|控股|科技|实业"
    "|大学|学院|医院|研究院|研究所|委员会|交易所|事务所"
)
_IN_NAME = rf"(?:(?![的在于与和及是有为、了被将把对由从,])[{_HAN}A-Za-z0-9()·])"
_NAME_HAN = re.compile(
    rf"{_IN_NAME}{{2,24}}?(?:股份有限公司|有限责任公司|有限公司|集团公司)|{_IN_NAME}{{2,12}}?(?:{_SUFFIX})(?!{_SUFFIX})"
)
_GENERIC = re.compile(
    "(?:上市|全资|控股|参股|联营|合营|关联|附属|下属|境外|海外|合并|各|哪家|哪些|什么|多少|几家|多家|这家|那家|一家|所有|其他|子|母|该|本)(?:家|个)?(?:公司|集团|银行|基金|证券)$|^(?:公司|基金|银行|证券|集团|股份)"
)
_CODE = re.compile(r"(?<![\d.])\d{6}(?:\.(?:SH|SZ|BJ|HK))?(?![\d.])", re.IGNORECASE)
_QUOTED = re.compile(r"[《“\"「]([^《》“”\"「」]{1,60})[》”\"」]")
_LETTER = r"[A-Za-z0-9\u00c0-\u024f]"
_WORD = rf"(?:[A-Z\u00c0-\u00de]{_LETTER}*|[a-z]+[A-Z]{_LETTER}*)(?:[&.'-]{_LETTER}+)*"
_CAPITALISED = re.compile(rf"(?<!{_LETTER})(?<!')(?<!\$){_WORD}(?:(?: (?:of|and|the|&|de) | ){_WORD}){{0,8}}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """A question, taken apart.

    Attributes:
        tokens: its form: words, characters, and figures as `#` and their value, in order.
        periods: years, quarters, dates, in order.
        numbers: the other figures, with their units, in order.
        entities: names: of companies, products, places, codes; as they are written.
        units: unit words that stand by themselves.
        negations: words that deny.
    """

    tokens: tuple[str, ...]
    periods: tuple[str, ...]
    numbers: tuple[str, ...]
    entities: tuple[str, ...]
    units: tuple[str, ...]
    negations: tuple[str, ...]

    @property
    def text(self) -> str:
        """The form as one text."""
        return " ".join(self.tokens)


def key_of(form: Form) -> bytes:
    """The key a question is kept under: equal for equal forms, 16 bytes."""
    told = "\x1f".join((str(RULES), *form.tokens)).encode("utf-8", "surrogatepass")
    return hashlib.sha256(told).digest()[:16]


@lru_cache(maxsize=4096)
def form_of(question: str) -> Form:
    """A question's form; see the module's rules."""
    raised = _RAISED.sub(lambda power: f" ^ {power[0]} ", question)  # 10² is not 102
    plain = unicodedata.normalize("NFKC", _SIGNS.sub(lambda sign: f" u+{ord(sign[0]):x} ", raised)).translate(_STOPS)
    signs: dict[str, str] = {}
    worded = _worded(_marked(_capitals(plain), signs))
    tokens = tuple(_tokens(worded, signs))
    plain_tokens = [token for token in tokens if not token.startswith("#")]
    return Form(
        tokens=tokens,
        periods=tuple(signs[one] for one in worded if one in signs and ord(one) < _FIGURE),
        numbers=tuple(signs[one] for one in worded if one in signs and ord(one) >= _FIGURE),
        entities=entities_in(question),
        units=tuple(_units(tokens)),
        negations=tuple(token for token in plain_tokens if token in words.NEGATIONS),
    )


# --- figures --------------------------------------------------------------------------------------


def _marked(text: str, signs: dict[str, str]) -> str:
    """The text with a sign in the place of each figure, and what each stands for."""
    spans = [(start, end, value, True) for start, end, value in periods_in(text)]
    taken = [(start, end) for start, end, _, _ in spans]
    for fact in facts_in(text):
        value = None if _torn(text, fact) else _value(fact)
        if value is not None and not any(start < fact.end and fact.start < end for start, end in taken):
            spans.append((fact.start, fact.end, value, fact.kind in (Kind.DATE, Kind.TIME) or bool(_YEAR.match(value))))
    parts, reach = [], 0
    counts = [_PERIOD, _FIGURE]
    for start, end, value, period in sorted(spans):
        if start < reach or counts[0] >= _FIGURE or counts[1] > _LAST:
            continue
        sign = chr(counts[not period])
        counts[not period] += 1
        signs[sign] = value
        parts += [text[reach:start], sign]
        reach = end
    return "".join([*parts, text[reach:]])


def _torn(text: str, fact: Fact) -> bool:
    """Whether a figure is a part of something longer, such as `,000 million` of `than15,000 million`.

    A date is none that its own sign ends before a number too long to be its month or day: `2024年600519的净利润`.
    """
    before, after = text[max(fact.start - 2, 0) : fact.start], text[fact.end : fact.end + 3]
    ended = fact.kind is Kind.DATE and _BEFORE_CODE.search(fact.text) and _CODE_AFTER.match(after)
    return bool(_GLUED_BEFORE.search(before) or (_GLUED_AFTER.match(after) and not ended))


def _value(fact: Fact) -> str | None:
    """What a figure counts as; None for what is compared as it is written."""
    if fact.kind not in (Kind.DATE, Kind.TIME, Kind.AMOUNT, Kind.PERCENT, Kind.QUANTITY, Kind.NUMBER):
        return None
    if _FILLER.search(fact.text) or _AMBIGUOUS.match(fact.text):
        return None
    text = fact.text.replace(",", "").strip()
    if _NOTHING.match(fact.value) and fact.kind is not Kind.NUMBER:
        return None  # nothing of anything is 0, and the unit may still matter
    if fact.kind is Kind.NUMBER and text.isascii():
        return text
    if fact.kind is Kind.AMOUNT and _SIGN.search(text) and _CURRENCY.search(text):
        return f"{fact.value}~{text[0]}"  # a sign and a word, which need not agree
    if fact.kind is Kind.QUANTITY and re.match(r"\d+\.\d*0\b", text):
        return f"{fact.value}~{text}"
    if fact.kind is Kind.QUANTITY and _MILLIONS.search(text):
        return f"{fact.value}~{text[-1]}"  # 5M need not be 5m
    return fact.value


# --- wording --------------------------------------------------------------------------------------


def _capitals(text: str) -> str:
    """Capitals that make another word of one are marked, where not everything is in capitals."""
    text = re.sub(r"\bU\. ?S\.(?: ?A\.)?|\bUS(?![A-Za-z$])", "USA", text)
    text = re.sub(r"\bU\. ?K\.", "UK", text)
    if not any(character.islower() for character in text):
        return text
    text = words.LETTERS.sub(lambda word: f"caps_{word[0]}", text)
    return re.sub(
        r"(?<![A-Za-z0-9_.])[A-Z]{2,4}(?![A-Za-z0-9_])",
        lambda word: f"caps_{word[0]}" if word[0].lower() in words.CAPITALS and not _shouted(word) else word[0],
        text,
    )


def _shouted(word: re.Match[str]) -> bool:
    """Whether a word is in capitals because its question begins so: `WHAT WAS the revenue`."""
    before = word.string[: word.start()].rsplit(None, 1)[-1:]
    return bool(before) and before[0].isupper() and len(before[0]) > 1 and before[0].lower() in words.BEGINNINGS


def _worded(text: str) -> str:
    """A marked text without what is harmless."""
    text = words.NO_ARTICLES.sub(r"caps_\g<0>", _SPACE_HAN.sub("", fold(text)))
    text = _FACTORIAL.sub(r"\1 factorial", text)
    text = _ENDS.sub("", words.ABBREVIATIONS.sub(r"\1", text))
    for _ in range(3):
        text = _ENDS.sub("", words.EDGES.sub("", text))
    for pattern, full in words.CONTRACTIONS:
        text = pattern.sub(full, text)
    inner = words.INDIRECT.match(text)
    if inner:
        text = re.sub(r"^(what|who|where|when) (.+) (is|are|was|were)$", r"\1 \3 \2", text[inner.end() :])
    text = _QUOTES.sub(
        lambda mark: "'" if mark[0] == "'" and text[mark.start() - 1 : mark.start()].isalnum() else "", text
    )
    for pattern, one in words.SYNONYMS:
        text = pattern.sub(one, text)
    text = _possessive(_one_period(_ENDS.sub("", text)))
    for pattern, one in words.FRAMES:
        text = pattern.sub(one, text)
    return _particles(text)


def _one_period(text: str) -> str:
    """Where a question has one period, that period at one place."""
    if len(re.findall(f"[{_PERIODS}]", text)) != 1:
        return text
    attributed = words.ATTRIBUTED.search(text) is not None
    text = (words.DURING if attributed else words.MOVING).sub("in ", text)
    if attributed and text.startswith("for "):
        return text
    found = words.LEADING.match(text)
    if found is None:
        return text
    rest = text[found.end() :]
    if re.match("[a-z]", rest) and re.match("in |on ", text):
        return f"{rest} {'on' if text.startswith('on') else 'in'} {found[1]}"
    name = _NAME_HAN.match(rest)
    if name and not _GENERIC.search(name[0]):
        return f"{name[0]}{found[1]}{rest[name.end() :]}"
    return found[1] + rest if re.match(f"[{_HAN}]", rest) else text


def _possessive(text: str) -> str:
    found = words.POSSESSIVE.match(text)
    if found is None or words.BINDING & {*found[2].split(), *found[3].split()}:
        return text
    return f"{found[1]}{found[3]} of {found[2]}{found[4] or ''}"


def _particles(text: str) -> str:
    """Without the 的 that stands before a metric or behind a period or the name of a company."""
    text = re.sub(f"(?<=[{_PERIODS}])[,的](?=[{_HAN}])", "", text)
    text = re.sub(rf"(?<=[{_HAN}a-z0-9])的(?={words.METRICS})", "", text)
    return re.sub(f"({_SUFFIX})的(?=[{_HAN}{_PERIODS}])", r"\1", text)


def _tokens(text: str, signs: dict[str, str]) -> Iterator[str]:
    timed = any(one in signs and ord(one) < _FIGURE for one in text) and not words.FORWARD.search(text)
    if not signs:
        text = _HYPHEN.sub(" ", text)
    for found in _TOKEN.findall(re.sub("([\ue000-\uf8ff])", r" \1 ", text.replace("-", " - "))):
        if found in words.FILLING:
            continue
        if found in signs:
            yield f"#{signs[found]}"
        else:
            word = _TENSES.get(found, found)
            yield _TIMELESS.get(word, word) if timed else word


def _units(tokens: tuple[str, ...]) -> Iterator[str]:
    for place in range(len(tokens)):
        for width in (3, 2, 1):
            joined = "".join(tokens[place : place + width])
            if joined in words.UNITS and (width == 1 or not joined.isascii()):
                yield joined
                break


# --- names ----------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def entities_in(question: str) -> tuple[str, ...]:
    """Names that stand in a question, as far as their writing tells: capitals, quotes, codes, endings of companies."""
    text = unicodedata.normalize("NFKC", question)
    for _ in range(3):
        text = words.EDGES.sub("", text)
    spans = [(start, end) for start, end, _ in periods_in(text)]
    spans += [(fact.start, fact.end) for fact in facts_in(text) if fact.kind is Kind.DATE]
    timeless = text
    for start, end in spans:
        timeless = timeless[:start] + "\n" * (end - start) + timeless[end:]
    found = [(one.start(1), one[1]) for one in _QUOTED.finditer(text) if not _is_general(one[1])]
    found += [(one.start(), one[0]) for one in _CODE.finditer(text)]
    for one in _CAPITALISED.finditer(timeless):
        parts = one[0].split()
        start = one.start()
        while parts and parts[0].lower().removesuffix("'s") in words.BEGINNINGS:
            start += len(parts.pop(0)) + 1
        name = re.sub(r"(?:'s|[.,?!'])+$", "", " ".join(parts))
        if len(name) > 1 and not _is_general(name) and not re.fullmatch(r"(?:FY|Q|H)\d*|FY", name):
            found.append((start, name))
    for one in _NAME_HAN.finditer(timeless):
        if not _GENERIC.search(one[0]):
            found.append((one.start(), one[0]))
    return tuple(dict.fromkeys(name for _, name in sorted(found)))


def _is_general(name: str) -> bool:
    """Whether a name is a metric, a title, a month: what each company has, and no company."""
    return re.fullmatch(words.METRICS, name) is not None or _all_in(name, words.CALENDAR | words.GENERAL)


def _all_in(name: str, known: frozenset[str]) -> bool:
    parts = re.split(r"[ &/'-]+", name.lower())
    return all(part in known or part.removesuffix("s") in known for part in parts)


def names_somebody(question: str) -> bool:
    """Whether a question says whom it is about. A place, a rule or a partner (`in China`, `under GAAP`) does not."""
    folded = fold(question)
    for name in entities_in(question):
        if _all_in(name, words.PLACES | words.GENERAL):
            continue
        places = [found.start() for found in re.finditer(re.escape(fold(name)), folded)]
        if not places or any(not words.BESIDE.search(folded[:place]) for place in places):
            return True
    return False
