"""A table keeps every saying, knows which of them holds, and lets only a correction replace one."""

from __future__ import annotations

import json

import pytest

from dalsegno.core.facts import FactTable, Said, facts_in, said_in
from dalsegno.errors import Damaged


def told(*turns: str) -> FactTable:
    table = FactTable()
    for number, text in enumerate(turns, 1):
        table = table.add(*said_in(text, coordinate=f"#{number} user", author="user"))
    return table


def current(table: FactTable) -> list[str]:
    return [said.fact.text for said in table.latest()]


def replaced(table: FactTable) -> list[tuple[str, str, str]]:
    return [
        (row.said.fact.text, row.said.coordinate, row.superseded_by) for row in table.history() if row.superseded_by
    ]


@pytest.mark.parametrize(
    ("first", "second", "holds"),
    [
        ("The budget is 50,000.", "Sorry, the budget is 80,000, not 50,000.", "80,000"),
        ("The budget is $50k.", "Change the budget to $80k.", "$80k"),
        ("Arrival date is May 15.", "Change it to May 20", "May 20"),
        ("Book flight HAT001.", "Actually, book HAT002 instead of HAT001.", "HAT002"),
        ("The meeting is at 3 PM.", "Please move the meeting from 3 PM to 4 PM.", "4 PM"),
        ("My phone is 555-123-4567.", "Correction: my phone is 555-123-4568.", "555-123-4568"),
        ("Leave at 2 PM.", "Let's do 3 PM instead.", "3 PM"),
        ("Deposit is 20%.", "The deposit is 30% now.", "30%"),
        ("It costs $50.", "It's not $50, it's $80.", "$80"),
        ("The deadline is Friday.", "The deadline has been moved to Monday.", "Monday"),
        ("Leave on May 15.", "I said May 15 but I meant May 16.", "May 16"),
        ("电话是13812345678", "电话写错了，是13812345679", "13812345679"),
        ("预算是五万元", "我之前说的五万元不对，应该是八万元", "八万元"),
        ("预算是五万元", "预算改成八万元", "八万元"),
        ("预算是五万元", "不是五万是八万", "八万"),
        ("出发日期是5月1日", "出发日期从5月1日改到5月3日", "5月3日"),
        ("会议时间是下午三点", "会议时间改到下午四点半", "下午四点半"),
        ("人均消费100元", "更正：人均消费是150元", "150元"),
        ("订单号：A1234567", "说错了，订单号是A1234568", "A1234568"),
    ],
)
def test_a_correction_replaces_and_the_earlier_value_stays_with_its_coordinate(
    first: str, second: str, holds: str
) -> None:
    table = told(first, second)
    assert current(table) == [holds]
    assert table.latest()[0].coordinate == "#2 user"
    earlier = [row for row in table.history() if row.said.coordinate == "#1 user"]
    assert [row.superseded_by for row in earlier] == ["#2 user"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The budget is $50,000.", "The price is $20,000."),
        ("The budget is $50,000.", "The budget is $80,000."),
        ("The budget is $50,000.", "Should we raise the budget to $80,000?"),
        ("预算是五万元", "预算要不要改成八万元？"),
        ("The arrival date is May 15 and the departure date is May 30.", "Change it to May 20"),
        ("We have 10 bags.", "Actually the total is 12 boxes."),
        ("The budget is $50k, the tax is $5k.", "Actually I have $3 left."),
        ("The rate is 5%.", "Change the budget to $80."),
    ],
)
def test_unsure_keeps_both(first: str, second: str) -> None:
    table = told(first, second)
    assert replaced(table) == []
    assert len(table.latest()) == len(table.history())


def test_a_correction_of_one_subject_leaves_the_others() -> None:
    table = told("The arrival date is May 15 and the departure date is May 30.", "Change the arrival date to May 20")
    assert current(table) == ["May 30", "May 20"]
    table = told("预算是五万元，押金三千元", "不是五万是八万")
    assert current(table) == ["三千元", "八万"]


def test_a_correction_to_the_same_value_replaces_nothing() -> None:
    assert replaced(told("预算是五万元", "预算改成五万元")) == []


def test_a_denied_value_is_denied_under_its_subject_only() -> None:
    table = told("The budget is $50,000 and the rent is $50,000.", "The budget is $80,000, not $50,000.")
    assert [(said.subject, said.fact.text) for said in table.latest()] == [("rent", "$50,000"), ("budget", "$80,000")]


def test_a_denial_corrects_within_its_sentence_only() -> None:
    table = told("The fee is $2,000.", "It is not $50. The fee is $3,000.")
    assert current(table) == ["$2,000", "$3,000"]


def test_a_denial_of_one_kind_corrects_no_other() -> None:
    said = said_in("The fee is $30, not on May 5.", coordinate="#1 user", author="user")
    assert [(one.fact.text, one.correction, one.denied) for one in said] == [
        ("$30", False, False),
        ("May 5", False, True),
    ]


def test_a_value_corrected_twice_and_back_holds_as_said_last() -> None:
    table = told("预算是五万元", "预算改成八万元", "预算改成五万元")
    assert current(table) == ["五万元"]
    assert [said.coordinate for said in table.latest()] == ["#3 user"]
    assert replaced(table) == [("五万元", "#1 user", "#2 user"), ("八万元", "#2 user", "#3 user")]


def test_adding_the_same_sayings_again_changes_nothing() -> None:
    said = said_in("预算是五万元，改成八万元", coordinate="#1 user", author="user")
    once = FactTable().add(*said)
    assert once.add(*said) == once
    assert once.add() == once


def test_a_value_said_again_is_listed_once_and_kept_twice() -> None:
    table = told("预算是五万元", "预算是五万元")
    assert [said.coordinate for said in table.latest()] == ["#2 user"]
    assert len(table.history()) == 2


def test_a_saying_knows_its_subject() -> None:
    def subjects(text: str) -> list[str]:
        return [said.subject for said in said_in(text, coordinate="#1 user", author="user")]

    assert subjects("my arrival date is May 20") == ["arrival date"]
    assert subjects('{"departure_date": "2024-05-20"}') == ["departure date"]
    assert subjects("把预算改成八万元") == ["预算"]
    assert subjects("- **Economy Price**: $121") == ["economy price"]
    assert subjects("I fly from New York to Seattle on May 20th") == [""]
    assert subjects("the wobble is 17 kg") == ["wobble"]
    assert subjects("the wobble of 17 kg") == [""]
    assert subjects("there are 17 of them") == []
    assert subjects("the average price was is equals 17") == ["average price"]
    assert subjects("预算现在只是约为八万元") == ["预算"]


def test_a_table_is_plain_json_both_ways_and_keeps_what_it_does_not_know() -> None:
    table = told("预算是五万元", "预算改成八万元", "I will refund $50.")
    tree = json.loads(json.dumps(table.to_json()))
    assert FactTable.from_json(tree) == table
    tree["rows"][0]["later"] = {"x": [1]}
    assert FactTable.from_json(tree).to_json() == tree


@pytest.mark.parametrize("tree", [None, [], {}, {"rows": [{}]}, {"rows": [{"kind": "no such"}]}, {"rows": 3}])
def test_a_tree_that_is_no_table_is_damage(tree: object) -> None:
    with pytest.raises(Damaged, match="table of facts"):
        FactTable.from_json(tree)


def test_a_saying_can_be_made_by_hand() -> None:
    [fact] = facts_in("$50")
    said = Said(fact=fact, coordinate="#9 tool", author="search", subject="price")
    assert FactTable().add(said).latest() == (said,)
