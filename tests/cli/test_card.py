"""`dalsegno card` shows where a conversation stands, with the original words where they are asked for."""

from __future__ import annotations

import dalsegno

CHOICE = "Let's go with option B, the budget is $500 at most."


def talk(url: str) -> None:
    with dalsegno.connect(url) as ds:
        for text in ("Plan the launch.", "Let's go with option A.", CHOICE):
            ds.journal.append("launch", "message", "user", text)


def test_the_card_is_shown(url, run):
    talk(url)
    answer = run("card", "launch")
    assert answer.code == 0
    for expected in ("Plan the launch.", "decided", "#3 user", "constraint"):
        assert expected in answer.out
    assert "option A" not in answer.out
    assert "up to #3" in answer.err + answer.out


def test_history_and_evidence_are_added(url, run):
    talk(url)
    assert "option A" in run("card", "launch", "--history").out
    assert "#3 user: Let's go" in run("card", "launch", "--evidence").out


def test_a_program_gets_one_document(url, run):
    talk(url)
    document = run("card", "launch", "--json", "--evidence").json
    assert document["goal"]["text"] == "Plan the launch."
    assert document["decisions"][0]["evidence"] == ["#3 user"]
    assert document["quotes"]["#3 user"] == CHOICE
    assert document["last_event_id"] == 3


def test_nothing_asked_and_nobody_there(url, run):
    with dalsegno.connect(url) as ds:
        ds.journal.append("empty", "note", "clock", "tick")
    answer = run("card", "empty")
    assert (answer.code, "nothing was asked" in answer.err + answer.out) == (0, True)
    assert run("card", "nobody").code == run("show", "nobody").code != 0


def test_words_of_others_cannot_paint_the_terminal(url, run):
    with dalsegno.connect(url) as ds:
        ds.journal.append("launch", "message", "user", "Let's go with \x1b[2J[red]B[/red] for ever.")
    answer = run("card", "launch", "--evidence")
    assert "\x1b[2J" not in answer.out
    assert "[red]" in answer.out
