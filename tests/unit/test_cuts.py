"""A cut orphans nothing, keeps what is new or waits, and runs only when it is due and worth it."""

from __future__ import annotations

import dataclasses

import pytest

from dalsegno.core.compaction import CompactionPolicy, Trigger, plan, triggers
from dalsegno.core.cuts import Turn, cut
from dalsegno.errors import Misuse


def user(text: str = "", tokens: int = 10) -> Turn:
    return Turn(role="user", text=text, tokens=tokens)


def ai(*calls: str, tokens: int = 10, pending: bool = False) -> Turn:
    return Turn(role="assistant", calls=calls, tokens=tokens, pending=pending)


def tool(*answers: str, tokens: int = 10) -> Turn:
    return Turn(role="tool", answers=answers, tokens=tokens)


SYSTEM = Turn(role="system", tokens=10)


def chat(count: int, tokens: int = 10) -> list[Turn]:
    return [user(tokens=tokens) if at % 2 == 0 else ai(tokens=tokens) for at in range(count)]


def kept(turns: list[Turn], keep_recent: int) -> tuple[int, ...]:
    where = cut(turns, keep_recent)
    assert sorted(where.kept + where.evicted) == list(range(len(turns)))
    return where.kept


# --- cuts -------------------------------------------------------------------------------------------


def test_a_plain_chat_keeps_its_newest_turns() -> None:
    assert kept(chat(10), 4) == (6, 7, 8, 9)


def test_instructions_at_the_start_stay_and_are_not_counted() -> None:
    assert kept([SYSTEM, SYSTEM, *chat(10)], 4) == (0, 1, 8, 9, 10, 11)
    assert kept([*chat(4), SYSTEM, *chat(6)], 4) == (7, 8, 9, 10)  # one in the middle is a message like others


def test_what_stays_begins_with_the_users_words() -> None:
    assert kept(chat(10), 3) == (6, 7, 8, 9)
    assert kept([SYSTEM, user(), ai("a"), tool("a"), ai(), user()], 2) == (
        0,
        1,
        4,
        5,
    )  # the turn's words and its answer
    assert kept([ai(), ai(), ai(), user()], 2) == (2, 3)  # none to begin with
    assert kept([SYSTEM, user(), SYSTEM, ai(), user()], 2) == (0, 1, 3, 4)


def test_results_in_a_users_mouth_are_not_the_users_words() -> None:
    turns = [user("the task")]
    for call in "abcdefgh":
        turns += [ai(call), Turn(role="user", answers=(call,), tokens=10)]
    assert kept(turns, 2) == (0, 15, 16)
    assert kept([ai("a"), Turn(role="user", answers=("a",)), *turns], 2) == (2, 17, 18)


def test_a_result_keeps_its_call_and_its_siblings() -> None:
    turns = [user(), ai("a", "b"), tool("a"), tool("b"), ai(), user()]
    assert kept(turns, 3) == (0, 1, 2, 3, 4, 5)
    assert kept([*turns, user()], 2) == (5, 6)


def test_what_lies_between_a_call_and_its_result_may_go() -> None:
    turns = [user(), ai("late"), user(), ai(), user(), ai(), tool("late"), ai()]
    assert kept(turns, 2) == (0, 1, 4, 6, 7)


def test_a_result_whose_call_is_partly_older_keeps_what_is_there() -> None:
    turns = [user(), ai("b"), Turn(role="user", answers=("a", "b"), tokens=1), ai()]
    assert kept([*turns, user()], 3) == (0, 1, 2, 3, 4)


def test_an_unanswered_call_stays_with_the_results_it_has() -> None:
    turns = [user(), ai("a", "b"), tool("a"), *chat(8)]
    assert kept(turns, 2) == (0, 1, 2, 9, 10)


def test_a_pending_approval_stays_with_its_calls() -> None:
    turns = [user(), ai("a"), dataclasses.replace(tool("a"), pending=True), *chat(8)]
    assert kept(turns, 2) == (0, 1, 2, 9, 10)


def test_the_newest_user_message_stays_far_before_forty_tool_messages() -> None:
    turns = [SYSTEM, *chat(4), user("the task")]
    for call in range(20):
        turns += [ai(str(call)), tool(str(call))]
    assert kept(turns, 6) == (0, 5, *range(40, 46))


def test_an_id_used_again_pairs_with_the_call_before_it() -> None:
    turns = [user(), ai("c"), tool("c"), user(), ai("c"), tool("c")]
    assert kept(turns, 1) == (3, 4, 5)
    older_waits = [user(), ai("c"), user(), ai("c"), tool("c"), user()]
    assert kept(older_waits, 1) == (0, 1, 5)
    twice = [user(), ai("c"), tool("c"), tool("c"), user()]
    assert kept(twice, 2) == (0, 1, 2, 3, 4)


def test_a_result_without_a_call_never_stays() -> None:
    assert kept([tool("gone"), *chat(4), tool("gone too")], 2) == (3, 4)


def test_a_result_before_its_call_is_no_answer_to_it() -> None:
    assert kept([user(), tool("c"), ai("c"), user()], 2) == (0, 2, 3)


def test_short_and_empty_lists_stay_whole() -> None:
    assert cut([], 6).kept == ()
    assert kept(chat(3), 6) == (0, 1, 2)
    assert cut([SYSTEM], 1).evicted == ()


