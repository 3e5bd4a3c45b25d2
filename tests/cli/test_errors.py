"""Whatever is wrong is one line on standard error with the next step, and an exit code that names its family."""

from __future__ import annotations

import json
import os
import pickle
import sqlite3
import stat

import pytest

import dalsegno
from dalsegno.cli.frame import EXIT_CODES, exit_code_of
from dalsegno.errors import DalsegnoError


def families(kind):
    return [each for child in kind.__subclasses__() for each in (child, *families(child))]


def test_every_error_has_the_code_of_its_family():
    assert len(set(EXIT_CODES.values())) == len(EXIT_CODES)
    assert not {0, 1} & set(EXIT_CODES.values())
    for kind in families(DalsegnoError):
        assert exit_code_of(kind.__new__(kind)) in EXIT_CODES.values()


CASES = [
    (("threads",), None, 2, "--store"),
    (("threads",), "memory://", 2, "one process"),
    (("threads",), "mysql://host/db", 2, "sqlite:///"),
    (("threads",), "agents.db", 2, "sqlite:///"),
    (("threads",), "sqlite:///{tmp}/nowhere.db", 7, "nowhere.db"),
    (("threads",), "sqlite:///{tmp}/nowhere.db", 7, "with `dalsegno import`"),
    (("import", "{tmp}/two.json", "--thread", "t-9"), "{url}", 2, "choose one with --index from 0 to 1"),
    (("threads",), "sqlite:///{tmp}/no/such/folder.db", 7, "folder.db"),
    (("threads",), "sqlite:///{tmp}", 7, ""),
    (("threads",), "sqlite:///{tmp}/text.db", 7, "text.db"),
    (("threads",), "postgresql://nobody@127.0.0.1:1/none?connect_timeout=2", 7, "127.0.0.1"),
    (("show", "nobody"), "{url}", 3, "nobody"),
    (("show", " "), "{url}", 2, ""),
    (("show", "t-1", "--checkpoint", "1f000000-0000-6000-8000-000000000000"), "{url}", 3, "checkpoint"),
    (("show", "t-1", "--checkpoint", "not an id"), "{url}", 3, "checkpoint"),
    (("checkpoints", "nobody"), "{url}", 3, "nobody"),
    (("state", "nobody"), "{url}", 3, "nobody"),
    (("state", "t-1", "--checkpoint", "1f000000-0000-6000-8000-000000000000"), "{url}", 3, "checkpoint"),
    (("diff", "t-1", "nobody"), "{url}", 3, "nobody"),
    (("diff", "t-1", "t-1@1f000000-0000-6000-8000-000000000000"), "{url}", 3, "checkpoint"),
    (("check", "nobody"), "{url}", 3, "nobody"),
    (("export", "nobody"), "{url}", 3, "nobody"),
    (("check", "--tenant", "nobody"), "{url}", 3, "no tenant 'nobody'"),
    (("threads", "--tenant", "nobody"), "{url}", 3, "no tenant 'nobody'"),
    (("export", "t-1", "-o", "{tmp}/no/folder/out"), "{url}", 2, "/no/folder/out: "),
    (("import", "{tmp}/events.jsonl", "--thread", "t-9"), "{url}", 2, "--format openai"),
    (("demo", "--store", "memory://"), None, 2, "memory://"),
    (("demo", "--kill-at", "9999"), None, 2, "1 to 66"),
    (("demo", "--transcript", "{tmp}/text.db"), None, 2, "text.db"),
    (("demo", "--transcript", "{tmp}/none.json"), None, 2, "none.json"),
]


@pytest.mark.parametrize(("words", "store", "code", "place"), CASES, ids=lambda value: str(value)[:60])
def test_an_error_is_one_line_and_a_code(run, url, tmp_path, words, store, code, place):
    (tmp_path / "text.db").write_text("no database and no transcript")
    (tmp_path / "two.json").write_text(json.dumps([{"messages": [{"role": "user", "content": "hi"}]}] * 2))
    run("export", "t-1", "-o", tmp_path / "events.jsonl")
    names = {"tmp": tmp_path, "url": url}
    answer = run(*(word.format(**names) for word in words), store=store and store.format(**names))
    assert answer.code == code, answer.err
    assert answer.out == ""
    assert answer.err.count("\n") == 1
    assert answer.err.startswith("dalsegno: ")
    assert "Traceback" not in answer.err
    assert place in answer.err


