"""A fact survives in any spelling and never in a lookalike; what no source states is told apart as invented."""

from __future__ import annotations

import pytest

from dalsegno.core.facts import Fact, FactIndex, Kind, facts_in, invented, survives


def fact(text: str) -> Fact:
    """The longest protected fact of a text, or its number."""
    return max(facts_in(text), key=lambda one: (one.protected, one.end - one.start))


@pytest.mark.parametrize(
    ("said", "digest"),
    [
        ("五万元", "预算 RMB 50,000。"),
        ("RMB 50,000", "预算是五万元"),
        ("May 15, 2024", "于2024年5月15日出发"),
        ("May 15", "on 2024-05-15"),
        ("3:30 PM", "下午三点半见"),
        ("3:30", "at 3:30 PM"),
        ("12.5%", "占百分之十二点五"),
        ("three bags", "3 bags"),
        ("20公斤", "20 kg"),
        ("100-200元", "from 100元 to 200元"),
        ("200元", "100-200元"),
        ("#W2378156", "order W2378156"),
        ("order 12345", "12345 was sent"),
        ("HAT001", "(HAT001)"),
        ("+86 138-1234-5678", "13812345678"),
        ("https://a.com/b/", "https://A.com/b"),
        ("v1.2.3", "version 1.2.3"),
        ('"I am done"', "he said “I am  done”"),
        ("“好的”", "他说好的，然后"),
        ("/etc/hosts", "see `/etc/hosts`."),
        ("budget: 80,000", "80,000元"),
        ("I will refund $50.", "#3 agent: I will refund\n$50"),
    ],
)
def test_a_fact_survives_in_another_spelling(said: str, digest: str) -> None:
    assert survives(fact(said), digest)
    assert survives(fact(said), FactIndex.of([digest]))


@pytest.mark.parametrize(
    ("said", "digest"),
    [
        ("$50", "$500"),
        ("$50", "$50,000"),
        ("$50", "$5 million"),
        ("$5", "$5 million"),
        ("$50", "€50"),
        ("$50", "-$50"),
        ("HAT1X1", "HAT1X10"),
        ("HT-2024-0031", "HT-2024-00312"),
        ("HT-2024-0031", "X-HT-2024-0031"),
        ("JIRA-123", "JIRA-1234"),
        ("五万元", "十五万元"),
        ("五万元", "五万"),
        ("2024-05-15", "May 15"),
        ("2024-05-15", "2023-05-15"),
        ("May 15", "May 5"),
        ("3:30 PM", "3:30 AM"),
        ("06:00 EST", "06:00 PST"),
        ("12.5%", "12.5个百分点"),
        ("3 bags", "3 boxes"),
        ("3 checked bags", "3 bags"),
        ("100-200元", "100元"),
        ("a@b.com", "xa@b.com"),
        ("/etc/hosts", "/etc/hosts.bak"),
        ("https://a.com/b", "https://a.com/b/c"),
        ("v1.2.3", "1.2.30"),
        ("13812345678", "138123456789"),
        ("“好的”", "不行"),
        ("I will refund $50.", "I will refund $500."),
    ],
)
def test_a_lookalike_is_not_the_fact(said: str, digest: str) -> None:
    assert not survives(fact(said), digest)


@pytest.mark.parametrize(
    ("digest", "source"),
    [
        ("the price is $100", '{"amount": 100}'),
        ("17 seats", '"economy": 17'),
        ("06:00 AM EST", '"time_est": "06:00:00"'),
        ("in 2024", "2024-05-15"),
        ("May 15", "2024年5月15日"),
        ("15:30", "下午三点半"),
        ("3 bags", "three checked bags"),
        ("costs 200 yuan", "100-200元"),
        ("order 12345", "12345"),
        ("#126 user said it", "nothing"),
        ("five of them", "five of them"),
        ("1. first\n2. second", "first, second"),
        ('he said "fine" and will pay', "nothing of the kind"),
    ],
)
def test_a_digest_may_say_less_and_name_what_is_left_open(digest: str, source: str) -> None:
    assert invented(digest, [source], allowed={"#126 user"}) == ()


@pytest.mark.parametrize(
    ("digest", "source", "found"),
    [
        ("the price is $101", '{"amount": 100}', "$101"),
        ("the price is $100", "¥100", "$100"),
        ("3 boxes", "3 bags", "3 boxes"),
        ("2024-05-15", "May 15", "2024-05-15"),
        ("on May 16", "May 15", "May 16"),
        ("at 4 PM", "3 PM", "4 PM"),
        ("HAT002", "HAT001", "HAT002"),
        ("it was 42", "it was 4.2", "42"),
        ("八万元", "五万元", "八万元"),
        ("12%", "12.5%", "12%"),
        ("see https://a.com/c", "https://a.com/b", "https://a.com/c"),
        ("mail x@b.com", "mail a@b.com", "x@b.com"),
        ("/etc/passwd", "/etc/hosts", "/etc/passwd"),
        ("v2.0.0", "v1.0.0", "v2.0.0"),
        ("call 13812345679", "call 13812345678", "13812345679"),
        ("#127", "#126", "#127"),
    ],
)
def test_what_no_source_states_is_invented(digest: str, source: str, found: str) -> None:
    assert [one.text for one in invented(digest, [source])] == [found]
    assert [one.text for one in invented(digest, FactIndex.of([source]))] == [found]


def test_an_index_over_several_texts_states_what_each_states_and_nothing_across_them() -> None:
    index = FactIndex.of(["the quote “red", "apple” costs $5", "May", "15"])
    assert index.states(fact("$5"))
    assert not index.states(fact("“red apple”"))
    assert not index.states(fact("May 15"))


def test_every_fact_of_a_text_survives_in_it() -> None:
    text = 'On May 15 at 3 PM I will refund $50 for order #W2378156: "done", 见/data/a.pdf，同意。'
    assert all(survives(one, text) for one in facts_in(text))
    assert {one.kind for one in facts_in(text)} >= {Kind.DATE, Kind.TIME, Kind.AMOUNT, Kind.ID, Kind.QUOTE, Kind.PATH}
