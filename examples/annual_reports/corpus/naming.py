"""Whose report a document is, and for which year: read off its first pages and its file name.

Rules of this module:

* A company is the legal name on the first pages (`Best Buy Co., Inc.`, `江河矿业股份有限公司`) that stands where a
  title page has it, agrees with the file name, or is said most often. Where there is none, the file name's first
  part.
* The fiscal year is what the title page calls it (`fiscal 2022`, `FY24`, `2023年年度报告`); else the year of the
  period's end. A document also *covers* the calendar year in which its fiscal year ends, since some number their
  years by it.
* A name has no square brackets, which would make a source's mark of it, and at most 80 characters.
* Names are compared without their legal form (`Inc.`, `plc`, `股份有限公司`), case and signs.
* Pure: no I/O. A caller's word goes before all of it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from examples.annual_reports.corpus.passages import Page

__all__ = ["Identity", "aliases_of", "company_key", "identity_of"]

_FIRST_PAGES = 3
_READ_PAGES = 40
_AGREES = 10
_LINE_CHARS = 4000
_TITLE_LINES = 12
_FORM = (
    r"(?:,? (?:co\.?|company))?,? (?:inc|corp|corporation|incorporated|plc|p\.l\.c|ltd|limited|company|co|n\.v|s\.a|se"
    r"|ag|llc|lp|holdings|group)\b\.?"
)
_ENGLISH = re.compile(
    rf"\b((?:[A-Z][\w&'’.\-]*|of|and|the|&)(?: (?:[A-Z][\w&'’.\-]*|of|and|&)){{0,7}}{_FORM})", re.IGNORECASE
)
_CAPITAL = re.compile(r"[A-Z]")
_CHINESE = re.compile(r"([\u4e00-\u9fff（）()]{2,30}?(?:股份有限公司|有限责任公司|集团有限公司|有限公司))")
_CHINESE_FORM = re.compile(r"(?:股份有限公司|有限责任公司|集团有限公司|有限公司)$")
_ENGLISH_FORM = re.compile(rf"(?:{_FORM})+$", re.IGNORECASE)
_SHORT_NAME = re.compile(r"(?:股票|证券|中文)?简称[：:为“\"' ]{1,3}([\u4e00-\u9fffA-Za-z]{2,10})")
_TICKER = re.compile(r"\((?:NYSE|NASDAQ|ASX|LSE|HKEX|SSE|SZSE)[\w ]*: ?([A-Z0-9.]{1,8})", re.IGNORECASE)
_INDUSTRY = re.compile(
    r"(?:能源|科技|技术|资源|矿业|电子|集团|控股|实业|工业|材料|药业|生物|环保|机械|汽车|电气|化工|食品|传媒|网络|信息|智能|设备|新能源|银行|证券)+$"
)
_REGISTRANT = re.compile(r"exact name of registrant", re.IGNORECASE)
_LEAD = re.compile(r"^(?:the|and|of|by|for|to|in|at|from|with|between)\s+", re.IGNORECASE)
_NOT_ISSUER = re.compile(
    r"证券|银行|会计师|律师|评估|交易所|中登|登记结算|stock exchange|securities and exchange|\bllp\b|bank of",
    re.IGNORECASE,
)
_MONTHS = "january|february|march|april|may|june|july|august|september|october|november|december"
_END = re.compile(
    rf"(?:year|period|months?|quarter|weeks)\s+ended\s+((?:{_MONTHS})\s+\d{{1,2}},?\s+(?:19|20)\d{{2}}|\d{{1,2}}\s+(?:{_MONTHS})\s+(?:19|20)\d{{2}})",
    re.IGNORECASE,
)
_DATE_YEAR = re.compile(r"((?:19|20)\d{2})")
_FISCAL = re.compile(
    r"\b(?:fiscal(?: year)?|FY)[ -]?'?((?:19|20)\d{2}|\d{2}\b)|((?:19|20)\d{2}) (?:annual report|form 10-k)"
    r"|annual report (?:for |of )?((?:19|20)\d{2})",
    re.IGNORECASE,
)
_ZH_YEAR = re.compile(
    r"((?:19|20)\d{2}|[二两一][〇○零九Oo0]{1}[〇○零一二三四五六七八九]{2})\s*年?\s*(?:年度报告|半年度报告|年报|中期报告|第[一二三四]季度报告|季度报告)"
)
_ZH_DIGITS = str.maketrans("〇○零一二三四五六七八九两Oo", "000123456789200")
_FILE_YEAR = re.compile(r"(?<!\d)((?:19|20)\d{2})(?!\d)|(?<![A-Za-z])FY(\d{2})(?!\d)", re.IGNORECASE)
_SIGNS = re.compile(r"[\W_]+")
_NAME_CHARS = 80
_BRACKETS = re.compile(r"[\[\]]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Whose a document is.

    Attributes:
        company: the name to show.
        aliases: other names found for the same company, the legal one among them.
        fiscal_year: None where nothing says it.
        covers: every year by which a reader may call it.
    """

    company: str
    aliases: tuple[str, ...]
    fiscal_year: int | None
    covers: tuple[int, ...]


