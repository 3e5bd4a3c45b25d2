"""`dalsegno doctor` shows what is wrong with a thread, with evidence and the next step, and exits with 1 then."""

from __future__ import annotations

from langchain_core.messages import HumanMessage

import dalsegno


def test_a_healthy_thread(run):
    answer = run("doctor", "--thread", "t-1")
    assert answer.code == 0
    assert answer.out == "healthy: nothing found in 6 checkpoints, 4 events, 0 actions\n"
    assert run("doctor", "--thread", "t-1", "--json").json["healthy"] is True


def test_a_thread_that_is_not_well(run, url, agent):
    with dalsegno.connect(url) as ds:
        graph = agent(ds.checkpointer)
        for turn in range(32):
            graph.invoke({"messages": [HumanMessage(f"turn {turn}")]}, {"configurable": {"thread_id": "long"}})
    answer = run("doctor", "--thread", "long")
    assert answer.code == 1
    assert answer.out.startswith("growing-history: the state holds 64 messages")
    assert "  · no summary of this thread\n" in answer.out
    assert "  → add dalsegno.compaction_node(ds=ds)" in answer.out
    assert "1 finding in" in answer.err
    found = run("doctor", "--thread", "long", "--json").json
    assert found["healthy"] is False
    assert [each["rule"] for each in found["findings"]] == ["growing-history"]


def test_a_thread_that_is_not_there(run):
    assert run("doctor", "--thread", "nowhere").code == 3