@pytest.mark.parametrize("words", [("threads",), ("show", "t"), ("checkpoints", "t"), ("state", "t"), ("diff", "a", "b"), ("check",), ("export", "t")], ids=lambda words: words[0])  # fmt: skip
def test_a_mistyped_path_makes_no_database(run, tmp_path, words):
    before = set(tmp_path.iterdir())
    assert run(*words, store=f"sqlite:///{tmp_path}/agent.db").code == 7
    assert set(tmp_path.iterdir()) == before


def test_somebody_elses_database_stays_as_it_is(run, tmp_path):
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE theirs (x)")
    db.close()
    before = path.read_bytes()
    assert run("threads", store=f"sqlite:///{path}").code == 7
    assert path.read_bytes() == before


def test_a_password_is_not_repeated(run):
    for url in ("mysql://u:s3cret@host/db", "postgresql://u:s3cret@127.0.0.1:1/db?connect_timeout=2"):
        answer = run("threads", store=url)
        assert answer.code != 0
        assert "s3cret" not in answer.err + answer.out


def test_a_newer_schema_is_refused(run, database):
    with sqlite3.connect(database) as db:
        db.execute("UPDATE ds_meta SET value = '999' WHERE name IN ('format', 'schema', 'version')")
        assert db.total_changes
    db.close()
    answer = run("threads")
    assert answer.code == 7
    assert answer.err.count("\n") == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(run, database):
    database.chmod(0)
    assert run("threads").code == 7
    database.chmod(stat.S_IRUSR | stat.S_IWUSR)


def test_a_hostile_thread_id_in_an_error_is_text(run):
    answer = run("show", "\x1b[2Jx\ny")
    assert answer.code in {2, 3}
    assert "\x1b" not in answer.err
    assert answer.err.count("\n") == 1


def test_the_next_step_for_a_deleted_thread_is_a_programs(run, url, tmp_path):
    (tmp_path / "chat.json").write_text(json.dumps([{"role": "user", "content": "hi"}]))
    with dalsegno.connect(url) as ds:
        ds.threads.delete("t-1")
    answer = run("import", tmp_path / "chat.json", "--thread", "t-1")
    assert answer.code != 0
    assert "create=" not in answer.err
    assert "ds.threads.reopen()" not in answer.err


def test_debug_shows_where(run):
    answer = run("show", "nobody", "--debug")
    assert answer.code == 3
    assert "Traceback" in answer.err
    assert "ThreadNotFound" in answer.err


def test_a_fault_of_the_program_is_not_hidden(run, monkeypatch):
    def broken(*arguments, **options):
        raise ZeroDivisionError

    monkeypatch.setattr(dalsegno.connect.__globals__["Dalsegno"], "__init__", broken)
    with pytest.raises(ZeroDivisionError):
        run("threads")


def test_a_next_step_is_told_to_each_in_its_own_words():
    error = DalsegnoError("it is not there", step="connect with create=True", command="run `dalsegno import`")
    assert str(error) == "it is not there; connect with create=True"
    assert error.for_a_shell == "it is not there; run `dalsegno import`"
    assert (error.problem, error.step, error.command) == (
        "it is not there", "connect with create=True", "run `dalsegno import`",
    )  # fmt: skip
    alike = DalsegnoError("it is not there", step="check the name")
    assert str(alike) == alike.for_a_shell == "it is not there; check the name"
    whole = DalsegnoError("it is not there; check the name")
    assert str(whole) == whole.for_a_shell
    copied = pickle.loads(pickle.dumps(error))
    assert (str(copied), copied.for_a_shell) == (str(error), error.for_a_shell)
