"""The same commands on a PostgreSQL server."""

from __future__ import annotations

import json

import dalsegno
from dalsegno.demo import BUILT_IN


def test_every_command_on_postgres(run, postgres_url, agent, tmp_path):
    def on(*words):
        answer = run(*words, store=postgres_url)
        assert answer.code == 0, answer.err
        return answer

    assert on("import", BUILT_IN, "--thread", "desk", "--json").json["messages"] == 32
    with dalsegno.connect(postgres_url) as ds:
        agent(ds.checkpointer).invoke({"messages": [("user", "还有一件事")]}, {"configurable": {"thread_id": "desk"}})
    assert [thread["thread_id"] for thread in on("threads", "--json").json] == ["desk"]
    assert on("show", "desk", "--json", "--after", 32).json["events"][0]["text"] == "还有一件事"
    newest, *_, oldest = on("checkpoints", "desk", "--json").json
    assert on("state", "desk").out.count("[33]") == 1
    sides = oldest["checkpoint_id"], newest["checkpoint_id"]
    changes = on("diff", *sides, "--thread", "desk", "--json").json["changes"]
    assert [change["path"] for change in changes if change["kind"] == "added"][:2] == ["messages[32]", "messages[33]"]
    assert on("check", "--json").json["clean"] is True
    on("export", "desk", "-o", tmp_path / "desk.jsonl")
    assert len([json.loads(line) for line in (tmp_path / "desk.jsonl").read_text().splitlines()]) == 34


def test_a_database_without_tables_is_not_given_any(run, postgres_url):
    import psycopg

    answer = run("threads", store=postgres_url)
    assert answer.code == 7, answer.out
    assert answer.err.count("\n") == 1
    with psycopg.connect(postgres_url) as database:
        found = database.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone()
    assert found == (0,)
