"""What can be told from words alone: years, figures, units, what a question asks for. Pure functions.

Rules of this module:

* A figure is compared by value: `5,200`, `5200.0` and `5200` are one; brackets make it negative, a percent sign stays.
* A table's unit is written beside each of its rows before anything is checked against it, so that a figure is not read
  without it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = [
    "asking",
    "asks_for_figures",
    "asks_for_news",
    "asks_for_series",
    "bare",
    "figures",
    "is_chinese",
    "sentences",
    "terms",
    "unit_of",
    "unstated",
    "with_units",
    "years_of",
]

_YEAR = re.compile(r"(?:FY|fy|财年|fiscal(?: year)?)?\s?(?<!\d)((?:19|20)\d{2})(?!\d)(?:年度?|财年)?")
_SHORT_YEAR = re.compile(r"\b(?:FY|fy)\s?'?(\d{2})\b")
_FIGURE = re.compile(r"(?<![\w.])\(?-?\d[\d,]*(?:\.\d+)?\)?\s?%?(?!\w*[A-Za-z]\d)")
_CJK = re.compile(r"[\u3400-\u9fff]")
_SHORTEST_PLURAL = 3
_COMPLETED = re.compile(r"\s*\[[^\[\]]*\]\s*$")
_STOP = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "by",
        "did",
        "do",
        "does",
        "for",
        "from",
        "had",
        "has",
        "have",
        "how",
        "in",
        "is",
        "it",
        "its",
        "many",
        "me",
        "much",
        "of",
        "on",
        "or",
        "please",
        "show",
        "tell",
        "than",
        "that",
        "the",
        "their",
        "them",
        "they",
        "this",
        "to",
        "was",
        "were",
        "what",
        "when",
        "which",
        "who",
        "with",
        "company",
        "annual",
        "report",
        "year",
        "fiscal",
    ]
)

_ASKING = frozenset(
    [
        "growth",
        "grew",
        "grow",
        "change",
        "changed",
        "increase",
        "decrease",
        "difference",
        "compare",
        "compared",
        "versus",
        "vs",
        "percent",
        "percentage",
        "average",
        "chart",
        "plot",
        "graph",
        "trend",
        "time",
        "new",
        "news",
        "latest",
        "recent",
        "recently",
        "rate",
        "high",
        "higher",
        "low",
        "lower",
        "did",
        "develop",
        "summarize",
        "say",
        "增长",
        "长率",
        "走势",
        "趋势",
        "比较",
        "对比",
        "画图",
        "图表",
        "历年",
        "变化",
        "同比",
        "新闻",
        "最新",
        "最近",
    ]
)


def bare(question: str) -> str:
    """A question without what was completed at its end."""
    return _COMPLETED.sub("", question)


def is_chinese(text: str) -> bool:
    """Whether a text is in Chinese."""
    return bool(_CJK.search(text))


def years_of(text: str) -> list[int]:
    """The years that a text names, in its order, each once."""
    named = [(found.start(), int(found[1])) for found in _YEAR.finditer(text)]
    named += [(found.start(), 2000 + int(found[1])) for found in _SHORT_YEAR.finditer(text)]
    return list(dict.fromkeys(year for _, year in sorted(named)))


def figures(text: str) -> set[str]:
    """The figures of a text by value; marks of sources such as [3] and pages are none."""
    text = re.sub(r"\[\d+(?:\s*[,，]\s*\d+)*\]|\bp\.\s?\d+|\bFY\s?\d+", " ", text)
    found = set()
    for raw in _FIGURE.findall(text):
        sign = "-" if raw.startswith("(") and raw.rstrip("% ").endswith(")") else ""
        plain = sign + raw.strip("()% ").replace(",", "").rstrip(".")
        whole, _, part = plain.partition(".")
        part = part.rstrip("0")
        found.add((f"{whole}.{part}" if part else whole) + ("%" if raw.rstrip().endswith("%") else ""))
    return found


def asking(word: str) -> bool:
    """Whether a word says what is asked for, not what it is about: growth, compare, 多少."""
    return word in _ASKING or any(sign in word for sign in "多少么吗呢的是了")


def terms(text: str) -> list[str]:
    """The words of a text that say what it is about; Chinese as pairs of characters."""
    words = [
        word
        for word in re.findall(r"[a-z0-9][a-z0-9&-]*", re.sub(r"[’']s?\b", " ", text.casefold()))
        if word not in _STOP
    ]
    runs = re.findall(r"[\u3400-\u9fff]+", text)
    pairs = [run[at : at + 2] for run in runs for at in range(max(1, len(run) - 1))]
    return list(dict.fromkeys([*(_stem(word) for word in words), *pairs]))


def _stem(word: str) -> str:
    return word[:-1] if len(word) > _SHORTEST_PLURAL and re.search("[^s]s$", word) else word


def sentences(text: str) -> list[str]:
    """A text in its lines and sentences."""
    parts = [
        part.strip()
        for line in text.splitlines()
        for part in re.split(r"(?<=[.!?])\s+(?=[A-Z“\"])|(?<=[。！？；])(?!\s*\[)", line)
    ]
    return [part for part in parts if part]


# --- what a question asks for -----------------------------------------------------------------------

_FIGURES = re.compile(
    r"\b(growth|grew|grow|change|changed|increase|decrease|difference|ratio|margin|average|total of|sum of|compare|"
    r"compared|versus|vs|per cent|percent|percentage|how much more|how much less|cagr|yoy|payout)\b|"
    r"增长|增幅|增速|下降|变化|差额|相差|比率|比例|占比|平均|合计|同比|比较|对比|利率|毛利率",
    re.IGNORECASE,
)
_NEWS = re.compile(r"\b(news|latest|recent|recently|announced?|headlines?)\b|新闻|最新|最近|近期|消息", re.IGNORECASE)
_SERIES = re.compile(
    r"\b(chart|plot|graph|trend|over the years|over time|year by year|history of)\b|图表|画图|走势|趋势|历年|折线|柱状",
    re.IGNORECASE,
)


def asks_for_figures(question: str) -> bool:
    """Whether arithmetic is asked for."""
    return bool(_FIGURES.search(bare(question)))


def asks_for_news(question: str) -> bool:
    """Whether what happened lately is asked for."""
    return bool(_NEWS.search(bare(question)))


def asks_for_series(question: str) -> bool:
    """Whether a series of values is asked for, to be drawn."""
    return bool(_SERIES.search(bare(question)))


# --- units ------------------------------------------------------------------------------------------

_UNIT = re.compile(
    r"(?P<zh>单位[：:]?\s*(?P<zhu>(?:人民币)?[百千万亿]*(?:元|吨|股|美元|港元)))|"
    r"(?P<money>US\$|A\$|USD|AUD|RMB|HK\$|EUR|€|£|\$)?\s?\(?(?:expressed )?in\s+(?P<size>thousands|millions|billions)"
    r"(?:\s+of\s+(?P<of>[A-Z][\w$. ]{0,20}?(?:dollars|yuan|euros)))?|"
    r"(?P<short>(?:US|A|HK)?\$\s?(?:m|M|bn|millions?|billions?|thousands?|’000|'000)(?!\w))",
    re.IGNORECASE,
)


def unit_of(text: str) -> str:
    """The unit that a table states for its figures, as it says it; nothing where it states none."""
    found = _UNIT.search(text)
    return "" if found is None else " ".join((found["zhu"] or found[0]).replace("(", "").split())


def with_units(text: str) -> str:
    """A table with its unit beside each row of figures."""
    unit = unit_of(text)
    if not unit:
        return text
    return "\n".join(
        f"{line}  [{unit}]" if figures(line) - set(map(str, years_of(line))) and unit not in line else line
        for line in text.splitlines()
    )


def unstated(said: str, known: Iterable[str]) -> list[str]:
    """The figures of a text that stand in none of the others, not even rounded; years are no figures here."""
    have = {each.rstrip("%") for text in known for each in figures(text)}
    years = set(map(str, years_of(said)))
    return sorted(each for each in figures(said) - years if not _stands(each.rstrip("%"), have))


def _stands(figure: str, have: Iterable[str]) -> bool:
    known = set(have)
    if figure in known or figure.lstrip("-") in {each.lstrip("-") for each in known}:
        return True
    places = len(figure.partition(".")[2])
    if not places:
        return False
    wanted = abs(float(figure))
    return any(abs(round(abs(float(each)), places) - wanted) < 10 ** -(places + 3) for each in known)
