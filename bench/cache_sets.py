"""Pairs of questions to try a cache with: swaps that change the answer, and paraphrases that do not.

Swaps are made by program from questions that people asked about annual reports (TAT-QA, English) and about Chinese
prospectuses, funds and stocks (FinQwen). Each changes one thing: a year or date, a name or code, a metric, a unit, a
number, a negation, a direction, the order of two things. Paraphrases are labelled pairs of English questions, and
Chinese and English ones rewritten by the rules written here. What the rules of the cache know is not consulted.
"""

from __future__ import annotations

import json
import random
import re
import tarfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

__all__ = ["Pairs", "chinese", "english", "paraphrases", "rewritten", "swaps"]

Pairs: TypeAlias = list[tuple[str, str]]
Swap: TypeAlias = Callable[[str, random.Random], Iterator[str]]

_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_FY = re.compile(r"(?<![A-Za-z])FY ?\d\d(?!\d)")
_COMPACT = re.compile(r"(?<!\d)(20\d\d)(0\d|1[0-2])([0-2]\d|3[01])(?!\d)")
_NAME = re.compile(r"(?<=[a-z,] )(?:[A-Z][A-Za-z&.-]+)(?: [A-Z][A-Za-z&.-]+)*")
_CODE = re.compile(r"(?<!\d)[036]\d{5}(?!\d)")
_COMPANY = re.compile(r"[\u4e00-\u9fff]{4,16}?(?:股份有限公司|有限公司|基金管理有限公司)")
_FUND = re.compile(r"[\u4e00-\u9fff]{4,14}(?:混合|债券|指数|股票|联接)[A-C]?")
_NUMBER = re.compile(
    r"(?<![\d年A-Za-z.])\d{1,3}(?:\.\d+)?(?=%|个|只|家|大|位|天|股|万|亿| (?:million|percent|shares|years|months))"
)

_METRICS_EN = (
    "net income", "gross profit", "operating income", "total revenue", "net sales", "revenue", "sales",
    "cost of sales",
    "gross margin", "total assets", "total liabilities", "goodwill", "income tax expense", "interest expense",
    "depreciation",
    "amortization", "restructuring", "cash flows", "dividends", "discount rate", "service cost",
    "accrued liabilities",
    "inventories", "deferred tax", "research and development", "operating expenses", "fees", "salary", "price",
    "assets",
)  # fmt: skip
_METRICS_ZH = (
    "收盘价", "开盘价", "最高价", "最低价", "成交量", "成交金额", "涨跌幅", "涨停天数", "跌停天数", "日收益率",
    "注册资本", "法定代表人",
    "营业收入", "净利润", "营业成本", "研发投入", "员工总数", "持股比例", "净申购", "净赎回", "管理费率",
    "托管费率", "持债市值", "持股市值",
    "股票代码", "英文名称", "主要产品", "发行价格", "总资产", "净资产", "毛利率",
)  # fmt: skip
_UNITS = {
    "en": (("million", "billion"), ("thousand", "million"), ("percentage", "amount"), ("shares", "dollars"), ("$",
           "€"),
           ("dollars", "euros"), ("%", "points"), ("average", "total"), ("months", "years"), ("quarterly", "annual")),
    "zh": (("万元", "亿元"), ("元", "万元"), ("%", "个百分点"), ("股", "万股"), ("美元", "港元"), ("个交易日",
           "个自然日"), ("天数", "次数"),
           ("小数点后两位", "小数点后三位"), ("保留两位小数", "保留三位小数"), ("日", "周"), ("人民币", "美元")),
}  # fmt: skip
_DENIED = {
    "en": (("was the", "was not the"), ("were", "were not"), (" is ", " is not "), (" did ", " did not "),
           ("including", "excluding"),
           (" with ", " without "), (" used ", " not used "), ("does", "does not"), (" have ", " have no ")),
    "zh": (("是", "不是"), ("有", "没有"), ("包含", "不包含"), ("超过", "不超过"), ("持有", "未持有"), ("属于",
           "不属于"), ("低于", "不低于"),
           ("取得", "未取得"), ("成立", "未成立")),
}  # fmt: skip
_TURNED = {
    "en": (("increase", "decrease"), ("highest", "lowest"), ("larger", "smaller"), ("higher", "lower"), ("most",
           "least"), ("more", "less"),
           ("beginning", "end"), ("gain", "loss"), ("before", "after"), ("gross", "net"), ("current", "non-current")),
    "zh": (("最大", "最小"), ("最高", "最低"), ("最多", "最少"), ("上涨", "下跌"), ("涨停", "跌停"), ("涨幅",
           "跌幅"), ("申购", "赎回"), ("大于", "小于"),
           ("高于", "低于"), ("上半年", "下半年"), ("买入", "卖出"), ("增加", "减少"), ("以上", "以下"), ("A股",
           "H股"), ("一级", "二级")),
}  # fmt: skip


