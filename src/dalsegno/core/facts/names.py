"""Names made of letters and digits: ids, phone numbers, versions.

Rules of this module:

* An id mixes letters and digits (`HAT001`, `ZFA04Y`, `sara_doe_496`, `HT-2024-0031`, `JIRA-123`, UUIDs, digests), at
  least two digits and four characters, or one digit and six; or has a `#` before it; or follows a label that names an
  id (`order 12345`, `合同编号：…`, `confirmation code UMAFLK`); or is a run of eight digits and more (`figures.py`).
* No ids: a number with its unit (`500MB`, `30-day`), ordinals, decades, standards everyone knows (`UTF-8`), words
  with one digit (`Q3`, `B2B`).
* A phone number has the shape of a Chinese mobile, landline or service number, of an American one, or a `+` and its
  country. Its value is the digits; the prefixes `+86` and `+1` are dropped, since they are as often left out.
* A version has three parts, a `v`, or a word before it that has versions (`Python 3.11`, `版本 2.0`). Its value has
  no `v`.
* Ids keep their case; UUIDs and digests are lower case.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dalsegno.core.facts.kinds import Kind
from dalsegno.core.facts.labels import ID_WORDS, VERSION_WORDS, label_before
from dalsegno.core.facts.reading import Reading, back
from dalsegno.core.facts.units import ATTACHED, CURRENCY_AFTER, CURRENCY_BEFORE, UNITS
from dalsegno.core.facts.words import words

__all__ = ["LISTENED", "names"]

_Found = tuple[int, int, Kind, str]

_HAN = "\u4e00-\u9fff"
_MAX_ID = 200
_MIXED = re.compile(r"[A-Za-z0-9_]{1,200}+(?:-[A-Za-z0-9_]{1,200}+){0,16}+(?![A-Za-z0-9_])")
_HASH_NUMBER = re.compile(r"#(?:(?<![A-Za-z0-9_&#]#)|(?<=[A-Za-z]{2}#)(?=[0-9]{2}))[0-9]{1,20}(?![A-Za-z0-9_])")
_UUID = re.compile(r"(?<![A-Za-z0-9-])[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}(?![A-Za-z0-9])")
_DIGEST = re.compile(r"[0-9a-fA-F]{32,128}\Z")
_ISBN = re.compile(r"IS[BS]N(?:-1[03])?[:： ]{0,2}(?P<n>[0-9][0-9-]{7,16}[0-9Xx])")
_CARD = re.compile(r"(?:[0-9]{4}[ -]){3}[0-9]{1,7}(?![0-9-])|[0-9]{17}[0-9Xx](?![0-9A-Za-z])")
_SPACED = re.compile(r"\s[0-9]{2,4}(?![0-9A-Za-z:]|[.,][0-9])")
_ENDING = re.compile(
    r"(?:ending\s(?:in|with)\s?|last\sfour(?:\sdigits)?(?:\sare|\sis|:)?\s|尾号(?:是|为)?\s?)(?P<n>[0-9]{3,6})(?![0-9])"
)
_IP = re.compile(
    r"(?:(?:25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])\.){3}(?:25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])(?::[0-9]{2,5})?(?:/[0-9]{1,2})?(?![0-9]|\.[0-9])"
)
_DOCUMENT = re.compile(
    rf"[〔\[（(【](?:19|20)[0-9]{{2}}[〕\])）】][{_HAN}]{{0,4}}[0-9]{{0,4}}[{_HAN}]{{0,4}}[0-9]{{1,6}}号"
)
_HAN_BEFORE = re.compile(rf"[{_HAN}]{{1,8}}\Z")
_LABELLED = re.compile(
    r"[号号码碼班次单訂同牌]\s?(?:[:：]|是|为|為)?\s?(?P<n>[A-Za-z0-9][A-Za-z0-9/_-]{1,40})(?![A-Za-z0-9])"
)
_LABELS = words(
    "编号 單号 单号 票号 卡号 证号 账号 帐号 工号 学号 案号 文号 型号 号码 编码 航班 航班号 车次 订单 合同 合同号 "
    "房间号 门牌号 车牌 车牌号 密码 验证码 代码 序列号 流水号 尾号 批号 件号"
)
_HOUSE = re.compile(r"[0-9]{1,5}(?:-[0-9]{1,4})?(?:号院|号楼|号|弄)(?:[0-9]{1,4}(?:号楼|单元|楼|层|室|号))*")
_STREETS = frozenset("路街道巷弄村院园區区同里甲乙丙")

_MOBILE = re.compile(r"1[3-9][0-9](?:[0-9]{8}|[- ][0-9]{4}[- ][0-9]{4})(?![0-9A-Za-z_])")
_CHINA = re.compile(r"\(?(?:\+|00)?86\)?[- ]?\Z")
_LANDLINE = re.compile(
    r"(?:(?:00)?86[- ]?)?0[1-9][0-9]{1,2}[- ][2-9][0-9]{2,3}[- ]?[0-9]{4}"
    r"(?:(?:-|转|轉|\sext\.?\s)[0-9]{1,5})?(?![0-9A-Za-z_-])"
    r"|0(?:10|2[0-9]|[3-9][0-9]{2})[2-9][0-9]{6,7}(?![0-9A-Za-z_-])"
    r"|(?:400|800)-?[0-9]{3,4}-?[0-9]{3,4}(?![0-9A-Za-z_-])"
)
_AMERICAN = re.compile(
    r"(?:1[-. ])?[1-9][0-9]{2}[-. ][0-9]{3}[-. ][0-9]{4}(?:\s?(?:x|ext\.?)\s?[0-9]{1,5})?(?![0-9A-Za-z_]|-[0-9])"
)
_IN_BRACKETS = re.compile(
    r"\((?:0[1-9][0-9]{1,2}\)\s?[2-9][0-9]{2,3}[- ]?[0-9]{4}(?:(?:-|转|轉|\sext\.?\s)[0-9]{1,5})?"
    r"|[2-9][0-9]{2}\)\s?[0-9]{3}[-. ][0-9]{4}(?:\s?(?:x|ext\.?)\s?[0-9]{1,5})?)(?![0-9A-Za-z_-])"
)
_INTERNATIONAL = re.compile(
    r"\+[1-9][0-9]{0,2}[- .]?(?:\(0?[0-9]{1,4}\)[- ]?)?[0-9]{1,4}(?:[- .]?[0-9]{2,4}){1,4}(?![0-9A-Za-z_]|[-.][0-9])"
)

_V = re.compile(
    r"v\.?\s?[0-9]{1,5}(?:\.[0-9]{1,6}){0,4}(?:[-.+]?(?:rc|alpha|beta|dev|post|pre|a|b)[-.]?[0-9]{0,4})?(?![a-z0-9_]|\.[0-9])"
)
_VERSION = re.compile(
    r"[0-9]{1,5}\.[0-9]{1,6}\.[0-9]{1,8}(?:\.[0-9]{1,8})?(?:[-+.]?[A-Za-z][A-Za-z0-9.+-]{0,24}(?<![.+-]))?(?![A-Za-z0-9_]|\.[0-9])"
)
_NAMED_VERSION = re.compile(
    r"(?:\sversion)?(?:[\s-]|==|>=|~=)(?P<n>[0-9]{1,4}(?:\.[0-9]{1,4}){1,3}(?:(?:rc|a|b)[0-9]{1,3})?\+?)(?![0-9a-z%])(?!\.[0-9])"
)
_HAN_VERSION = re.compile(r"版本号?(?:是|为|:|：)?\s?(?P<n>[0-9]{1,4}(?:\.[0-9]{1,4}){0,3})")
_EDITION = re.compile(r"[0-9]{1,4}(?:\.[0-9]{1,4}){1,3}版本?(?![权税])")

_ORDINAL = re.compile(r"[0-9]+(?:st|nd|rd|th|s|am|pm|x|p|k|d|g)\Z", re.IGNORECASE)
_SNAKE = re.compile("[a-z]+(?:_[a-z]+){0,6}_[0-9]\\Z")
_SPLIT = re.compile("[-_]")
_DATED = re.compile(r"[12][0-9]{3}-[01][0-9](?:-[0-3][0-9])?T|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}\Z|[0-9-]+\Z")
_KNOWN = frozenset(
    words(
        "utf-8 utf-16 utf-32 utf16 utf32 sha-256 sha256 sha-512 sha512 md5sum covid-19 iso-8601 iso8601 base64 "
        "int32 int64 uint8 float16 float32 float64 x86-64 h264 win32 win64 amd64 arm64 gpt-35 latin-1"
    )
)


LISTENED = VERSION_WORDS | {"ending", "last"}
"""Words at which a version or an id may stand."""


def names(reading: Reading) -> Iterator[_Found]:
    """Ids, phones and versions of a text, as start, end, kind and value; readings may overlap."""
    yield from _compounds(reading)
    yield from _numbers(reading)
    yield from _marked(reading)
    yield from _after_words(reading)
    if not reading.ascii:
        yield from _han(reading.plain)


def _compounds(reading: Reading) -> Iterator[_Found]:
    text, low = reading.plain, reading.low
    for start in reading.compounds:
        found = _MIXED.match(text, start)
        if found is None:
            continue
        end, token = found.end(), found[0]
        hashed = start > 0 and text[start - 1] == "#"
        if token.isalpha():
            if 5 <= len(token) <= 8 and _is_labelled(low, start):  # noqa: PLR2004 - lengths of booking codes
                yield start, end, Kind.ID, token
            elif len(token) == 2 and (spaced := _SPACED.match(text, end)) and _is_labelled(low, start):  # noqa: PLR2004 - an airline
                yield start, spaced.end(), Kind.ID, text[start : spaced.end()]
        elif text[end : end + 1] == "次" and re.fullmatch("[GDCZTKYgdcztky][0-9]{1,4}", token):
            yield start, end + 1, Kind.ID, f"{token}次"
        elif token[0] in "vV" and (version := _V.match(low, start)):
            yield start, version.end(), Kind.VERSION, version[0].lstrip("v. ")
        elif _is_id(token, hashed=hashed) or (2 <= len(token) <= 3 and _is_place(token) and _is_labelled(low, start)):  # noqa: PLR2004
            yield start - hashed, end, Kind.ID, _id(token)


def _numbers(reading: Reading) -> Iterator[_Found]:
    """Phones, versions, cards and addresses of machines, which begin with a run of digits."""
    text = reading.plain
    for start, end in reading.runs:
        size, following = end - start, text[end : end + 1]
        before = text[start - 1] if start else " "
        if before.isascii() and (before.isalnum() or before in "_.-"):
            continue
        if size in _PHONE_RUNS and (following in _PHONE_SIGNS or size > 9):  # noqa: PLR2004 - a number in one piece
            yield from _phones(text, start, size, before)
        if following == ".":
            yield from _dotted(text, start)
        if size in _CARD_RUNS:
            found = _CARD.match(text, start)
            if found:
                yield *found.span(), Kind.ID, found[0]
        if before in _STREETS or text.startswith(("号楼", "号院"), end) or (following == "-" and not before.isascii()):
            found = _HOUSE.match(text, start)
            if found:
                yield *found.span(), Kind.ID, found[0]


_PHONE_SIGNS = frozenset("-. ")
_PHONE_RUNS = frozenset((1, 2, 3, 4, 10, 11, 12))
_CARD_RUNS = frozenset((4, 17, 18))
_MOBILE_RUN = 11
_MOBILE_HEADS = frozenset(("13", "14", "15", "16", "17", "18", "19", "40", "80"))


def _phones(text: str, start: int, size: int, before: str) -> Iterator[_Found]:
    if text[start] == "1" and size in (3, _MOBILE_RUN) and (found := _MOBILE.match(text, start)):
        china = _CHINA.search(text, max(0, start - 6), start) if before in "86)- " else None
        begin = china.start() if china else start
        yield begin, found.end(), Kind.PHONE, found[0].replace("-", "").replace(" ", "")
    other = _LANDLINE.match(text, start) or _AMERICAN.match(text, start)
    if other:
        yield *other.span(), Kind.PHONE, _phone(other[0])


def _dotted(text: str, start: int) -> Iterator[_Found]:
    """Addresses of machines, and versions."""
    address = _IP.match(text, start)
    version = None if address else _VERSION.match(text, start)
    if address:
        yield *address.span(), Kind.ID, address[0]
    elif version:
        yield *version.span(), Kind.VERSION, version[0].lower()


def _marked(reading: Reading) -> Iterator[_Found]:
    """What a sign or a word of capitals begins: `#126`, `ISBN …`, `(555) …`, `+44 …`."""
    text = reading.plain
    for found in _HASH_NUMBER.finditer(text):
        yield *found.span(), Kind.ID, found[0][1:]
    for found in _ISBN.finditer(text):
        yield *found.span("n"), Kind.ID, found["n"]
    for found in _IN_BRACKETS.finditer(text):
        yield *found.span(), Kind.PHONE, _phone(found[0])
    for found in _INTERNATIONAL.finditer(text):
        if not found.start() or not (text[found.start() - 1].isascii() and text[found.start() - 1].isalnum()):
            yield *found.span(), Kind.PHONE, _phone(found[0])


def _after_words(reading: Reading) -> Iterator[_Found]:
    low = reading.low
    for start, word in reading.words:
        if word in {"ending", "last"}:
            found = _ENDING.match(low, start)
            if found:
                yield *found.span("n"), Kind.ID, found["n"]
        elif word in VERSION_WORDS:
            found = _NAMED_VERSION.match(low, start + len(word))
            if found:
                yield *found.span("n"), Kind.VERSION, found["n"]


def _han(text: str) -> Iterator[_Found]:
    for found in _DOCUMENT.finditer(text):
        head = _HAN_BEFORE.search(text, max(0, found.start() - 8), found.start())
        if head:
            yield head.start(), found.end(), Kind.ID, text[head.start() : found.end()]
    for found in _LABELLED.finditer(text):
        label = text[max(0, found.start() - 3) : found.start() + 1]
        if label.endswith(_LABELS) and _HAS_DIGIT(found["n"]):
            yield *found.span("n"), Kind.ID, _id(found["n"])
    for found in _HAN_VERSION.finditer(text):
        yield *found.span("n"), Kind.VERSION, found["n"]
    at = text.find("版")
    while at >= 0:
        start = back(text, at, "0123456789.", 24)
        if start < at and _EDITION.match(text, start):
            yield start, at, Kind.VERSION, text[start:at]
        at = text.find("版", at + 1)


_HAS_DIGIT = re.compile("[0-9]").search


def _is_place(token: str) -> bool:
    """Whether a short token is a letter and a number, as gates and seats have: `B12`, `14C`."""
    return token.isalnum() and sum(map(str.isalpha, token)) == 1 and token.isupper()


def _is_labelled(low: str, start: int) -> bool:
    label = label_before(low, start)
    return bool(label) and (label.rsplit(" ", 1)[-1].strip("#.") in ID_WORDS or label[-2:] in ID_WORDS)


def _is_id(token: str, *, hashed: bool) -> bool:
    """Whether a token of letters, digits, hyphens and underscores is an id; `hashed` when a `#` stands before it."""
    digits = sum(map(str.isdigit, token))
    letters = sum(map(str.isalpha, token))
    if not digits or len(token) > _MAX_ID:
        return False
    if not letters:
        return "_" in token and len(token) > 3  # noqa: PLR2004 - snake of numbers
    low = token.lower()
    if low in _KNOWN or _DATED.match(token) or (_ORDINAL.match(token) and not hashed):
        return False
    if not (digits >= 2 and len(token) >= 4) and not (len(token) >= 5 and (token.isupper() or _SNAKE.match(token))):  # noqa: PLR2004
        return hashed
    parts = [part for part in _SPLIT.split(low) if part]
    return not _is_measure(token, parts)


def _is_measure(token: str, parts: list[str]) -> bool:
    """Whether letters and digits are a number with its unit, or a compound of a number and words."""
    head = parts[0]
    figure = re.match(r"[0-9]+", head)
    if len(parts) == 1:
        if figure:
            rest = head[figure.end() :]
            return (
                rest in ATTACHED
                or rest in UNITS
                or rest in CURRENCY_AFTER
                or bool(re.match(r"x[0-9]+\Z", rest))
                or len(rest) == 1
            )
        money = re.match(r"[a-z]+", head)
        return bool(money) and money[0] in CURRENCY_BEFORE and head[len(money[0]) :].isdigit() if money else False
    if "_" in token:
        return False
    words = [part for part in parts if part.isalpha()]
    numbers = [part for part in parts if part.isdigit()]
    if len(words) + len(numbers) < len(parts):
        return False
    as_word = any(part.islower() for part in _SPLIT.split(token) if part.isalpha())
    capitalised = any(part.istitle() and len(part) > 1 for part in _SPLIT.split(token) if part.isalpha())
    return (as_word or capitalised) and (len(numbers) == 1 and len(numbers[0]) < 5)  # noqa: PLR2004 - mid-2024


def _id(token: str) -> str:
    bare = token.lstrip("#")
    return bare.lower() if _DIGEST.match(bare) or _UUID.match(bare) else bare


def _phone(number: str) -> str:
    plus = number.lstrip("(").startswith(("+", "00"))
    digits = re.sub("[^0-9]", "", number)
    digits = digits[2:] if digits.startswith("00") and plus else digits
    if digits.startswith("86") and len(digits) >= 12:  # noqa: PLR2004 - 86 and a Chinese number
        return digits[2:] if digits[2] == "0" or digits[2:4] in _MOBILE_HEADS else f"0{digits[2:]}"
    if len(digits) == 11 and digits[0] == "1" and digits[1] not in "3456789":  # noqa: PLR2004 - 1 and an American number
        return digits[1:]
    if plus and digits[0] == "1" and len(digits) == 11:  # noqa: PLR2004
        return digits[1:]
    return f"+{digits}" if plus else digits
