"""Summarizers that lie about real conversations are repaired or refused, message by message and fact by fact."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.recordings import SOURCES
from dalsegno.core.compaction import CompactionPolicy
from dalsegno.core.facts import FactIndex, facts_in, invented
from dalsegno.core.pieces import Piece
from dalsegno.core.summary import Summary, numbers_in
from dalsegno.langgraph.compaction import compact
from dalsegno.langgraph.turns import turn_of

pytestmark = pytest.mark.data


def told(piece: Piece, text: Callable[[str], str], author: Callable[[str], str] = str) -> str:
    return "\n".join(
        f"#{part.turn.number} {author(part.turn.author)}: {' '.join(text(part.text).split())[:300]}"
        for part in piece.parts
    )


def other_digits(text: str) -> str:
    return re.sub(r"\d", lambda digit: str((int(digit[0]) + 3) % 10), text)


def shuffled(piece: Piece) -> str:
    """Every message told under another one's number."""
    texts = [part.text for part in piece.parts]
    random.Random(1).shuffle(texts)
    return "\n".join(
        f"#{part.turn.number}: {' '.join(text.split())[:300]}" for part, text in zip(piece.parts, texts, strict=True)
    )


LIES: dict[str, Callable[[Piece], str]] = {
    "honest": lambda piece: told(piece, str),
    "other figures": lambda piece: told(piece, other_digits),
    "no figures": lambda piece: told(piece, lambda text: re.sub(r"\S*\d\S*", "", text)),
    "one speaker": lambda piece: told(piece, str, lambda name: "user"),
    "mixed up": shuffled,
    "every other line": lambda piece: "\n".join(told(piece, str).splitlines()[::2]),
}


@pytest.mark.parametrize("source", ["tau_bench", "evermem_zh", "crosswoz"])
@pytest.mark.parametrize("how", LIES)
def test_the_guarantee_holds(how: str, source: str, transcripts: Path) -> None:
    class Liar:
        name = how
        budget_tokens = 3000

        def summarize(self, piece: Piece) -> str:
            return LIES[how](piece)

        async def asummarize(self, piece: Piece) -> str:
            return self.summarize(piece)

    messages = next(iter(SOURCES[source](transcripts)))[:120]
    policy = CompactionPolicy(digest_tokens=20_000)
    done = compact(messages, policy, summarizer=Liar())
    if not done.changed:
        assert how in {"other figures", "mixed up"}
        assert done.messages == messages
        assert done.summary == Summary()
        return
    assert done.report is not None
    assert done.report.holds
    turns = {number: turn_of(message) for number, message in enumerate(messages, 1)}
    covered = list(numbers_in(done.summary.covered))
    assert len(covered) == len(done.evicted)
    held = {(row.said.coordinate, row.said.fact.text) for row in done.summary.facts.history()}
    for number in covered:
        for fact in facts_in(turns[number].text):
            assert not fact.protected or (f"#{number} {turns[number].author}", fact.text) in held
    for line in done.summary.lines:
        numbers = list(numbers_in(line.numbers))
        assert set(line.authors) == {turns[number].author for number in numbers}
        assert invented(line.text, FactIndex.of(turns[number].text for number in numbers)) == ()
