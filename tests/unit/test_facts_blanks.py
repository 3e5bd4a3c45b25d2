"""A blank inside a number, a date or a time is typography: the value is the same, and no shorter reading hides it."""

from __future__ import annotations

import pytest

from dalsegno.core.facts import Kind, facts_in, invented, survives

BLANKS = [" ", "\u00a0", "\u3000", "\u2009", "\u202f", "  ", "\u200b"]


def found(text: str) -> list[tuple[Kind, str]]:
    return [(fact.kind, fact.value) for fact in facts_in(text) if fact.protected]


@pytest.mark.parametrize("blank", BLANKS)
@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("金额 120 万元", Kind.AMOUNT, "CNY 1200000"),
        ("金额为 120 万", Kind.AMOUNT, "1200000"),
        ("预算 1.2 亿元", Kind.AMOUNT, "CNY 120000000"),
        ("违约金 3 万元", Kind.AMOUNT, "CNY 30000"),
        ("付 3 万", Kind.QUANTITY, "30000"),
        ("¥ 120 万", Kind.AMOUNT, "CNY 1200000"),
        ("RMB 120 万", Kind.AMOUNT, "CNY 1200000"),
        ("合同 120 万人民币", Kind.AMOUNT, "CNY 1200000"),
        ("5 万台", Kind.QUANTITY, "50000 台"),
        ("3.5 万 公里", Kind.QUANTITY, "35000 km"),
        ("2 万 5 千元", Kind.AMOUNT, "CNY 25000"),
        ("两万 5 千 元", Kind.AMOUNT, "CNY 25000"),
        ("共 3 千 元", Kind.AMOUNT, "CNY 3000"),
        ("三 万 五 千 元", Kind.AMOUNT, "CNY 35000"),
        ("约 200 万美元", Kind.AMOUNT, "USD 2000000"),
        ("1.5 万 亿 元", Kind.AMOUNT, "CNY 1500000000000"),
        ("120 多 万元", Kind.AMOUNT, "CNY 1200000"),
        ("100 - 200 万元", Kind.AMOUNT, "CNY 1000000..2000000"),
        ("100 万 到 200 万 元", Kind.AMOUNT, "CNY 1000000..2000000"),
        ("１２０ 万元", Kind.AMOUNT, "CNY 1200000"),
        ("12 万 5000 元", Kind.AMOUNT, "CNY 125000"),
        ("百分之 12.5", Kind.PERCENT, "12.5%"),
        ("12.5 %", Kind.PERCENT, "12.5%"),
        ("3 成", Kind.PERCENT, "30%"),
        ("三 成", Kind.PERCENT, "30%"),
        ("三 分之 一", Kind.QUANTITY, "1/3"),
        ("$ 1.2 million", Kind.AMOUNT, "USD 1200000"),
        ("USD 1.2 m", Kind.AMOUNT, "USD 1200000"),
        ("USD 3 bn", Kind.AMOUNT, "USD 3000000000"),
        ("3 bn", Kind.QUANTITY, "3000000000"),
        ("5 k", Kind.QUANTITY, "5000"),
        ("3 hundred dollars", Kind.AMOUNT, "USD 300"),
        ("3 hundred thousand dollars", Kind.AMOUNT, "USD 300000"),
        ("2024 年 5 月 15 日", Kind.DATE, "2024-05-15"),
        ("5 月 15 日 - 20 日", Kind.DATE, "--05-15/--05-20"),
        ("2024 年 第 3 季度", Kind.DATE, "2024-Q3"),
        ("下午 3 点 半", Kind.TIME, "15:30"),
        ("下午 3 点 30 分", Kind.TIME, "15:30"),
        ("上午 9 点 到 11 点", Kind.TIME, "09:00/11:00"),
        ("15 时 30 分", Kind.TIME, "15:30"),
        ("下午 3 点 钟", Kind.TIME, "15:00"),
        ("一个 半 小时", Kind.QUANTITY, "1.5 hour"),
    ],
)
def test_blanks_change_no_value(text: str, kind: Kind, value: str, blank: str) -> None:
    spaced = text.replace(" ", blank)
    assert (kind, value) in found(spaced), facts_in(spaced)
    assert survives(facts_in(spaced)[0], text)


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("120多万元", Kind.AMOUNT, "CNY 1200000"),
        ("100-200万元", Kind.AMOUNT, "CNY 1000000..2000000"),
        ("三到五万元", Kind.AMOUNT, "CNY 30000..50000"),
        ("5000-1万元", Kind.AMOUNT, "CNY 5000..10000"),
        ("3bn", Kind.QUANTITY, "3000000000"),
        ("$5-million budget", Kind.AMOUNT, "USD 5000000"),
        ("3千克", Kind.QUANTITY, "3 kg"),
        ("3千瓦", Kind.QUANTITY, "3 kW"),
        ("投了一个亿", Kind.QUANTITY, "100000000"),
        ("金额 120 个亿", Kind.AMOUNT, "12000000000"),
        ("120 几万元", Kind.AMOUNT, "CNY 1200000"),
        ("金额 `120` 万元", Kind.AMOUNT, "CNY 1200000"),
        ("金额 120 **万元**", Kind.AMOUNT, "CNY 1200000"),
        ("120\u00ad万元", Kind.AMOUNT, "CNY 1200000"),
        ("RMB 120w", Kind.AMOUNT, "CNY 1200000"),
        ("120 millions of dollars", Kind.AMOUNT, "USD 120000000"),
        ("800千伏", Kind.QUANTITY, "800 kV"),
        ("7,000 千卡", Kind.QUANTITY, "7000 kcal"),
        ("5 千米", Kind.QUANTITY, "5 km"),
        ("2 dozen eggs", Kind.QUANTITY, "24 egg"),
        ("预算 3 万 5 月到账", Kind.DATE, "--05"),
        ("预算3万5月到账", Kind.DATE, "--05"),
        ("预算50-80万", Kind.AMOUNT, "500000..800000"),
        ("约 50 - 80 万", Kind.QUANTITY, "500000..800000"),
        ("1.2-1.4百万吨", Kind.QUANTITY, "1200000..1400000 t"),
        ("$389 \n$382 \n", Kind.AMOUNT, "USD 382"),
        ("total\n$8,813\n\n$7,637\n\n", Kind.AMOUNT, "USD 7637"),
        ("$   156,948", Kind.AMOUNT, "USD 156948"),
        ("租金 3 万一年", Kind.AMOUNT, "30000"),
        ("下午 3 点 5 个人来", Kind.TIME, "15:00"),
        ("下午 3 点 半个小时", Kind.TIME, "15:00"),
    ],
)
def test_what_stands_beside_a_magnitude_is_told_apart(text: str, kind: Kind, value: str) -> None:
    assert (kind, value) in found(text), facts_in(text)


