"""Token counts are whole, grow with what is sent, and follow what a provider reports."""

from __future__ import annotations

import time

import pytest

from dalsegno.core.tokens import (
    CL100K,
    MEDIA_TOKENS,
    MESSAGE_TOKENS,
    O200K,
    QWEN,
    Calibrated,
    conservative,
    estimate,
    message_tokens,
    request_tokens,
    schema_tokens,
)
from dalsegno.errors import Misuse


def test_nothing_costs_nothing_and_anything_costs_something() -> None:
    assert estimate("") == 0
    assert estimate(" ") == 1
    assert all(estimate(text) >= 1 for text in (".", "的", "1", "é", "\n", "한", "🎉"))


@pytest.mark.parametrize(
    ("text", "qwen", "o200k"),
    [
        ("公司于2024年3月15日收到五万元货款，合同编号HT-2024-031。", 31, 24),
        ("The quick brown fox paid $384.20 on 2024-05-15.", 25, 18),
        ('{"order_id": "#W2378156", "items": [1,2]}', 22, 18),
    ],
)
def test_estimates_lie_near_what_the_tokenizers_make_of_a_sentence(text: str, qwen: int, o200k: int) -> None:
    # Whole documents are within 15 % (tests/data); one sentence may be a little further off.
    assert estimate(text, QWEN) == pytest.approx(qwen, rel=0.25)
    assert estimate(text, O200K) == pytest.approx(o200k, rel=0.25)


def test_chinese_costs_half_as_much_again_in_the_older_vocabulary() -> None:
    text = "麻烦您帮我把这个航班改到下周二上午，谢谢您。" * 20
    assert estimate(text, CL100K) > 1.4 * estimate(text, O200K)


def test_a_digit_is_a_token_for_qwen_and_a_third_of_one_for_openai() -> None:
    digits = "0123456789" * 30
    assert estimate(digits, QWEN) == pytest.approx(300, rel=0.05)
    assert estimate(digits, O200K) == pytest.approx(100, rel=0.2)


@pytest.mark.parametrize("piece", ["a", " ", "\n", " \n", "的", "1", "!", "!?", "a1", "é", "한", "🎉", "aB "])
def test_time_is_linear_in_the_text(piece: str) -> None:
    def seconds(length: int) -> float:
        text = piece * (length // len(piece))
        best = float("inf")
        for _ in range(3):
            start = time.perf_counter()
            estimate(text)
            best = min(best, time.perf_counter() - start)
        return best

    assert seconds(200_000) < 60 * seconds(20_000) + 0.05  # quadratic time would be a hundredfold, and seconds


def test_conservative_counts_characters() -> None:
    assert conservative("五万元 abc") == 7


def test_a_request_is_counted_whole() -> None:
    messages = [{"role": "user", "content": "Cancel my flight"}, {"role": "assistant", "content": "Which one?"}]
    bare = request_tokens(messages)
    assert bare == sum(map(message_tokens, messages))
    system = "You are an agent of an airline. " * 40
    tools = [{"name": "cancel", "parameters": {"type": "object", "properties": {"id": {"type": "string"}}}}]
    assert request_tokens(messages, system) == bare + estimate(system) + MESSAGE_TOKENS
    assert request_tokens(messages, system, tools) == request_tokens(messages, system) + schema_tokens(tools)
    assert schema_tokens(tools) > 15


def test_calls_results_and_pictures_count() -> None:
    plain = {"role": "assistant", "content": ""}
    call = {"id": "c1", "name": "search", "args": {"query": "direct flights to Denver " * 30}}
    assert message_tokens(plain | {"tool_calls": [call]}) > message_tokens(plain) + 100
    picture = [
        {"type": "text", "text": "what is this?"},
        {"type": "image_url", "image_url": {"url": "data:" + "x" * 9999}},
    ]
    shown = message_tokens({"role": "user", "content": picture})
    assert MEDIA_TOKENS < shown < MEDIA_TOKENS + 50  # its bytes are not text


def test_tools_of_any_shape_are_counted() -> None:
    circle: dict[str, object] = {}
    circle["self"] = circle
    assert schema_tokens([circle, {("a", 1): 2}, "search(query)", object()]) > 10


def test_one_text_instead_of_a_list_is_refused() -> None:
    with pytest.raises(Misuse, match="give a list"):
        request_tokens("hello")


def test_another_counter_counts_everything() -> None:
    asked: list[str] = []

    def count(text: str) -> int:
        asked.append(text)
        return 1000

    assert request_tokens(["a"], "b", ["c"], count) == 3000 + 3 * MESSAGE_TOKENS
    assert asked == ["a", "b", "c"]


def test_a_reported_usage_corrects_the_counter() -> None:
    text = "word " * 1000
    counter = Calibrated()
    assert counter(text) == estimate(text)
    learnt = counter.learn(estimated=1000, reported=1300)
    assert learnt.ratio == pytest.approx(1.3)
    assert learnt(text) == pytest.approx(1.3 * estimate(text), abs=1)
    assert counter.ratio == 1.0  # the value itself never changes


def test_newer_reports_weigh_more_and_the_ratio_settles() -> None:
    counter = Calibrated()
    for _ in range(30):
        counter = counter.learn(estimated=1000, reported=2000)
    for _ in range(30):
        counter = counter.learn(estimated=1000, reported=1100)
    assert counter.ratio == pytest.approx(1.1, abs=0.01)


@pytest.mark.parametrize(("estimated", "reported"), [(0, 100), (100, 0), (-5, 10), (1000, 10), (10, 1000)])
def test_a_report_that_says_nothing_about_the_tokenizer_is_let_pass(estimated: int, reported: int) -> None:
    counter = Calibrated().learn(estimated=100, reported=120)
    assert counter.learn(estimated=estimated, reported=reported) == counter
