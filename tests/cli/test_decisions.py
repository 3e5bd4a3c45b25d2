"""At a shell: an answer lets the run that waited go on, says what comes next, and every message speaks the shell's words."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from datetime import timedelta
from pathlib import Path

import pytest

import dalsegno
from dalsegno.cli.frame import _quoted

MODULE = """
import operator
from pathlib import Path
from typing import Annotated
from langgraph.graph import START, StateGraph
from typing_extensions import TypedDict
from dalsegno.errors import ActionFailed, ActionRejected

class State(TypedDict, total=False):
    log: Annotated[list[str], operator.add]

class Slow(Exception):
    pass

def made(ds):
    @ds.action(kind="send", recipient="to", approve=True)
    def mail(to, text):
        return f"mailed {to}"

    @ds.action(kind="update", unclear=(Slow,))
    def pay(order):
        if not Path("asked").exists():
            Path("asked").touch()
            raise Slow("no answer")
        return f"paid {order}"

    def node(call):
        def run(state):
            try:
                return {"log": [str(call())]}
            except (ActionRejected, ActionFailed) as error:
                return {"log": [type(error).__name__]}
        return run

    builder = StateGraph(State)
    builder.add_node("pay", node(lambda: pay("A-1")))
    builder.add_node("mail", node(lambda: mail("ana\\nevil", "Hello")))
    builder.add_edge(START, "pay")
    builder.add_edge("pay", "mail")
    return builder.compile(checkpointer=ds.checkpointer)

def look(action):
    raise RuntimeError("their server\\nis down")

def blind(action):
    return None

