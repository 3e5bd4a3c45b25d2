"""Whatever was said and whatever a summarizer writes about it, what is accepted covers all, keeps all and invents nothing."""

from __future__ import annotations

import dataclasses

from hypothesis import given
from hypothesis import strategies as st

from dalsegno.core.compaction import CompactionPolicy, Kept, Settled, prepare, settle
from dalsegno.core.cuts import Turn
from dalsegno.core.digest import condense, cost, digest
from dalsegno.core.extracts import extract
from dalsegno.core.facts import FactTable, facts_in, invented
from dalsegno.core.merging import merge
from dalsegno.core.pieces import pieces
from dalsegno.core.summary import Line, Span, Summary, numbers_in, ranges_of
from dalsegno.core.tokens import estimate
from dalsegno.core.verification import verify

SAID = [
    "Please cancel reservation EHGLP3 and refund $384.20 to my card.",
    "I approve the refund, go ahead.",
    "I will send the certificate of $100 by Friday.",
    "The flight HAT170 leaves at 3:30 PM on 2024-05-20.",
    '{"order_id": "#W2378156", "items": [{"price": 12.50, "qty": 3}], "status": "ok"}',
    "合同编号HT-2024-031，金额五万元，3月15日前付清。",
    "我同意，就这么定了。",
    "好的。",
    "预算上调百分之十二，从1.2亿元到1.35亿元。",
    "See https://example.com/a?b=1 or /srv/data/report-7.pdf, then run `make test`.",
    'He said "never before Monday, 9:00".',
    "1. first\n2. second\n3. third, at 40 %",
    "a, b, c, d, and nothing else at all, really.",
    "",
]
TEXTS = st.lists(st.sampled_from(SAID) | st.text(max_size=60), max_size=6).map(" ".join)
AUTHORS = st.sampled_from(["user", "assistant", "search", "李雷", "a b"])


@st.composite
def spans(draw: st.DrawFn) -> list[Turn]:
    texts = draw(st.lists(st.tuples(AUTHORS, TEXTS), min_size=1, max_size=12))
    first = draw(st.integers(1, 500))
    return [
        Turn(
            role=author if author in {"user", "assistant"} else "tool",
            author=author,
            text=text,
            number=first + at,
            tokens=estimate(text),
        )
        for at, (author, text) in enumerate(texts)
    ]


@st.composite
def drafts(draw: st.DrawFn, turns: list[Turn]) -> str:
    """Lines that name messages of the span, or not, and say what was said there, elsewhere, or nowhere."""
    words = [turn.text for turn in turns] + SAID + ["It costs $99,999.", "用户说 7 点见。", "approved", "Error 500"]
    lines = []
    for _ in range(draw(st.integers(0, 10))):
        turn = draw(st.sampled_from(turns))
        number = draw(st.sampled_from([turn.number, turn.number, turn.number + 1, 0, 10**9]))
        who = draw(st.sampled_from([turn.author, "", "user", "nobody", "assistant"]))
        head = draw(st.sampled_from([f"#{number} {who}: ", f"- [#{number}] {who}: ", f"#{number}–#{number + 3}: ", ""]))
        wrong = turn.text.translate(str.maketrans("12345", "67890"))
        lines.append(head + draw(st.sampled_from([turn.text, turn.text, wrong, wrong, *words])))
    return "\n".join(lines)


def guaranteed(lines: tuple[Line, ...], table: FactTable, turns: list[Turn]) -> None:
    told = {number for line in lines for number in numbers_in(line.numbers)}
    assert told == {turn.number for turn in turns}
    held = {(row.said.coordinate, row.said.fact.text) for row in table.history()}
    source = [turn.text for turn in turns]
    for turn in turns:
        assert {(turn.coordinate, fact.text) for fact in facts_in(turn.text) if fact.protected} <= held
    names = {turn.number: turn.author for turn in turns}
    for line in lines:
        assert invented(line.text, source) == ()
        assert set(line.authors) == {names[number] for number in numbers_in(line.numbers)}


