"""The program as a shell runs it: pipes, locales, processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import dalsegno
from dalsegno.cli import main

PROGRAM = [sys.executable, "-c", "from dalsegno.cli import main; main()"]


def shell(*words: object, **env: str) -> subprocess.CompletedProcess[bytes]:
    clean = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("DALSEGNO", "LC_", "LANG", "PYTHONIO", "PYTHONUNBUFFERED"))
    }
    return subprocess.run(
        [*PROGRAM, *map(str, words)], env={**clean, **env}, capture_output=True, timeout=60, check=False
    )


LOCALES = {
    "C": {"LANG": "C"},
    "strict ascii": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"},
    "latin-1": {"LANG": "C", "PYTHONIOENCODING": "latin-1"},
}


@pytest.mark.parametrize("locale", LOCALES)
def test_every_locale_shows_every_text(url, locale):
    done = shell("show", "t-1", "--store", url, **LOCALES[locale])
    assert done.returncode == 0, done.stderr
    assert done.stderr == b""
    encoding = LOCALES[locale].get("PYTHONIOENCODING", "utf-8")
    shown = "退款" if encoding == "utf-8" else r"\u9000\u6b3e"
    assert shown in done.stdout.decode(encoding)


@pytest.mark.parametrize("locale", ["C", "strict ascii"])
def test_json_is_json_in_every_locale(url, talk, locale):
    with dalsegno.connect(url) as ds:
        talk(ds, "emoji", "🙂 退款 \x9b")
    for command in ("state", "export"):
        done = shell(command, "emoji", "--store", url, "--json", **LOCALES[locale])
        assert done.returncode == 0, done.stderr
        encoding = LOCALES[locale].get("PYTHONIOENCODING", "utf-8")
        assert "🙂 退款 \x9b" in json.dumps(_documents(done.stdout.decode(encoding)), ensure_ascii=False)


def _documents(text: str) -> list[object]:
    try:
        return [json.loads(text)]
    except json.JSONDecodeError:
        return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("words", [["export", "long"], ["show", "long", "--limit", "9999", "--full"], ["show", "long", "--limit", "9999", "--json"]], ids=" ".join)  # fmt: skip
def test_a_reader_that_goes_away_ends_the_program_quietly(url, words):
    with dalsegno.connect(url) as ds:
        for _ in range(200):
            ds.journal.append("long", "note", "me", "x" * 3000)
    buffered = {key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"}
    with subprocess.Popen(
        [*PROGRAM, *words, "--store", url], env=buffered, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as program:
        assert program.stdout.read(100)
        program.stdout.close()
        complaint = program.stderr.read()
        assert program.wait(30) == 141
    assert complaint == b""


@pytest.mark.parametrize("words", [["nonsense"], ["show"], ["threads", "--limit", "0"], ["threads", "--bogus"], ["export", "t", "--format", "x"]], ids=" ".join)  # fmt: skip
def test_mistaken_arguments_are_one_line(words, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["dalsegno", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    out, err = capsys.readouterr()
    assert ended.value.code == 2
    assert out == ""
    assert err.count("\n") == 1
    assert "--help" in err


@pytest.mark.parametrize("words", [["--help"], [], ["-h"]], ids=" ".join)
def test_help_names_every_command(words, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["dalsegno", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    out = capsys.readouterr().out
    for command in ("demo", "import", "threads", "show", "search", "checkpoints", "state", "diff", "check", "export"):
        assert f"  {command}  " in out


@pytest.mark.parametrize(
    ("words", "doing"),
    [
        (["check"], b"checking"),
        (["export", "t-1"], b"exporting"),
        (["import", "{folder}/chat.json", "--thread", "new"], b"importing"),
    ],
    ids=["check", "export", "import"],
)
def test_long_work_has_a_bar_on_a_terminal_beside_its_results(url, tmp_path, words, doing):
    (tmp_path / "chat.json").write_text('[{"role": "user", "content": "hello"}]', encoding="utf-8")
    words = [word.format(folder=tmp_path) for word in words]
    done = shell(*words, "--store", url, FORCE_COLOR="1", TERM="xterm")  # rich's word for "take a pipe as a terminal"
    assert done.returncode == 0, done.stderr
    assert doing in done.stderr
    assert doing not in done.stdout


def test_long_work_has_no_bar_in_a_pipe(url):
    assert shell("check", "--store", url).stderr == b""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_is_one_line(url):
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run([*PROGRAM, "threads", "--store", url], stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 7
    assert done.stderr.count(b"\n") == 1
    assert b"No space left" in done.stderr


def test_an_interrupted_program_says_nothing_more(tmp_path):
    """Ctrl-C while the demo plays: the exit code of an interrupt, no traceback, nothing left behind."""
    # A job in the background of a script is born deaf to this signal.
    program_text = f"import signal; signal.signal(signal.SIGINT, signal.default_int_handler); {PROGRAM[-1]}"
    with subprocess.Popen(
        [*PROGRAM[:-1], program_text, "demo"],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as program:
        while not list(tmp_path.glob("*/demo.db")):
            time.sleep(0.05)
        program.send_signal(signal.SIGINT)
        _, complaint = program.communicate(timeout=60)
    assert program.returncode == 130
    assert b"Traceback" not in complaint
    assert list(tmp_path.iterdir()) == []


def test_the_demo_holds_and_leaves_its_thread_in_the_store_that_was_named(tmp_path, run):
    store = f"sqlite:///{tmp_path}/named.db"
    (tmp_path / "tmp").mkdir()
    done = shell("demo", "--store", store, PYTHONIOENCODING="utf-8", COLUMNS="140", TMPDIR=str(tmp_path / "tmp"))
    assert done.returncode == 0, done.stderr
    for expected in (
        "SIGKILL at kill point",
        "in mid-effect: it was there in the world, and nobody had written that down",
        "finished siblings kept refund",
        "last event #17 ledger",
        "tool send_email, for message 14;",
        "as a SQLite file",
        "identical in role, content and calls",
        "ran again when finished none",
        "7, each of them once",
        "7, each with its moves",
        "send_email: its end was unknown, the world was asked by its key; it had happened",
        "record, start, lose, find_succeeded (reconciler)",
        "times as much",
        "ms from the URL to the loaded head",
        "It holds.",
    ):
        assert expected in " ".join(done.stdout.decode().split())
    assert list((tmp_path / "tmp").iterdir()) == []
    (thread,) = run("threads", "--json", store=store).json
    assert f"dalsegno show {thread['thread_id']} --store {store}" in done.stderr.decode()
    events = run("show", thread["thread_id"], "--limit", 100, "--json", store=store).json["events"]
    assert len([event for event in events if event["kind"] != "action"]) == 32
    assert run("check", store=store).code == 0


def test_the_demo_counts_an_effect_without_a_record_once(tmp_path):
    """Nor does it write into the store of the environment: that may be somebody's production."""
    theirs = tmp_path / "theirs.db"
    (tmp_path / "tmp").mkdir()
    done = shell(
        "demo", "--kill-at", 23, "--json", "--keep", DALSEGNO_STORE=f"sqlite:///{theirs}", TMPDIR=str(tmp_path / "tmp")
    )
    assert done.returncode == 0
    outcome = json.loads(done.stdout)
    assert outcome["killed_at"]["tool"] == "refund"
    assert outcome["killed_at"]["phase"] == "effect"
    assert outcome["doubled"] == []
    assert [entry["tool"] for entry in outcome["ledger"] if entry["asked"]] == ["refund"]
    assert outcome["accounted"] is True
    assert outcome["finished_again"] == []
    assert outcome["holds"] is True
    assert not theirs.exists()
    (kept,) = (tmp_path / "tmp").iterdir()
    assert outcome["folder"] == str(kept)
    assert {"demo.db", "world.db", "undisturbed.db"} <= {file.name for file in kept.iterdir()}
