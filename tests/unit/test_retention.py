"""Claim: a policy lets go exactly what its rules say, any of them suffices, and what has to stay stays whatever they say."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalsegno.core.retention import CheckpointFact, RetentionPolicy, Thin, duration, leaving, policy_for, read_policies
from dalsegno.errors import Misuse

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def facts(*ages: timedelta, namespace: int = 0, branch: int = 0) -> list[CheckpointFact]:
    """Checkpoints of these ages, the oldest first and numbered from 1."""
    return [
        CheckpointFact(number=number, namespace=namespace, branch=branch, at=NOW - age)
        for number, age in enumerate(ages, 1)
    ]


def test_all_but_the_newest_go():
    rows = facts(*(HOUR * n for n in range(5, 0, -1)))
    assert leaving(RetentionPolicy(keep_latest=2), rows, NOW) == dict.fromkeys([1, 2, 3], "beyond the newest 2")
    assert leaving(RetentionPolicy(keep_latest=5), rows, NOW) == {}


def test_a_policy_that_can_be_about_no_thread_is_refused():
    with pytest.raises(Misuse, match="no thread at all"):
        RetentionPolicy(keep_latest=1, tags={"a"}, without_tags={"a", "b"})
    assert RetentionPolicy(keep_latest=1, tags={"a", "b"}, without_tags={"a"}).covers({"b"})


def test_older_ones_go():
    rows = facts(DAY * 3, DAY * 2, DAY, HOUR)
    assert leaving(RetentionPolicy(max_age=DAY), rows, NOW) == dict.fromkeys([1, 2], "older than 1 day")


def test_one_an_hour_after_a_day():
    minutes = timedelta(minutes=10)
    old = [DAY * 2 - minutes * n for n in range(12)]  # two hours of the day before yesterday, from 12:00 on
    new = [HOUR - minutes * n for n in range(6)]
    rows = facts(*old, *new)
    gone = leaving(RetentionPolicy(thin=["one an hour after a day"]), rows, NOW)
    assert set(gone) == set(range(1, 13)) - {6, 12}  # 12:50 and 13:50 stay
    assert set(gone.values()) == {"one per 1 hour after 1 day"}


def test_thinning_in_steps_and_on_every_run_the_same():
    policy = RetentionPolicy(thin=("one a day after 2 weeks", "one an hour after a day"))
    rows = facts(*(timedelta(days=30) - timedelta(minutes=20) * n for n in range(2000)))
    gone = leaving(policy, rows, NOW)
    left = [row for row in rows if row.number not in gone]
    assert leaving(policy, left, NOW) == {}
    days = [row.at.date() for row in left if NOW - row.at > timedelta(weeks=2)]
    assert len(days) == len(set(days))
    hours = [row.at.replace(minute=0) for row in left if DAY < NOW - row.at <= timedelta(weeks=2)]
    assert len(hours) == len(set(hours)) > 200


def test_any_rule_suffices_and_at_least_holds_against_all():
    rows = facts(DAY * 40, DAY * 39, DAY * 38, DAY * 37)
    assert set(leaving(RetentionPolicy(keep_latest=3, max_age=DAY * 38), rows, NOW)) == {1, 2}
    assert set(leaving(RetentionPolicy(max_age=DAY), rows, NOW)) == {1, 2, 3}
    assert set(leaving(RetentionPolicy(max_age=DAY, at_least=3), rows, NOW)) == {1}


def test_each_namespace_keeps_its_newest():
    rows = [*facts(DAY * 4, DAY * 3), CheckpointFact(number=3, namespace=1, branch=0, at=NOW - DAY * 2)]
    assert set(leaving(RetentionPolicy(max_age=DAY), rows, NOW)) == {1}


def test_tips_roots_of_forks_and_what_is_announced_stay():
    rows = [
        *facts(DAY * 9, DAY * 8, DAY * 7, DAY * 6),
        CheckpointFact(number=5, namespace=0, branch=1, at=NOW - DAY * 5),
        CheckpointFact(number=6, namespace=0, branch=1, at=NOW - DAY * 4),
        CheckpointFact(number=8, namespace=0, branch=1, at=NOW - DAY * 9, stored=False),
    ]
    gone = leaving(RetentionPolicy(keep_latest=1), rows, NOW, forks=[2])
    assert set(gone) == {1, 3, 5}  # 2 is the fork's root, 4 the tip of the branch it left, 6 the newest, 8 announced


@given(
    ages=st.lists(st.integers(0, 10_000), max_size=40),
    branches=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=40, max_size=40),
    keep=st.integers(1, 5),
    floor=st.integers(1, 5),
    hours=st.integers(1, 500),
)
def test_whatever_goes_the_rest_can_go_on(ages, branches, keep, floor, hours):
    rows = [
        CheckpointFact(number=n, namespace=ns, branch=branch, at=NOW - timedelta(minutes=age))
        for n, (age, (ns, branch)) in enumerate(zip(ages, branches, strict=False), 1)
    ]
    loose = RetentionPolicy(keep_latest=keep, at_least=floor)
    strict = RetentionPolicy(
        keep_latest=keep, at_least=floor, max_age=HOUR * hours, thin=(Thin(after=HOUR, every=HOUR),)
    )
    gone, more = leaving(loose, rows, NOW), leaving(strict, rows, NOW)
    assert gone.keys() <= more.keys()  # another rule never keeps more
    for ns in {row.namespace for row in rows}:
        numbers = sorted((row.number for row in rows if row.namespace == ns), reverse=True)
        assert not set(numbers[:floor]) & more.keys()
    for place in {(row.namespace, row.branch) for row in rows}:
        assert max(row.number for row in rows if (row.namespace, row.branch) == place) not in more


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("30 days", DAY * 30), ("30 days idle", DAY * 30), ("a day", DAY), ("an hour", HOUR), ("one hour", HOUR), ("12h", HOUR * 12),
        ("2 weeks", DAY * 14), ("90s", timedelta(seconds=90)), ("1.5 hours", HOUR * 1.5), ("10 min", timedelta(minutes=10)), (DAY, DAY),
    ],
)  # fmt: skip
def test_spans_of_time_in_words(text, span):
    assert duration(text) == span


@pytest.mark.parametrize("text", ["", "soon", "30", "days", "-1 day", "a month", 5, None, "9999999999999 weeks"])
def test_what_is_no_span_is_said(text):
    with pytest.raises(Misuse, match=r"span|longer"):
        duration(text)


@pytest.mark.parametrize(
    "values",
    [
        {}, {"keep_latest": 0}, {"keep_latest": True}, {"keep_latest": 1.5}, {"max_age": timedelta(0)}, {"max_age": 5},
        {"expire_after": -DAY}, {"keep_latest": 1, "at_least": 0}, {"thin": ["often"]}, {"keep_latest": 1, "tags": "one"},
        {"keep_latest": 1, "tags": [""]},
    ],
)  # fmt: skip
def test_a_policy_without_sense_is_misuse(values):
    with pytest.raises(Misuse):
        RetentionPolicy(**values)


TOML = """
[[policy]]
name = "support"
tags = ["support", "客服"]
without_tags = "keep"
keep_latest = 20
thin = ["keep one an hour after a day", {every = "1 day", after = "2 weeks"}]
expire_after = "30 days idle"