@pytest.mark.parametrize("keep_recent", [0, -3])
def test_keeping_nothing_is_refused(keep_recent: int) -> None:
    with pytest.raises(Misuse, match="newest"):
        cut(chat(3), keep_recent)


def test_ids_that_are_one_text_are_refused() -> None:
    with pytest.raises(Misuse, match="tuple"):
        Turn(role="assistant", calls="abc")  # type: ignore[arg-type]


def test_what_a_cut_left_is_left_by_the_next_one() -> None:
    turns = [SYSTEM, user(), ai("x"), user(), ai("a", "b"), tool("a"), tool("b"), *chat(9), tool("lost")]
    left = [turns[at] for at in cut(turns, 3).kept]
    assert cut(left, 3).evicted == ()


# --- triggers ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("most", "keep"), [(20, 6), (10, 4)])
def test_more_messages_than_the_limit_call_for_it(most: int, keep: int) -> None:
    policy = CompactionPolicy(max_messages=most, keep_recent=keep)
    assert plan(chat(most), policy) is None
    due = plan(chat(most + 1), policy)
    assert due is not None
    assert due.by == (Trigger.MESSAGES,)
    assert len(due.cut.kept) in {keep, keep + 1}
    assert due.saving is None


def test_more_tokens_than_the_limit_call_for_it_and_the_whole_request_counts() -> None:
    policy = CompactionPolicy()
    assert plan(chat(16, tokens=500), policy) is None
    due = plan(chat(16, tokens=500), policy, other_tokens=1)
    assert due is not None
    assert (due.by, due.tokens, due.evicted_tokens) == ((Trigger.TOKENS,), 8001, 5000)
    assert due.saving == 800


def test_a_share_of_the_window_stands_in_for_the_number() -> None:
    policy = CompactionPolicy(window=32_000, share=0.5)
    assert policy.token_limit == 16_000
    assert triggers(policy, messages=1, tokens=16_000) == ()
    assert triggers(policy, messages=1, tokens=16_001) == (Trigger.TOKENS,)


def test_either_trigger_may_be_left_out() -> None:
    assert triggers(CompactionPolicy(max_messages=None), messages=999, tokens=8000) == ()
    assert triggers(CompactionPolicy(max_tokens=None), messages=20, tokens=10**9) == ()
    assert triggers(CompactionPolicy(), messages=21, tokens=8001) == (Trigger.MESSAGES, Trigger.TOKENS)


def test_a_huge_message_that_is_old_goes() -> None:
    due = plan([ai(tokens=50_000), *chat(6)], CompactionPolicy())
    assert due is not None
    assert due.cut.evicted == (0,)


def test_a_huge_message_that_must_stay_does_not_make_every_turn_compact() -> None:
    turns = [*chat(8), user("paste", tokens=50_000)]
    assert plan(turns, CompactionPolicy()) is None  # three old ones are no saving
    assert plan([*chat(8, tokens=5000), user("paste", tokens=50_000)], CompactionPolicy()) is not None


def test_forty_tool_messages_in_one_user_turn_call_for_it() -> None:
    turns = [user("the task")]
    for call in range(20):
        turns += [ai(str(call)), tool(str(call))]
    due = plan(turns, CompactionPolicy())
    assert due is not None
    assert due.cut.kept == (0, *range(35, 41))


@pytest.mark.parametrize("turns", [chat(40), chat(16, tokens=800), [ai(*"abcdefghijklmnopqrstuvwxyz"), *chat(30)]])
def test_a_second_pass_straight_after_the_first_does_nothing(turns: list[Turn]) -> None:
    policy = CompactionPolicy()
    due = plan(turns, policy)
    assert due is not None
    left = [turns[at] for at in due.cut.kept]
    assert plan(left, policy, other_tokens=7000) is None  # even with a large summary beside it
    assert plan(left, policy, force=True) is None


def test_a_person_may_ask_for_it() -> None:
    due = plan(chat(8), CompactionPolicy(), force=True)
    assert due is not None
    assert due.cut.evicted == (0, 1)
    assert due.by == ()


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_messages": 0},
        {"max_messages": True},
        {"max_messages": 6},
        {"max_tokens": -1},
        {"max_tokens": 8000.0},
        {"keep_recent": 0},
        {"window": 1000},
        {"share": 0.5},
        {"window": 1000, "share": 1.5},
        {"window": 1000, "share": 0.0},
        {"min_saving": -0.1},
        {"min_saving": "much"},
        {"digest_tokens": 10},
        {"max_messages": None, "max_tokens": None},
    ],
)
def test_a_policy_that_makes_no_sense_is_refused_when_it_is_built(wrong: dict[str, object]) -> None:
    with pytest.raises(Misuse):
        CompactionPolicy(**wrong)  # type: ignore[arg-type]


def test_a_policy_is_json_both_ways() -> None:
    policy = CompactionPolicy(max_messages=10, keep_recent=4, window=1000, share=0.5)
    assert CompactionPolicy.from_json({**policy.to_json(), "of_a_later_version": 1}) == policy


def test_the_newest_alone_stay_where_a_list_may_begin_with_an_answer() -> None:
    turns = [Turn(role="user" if at % 2 == 0 else "assistant", text=str(at)) for at in range(23)]
    assert cut(turns, 6, begin_with_user=False).kept == (17, 18, 19, 20, 21, 22)
    assert cut(turns, 6).kept == (16, 17, 18, 19, 20, 21, 22)
    assert cut(turns, 7, begin_with_user=False) == cut(turns, 7)
