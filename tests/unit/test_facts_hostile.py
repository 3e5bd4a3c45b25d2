"""Finding facts takes time in proportion to the text, whatever the text."""

from __future__ import annotations

import time

import pytest

from dalsegno.core.facts import facts_in, said_in, survives

HOSTILE = [
    "1,", "一", '"', "./", "a@", "1.", "1-", "$", "$1", "万", "百分之", "1:", "1 ", "/", "\\", "`", "'", "“", "(", "#", "a-1_", "年",
    "五月", "May ", "next ", "one ", "million ", "www.", "http://", "a.", "::", "我会", "同意", "确认", "I will ", "yes, ", "。",
    "3点", "1x", "13812345678 ", "不是", "到", "C:/", "\\\\a", "😀", "e\u0301", '"command":"', "```sh\n", "$ a\n", "7-", "分之",
    "1 万 ", "1 千", "1 万", "一 百", "三 万 ", "多万", "1多 ", "1 万 5 千", "1千5", "万 ", "1 hundred ", "年 ", "1 年 1 ", "3 点 ", "1 - ", "1万至", "½", "1 ½ ", "②", "half ", "a third ", "half of ", "一半", "A-1 ", "q3 ", "1\u00a0000\u00a0", "1** ", "PO#1",
]  # fmt: skip


def seconds(text: str) -> float:
    before = time.process_time()
    facts_in(text)
    return time.process_time() - before


@pytest.mark.parametrize("unit", HOSTILE)
def test_four_times_the_text_takes_no_more_than_a_few_times_the_time(unit: str) -> None:
    short, long = unit * (12_000 // len(unit)), unit * (48_000 // len(unit))
    least = min(seconds(short) for _ in range(2))
    assert seconds(long) < 10 * max(least, 0.02)


@pytest.mark.parametrize(
    "unit", ["not 5, ", "change it to $5 ", "budget is 5 ", "不是五万是八万", "from 5 to 6 ", "改成5元", "is is was "]
)
def test_corrections_are_heard_in_proportion_too(unit: str) -> None:
    def spent(text: str) -> float:
        before = time.process_time()
        said_in(text, coordinate="#1 user", author="user")
        return time.process_time() - before

    short, long = unit * (8_000 // len(unit)), unit * (32_000 // len(unit))
    assert spent(long) < 10 * max(spent(short), 0.02)


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["1,", "一", '"', "./", "a@"])
def test_a_megabyte_is_read_in_seconds(unit: str) -> None:
    assert seconds(unit * (1_000_000 // len(unit))) < 8


def test_looking_for_many_facts_in_one_text_reads_it_once() -> None:
    text = " ".join(f"on May {day} pay ${day}0 for A{day}000X" for day in range(1, 29)) * 40
    facts = facts_in(text)
    before = time.process_time()
    assert all(survives(fact, text) for fact in facts)
    assert time.process_time() - before < 20 * max(seconds(text), 0.05)