[[policy]]
max_age = "1 year"
"""


def test_policies_from_a_file_and_the_first_that_matches():
    text = TOML.replace("1 year", "52 weeks")
    support, rest = read_policies(text)
    assert support == RetentionPolicy(
        name="support", tags=frozenset({"support", "客服"}), without_tags=frozenset({"keep"}), keep_latest=20,
        thin=(Thin(after=DAY, every=HOUR), Thin(after=DAY * 14, every=DAY)), expire_after=DAY * 30,
    )  # fmt: skip
    assert rest == RetentionPolicy(name="policy 2", max_age=DAY * 364)
    assert policy_for([support, rest], ["客服", "x"]) is support
    assert policy_for([support, rest], ["support", "keep"]) is rest
    assert policy_for([support, rest], []) is rest
    assert policy_for([support], []) is None
    assert read_policies('{"policy": {"keep_latest": 3}}', kind="json") == (
        RetentionPolicy(name="policy 1", keep_latest=3),
    )


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (TOML, "toml"), ("[[policy]]\nkeep = 3", "toml"), ("keep_latest = 3", "toml"), ("[[policy]", "toml"), ("policy = []", "toml"),
        ("policy = [3]", "toml"), ("[other]\n[[policy]]\nkeep_latest = 3", "toml"), ("[]", "json"), ("{", "json"), ("", "toml"),
    ],
)  # fmt: skip
def test_a_file_that_says_something_else_is_misuse(text, kind):
    with pytest.raises(Misuse):
        read_policies(text, kind=kind)
