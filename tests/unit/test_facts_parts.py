"""Halves, fractions and numerals of one character say a number; names with a number in them say none."""

from __future__ import annotations

import pytest

from dalsegno.core.facts import Kind, facts_in, invented


def found(text: str) -> list[tuple[Kind, str]]:
    return [(fact.kind, fact.value) for fact in facts_in(text) if fact.protected]


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("that is $½ each", Kind.AMOUNT, "USD 0.5"),
        ("1½ hours late", Kind.QUANTITY, "1.5 hour"),
        ("2 ½ kg of it", Kind.QUANTITY, "2.5 kg"),
        ("½ kg of it", Kind.QUANTITY, "0.5 kg"),
        ("共 3¾ 元", Kind.AMOUNT, "CNY 3.75"),
        ("⅓ of it", Kind.QUANTITY, "1/3"),
        ("the lamp broke ② times", Kind.QUANTITY, "2 time"),
        ("买了③件", Kind.QUANTITY, "3 件"),
        ("**3** 分之一", Kind.QUANTITY, "1/3"),
        ("半价即可", Kind.QUANTITY, "1/2"),
        ("退一半", Kind.QUANTITY, "1/2"),
        ("费用减半", Kind.QUANTITY, "1/2"),
        ("half the price is enough", Kind.QUANTITY, "1/2"),
        ("half price today", Kind.QUANTITY, "1/2"),
        ("未对半年业绩作出预告", Kind.QUANTITY, "0.5 year"),
        ("half of it is gone", Kind.QUANTITY, "1/2"),
        ("a third of the team", Kind.QUANTITY, "1/3"),
        ("two-thirds of them", Kind.QUANTITY, "2/3"),
        ("three quarters of it", Kind.QUANTITY, "3/4"),
        ("see PO#8821 please", Kind.ID, "8821"),
        ("付了300刀", Kind.AMOUNT, "USD 300"),
        ("in q3 2025 then", Kind.DATE, "2025-Q3"),
        ("order A-17 ships today", Kind.ID, "A-17"),
        ("付 120\u202f000 元", Kind.AMOUNT, "CNY 120000"),
        ("付 **120** 万元", Kind.AMOUNT, "CNY 1200000"),
        ("付 120\t万元", Kind.AMOUNT, "CNY 1200000"),
        ("pay **$5** million", Kind.AMOUNT, "USD 5000000"),
        ("我们周五下午三点见", Kind.TIME, "15:00"),
    ],
)
def test_it_is_found(text: str, kind: Kind, value: str) -> None:
    assert (kind, value) in found(text), facts_in(text)


@pytest.mark.parametrize(
    "text",
    [
        *("order A-17 ships", "F-150 trucks", "COVID-19 cases", "address1", '{"address1": "x"}', "C#8", "a q3 b"),
        *(
            "① 退款\n② 换货",
            "要求：①个人信息②条款",
            "切了三刀",
            "half asleep",
            "the third quarter of it",
            "x² m³",
            "一半会儿",
            "in the last half of it",
        ),
    ],
)
def test_no_quantity_stands_in_a_name_or_a_marker(text: str) -> None:
    assert [fact for fact in facts_in(text) if fact.protected and fact.kind is not Kind.ID] == []


@pytest.mark.parametrize("text", ["address1", '{"address1": "x", "address2": "y"}', "option-1"])
def test_a_numbered_word_is_no_id(text: str) -> None:
    assert [fact for fact in facts_in(text) if fact.protected and fact.kind is Kind.ID] == []


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("the lamp costs $1", "the lamp costs $½"),
        ("the lamp broke", "the lamp broke ② times"),
        ("the lamp", "half the price of the lamp"),
        ("金额 120 元", "金额 一半"),
        ("金额 120 元", "半价"),
        ("金额 120 元", "金额 **120** 万元"),
        ("付了 3", "付了300刀"),
    ],
)
def test_it_is_invented_when_nobody_said_it(said: str, told: str) -> None:
    assert invented(told, [said])
    assert not invented(told, [told])