def english(root: Path) -> list[str]:
    """Questions about annual reports in English."""
    records = json.loads((root / "tatqa" / "tatqa_dataset_dev.json").read_text(encoding="utf-8"))
    return sorted({question["question"].strip() for record in records for question in record["questions"]})


def chinese(root: Path) -> list[str]:
    """Questions about prospectuses, funds and stocks in Chinese."""
    lines = (root / "finqwen_zh" / "question.json").read_text(encoding="utf-8").splitlines()
    return sorted({json.loads(line)["question"].strip() for line in lines if line.strip()})


def paraphrases(root: Path, most: int) -> Pairs:
    """English questions that people marked as the same; some of the marks are generous."""
    with tarfile.open(root / "pairs_en" / "similiar_qqp.json.tar.gz") as archive:
        held = next(archive.extractfile(member) for member in archive.getmembers() if member.name.endswith(".json"))
        records = json.loads(held.read()) if held is not None else []
    return [(one["origin"], one["similar"]) for one in random.Random(7).sample(records, most)]


# --- swaps ----------------------------------------------------------------------------------------


def swaps(questions: Sequence[str], language: str, seed: int) -> dict[str, Pairs]:
    """Pairs that differ in one thing, by what it is; each question gives at most two of a kind."""
    draw = random.Random(seed)
    names = sorted({name for question in questions for name in _names(question, language)})
    kinds: dict[str, Swap] = {
        "year": _years,
        "company": lambda question, draw: _renamed(question, names, language, draw),
        "metric": lambda question, draw: _exchanged(question, _METRICS_EN if language == "en" else _METRICS_ZH, draw),
        "number": _numbers,
        "unit": lambda question, draw: _replaced(question, _UNITS[language]),
        "negation": lambda question, draw: _replaced(question, _DENIED[language], back=True),
        "direction": lambda question, draw: _replaced(question, _TURNED[language], back=True),
        "order": _reordered,
        "word": lambda question, draw: _other_word(question, questions, language, draw),
    }
    found: dict[str, Pairs] = {}
    for kind, swap in kinds.items():
        pairs = [
            (question, other)
            for question in questions
            for _, other in zip(range(2), swap(question, draw), strict=False)
            if other.casefold() != question.casefold()
        ]
        found[kind] = list(dict.fromkeys(pairs))
    return found


def _years(question: str, draw: random.Random) -> Iterator[str]:
    for one in _COMPACT.finditer(question):
        day = f"{draw.randint(1, 28):02}"
        if day != one[3]:
            yield question[: one.start()] + one[1] + one[2] + day + question[one.end() :]
        yield question[: one.start()] + str(int(one[1]) - 1) + one[2] + one[3] + question[one.end() :]
        return
    for one in _FY.finditer(question):
        yield question[: one.start()] + f"FY{int(one[0][-2:]) - 1:02}" + question[one.end() :]
    years = list(_YEAR.finditer(question))
    if years:
        one = draw.choice(years)
        for step in (-1, 1):
            yield question[: one.start()] + str(int(one[0]) + step) + question[one.end() :]


def _names(question: str, language: str) -> list[str]:
    if language == "en":
        return [name for name in _NAME.findall(question) if name not in _NO_NAMES and len(name) > 2]  # noqa: PLR2004
    return [
        one.split("的")[-1] for one in [*_COMPANY.findall(question), *_FUND.findall(question), *_CODE.findall(question)]
    ]


_NO_NAMES = frozenset(
    (
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    )
)


def _renamed(question: str, names: Sequence[str], language: str, draw: random.Random) -> Iterator[str]:
    for name in _names(question, language):
        like = [other for other in names if _CODE.fullmatch(other) is not None] if _CODE.fullmatch(name) else names
        for other in draw.sample(like, min(2, len(like))):
            if other != name and name in question:
                yield question.replace(name, other)


def _exchanged(question: str, metrics: Sequence[str], draw: random.Random) -> Iterator[str]:
    lower = question.lower()
    for metric in sorted(metrics, key=len, reverse=True):
        place = lower.find(metric)
        if place >= 0:
            for other in draw.sample(metrics, 3):
                if other not in metric and metric not in other:
                    yield question[:place] + other + question[place + len(metric) :]
            return


