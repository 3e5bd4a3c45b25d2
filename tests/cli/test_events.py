"""Events are found by their text, and one of a class that is not known here does not hide the others."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import version

import pytest
from typer.testing import CliRunner

from dalsegno.cli import app


@pytest.fixture
def foreign(url) -> None:
    """A thread with an event of a class that only its program knows, between two plain ones."""
    program = f"""
import dataclasses, dalsegno
@dalsegno.register
@dataclasses.dataclass
class Money:
    amount: int
with dalsegno.connect({url!r}) as ds:
    for payload in ("before", {{"price": Money(78)}}, "after"):
        ds.journal.append("foreign", "note", "shop", payload)
"""
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.usefixtures("foreign")
def test_an_event_of_an_unknown_class_is_shown(run):
    answer = run("show", "foreign")
    assert answer.code == 0
    for expected in ("before", "Money", "78", "after"):
        assert expected in answer.out


@pytest.mark.usefixtures("foreign")
def test_an_event_of_an_unknown_class_is_exported_as_it_is_stored(run):
    payloads = [json.loads(line)["payload"] for line in run("export", "foreign").out.splitlines()]
    assert payloads == ["before", {"price": {"$type": "__main__:Money", "amount": 78}}, "after"]
    assert [event["payload"] for event in run("show", "foreign", "--json").json["events"]] == payloads


def test_events_are_found_by_their_text(run):
    found = run("search", "t-1", "退款", "--json").json
    assert {event["seq"] for event in found["events"]} == {1, 2}
    answer = run("search", "t-1", "please", "--limit", 1)
    assert "please book" in answer.out
    assert "退款" not in answer.out


def test_nothing_found_is_said_in_words(run):
    answer = run("search", "t-1", "zebra")
    assert (answer.code, answer.out, answer.err) == (0, "", "nothing found\n")
    assert run("search", "nobody", "zebra").code == 3


def test_no_events_are_said_in_words(run):
    answer = run("show", "t-1", "--after", 99)
    assert (answer.code, answer.out, answer.err) == (0, "", "no events after #99\n")


def test_the_version_is_said():
    result = CliRunner().invoke(app, ["--version"])
    assert (result.exit_code, result.stdout) == (0, f"dalsegno {version('dalsegno')}\n")
