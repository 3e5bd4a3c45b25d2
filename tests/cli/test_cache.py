"""Claim: a wrong answer is found by its question and removed at a shell, which says where it had been said."""

from __future__ import annotations

import json

import pytest

import dalsegno

GOOD = {"scope": "reports", "sources": {"bhp": "v1"}, "quality": True, "finish_reason": "stop"}
QUESTION = "What was BHP's revenue in FY2024?"


@pytest.fixture
def filled(sqlite_url: str) -> str:
    with dalsegno.connect(sqlite_url) as ds:
        ds.cache.store(QUESTION, "USD 55.7 billion.", **GOOD)
        ds.cache.store("贵州茅台2021年的营业收入是多少？", "1,061.9亿元。", **GOOD)
        ds.cache.lookup(QUESTION, scope="reports", sources={"bhp": "v1"}, thread_id="t-9", coordinate="#4 user")
    return sqlite_url


def test_answers_are_listed_found_shown_and_removed(run, filled):
    listed = json.loads(run("cache", "list", "--json", store=filled).out)
    assert [each["question"] for each in listed] == [QUESTION, "贵州茅台2021年的营业收入是多少？"]
    assert "1,061.9亿元" in run("cache", "find", "茅台", store=filled).out
    assert "no answers" in run("cache", "list", "--scope", "nowhere", store=filled).err
    shown = run("cache", "show", listed[0]["id"][:10], store=filled).out
    assert "t-9" in shown
    assert "55.7" in shown
    gone = run("cache", "remove", "in FY24, what was BHP's revenue?", store=filled)
    assert "had been said (hit) in t-9 #4 user" in gone.err
    assert "1 answer removed, handed out 1 times" in gone.err
    assert run("cache", "remove", QUESTION, store=filled).code == 3
    assert run("cache", "show", "nothing", store=filled).code == 3
    stats = json.loads(run("cache", "stats", "--json", store=filled).out)
    assert (stats["answers"], stats["hits"], stats["sources"]) == (1, 0, {"bhp": 1})
    assert "reports 1" in run("cache", "stats", store=filled).out
    gone = json.loads(run("cache", "invalidate", "bhp", "--version", "v1", "--json", store=filled).out)
    assert (len(gone["answers"]), gone["threads"]) == (1, [])


def test_an_embedder_is_calibrated_on_a_file_of_pairs(run, filled, tmp_path):
    pairs = tmp_path / "pairs.tsv"
    lines = [f"What is item {n}?\tWhat's the item {n}\tsame" for n in range(100, 140)]
    lines += [f"What is item {n}?\tWhat is item {n + 1}?\tnot" for n in range(100, 140)]
    pairs.write_text("\n".join(lines), encoding="utf-8")
    told = run("cache", "calibrate", str(pairs), store=filled)
    assert told.code == 0, told.err
    assert "calibration 1 of words" in told.err
    assert "of 20 different pairs 0 hit (0.00%; 95 % interval by Clopper and Pearson 0.00% to 16.84%)" in " ".join(
        told.err.split()
    )
    found = json.loads(run("cache", "calibrate", str(pairs), "--json", store=filled).out)
    assert (found["number"], found["false_hits"], found["same"], found["rate"]) == (2, 0, 20, 0.0)
    assert "calibration 2" in run("cache", "stats", store=filled).err
    pairs.write_text("one\ttwo\n", encoding="utf-8")
    wrong = run("cache", "calibrate", str(pairs), store=filled)
    assert wrong.code == 2
    assert "line 1" in wrong.err
    pairs.write_bytes(b"\xff\xfe\x00")
    assert run("cache", "calibrate", str(pairs), store=filled).code == 2
    assert run("cache", "calibrate", str(pairs), "--embedder", "nowhere:thing", store=filled).code == 2


def test_a_user_without_threads_is_erased_with_his_answers(run, filled):
    with dalsegno.connect(filled, user="ann") as ann:
        ann.cache.store("What is my limit?", "USD 7.", **GOOD)
        ann.memory.remember("user", "home", "Lyon", source="form")
    told = run("erase", "--user", "ann", "--dry-run", store=filled)
    assert "ds_answers 1, ds_memories 1" in told.err
    done = run("erase", "--user", "ann", "--yes", store=filled)
    assert "ds_answers 1, ds_memories 1" in done.err
    with dalsegno.connect(filled, user="ann") as ann:
        assert ann.cache.find("limit") == []
        assert ann.memory.list() == []
