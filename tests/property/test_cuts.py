"""Whatever calls a conversation makes, a cut orphans nothing, keeps what it must, and keeps the order."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from dalsegno.core.cuts import Turn, cut

ROLES = st.sampled_from(["system", "user", "user", "assistant", "assistant", "assistant", "tool", "critic"])
IDS = st.lists(st.sampled_from("abcdef"), max_size=3, unique=True).map(tuple)


@st.composite
def turn(draw: st.DrawFn) -> Turn:
    role = draw(ROLES)
    pending = draw(st.integers(0, 15)) == 0
    calls = draw(IDS) if role in {"assistant", "critic"} else ()
    answers = draw(IDS) if role in {"tool", "user"} and draw(st.booleans()) else ()
    return Turn(role=role, calls=calls, answers=answers, pending=pending)


@st.composite
def agent_run(draw: st.DrawFn) -> list[Turn]:
    """Calls that are mostly answered, in any order, with anything between."""
    turns: list[Turn] = []
    open_: list[str] = []
    for at in range(draw(st.integers(0, 40))):
        what = draw(st.sampled_from(["user", "assistant", "call", "answer", "answer"]))
        if what == "call":
            ids = tuple(f"{at}-{n}" for n in range(draw(st.integers(1, 4))))
            open_ += ids
            turns.append(Turn(role="assistant", calls=ids))
        elif what == "answer" and open_:
            turns.append(Turn(role="tool", answers=(open_.pop(draw(st.integers(0, len(open_) - 1))),)))
        else:
            turns.append(Turn(role="user" if what == "user" else "assistant"))
    return turns


CONVERSATIONS = st.one_of(st.lists(turn(), max_size=40), agent_run())


def answered_by(turns: Sequence[Turn]) -> list[tuple[int, int]]:
    """Call and result, by looking back from each result."""
    pairs: list[tuple[int, int]] = []
    taken: set[tuple[int, str]] = set()
    for at, one in enumerate(turns):
        for id_ in one.answers:
            before = [call for call in range(at) if id_ in turns[call].calls]
            free = [call for call in before if (call, id_) not in taken]
            if before:
                call = (free or before)[-1]
                taken.add((call, id_))
                pairs.append((call, at))
    return pairs


def check(turns: Sequence[Turn], keep_recent: int) -> None:
    where = cut(turns, keep_recent)
    kept, evicted = set(where.kept), set(where.evicted)
    assert kept | evicted == set(range(len(turns)))
    assert not kept & evicted
    assert list(where.kept) == sorted(where.kept)
    pairs = answered_by(turns)
    for call, result in pairs:
        assert (call in kept) == (result in kept)
    with_call = {result for _, result in pairs}
    for at in kept:
        assert not turns[at].answers or at in with_call or turns[at].calls
    orphans = {at for at, one in enumerate(turns) if one.answers and at not in with_call and not one.calls}
    countable = [at for at in range(len(turns)) if at not in orphans]
    answers_got = {(call, id_) for call, result in pairs for id_ in turns[result].answers}
    for at in countable:
        if turns[at].pending or any((at, id_) not in answers_got for id_ in turns[at].calls):
            assert at in kept
    lead = next((at for at, one in enumerate(turns) if one.role != "system"), len(turns))
    assert kept >= set(range(lead))
    assert kept >= set([at for at in countable if at >= lead][-keep_recent:])
    assert kept >= set([at for at in countable if turns[at].role == "user"][-1:])
    left = [turns[at] for at in where.kept]
    assert cut(left, keep_recent).evicted == ()


@given(CONVERSATIONS, st.integers(1, 12))
def test_any_conversation_is_cut_safely(turns: list[Turn], keep_recent: int) -> None:
    check(turns, keep_recent)


@given(agent_run(), st.integers(1, 8))
def test_every_prefix_is_cut_safely(turns: list[Turn], keep_recent: int) -> None:
    for end in range(len(turns) + 1):
        check(turns[:end], keep_recent)
