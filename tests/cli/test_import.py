"""What others recorded becomes a thread like any other, or one error and nothing."""

from __future__ import annotations

import json

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver

import dalsegno
from dalsegno.demo import BUILT_IN


@pytest.fixture
def fresh(tmp_path):
    """URL of a database that does not exist yet."""
    return f"sqlite:///{tmp_path / 'fresh.db'}"


def test_a_transcript_becomes_a_thread(run, fresh):
    answer = run("import", BUILT_IN, "--thread", "desk", "--json", store=fresh)
    assert answer.code == 0
    assert (answer.json["format"], answer.json["messages"]) == ("openai", 32)
    events = run("show", "desk", "--json", store=fresh).json["events"]
    assert [event["coordinate"] for event in events[:4]] == ["#1 system", "#2 user", "#3 assistant", "#4 look_up_order"]
    assert run("check", store=fresh).code == 0
    assert "dalsegno show desk2" in run("import", BUILT_IN, "--thread", "desk2", store=fresh).err


def test_what_is_exported_as_chat_is_what_was_imported(run, fresh, tmp_path):
    run("import", BUILT_IN, "--thread", "desk", store=fresh)
    run("export", "desk", "--format", "openai", "-o", tmp_path / "out.json", store=fresh)
    recorded, exported = json.loads(BUILT_IN.read_text()), json.loads((tmp_path / "out.json").read_text())
    assert [message["role"] for message in exported] == [message["role"] for message in recorded]
    assert [message["content"] or "" for message in exported] == [message["content"] or "" for message in recorded]
    calls = [
        [json.loads(c["function"]["arguments"]) for m in chat for c in m.get("tool_calls", ())]
        for chat in (recorded, exported)
    ]
    assert calls[0] == calls[1]
    assert run("import", tmp_path / "out.json", "--thread", "again", store=fresh).code == 0
    assert run("diff", "desk", "again", store=fresh).out == ""


def test_a_thread_of_langgraphs_own_saver_goes_on_here(run, fresh, tmp_path, agent):
    with SqliteSaver.from_conn_string(str(tmp_path / "stock.db")) as saver:
        for thread in ("a", "b"):
            config = {"configurable": {"thread_id": thread}}
            agent(saver).invoke({"messages": [("user", f"hello {thread}")]}, config)
    answer = run("import", tmp_path / "stock.db", "--thread", "b", store=fresh)
    assert answer.code == 2
    assert "--index 0 to 1" in answer.err
    assert run("import", tmp_path / "stock.db", "--thread", "b", "--index", 1, store=fresh).code == 0
    with dalsegno.connect(fresh) as ds:
        agent(ds.checkpointer).invoke({"messages": [("user", "and on")]}, {"configurable": {"thread_id": "b"}})
    chat = run("export", "b", "--format", "openai", store=fresh).json
    assert [message["content"] for message in chat] == ["hello b", "heard: hello b", "and on", "heard: and on"]


BAD = {
    "empty.json": "",
    "broken.json": '[{"role": "user", "content"',
    "other.json": '{"weather": "fine"}',
    "no-messages.json": "[]",
    "role.json": '[{"role": "captain", "content": "ahoy"}]',
    "orphan.json": '[{"role": "user", "content": "x"}, {"role": "tool", "tool_call_id": "nobody", "content": "y"}]',
}


@pytest.mark.parametrize("name", BAD)
def test_a_malformed_transcript_is_one_error_and_nothing_written(run, url, tmp_path, name):
    path = tmp_path / name
    path.write_text(BAD[name])
    answer = run("import", path, "--thread", "new")
    assert answer.code == 2
    assert answer.err.count("\n") == 1
    assert name in answer.err
    assert "new" not in run("threads", "--deleted").out


def test_a_missing_file_is_one_error(run, tmp_path):
    answer = run("import", tmp_path / "nowhere.json", "--thread", "new")
    assert answer.code == 2
    assert "nowhere.json" in answer.err


def test_a_thread_is_never_imported_into(run):
    before = run("export", "t-1").out
    answer = run("import", BUILT_IN, "--thread", "t-1")
    assert answer.code == 5
    assert run("export", "t-1").out == before


def test_an_index_outside_the_file_names_the_range(run, tmp_path):
    path = tmp_path / "many.json"
    path.write_text(json.dumps([{"traj": [{"role": "user", "content": str(n)}]} for n in range(3)]))
    assert "0 to 2" in run("import", path, "--thread", "x").err
    assert "0 to 2" in run("import", path, "--thread", "x", "--index", 3).err
    assert run("import", path, "--thread", "x", "--index", 2).code == 0
    assert json.loads(run("export", "x").out)["text"] == "2"
