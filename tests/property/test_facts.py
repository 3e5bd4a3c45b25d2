"""Facts are found wherever they stand, under their value, with offsets of the very text; and every one survives in it."""

from __future__ import annotations

import datetime as dt
import json

from hypothesis import given
from hypothesis import strategies as st

from dalsegno.core.facts import ATOMS, FactIndex, FactTable, Kind, facts_in, invented, said_in, survives

noise = st.text(
    st.one_of(
        st.sampled_from(
            list(
                " ,.;:-_/\\()[]{}\"'`$#@%&*+=|~<>!?\n\t0123456789abcXYZ一二三十百千万亿元年月日点分号是不我会同意周百分之、，。：；“”《》"
            )
        ),
        st.characters(),
    ),
    max_size=60,
)
piece = st.sampled_from(
    [
        *(
            "May 15, 2024",
            "五万元",
            "$384.20",
            "12.5%",
            "3 bags",
            "三件",
            "HAT001",
            "#W2378156",
            "https://a.com/b?c=1",
            "a@b.com",
            "13812345678",
        ),
        *(
            "/data/合同/a.pdf",
            "`git status`",
            "v1.2.3",
            "“好的”",
            "I will refund it.",
            "我同意。",
            "下午三点半",
            "15:30",
            "下周三",
            "第十二条",
            "100-200元",
        ),
        *("not 50,000", "改成八万元", "预算是", "the budget is ", "1. ", "-$5", "５万元", "😀", "e\u0301"),
    ]
)
SALAD = (  # noqa: SIM905 - read as it is spoken
    "the budget price is was be to at of not from now only : = 5 80,000 May 15 $3 one half hour million change it make instead i we will "
    "you yes please approve confirm if once 预算 是 为 改成 从 到 不是 约 五万元 三点 半 个 小时 第 条 周 一 号 我 会 同意"
).split()
salad = st.lists(st.sampled_from(SALAD), max_size=24).flatmap(
    lambda words: st.sampled_from([" ", "", ", "]).map(lambda joint: joint.join(words))
)
ODD = (
    *"0135., *`万亿千百十一三五点多个-至到年月日号时分半成元块$¥%½②⅓第\u00a0\t\n",
    " hundred",
    " million",
    " k",
    "RMB ",
    "分之",
    "A-",
    "half of ",
)
odd = st.lists(st.sampled_from(ODD), max_size=14).map("".join)
texts = st.lists(st.one_of(noise, piece, salad, odd), max_size=8).map("".join)

english = st.sampled_from(["We met and ", "It cost ", "Please note ", "He told us about ", "(", "Total: ", "and also "])
chinese = st.sampled_from(["我们谈到", "请注意，", "一共花了", "他说的是", "（", "结果：", "还有"])
opening = english | chinese
closing = st.sampled_from([", thanks.", ".", " was fine", "，谢谢。", "。", "）", ";", "\n", "\uff0c然后再说"])


def contains(text: str, kind: Kind, value: str) -> bool:
    return any(fact.kind is kind and fact.value == value for fact in facts_in(text))


# --- of any text ----------------------------------------------------------------------------------


@given(texts)
def test_a_fact_is_what_stands_at_its_offsets(text: str) -> None:
    facts = facts_in(text)
    assert all(text[fact.start : fact.end] == fact.text and fact.text and fact.value for fact in facts)
    assert [fact.start for fact in facts] == sorted(fact.start for fact in facts)


@given(texts)
def test_atoms_never_overlap(text: str) -> None:
    reach = 0
    for fact in facts_in(text):
        if fact.kind in ATOMS:
            assert fact.start >= reach
            reach = fact.end


@given(texts)
def test_every_fact_of_a_text_survives_in_it_and_none_is_invented(text: str) -> None:
    index = FactIndex.of([text])
    assert all(survives(fact, index) for fact in facts_in(text))
    assert invented(text, index) == ()


@given(texts)
def test_finding_twice_finds_the_same(text: str) -> None:
    assert facts_in(text) == facts_in(text)


@given(texts, st.sampled_from(["\n\nwell then\n\n", "\n\n嗯嗯\n\n", "\n\n…\n\n"]), st.booleans())
def test_neutral_text_around_changes_no_fact(text: str, neutral: str, before: bool) -> None:
    whole = neutral + text if before else text + neutral
    shift = len(neutral) if before else 0
    there = {(fact.kind, fact.value, fact.start) for fact in facts_in(whole)}
    kept = {(fact.kind, fact.value, fact.start + shift) for fact in facts_in(text) if fact.kind in ATOMS}
    assert kept <= there


