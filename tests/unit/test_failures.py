"""Two failures are the same when error, place and message are, but for what names the moment; waiting doubles."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dalsegno.core.failures import Failure, backoff, fingerprint, gist
from dalsegno.core.standing import RunStatus, Standing, status_of
from dalsegno.services import standings
from dalsegno.services.orphans import _due
from dalsegno.services.run_rows import RunRow


def failure(message: str, **changed: str) -> Failure:
    return Failure(**{"kind": "builtins.ValueError", "place": "app:pay", "message": message, **changed})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("order 17 not found", "order 4,018 not found"),
        ("at 0x7f53", "at 0xDEADBEEF"),
        ("run 1f1ed222-11dc-6d0b-8001-1671f5328e9f", "run 00000000-11dc-6d0b-8001-1671f5328e9f"),
        ("no 'ana'", "no 'ben'"),
        ("after 10:42:07", "after 9:00:00"),
        ("token 9f86d081884c7d65", "token 60303ae22b998861"),
        ("two  blanks", "two\nblanks"),
    ],
)
def test_what_names_the_moment_does_not_count(one, other):
    assert gist(one) == gist(other)
    assert fingerprint(failure(one)) == fingerprint(failure(other))


def test_what_names_the_reason_does():
    found = {
        fingerprint(failure("timed out")),
        fingerprint(failure("refused")),
        fingerprint(failure("timed out", place="app:mail")),
        fingerprint(failure("timed out", kind="builtins.OSError")),
        fingerprint(failure("decade facade")),  # words of letters a to f are words
        fingerprint(failure("facade decade")),
    }
    assert len(found) == 6


def test_any_message_can_be_told_and_compared():
    hostile = failure("\x00 \ud800 " + "x" * 10_000)
    assert hostile.told.startswith("ValueError: \\0 \\ud800 xx")
    assert len(hostile.told) < 2100
    assert len(fingerprint(hostile)) == 16


def test_waiting_doubles_up_to_an_hour():
    second = timedelta(seconds=1)
    assert [backoff(second, n) // second for n in (1, 2, 3, 4, 12, 13, 400)] == [1, 2, 4, 8, 2048, 3600, 3600]
    assert backoff(timedelta(days=1), 3) == timedelta(days=1)


@pytest.mark.parametrize(
    ("stands", "until", "word"),
    [
        (Standing.CLOSED, None, "finished"),
        (Standing.CLOSED, 99, "finished"),
        (Standing.OPEN, None, "unfinished"),
        (Standing.OPEN, 100, "orphaned"),
        (Standing.ASKED, 99, "waiting"),
        (Standing.RETRY, None, "orphaned"),
        (Standing.PARKED, 99, "parked"),
        *((standing, 101, "running") for standing in Standing),
    ],
)
def test_the_word_for_a_run(stands, until, word):
    assert status_of(stands, until, 100) == RunStatus(word)


def test_the_slots_of_questions_and_answers_are_langgraphs():
    from langgraph._internal._constants import NULL_TASK_ID
    from langgraph.checkpoint.base import WRITES_IDX_MAP
    from langgraph.checkpoint.serde.types import INTERRUPT, RESUME

    assert (WRITES_IDX_MAP[INTERRUPT], WRITES_IDX_MAP[RESUME]) == (standings.QUESTION, standings.ANSWER)
    assert standings.NOBODYS == NULL_TASK_ID


@pytest.mark.parametrize(
    ("stands", "due", "since", "updated_at", "taken"),
    [
        (Standing.RETRY, 100, None, 0, True),
        (Standing.RETRY, 101, None, 0, False),
        (Standing.RETRY, None, 100, 0, False),  # someone else has just taken it
        (Standing.OPEN, None, None, 0, False),
        (Standing.OPEN, None, 50, 50, True),
        (Standing.OPEN, None, 50, 51, False),  # something was written since it was found
        (Standing.CLOSED, 0, 50, 0, False),
    ],
)
def test_what_was_found_is_judged_again_under_the_lock(stands, due, since, updated_at, taken):
    assert _due(RunRow(due=due), stands, 100, since, updated_at) is taken