@given(spans(), st.data())
def test_any_draft_is_repaired_or_refused(turns: list[Turn], data: st.DataObject) -> None:
    draft = data.draw(drafts(turns))
    lines, table, report = verify(draft, turns, FactTable(), repair_tokens=40)
    if lines:
        assert report.holds
        guaranteed(lines, table, turns)
    else:
        assert table == FactTable()


@given(spans(), st.text(max_size=400))
def test_any_text_at_all_may_come_back(turns: list[Turn], draft: str) -> None:
    lines, table, report = verify(draft, turns, FactTable(), repair_tokens=40)
    assert report.holds or not lines
    if lines:
        guaranteed(lines, table, turns)


@given(spans(), st.integers(10, 600))
def test_a_digest_without_a_model_holds_and_fits(turns: list[Turn], budget: int) -> None:
    lines = digest(turns, budget)
    assert cost(lines) <= budget or (len(lines) == 1 and not lines[0].text)
    accepted, table, report = verify(lines, turns, FactTable(), repair_tokens=40)
    assert report.holds
    guaranteed(accepted, table, turns)


@given(TEXTS, st.integers(1, 200))
def test_an_extract_fits_and_states_nothing_new_with_its_text(text: str, budget: int) -> None:
    short = extract(text, budget)
    assert estimate(short) <= budget
    assert "\n" not in short


@given(spans(), st.integers(20, 300), st.integers(20, 300))
def test_condensing_again_and_again_keeps_who_and_where(turns: list[Turn], first: int, second: int) -> None:
    lines = condense(condense(digest(turns, 10_000), first), second)
    assert {number for line in lines for number in numbers_in(line.numbers)} == {turn.number for turn in turns}
    assert {author for line in lines for author in line.authors} == {turn.author for turn in turns}


@given(st.lists(spans(), min_size=1, max_size=4), st.integers(100, 400))
def test_merging_loses_words_never_coordinates(parts: list[list[Turn]], budget: int) -> None:
    last = 0
    spans_: list[Span] = []
    for turns in parts:
        moved = [dataclasses.replace(turn, number=last + at) for at, turn in enumerate(turns, 1)]
        last += len(turns)
        spans_.append(Span(lines=digest(moved, 200), by="extract"))
    summary = Summary(spans=tuple(spans_))
    merged = merge(summary, budget)
    assert merged.covered == summary.covered == ranges_of(range(1, last + 1))
    said = [line.text for line in summary.lines]
    assert [fact for line in merged.lines for fact in invented(line.text, said)] == []
    assert merge(merged, budget) == merged
    assert Summary.from_json(merged.to_json()) == merged


@given(spans(), st.integers(60, 400))
def test_pieces_give_everything_back(turns: list[Turn], budget: int) -> None:
    texts: dict[int, str] = {}
    for piece in pieces(turns, budget, 100):
        assert estimate(piece.text) <= budget + len(piece.parts)
        for part in piece.parts:
            texts[part.turn.number] = texts.get(part.turn.number, "") + part.text
    assert texts == {turn.number: turn.text for turn in turns}


@given(st.lists(st.tuples(AUTHORS, TEXTS), min_size=1, max_size=40), st.data())
def test_a_whole_conversation_is_settled_or_left_alone(said: list[tuple[str, str]], data: st.DataObject) -> None:
    turns = [
        Turn(
            role="user" if author == "user" else "assistant",
            author=author,
            text=text,
            id=f"m{at}",
            tokens=estimate(text),
        )
        for at, (author, text) in enumerate(said)
    ]
    prepared = prepare(turns, Summary(), CompactionPolicy(max_messages=10, keep_recent=4), force=True)
    if prepared is None:
        return
    draft = data.draw(st.none() | drafts(list(prepared.evicted)))
    outcome = settle(prepared, draft, by="model")
    assert isinstance(outcome, (Settled, Kept))
    if isinstance(outcome, Settled):
        assert outcome.report.holds
        assert cost(outcome.summary.lines) <= prepared.policy.digest_tokens
        assert sorted(numbers_in(outcome.summary.covered)) == [turn.number for turn in prepared.evicted]