def identity_of(
    pages: Sequence[Page], source: str, *, company: str | None = None, fiscal_year: int | None = None
) -> Identity:
    """Read a document's identity.

    Args:
        pages: all of it; the first three are read, and for a Chinese short name the rest.
        source: its file name.
        company: the caller's word for whose it is.
        fiscal_year: the caller's word for the year.
    """
    lines = [line for page in pages[:_FIRST_PAGES] for block in page.blocks for line in block.lines]
    rest = [line for page in pages[_FIRST_PAGES:_READ_PAGES] for block in page.blocks for line in block.lines]
    legal = _legal_name(lines, rest, source)
    said = company or (legal and _shown(legal)) or _spelled(_from_file(source), lines)
    others = (
        [legal, company, *_short_names(pages), *_tickers(lines)]
        if company is None or _same(company, legal)
        else [company]
    )
    year, covers = _years(lines, rest, source) if fiscal_year is None else (fiscal_year, {fiscal_year})
    return Identity(
        company=_called(said),
        aliases=tuple(dict.fromkeys(alias[:_NAME_CHARS] for alias in others if alias)),
        fiscal_year=year,
        covers=tuple(sorted(covers)),
    )


def company_key(name: str) -> str:
    """A name without legal form, case and signs; two names of one company have the same."""
    bare = _CHINESE_FORM.sub("", _ENGLISH_FORM.sub("", name.strip()))
    return _SIGNS.sub("", bare.casefold()) or _SIGNS.sub("", name.casefold())


def aliases_of(name: str) -> Iterator[str]:
    """What else a company of this name is called: without its form, and in Chinese without industry and country."""
    yield name
    bare = _CHINESE_FORM.sub("", _ENGLISH_FORM.sub("", name))
    yield bare
    if _CHINESE.match(name) or not bare.isascii():
        short = _INDUSTRY.sub("", bare)
        if len(short) > 1:
            yield short
        if bare.startswith("中国") and len(bare) > 3:  # noqa: PLR2004 - the country and more than a character
            yield bare[2:]


# --- the company


def _legal_name(lines: Sequence[str], rest: Sequence[str], source: str) -> str | None:
    scores: Counter[str] = Counter()
    spelled: dict[str, str] = {}
    token = company_key(_from_file(source))
    for number, line in enumerate(lines):
        for name in _names(line):
            key = company_key(name)
            spelled.setdefault(key, name)
            scores[key] += 1
            if number < _TITLE_LINES:
                scores[key] += 2
            if number + 1 < len(lines) and _REGISTRANT.search(lines[number + 1]):
                scores[key] += 20
            scores[key] += _AGREES * _agree(key, token)
    if max(scores.values(), default=0) < _AGREES and len(token) > 2:  # noqa: PLR2004 - initials tell nothing
        for name in (name for line in rest for name in _names(line) if _agree(company_key(name), token)):
            spelled.setdefault(company_key(name), name)
            scores[company_key(name)] += _AGREES
    return spelled[max(scores, key=lambda key: scores[key])] if scores else None