@given(st.lists(texts, max_size=4))
def test_a_table_loses_nothing_and_is_json(turns: list[str]) -> None:
    table = FactTable()
    said = [
        one for number, text in enumerate(turns) for one in said_in(text, coordinate=f"#{number} user", author="user")
    ]
    for one in said:
        table = table.add(one)
    assert table == FactTable().add(*said) == table.add(*said)
    assert [row.said for row in table.history()] == list(dict.fromkeys(said))
    assert FactTable.from_json(json.loads(json.dumps(table.to_json()))) == table
    assert {fact for text in turns for fact in facts_in(text) if fact.protected} <= {
        row.said.fact for row in table.history()
    }


# --- generated facts in sentences -----------------------------------------------------------------

amounts = st.integers(1, 9_999_999)
CURRENCIES = (
    "FY",
    "USD",
    "CNY",
    "RMB",
    "EUR",
    "GBP",
    "JPY",
    "HK",
    "TWD",
    "NT",
    "KRW",
    "AUD",
    "AU",
    "CAD",
    "CA",
    "SGD",
    "SG",
    "INR",
    "CHF",
    "RUB",
    "THB",
    "MYR",
    "RS",
    "US",
)


@given(amounts, st.integers(0, 99), opening, closing)
def test_an_amount_is_found_in_any_sentence(whole: int, cents: int, before: str, after: str) -> None:
    number = f"{whole}.{cents:02d}".rstrip("0").rstrip(".")
    for spelling in (
        f"${whole:,}.{cents:02d}",
        f"USD {whole}.{cents:02d}",
        f"{whole:,}.{cents:02d} dollars",
        f"{whole}.{cents:02d}美元",
    ):
        assert contains(f"{before}{spelling}{after}", Kind.AMOUNT, f"USD {number}"), spelling


def in_han(number: int) -> str:
    """A number under a hundred million as Chinese writes it."""
    digits, powers = "零一二三四五六七八九", ["", "十", "百", "千"]

    def section(part: int) -> str:
        text, gap = "", False
        for power in range(3, -1, -1):
            digit = part // 10**power % 10
            if digit:
                text += ("零" if gap and text else "") + digits[digit] + powers[power]
                gap = False
            else:
                gap = True
        return text

    high, low = divmod(number, 10_000)
    if not high:
        return section(low)
    return section(high) + "万" + ("零" if 0 < low < 1000 else "") + section(low)


@given(st.integers(2, 99_999_999), opening, closing)
def test_an_amount_in_chinese_numerals_is_found_in_any_sentence(number: int, before: str, after: str) -> None:
    assert contains(f"{before}{in_han(number)}元{after}", Kind.AMOUNT, f"CNY {number}")


BLANK = st.sampled_from(["", "", " ", "\u00a0", "\u3000", "\u2009", "\u202f", "  "])
FIGURES_IN_PARTS = (
    (Kind.AMOUNT, ("{n}", "万", "元")),
    (Kind.AMOUNT, ("¥", "{n}", "万")),
    (Kind.AMOUNT, ("RMB ", "{n}", "亿")),
    (Kind.AMOUNT, ("约 ", "{n}", "百", "万", "美元")),
    (Kind.AMOUNT, ("{n}", "千", "元")),
    (Kind.AMOUNT, ("{n}", "万", "5", "千", "元")),
    (Kind.AMOUNT, ("{n}", "万", "亿", "元")),
    (Kind.AMOUNT, ("金额 ", "{n}", "万")),
    (Kind.AMOUNT, ("$", "{n}", " million")),
    (Kind.AMOUNT, ("USD ", "{n}", "bn")),
    (Kind.AMOUNT, ("{n}", " hundred", " dollars")),
    (Kind.QUANTITY, ("{n}", "万", "台")),
    (Kind.QUANTITY, ("{n}", "k")),
    (Kind.QUANTITY, ("{n}", "亿", "人")),
    (Kind.PERCENT, ("{n}", "%")),
    (Kind.PERCENT, ("{n}", "个百分点")),
)


