"""What a person is shown can be copied: ids stay whole at any width, and a proposed command repeats its options."""

from __future__ import annotations

import shlex
import uuid

import pytest

import dalsegno
from dalsegno.cli.frame import without_password


def test_an_id_is_never_broken(run, tmp_path):
    ids = [str(uuid.uuid4()), str(uuid.uuid4()), "a thread with a long name " * 4]
    store = f"sqlite:///{tmp_path}/ids.db"
    with dalsegno.connect(store) as ds:
        for thread_id in ids[:2]:
            ds.journal.append(thread_id, "note", "me", "hello")
    narrow = run("threads", store=store, COLUMNS="80").out
    assert all(thread_id in narrow for thread_id in ids[:2])
    assert "checkpoints" in narrow
    assert max(map(len, narrow.splitlines())) <= 80
    with dalsegno.connect(store) as ds:
        ds.journal.append(ids[2], "note", "me", "hello")
    for columns in ("40", "80", "130"):
        out = run("threads", store=store, COLUMNS=columns).out
        assert all(thread_id.strip() in out for thread_id in ids)


def test_a_column_that_says_nothing_is_left_out(run, url):
    assert "owner" not in run("threads").out
    with dalsegno.connect(url, user="u-7") as ds:
        ds.journal.append("theirs", "note", "u-7", "hello")
    assert "owner" in run("threads").out


def test_a_proposed_command_is_whole_and_on_one_line(run, url):
    words = ("show", "hostile", "--limit", 1, "--full")
    note = run(*words, "--tenant", "default", COLUMNS="40").err
    assert note.count("\n") == 1
    proposed = shlex.split(note.partition(": ")[2])
    expected = ["dalsegno", "show", "hostile", "--after", "1", "--limit", "1", "--full"]
    assert proposed == [*expected, "--store", url, "--tenant", "default"]
    (event,) = run(*proposed[1:-4], "--json").json["events"]
    assert event["seq"] == 2


@pytest.mark.parametrize("url", ["postgresql://u:s3cret@h/db", "postgresql://u:x@s3c/ret@h/db", "postgresql://h/db?password=s3cret&x=1"])  # fmt: skip
def test_a_password_is_not_proposed(url):
    assert "s3c" not in without_password(url)
    assert without_password("sqlite:////x/a:b@c.db") == "sqlite:////x/a:b@c.db"


def test_what_the_environment_gives_is_not_repeated(run, url):
    note = run("threads", "--limit", 1, store=None, DALSEGNO_STORE=url).err
    assert note.rstrip().endswith("dalsegno threads --after forked --limit 1")


def test_an_empty_list_is_said_in_words(run, tmp_path):
    store = f"sqlite:///{tmp_path}/empty.db"
    dalsegno.connect(store).close()
    answer = run("threads", store=store)
    assert answer.out == ""
    assert answer.err == "no threads\n"