@pytest.mark.parametrize(
    ("text", "lies"),
    [("2019  $ in thousands", "USD 2019"), ("546 \nAcquisitions, net", "546 acquisition"), ("(2018 B)", "2018 B")],
)
def test_a_cell_of_a_table_takes_nothing_from_the_next(text: str, lies: str) -> None:
    assert lies not in [fact.value for fact in facts_in(text)]


@pytest.mark.parametrize(
    "text", ["iPhone 5 百度一下", "选 3 千万别选 4", "第 3 万达广场", "通义 3 千问", "提高了 3 百分点", "星期三 万达见"]
)
def test_words_that_begin_like_a_magnitude_are_none(text: str) -> None:
    values = [fact.value for fact in facts_in(text)]
    assert not any(value.rstrip("%p ").endswith("00") for value in values), values


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("合同金额 120 万元", "合同金额 120 元"),
        ("合同金额 120 元", "合同金额 120 亿元"),
        ("合同金额 120 元", "合同金额 120 万元"),
        ("合同金额 ¥120", "合同金额 ¥120 万"),
        ("合同金额 3 万", "合同金额 3 千"),
        ("合同金额 3 万", "合同金额 3"),
        ("合同金额 120 万", "合同金额 120"),
        ("合同 120 万人民币", "合同 120 人民币"),
        ("合同 RMB 120 万", "合同 RMB 120"),
        ("采购 5 万台", "采购 5 台"),
        ("采购 5 万台", "采购 5"),
        ("采购 5", "采购 5 万"),
        ("it costs 5", "it costs 5 k"),
        ("it costs 5 k", "it costs 5"),
        ("it costs 1.2", "it costs 1.2 m"),
        ("it costs 3", "it costs 3 bn"),
        ("金额 120 元", "金额 120个亿"),
        ("金额 120", "金额 120 W"),
        ("下午 3 点", "下午 3 点 半"),
        ("提高 3", "提高 3 成"),
    ],
)
def test_a_magnitude_put_in_or_left_out_behind_a_blank_is_invented(said: str, told: str) -> None:
    assert invented(told, [said])
    assert not invented(said, [said])
    assert not invented(told, [told])


@pytest.mark.parametrize("text", ["合同金额 120 万元", "付 3 万", "采购 5 万台", "RMB 120 万"])
def test_the_number_before_a_magnitude_is_not_stated_alone(text: str) -> None:
    number = next(fact for fact in facts_in(text) if fact.value != "RMB")
    digits = "".join(character for character in text if character.isdigit())
    assert number.text != digits
    for shorter in (digits, f"{digits} 元", f"¥{digits}", f"{digits} 台"):
        assert not survives(facts_in(shorter)[0], text)