@given(st.data(), st.integers(1, 999), st.sampled_from(FIGURES_IN_PARTS), opening, closing, st.booleans())
def test_a_blank_at_any_place_inside_a_figure_changes_no_value(
    data: st.DataObject, number: int, figure: tuple[Kind, tuple[str, ...]], before: str, after: str, wide: bool
) -> None:
    kind, parts = figure
    digits = str(number).translate({48 + n: 0xFF10 + n for n in range(10)}) if wide else str(number)
    parts = tuple(part.format(n=digits) for part in parts)
    plain = f"{before}{''.join(parts)}{after}"
    spaced = (
        before
        + parts[0]
        + "".join(data.draw(BLANK) + part.lstrip() if part[0] != " " else part for part in parts[1:])
        + after
    )
    [value] = [fact.value for fact in facts_in(plain) if fact.kind is kind]
    assert contains(spaced, kind, value), (facts_in(plain), facts_in(spaced))
    assert not invented(spaced, [plain])
    assert not invented(plain, [spaced])
    assert [fact.text for fact in facts_in(spaced) if fact.text == str(number)] == []
    assert invented(f"{before}{number} 元{after}", [spaced]) if kind is Kind.AMOUNT else True


@given(st.data(), st.dates(dt.date(1950, 1, 1), dt.date(2090, 12, 31)), st.times(), opening, closing)
def test_a_blank_at_any_place_inside_a_chinese_date_and_time_changes_no_value(
    data: st.DataObject, date: dt.date, clock: dt.time, before: str, after: str
) -> None:
    def spaced(*parts: str | int) -> str:
        return (
            before
            + "".join(f"{part}{data.draw(BLANK) if place else ''}" for place, part in enumerate(parts[:-1], 1))
            + f"{parts[-1]}{after}"
        )

    assert contains(spaced(date.year, "年", date.month, "月", date.day, "日"), Kind.DATE, date.isoformat())
    text = spaced(clock.hour, "点", f"{clock.minute:02d}", "分")
    assert contains(text, Kind.TIME, f"{clock:%H:%M}"), (text, facts_in(text))


@given(st.dates(dt.date(1950, 1, 1), dt.date(2090, 12, 31)), opening, closing)
def test_a_date_is_found_in_any_sentence(date: dt.date, before: str, after: str) -> None:
    month = [
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
    ][date.month - 1]
    for spelling in (
        date.isoformat(),
        f"{month} {date.day}, {date.year}",
        f"{date.day} {month[:3]} {date.year}",
        f"{date.year}年{date.month}月{date.day}日",
        f"{date.year}/{date.month}/{date.day}",
    ):
        assert contains(f"{before}{spelling}{after}", Kind.DATE, date.isoformat()), spelling


@given(st.times(), opening, closing)
def test_a_time_is_found_in_any_sentence(clock: dt.time, before: str, after: str) -> None:
    value = f"{clock:%H:%M}"
    half = f"{clock.hour % 12 or 12}:{clock.minute:02d} {'PM' if clock.hour >= 12 else 'AM'}"
    for spelling in (value, half, f"{clock.hour}点{clock.minute:02d}分"):
        assert contains(f"{before}{spelling}{after}", Kind.TIME, value), spelling


@given(
    st.from_regex(r"\A[A-Z]{2,4}[0-9]{3,8}\Z").filter(lambda name: not name.startswith(CURRENCIES)),
    opening,
    closing,
)
def test_an_id_is_found_in_any_sentence(name: str, before: str, after: str) -> None:
    assert contains(f"{before}{name}{after}", Kind.ID, name)


@given(
    st.integers(1, 100_000),
    st.sampled_from([("%", "{}%"), (" kg", "{} kg"), (" day", "{} days"), (" person", "{}人"), (" 件", "{}件")]),
    opening,
    closing,
)
def test_a_measured_number_is_found_in_any_sentence(
    number: int, unit: tuple[str, str], before: str, after: str
) -> None:
    kind = Kind.PERCENT if unit[0] == "%" else Kind.QUANTITY
    assert contains(f"{before}{unit[1].format(number)}{after}", kind, f"{number}{unit[0]}")


@given(amounts, amounts, opening, closing)
def test_another_amount_is_not_the_amount(one: int, other: int, before: str, after: str) -> None:
    [fact] = facts_in(f"${one}")
    assert survives(fact, f"{before}${other:,}{after}") == (one == other)
    assert bool(invented(f"${one:,}", [f"{before}${other}{after}"])) == (one != other)
