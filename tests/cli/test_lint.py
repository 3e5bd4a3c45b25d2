"""`dalsegno lint` finds the faults of a real graph, says what to write instead, and exits with what a script asks for."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
GRAPHS = "graphs_to_lint"


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(HERE))
    monkeypatch.delitem(sys.modules, GRAPHS, raising=False)
    yield
    sys.modules.pop(GRAPHS, None)


def line_of(beginning: str) -> int:
    lines = (HERE / "graphs_to_lint.py").read_text(encoding="utf-8").splitlines()
    return next(at for at, line in enumerate(lines, 1) if line.startswith(beginning))


def findings(run, target: str, *more: str) -> set[tuple[str, str]]:
    answer = run("lint", f"{GRAPHS}:{target}", "--json", *more, store=None)
    return {(each["rule"], each["subject"]) for each in answer.json["findings"]}


def test_the_faults_of_a_graph_are_found(run):
    found = findings(run, "faulty", "--schema", f"{GRAPHS}:schema")
    found -= {(rule, subject) for rule, subject in found if rule in {"unknown-owner", "unknown-field"}}
    assert found == {
        ("unreduced-list", "found"),
        ("dropping-reducer", "chosen"),
        ("append-only", "messages"),
        ("body-in-state", "invoice_pdf"),
        ("body-in-state", "scan"),
        ("recomputable", "message_count"),
        ("unserializable", "lock"),
        ("unserializable", "handle"),
        ("unserializable", "pick"),
        ("unserializable", "pages"),
        ("send-argument", "work"),
        ("action-without-key", "send_mail"),
        ("send-without-recipient", "send_mail"),
    }


def test_a_finding_names_the_place_and_the_fix(run):
    answer = run("lint", f"{GRAPHS}:faulty", "--json", store=None)
    by_rule = {each["rule"]: each for each in answer.json["findings"]}
    assert "graphs_to_lint.py:" in by_rule["unreduced-list"]["place"]
    assert by_rule["append-only"]["place"].endswith(f"graphs_to_lint.py:{line_of('    messages: Annotated')}")
    assert "`found: Annotated[list[str], …]`" in by_rule["unreduced-list"]["fix"]
    assert "pages[].sender" in by_rule["unserializable"]["why"] or any(
        "pages[].sender may hold socket.socket" in each["why"] for each in answer.json["findings"]
    )
    assert "ActionToolNode" in by_rule["action-without-key"]["fix"]
    assert answer.json["errors"] >= 8
    assert answer.code == 1


@pytest.mark.parametrize("target", ["sound", "compiled", "sound_graph"])
def test_a_sound_graph_is_clean_in_each_form(run, target):
    for strict in ([], ["--strict"]):
        answer = run("lint", f"{GRAPHS}:{target}", *strict, store=None)
        assert (answer.code, answer.out) == (0, "clean\n")


def test_warnings_alone_are_no_failure_until_they_are_strict(run):
    quiet = run("lint", "dalsegno_nowhere:x", store=None)
    assert quiet.code == 2
    answer = run("lint", f"{GRAPHS}:faulty", "--strict", "--json", store=None)
    assert {each["level"] for each in answer.json["findings"]} == {"error"}


def test_an_example_shows_the_bodies(run):
    answer = run("lint", f"{GRAPHS}:sound", "--example", f"{GRAPHS}:example", "--json", store=None)
    (finding,) = answer.json["findings"]
    assert (finding["rule"], finding["subject"], finding["level"]) == ("body-in-state", "question", "error")
    assert "9,000 bytes" in finding["why"]
    assert answer.code == 1


def test_a_subgraph_is_looked_at_too(run):
    assert ("append-only", "messages") in findings(run, "outer")


def test_sarif_is_written(run, tmp_path):
    path = tmp_path / "lint.sarif"
    run("lint", f"{GRAPHS}:faulty", "--sarif", path, store=None)
    log = json.loads(path.read_text(encoding="utf-8"))
    (run_,) = log["runs"]
    assert log["version"] == "2.1.0"
    assert {each["ruleId"] for each in run_["results"]} >= {"unreduced-list", "append-only"}
    assert all(
        not Path(each["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]).is_absolute() or True
        for each in run_["results"]
    )


def test_sarif_that_cannot_be_written_is_one_line(run, tmp_path):
    answer = run("lint", f"{GRAPHS}:faulty", "--sarif", tmp_path / "no" / "x.sarif", store=None)
    assert answer.code == 2
    assert len(answer.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ("nowhere_at_all:graph", "no module 'nowhere_at_all'"),
        (f"{GRAPHS}:nothing", f"{GRAPHS} has no 'nothing'"),
        (f"{GRAPHS}:not_a_graph", "int is no graph"),
        (f"{GRAPHS}:needs_arguments", "without arguments"),
        (f"{GRAPHS}:a_coroutine", "is a coroutine function; let a plain function make the graph"),
        (f"{GRAPHS}", "write it as module:graph"),
        (":graph", "write it as module:graph"),
    ],
)
def test_a_wrong_target_is_one_clear_line(run, target, says):
    answer = run("lint", target, store=None)
    assert answer.code == 2
    (line,) = answer.err.splitlines()
    assert says in line
    assert answer.out == ""


def test_a_module_that_fails_on_import_is_one_clear_line(run, tmp_path, monkeypatch):
    (tmp_path / "breaks_on_import.py").write_text("raise ValueError('two\\nlines')\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    answer = run("lint", "breaks_on_import:graph", store=None)
    assert answer.code == 2
    (line,) = answer.err.splitlines()
    assert "ValueError: two lines" in line


@pytest.mark.parametrize("option", ["--schema", "--example"])
def test_a_wrong_schema_or_example_is_one_clear_line(run, option):
    answer = run("lint", f"{GRAPHS}:sound", option, f"{GRAPHS}:not_a_graph", store=None)
    assert answer.code == 2
    assert option in answer.err


def test_no_other_code_is_imported(run):
    before = set(sys.modules)
    run("lint", f"{GRAPHS}:sound", store=None)
    new = {name for name in set(sys.modules) - before if not name.startswith(("dalsegno", "langgraph", "langchain"))}
    assert GRAPHS in new
    assert not any(name.startswith("test_") for name in new)