graph = 5
"""


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str) -> str:
    """A module of an agent, and a thread `order` whose run waits for the outcome of `pay`."""
    name = f"shop_{abs(hash(str(tmp_path)))}"
    (tmp_path / f"{name}.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    import importlib

    module = importlib.import_module(name)
    with dalsegno.connect(url) as ds:
        graph, config = module.made(ds), {"configurable": {"thread_id": "order"}}
        with pytest.raises(module.Slow):
            graph.invoke({}, config)
        assert graph.invoke(None, config)["__interrupt__"]
    return name


def unknown(run) -> str:
    (action,) = run("actions", "list", "--thread", "order", "--json").json
    return action["action_id"][:12]


@pytest.mark.parametrize(
    ("words", "log"),
    [(("succeeded", "--result", '{"id": 7}'), "{'id': 7}"), (("failed",), "ActionFailed"), (("retry",), "paid A-1")],
)
def test_a_run_goes_on_with_what_was_said_at_the_shell(shop, run, url, words, log):
    (waiting,) = run("runs", "--status", "waiting", "--json").json
    assert waiting["waits_for"] == [
        {"for": f"outcome of pay ({unknown(run)})", "action_id": waiting["waits_for"][0]["action_id"]}
    ]
    assert f"waits for outcome of pay ({unknown(run)})" in run("runs").out
    assert f"outcome of pay ({unknown(run)})" in run("runs", "show", "order").out
    answer = run("actions", "resolve", unknown(run), *words, "--by", "mara")
    assert answer.code == 0
    assert "thread order goes on with this answer" in answer.err
    assert f"dalsegno worker MODULE:GRAPH --store {url}" in answer.err
    assert "by mara" in run("runs", "show", "order", "--json").json["note"]
    lines = run("worker", f"{shop}:made", "--once").out.splitlines()
    assert [line.split()[2:4] for line in lines] == [["took", "order"], ["waiting", "order"]]
    assert "for approval of mail (" in lines[1]
    (mail,) = run("actions", "list", "--state", "awaiting_approval", "--json").json
    answer = run("actions", "reject", mail["action_id"], "--by", "mara", "--why", "no", "--json")
    assert answer.json["state"] == "failed"
    assert "finished order" in run("worker", f"{shop}:made", "--once").out
    with dalsegno.connect(url) as ds:
        assert ds.threads.state("order")["log"] == [log, "ActionRejected"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("succeeded", "--result", "r-7"), "no JSON"),
        (("succeeded", "--result", "NaN"), "no JSON"),
        (("succeeded", "--result", "1e999"), "no JSON"),
        (("succeeded", "--result", '{"paid": 1, "paid": 2}'), "stands in it twice"),
        (("succeeded", "--result", '{"a": }'), "no JSON"),
        (("succeeded", "--result", "[" * 100_000), "no JSON"),
        (("failed", "--result", "1"), "only an action that succeeded"),
        (("retry", "--result", "1"), "only an action that succeeded"),
    ],
)
def test_a_result_that_is_none_changes_nothing(shop, run, words, says):
    answer = run("actions", "resolve", unknown(run), *words, "--by", "mara")
    assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert says in answer.err
    assert run("actions", "show", unknown(run), "--json").json["state"] == "unknown"


def test_a_live_lease_does_not_hold_a_decision_up(shop, run, url):
    with dalsegno.connect(url) as ds:
        ds.runs.lease("order", timedelta(seconds=60))
    answer = run("actions", "resolve", unknown(run), "succeeded", "--by", "mara", "--why", "asked them", "--json")
    assert (answer.code, answer.json["state"], answer.json["error"]) == (0, "succeeded", None)
    assert "thread order goes on with this answer when its lease has ended" in answer.err


def test_a_decision_that_no_run_waits_for_says_which_call_goes_on(run, url):
    with dalsegno.connect(url) as ds:
        mail = ds.action(kind="update", approve=True, name="mail")(lambda to: to)
        with ds.actions.within("t-1", step="c"), pytest.raises(dalsegno.errors.ApprovalRequired):
            mail("ana")
        (action,) = ds.actions.list()
    assert "the same call, made again, does it" in run("actions", "approve", action.action_id, "--by", "mara").err


def test_a_reconciler_that_cannot_tell_is_told(shop, run):
    answer = run("actions", "reconcile", unknown(run), "--using", f"{shop}:look")
    assert answer.code == 5
    assert "The reconciler could not tell (RuntimeError: their server is down)" in answer.err
    assert f"`dalsegno actions resolve {unknown(run)} OUTCOME --by NAME`" in answer.err
    answer = run("actions", "reconcile", unknown(run), "--using", f"{shop}:blind")
    assert (answer.code, "the reconciler cannot tell; say what you found" in answer.err) == (0, True)


# --- words


WRONG = [
    ("actions", "approve", "{action}"),
    ("actions", "reject", "{action}", "--by", " "),
    ("actions", "approve", "{action}", "--by", "mara"),
    ("actions", "resolve", "{action}", "succeeded"),
    ("actions", "reconcile", "{action}", "--using", "{shop}:look"),
    ("actions", "show", "feed"),
    ("actions", "show", "{action}:99"),
    ("actions", "resolve", "{action}:99", "failed", "--by", "mara"),
    ("actions", "list", "--state", "nope"),
    ("runs", "--status", "nope"),
    ("runs", "retry", "t-1"),
    ("runs", "retry", "empty"),
    ("runs", "retry", "held"),
    ("delete", "held", "--yes"),
    ("prune", "held", "--yes"),
    ("erase", "--thread", "held", "--yes"),
    ("erase",),
    ("erase", "--thread", "never", "--yes"),
    ("retention", "plan"),
    ("retention", "plan", "--tag", " ", "--keep-latest", "1"),
    ("retention", "plan", "--tag", "a", "--without-tag", "a", "--keep-latest", "1"),
    ("retention", "plan", "--expire-after", "soon"),
    ("retention", "plan", "--expire-after", "0 days"),
    ("retention", "plan", "--max-age", "0 days"),
    ("retention", "plan", "--thin", "now and then"),
    ("memory", "forget"),
    ("memory", "show", "feed"),
    ("audit", "verify", "--against", "{heads}"),
    ("tag", "t-1", " "),
    ("worker", "{shop}:graph", "--once"),
    ("worker", "{shop}:made", "--once", "--idle", "0s"),
]

CODE = re.compile(
    r"\bds\.|dalsegno\.\w+\(|timedelta|\w+=…|\b[a-z]+_[a-z_]+=|\bkeep_latest|\bexpire_after|\bmax_age|\bwithout_tags"
)
"""What only someone who writes Python would say."""


def test_an_error_at_the_shell_speaks_of_commands_and_options(shop, run, url, tmp_path):
    heads = tmp_path / "heads.json"
    heads.write_text(json.dumps({"heads": {"x": 1}}))
    with dalsegno.connect(url) as ds:
        ds.journal.append("empty", "note", "ana", "hello")
        ds.runs.lease("held", timedelta(seconds=60))
    known = {"action": unknown(run), "shop": shop, "heads": heads}
    for words in WRONG:
        answer = run(*(word.format(**known) for word in words))
        assert answer.code in (2, 3, 4, 5), words
        assert answer.err.count("\n") == 1
        assert not CODE.search(answer.err), answer.err


def test_a_key_for_the_audit_that_is_too_short_names_its_variable(run):
    answer = run("threads", DALSEGNO_AUDIT_KEY="short")
    assert (answer.code, "DALSEGNO_AUDIT_KEY" in answer.err) == (2, True)
    assert not CODE.search(answer.err)


def test_a_run_that_never_was_is_said_to_be_none(run, url):
    with dalsegno.connect(url) as ds:
        ds.journal.append("empty", "note", "ana", "hello")
    answer = run("runs", "retry", "empty")
    assert (answer.code, "has never run, so there is nothing to try again" in answer.err) == (5, True)


TARGETS = ["../x:y", ".x:y", "x.py", "a/b.py:graph", "x:", ":y", "x:y z", "x..y:z", "1x:y", "x:y.", "", ":", "\x00:y"]


@pytest.mark.parametrize("words", [("worker",), ("lint",), ("actions", "reconcile", "feed", "--using")])
def test_a_target_that_is_no_name_is_refused_with_its_form(run, words):
    for target in TARGETS:
        answer = run(*words, target)
        assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
        assert "write it as module:" in answer.err


# --- hostile names


def test_a_name_cannot_pose_as_another_row(run, url, shop):
    name = "t\n2026-12-01 00:00:00Z finished forged\x1b[2J\u202e"
    written = r"t\n2026-12-01 00:00:00Z finished forged\x1b[2J\u202e"
    with dalsegno.connect(url) as ds:
        import importlib

        lease = ds.runs.lease(name, timedelta(seconds=60), holder="h\nx")
        importlib.import_module(shop).made(ds).update_state(lease.config, {"log": ["in"]}, as_node="pay")
        lease.hand_over()
        mail = ds.action(kind="send", recipient="to", approve=True, name="m\nrow")(lambda to: to)
        with ds.actions.within(name, step="c"), pytest.raises(dalsegno.errors.ApprovalRequired):
            mail("ana\nrow")
        (action,) = ds.actions.list(name)
        ds.threads.tag(name, "a\nb")
    said = run("worker", f"{shop}:made", "--once").out
    assert [line.split()[2] for line in said.splitlines()] == ["took", "waiting"]
    assert said.count(written) == 2
    for words in (
        ("runs",), ("runs", "show", name), ("threads",), ("actions", "list"), ("actions", "show", action.action_id),
        ("tag", name, "b"), ("checkpoints", name), ("retention", "plan", "--keep-latest", "1"),
        ("erase", "--thread", name, "--dry-run"), ("runs", "--limit", "3"), ("threads", "--limit", "1"),
        ("actions", "approve", action.action_id, "--by", "mara"),
    ):  # fmt: skip
        answer = run(*words, COLUMNS="400")
        text = answer.out + answer.err
        assert "\x1b" not in text
        assert not re.search(r"^\W*(2026-12-01 00:00:00Z finished|row|x\b)", text, re.MULTILINE), text


def test_a_proposal_can_be_copied_whatever_the_id(tmp_path):
    for word in ("plain", "two words", "it's", "a\nb", "\x1b[2J\\", "'\n", "\u202ex", "退款"):
        told = subprocess.run(["bash", "-c", f"printf %s {_quoted(word)}"], capture_output=True, check=True)
        assert told.stdout.decode() == word
        assert "\n" not in _quoted(word)


# --- a worker before and after its runs


def test_a_worker_that_comes_first_has_nothing_to_do(run, shop, tmp_path):
    early = f"sqlite:///{tmp_path}/later.db"
    answer = run("worker", f"{shop}:made", "--once", store=early)
    assert (answer.code, answer.out) == (0, "")
    assert "nothing to do" in answer.err
    assert not (tmp_path / "later.db").exists()
    answer = run("worker", f"{shop}:made", "--once", "--tenant", "acme")
    assert (answer.code, "no tenant 'acme' in this database yet" in answer.err) == (0, True)
    (tmp_path / "other.db").write_text("not a database, but long enough to be read as one")
    assert run("worker", f"{shop}:made", "--once", store=f"sqlite:///{tmp_path}/other.db").code == 7


def test_a_worker_waits_for_the_first_write(shop, run, tmp_path):
    early = f"sqlite:///{tmp_path}/later.db"

    def write() -> None:
        import importlib

        with dalsegno.connect(early) as ds:
            graph, lease = importlib.import_module(shop).made(ds), ds.runs.lease("t", timedelta(seconds=60))
            graph.update_state(lease.config, {"log": ["in"]}, as_node="pay")
            lease.hand_over()
            while ds.runs.get("t").status != "waiting":
                time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGTERM)

    later = threading.Timer(0.3, write)
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    later.start()
    try:
        answer = run("worker", f"{shop}:made", "--poll", "20ms", store=early)
    finally:
        later.join()
        signal.signal(signal.SIGTERM, before)
    assert answer.code == 0
    assert "waiting until something is written" in answer.err
    assert "took t" in answer.out


def test_a_worker_that_waits_for_the_first_write_ends_cleanly(shop, tmp_path):
    words = [sys.executable, "-c", "from dalsegno.cli import main; main()", "worker", f"{shop}:made", "--poll", "20ms"]
    with subprocess.Popen(
        [*words, "--store", f"sqlite:///{tmp_path}/never.db"], stderr=subprocess.PIPE, text=True
    ) as program:
        assert "waiting until something is written" in program.stderr.readline()
        os.kill(program.pid, signal.SIGTERM)
        assert program.wait(20) == 0


def test_once_says_what_it_leaves_for_later(shop, run, url):
    with dalsegno.connect(url) as ds:
        import importlib

        graph = importlib.import_module(shop).made(ds)
        lease = ds.runs.lease("later", timedelta(seconds=60))
        graph.update_state(lease.config, {"log": ["in"]}, as_node="__start__")
        lease.hand_over()
    Path("asked").unlink()
    answer = run("worker", f"{shop}:made", "--once", "--backoff", "1h")
    assert "failed later" in answer.out
    assert "1 run left to go on with later, the next attempt at " in answer.err
    assert "dalsegno runs --status orphaned --store" in answer.err