def _numbers(question: str, draw: random.Random) -> Iterator[str]:
    for one in _NUMBER.finditer(question):
        other = str(int(float(one[0])) + draw.randint(1, 4))
        yield question[: one.start()] + other + question[one.end() :]


def _replaced(question: str, table: Sequence[tuple[str, str]], *, back: bool = False) -> Iterator[str]:
    for one, other in table:
        if back and other in question:
            yield question.replace(other, one, 1)
        elif one in question:
            yield question.replace(one, other, 1)


def _reordered(question: str, _: random.Random) -> Iterator[str]:
    years = list(_YEAR.finditer(question))
    if len(years) == 2 and years[0][0] != years[1][0]:  # noqa: PLR2004 - two of them
        first, second = years
        yield (
            question[: first.start()]
            + second[0]
            + question[first.end() : second.start()]
            + first[0]
            + question[second.end() :]
        )
    found = re.search(r"\b(?:of|between|from) (\w+) (to|and|by) (\w+)\b", question)
    if found and found[1] != found[3] and not found[1].isdigit():
        yield question[: found.start(1)] + f"{found[3]} {found[2]} {found[1]}" + question[found.end(3) :]


def _other_word(question: str, questions: Sequence[str], language: str, draw: random.Random) -> Iterator[str]:
    """Any word of the middle, or two characters, by one of another question."""
    other = draw.choice(questions)
    if language == "en":
        words, others = question.split(), [word for word in other.split() if len(word) > 4 and word.isalpha()]  # noqa: PLR2004
        places = [place for place, word in enumerate(words) if place > 2 and len(word) > 4 and word.isalpha()]  # noqa: PLR2004
        if places and others:
            words[draw.choice(places)] = draw.choice(others)
            yield " ".join(words)
        return
    places = [
        place
        for place in range(2, len(question) - 4)
        if re.fullmatch("[\u4e00-\u9fff]{2}", question[place : place + 2])
    ]
    others = re.findall("[\u4e00-\u9fff]{2}", other[2:])
    if places and others:
        place = draw.choice(places)
        yield question[:place] + draw.choice(others) + question[place + 2 :]


# --- rewriting ------------------------------------------------------------------------------------

_COURTESY = re.compile("^(?:请问|请查询|请帮我查询下?|请帮我计算|我想知道|请帮我查询出)[,，：:]?")


def _polite(question: str) -> str:
    bare = _COURTESY.sub("", question)
    return f"请问{bare}" if bare == question else bare


def _han_years(question: str) -> str:
    return re.sub(
        r"(?<!\d)(20\d\d)年",
        lambda one: one[1].translate(str.maketrans("0123456789", "〇一二三四五六七八九")) + "年",
        question,
    )


def _written_dates(question: str) -> str:
    return re.sub(_COMPACT.pattern + "日?", lambda one: f"{one[1]}年{int(one[2])}月{int(one[3])}日", question)


def _wide(question: str) -> str:
    return question.translate({ord("0") + digit: ord("０") + digit for digit in range(10)})


def _led(question: str) -> str:
    found = re.fullmatch(r"(.+) in ((?:19|20)\d\d) ?\?", question)
    return f"In {found[2]}, {question[0].lower()}{found[1][1:]}?" if found else question


_REWRITES: dict[str, dict[str, Callable[[str], str]]] = {
    "zh": {
        "courtesy": _polite,
        "years in Chinese numerals": _han_years,
        "dates written out": _written_dates,
        "full-width digits": _wide,
        "是多少 / 为多少": lambda question: question.replace("是多少", "为多少"),
        "another verb for asking (not known to the rules)": lambda question: question.replace("是多少", "有多大"),
        "在 put before the year (not known to the rules)": lambda question: re.sub(
            r"(?<=[司金股])(20\d\d年)", r"在\1", question
        ),
    },
    "en": {
        "year first": _led,
        "contraction": lambda question: re.sub("^What is ", "What's ", question),
        "courtesy": lambda question: f"Please, {question[0].lower()}{question[1:]}",
        "tense, where there is a year": lambda question: (
            re.sub("^What was ", "What is ", question) if _YEAR.search(question) else question
        ),
        "how much (not known to the rules)": lambda question: re.sub("^What was ", "How much was ", question),
    },
}


def rewritten(questions: Sequence[str], language: str) -> dict[str, Pairs]:
    """Paraphrases by rule, by the name of the rule."""
    return {
        name: [(question, other) for question in questions if (other := rule(question)) != question]
        for name, rule in _REWRITES[language].items()
    }
