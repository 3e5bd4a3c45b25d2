"""Claim: the byte bounds hold, and the programs in bench/ measure what they say and break when a bound does.

Bytes are the same on every machine, so they are asserted here; times are compared as ratios by bench/ alone. On
PostgreSQL they are weighed on a server of their own (where `DALSEGNO_TEST_POSTGRES` names none): an open transaction
in any database of a server keeps the dead rows of all others, and other tests have such transactions.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from bench import attachments, cost, listing, recall, turns
from bench.harness import OURS, PEERS, Bound
from bench.workload import TEXTS, chinese, english, image


def report(program: Any, arguments: str, capsys: pytest.CaptureFixture[str], *, exit_code: int = 0) -> dict[str, Any]:
    assert program.main(["--json", *arguments.split()]) == exit_code
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("text", [TEXTS[text] for text in cost.JUDGED], ids=cost.JUDGED)
@pytest.mark.parametrize("name", OURS)
def test_a_conversation_costs_at_most_three_times_its_messages_and_no_more_as_it_grows(name: str, text):
    short, middle, long = cost.measure(name, text, (50, 100, 150))
    assert [row["turns"] for row in (short, middle, long)] == [50, 100, 150]
    assert max(row["stored/messages"] for row in (short, middle, long)) <= cost.RATIO
    page_slack = 10 * 8192  # each table and index fills whole pages
    assert long["stored B"] - middle["stored B"] <= middle["stored B"] - short["stored B"] + page_slack


@pytest.mark.parametrize("name", OURS)
def test_a_big_value_costs_its_size_once_and_a_request_at_most_seven_kilobytes(name: str):
    for _ in range(3):  # whole pages are counted, and the server's own vacuum decides when one is filled again
        row = attachments.measure(name, requests=100, heavy=4)
        broken = [bound for bound in attachments.bounds(row, heavy=4) if not bound.kept]
        if not broken:
            break
    assert broken == []


def test_a_stock_saver_breaks_the_bound_and_the_exit_code_says_so(capsys: pytest.CaptureFixture[str]):
    found = report(cost, "--savers SqliteSaver --peers , --turns 5,50 --texts en-2.8k", capsys, exit_code=1)
    assert [bound["kept"] for bound in found["bounds"]] == [False, False]


@pytest.mark.parametrize(
    ("program", "arguments", "measured", "savers"),
    [
        (
            cost,
            "--turns 20,40 --peer-turns 20 --texts en-2.8k",
            "stored/messages",
            {*OURS, "SqliteSaver", "PostgresSaver"},
        ),
        pytest.param(
            turns,
            "--turns 2,4 --repeat 1 --savers dalsegno-sqlite --peers InMemorySaver",
            "cpu ms",
            {OURS[0], PEERS[0]},
            marks=pytest.mark.slow,  # a process for each saver and length
        ),
        (listing, "--turns 4 --copy-turns 2 --peer-copy-turns 2", "copy ms", {*OURS, *PEERS}),
        (attachments, "--requests 2 --heavy 1", "image in ref B", {*OURS, "SqliteSaver", "PostgresSaver"}),
    ],
    ids=["cost", "turns", "listing", "attachments"],
)
def test_each_program_measures_every_saver(
    program: Any, arguments: str, measured: str, savers: set[str], capsys, monkeypatch
):
    monkeypatch.setattr(Bound, "kept", property(lambda _: True))  # two turns say nothing about a bound
    found = report(program, arguments, capsys)
    assert {row["saver"] for row in found["rows"]} == savers
    assert all(row[measured] > 0 for row in found["rows"])
    assert found["bounds"]


@pytest.mark.parametrize(
    ("chinese", "keep", "pairs"),
    [
        (True, recall.in_memory, [("公司总部在杭州市余杭区", "总部在哪里"), ("审计费用为 366 万元", "审计费用是多少")]),
        (False, recall.in_store, [("How do I learn to cook rice?", "cook rice"), ("Where is Lyon?", "Lyon where")]),
    ],
)
def test_recall_ranks_and_counts_what_the_gate_refused(chinese: bool, keep: Any, pairs: list[tuple[str, str]]):
    known = [recall.Pair(key=str(at), text=text, question=asked) for at, (text, asked) in enumerate(pairs)]
    refused = recall.Pair(key="r", text="好的，谢谢", question="谢谢")
    asked = [*known, refused] if chinese else known
    with keep("memory://", asked) as (search, missing):
        ours = recall.measure("ours", "", asked, search, missing)
    assert ours["refused"] == len(asked) - len(known)
    assert ours["recall@1"] == len(known) / len(asked)
    peer = recall.by_bm25(
        [*known, *(recall.Pair(key=f"x{n}", text=f"x{n}", question="") for n in range(9))], chinese=chinese
    )
    assert recall.measure("peer", "", known, peer, 0)["recall@1"] == 1
    assert recall.measure("none", "", known, lambda _: [], 0)["recall@10"] == 0


def test_the_exponent_is_the_slope_of_the_growth():
    assert cost.slope([(10, 70), (100, 700), (1000, 7000)]) == pytest.approx(1)
    assert cost.slope([(10, 100), (100, 10_000), (1000, 1_000_000)]) == pytest.approx(2)


def test_a_bound_without_a_number_is_broken():
    assert Bound(claim="", limit=1, found=1).kept
    assert not Bound(claim="", limit=1, found=float("nan")).kept


def test_text_has_the_size_it_says_and_differs_from_turn_to_turn():
    for write in (english, chinese):
        texts = [write(seed, 2800) for seed in range(20)]
        assert len(set(texts)) == 20
        assert all(2700 <= len(text.encode()) <= 2800 for text in texts)
    assert english(3, 500) == english(3, 500)
    assert len(image(1)) == 384 * 1024