def _agree(key: str, token: str) -> bool:
    """Whether a company's name and a file's first word begin alike."""
    return len(token) > 2 and len(key) > 2 and (key.startswith(token) or token.startswith(key))  # noqa: PLR2004 - as above


def _called(name: str) -> str:
    """A name as it is kept; one word for all that have no letter and no figure."""
    plain = " ".join(_BRACKETS.sub(" ", name)[:_NAME_CHARS].split())
    return plain if company_key(plain) else "unnamed"


def _names(line: str) -> Iterator[str]:
    line = line[:_LINE_CHARS]
    for found in _ENGLISH.finditer(line):
        name = found[1].strip(" ,")
        while (shorter := _LEAD.sub("", name)) != name:
            name = shorter
        words = [word for word in _ENGLISH_FORM.sub("", name).split() if word.lower() not in ("of", "and", "&")]
        if words and all(_CAPITAL.match(word) for word in words) and not _NOT_ISSUER.search(name):
            yield name
    for found in _CHINESE.finditer(line):
        name = found[1].strip("（）()")
        if not _NOT_ISSUER.search(name):
            yield name


def _shown(legal: str) -> str:
    """A legal name as one calls the company."""
    bare = _CHINESE_FORM.sub("", _ENGLISH_FORM.sub("", legal)).strip(" ,")
    return bare.title() if bare.isascii() and bare.isupper() and len(bare) > 4 else bare  # noqa: PLR2004 - initials stay


def _short_names(pages: Iterable[Page]) -> Iterator[str]:
    for page in pages:
        for block in page.blocks:
            for line in block.lines:
                if found := _SHORT_NAME.search(line):
                    yield found[1]
                    return


def _tickers(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        yield from _TICKER.findall(line)


def _from_file(source: str) -> str:
    stem = PurePath(source).stem
    first = re.split(r"[_\- .]|(?<=\D)(?=(?:19|20)\d{2})", stem)[0]
    return first or stem


def _spelled(word: str, lines: Iterable[str]) -> str:
    """A word as the text spells it most often; as it is where the text has it not."""
    spellings = Counter(re.findall(rf"\b{re.escape(word)}\b", "\n".join(lines), re.IGNORECASE))
    return max(spellings, key=lambda spelling: spellings[spelling], default=word)


def _same(company: str, legal: str | None) -> bool:
    if legal is None:
        return False
    one, two = company_key(company), company_key(legal)
    return one == two or (len(one) > 1 and (one in two or two in one))


# --- the year


def _years(lines: Sequence[str], rest: Sequence[str], source: str) -> tuple[int | None, set[int]]:
    title = "\n".join(lines[:_TITLE_LINES])
    text = "\n".join(lines)
    ends = [int(_DATE_YEAR.findall(date)[-1]) for date in _END.findall(text)]
    zh = [int(year.translate(_ZH_DIGITS)) for year in _ZH_YEAR.findall(title)]
    stem = PurePath(source).stem
    named = next((int(long) if long else 2000 + int(short) for long, short in _FILE_YEAR.findall(stem)), None)
    year = next(
        iter([*zh, *_fiscal(title), *_reported(Counter(_fiscal("\n".join((text, *rest))))), *sorted(ends)[-1:]]), named
    )
    return year, {each for each in (year, named, max(ends, default=None)) if each is not None}


def _reported(mentions: Counter[int]) -> list[int]:
    """Of the fiscal years a report speaks of, its own: the latest of those it speaks of often."""
    often = max(mentions.values(), default=0)
    return [max(year for year, count in mentions.items() if 2 * count >= often)] if often > 1 else []


def _fiscal(text: str) -> Iterator[int]:
    for groups in _FISCAL.findall(text):
        digits = next(filter(None, groups))
        yield int(digits) if len(digits) > 2 else 2000 + int(digits)  # noqa: PLR2004 - a year in two digits
