"""Claim: whatever is put into a question that is not known to be harmless keeps it apart; taking courtesy away does not.

Questions are built from a frame, a name, a metric, a period, a unit; any two that differ in one of them are two.
"""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from dalsegno.core.answers.followups import carried_of, completed
from dalsegno.core.answers.forms import form_of, key_of
from dalsegno.core.answers.guards import difference
from dalsegno.core.answers.periods import periods_in
from dalsegno.core.answers.scoring import HIT, likeness

WORDS = st.text(st.characters(codec="utf-8", categories=("L", "N", "S", "P", "Zs")), max_size=40)
YEARS = st.integers(1950, 2049)
NAMES = st.sampled_from(
    ["BHP", "Rio Tinto", "Apple", "Vale", "贵州茅台", "中国石油", "腾讯控股", "Bank of America", "600519"]
)
METRICS_EN = st.sampled_from(["revenue", "net income", "gross profit", "total assets", "dividend", "capital spending"])
METRICS_ZH = st.sampled_from(["营业收入", "净利润", "毛利率", "总资产", "分红", "研发投入", "员工人数"])
EN = st.tuples(
    st.just("en"),
    NAMES,
    METRICS_EN,
    YEARS,
    st.sampled_from(["", " in million dollars", " in euros"]),
    st.sampled_from(["", "not "]),
)
ZH = st.tuples(
    st.just("zh"), NAMES, METRICS_ZH, YEARS, st.sampled_from(["", "万元", "亿元"]), st.sampled_from(["", "不含税的"])
)


def plain(parts) -> str:
    language, name, metric, year, unit, denied = parts
    if language == "en":
        return f"What was {denied}the {metric} of {name} in {year}{unit}?"
    return f"{year}年{name}的{denied}{metric}是多少{unit}？"


def reworded(parts, draw: random.Random) -> str:
    """The same question in other clothes."""
    text = plain(parts)
    if parts[0] == "en":
        year = parts[3]
        if not parts[4] and draw.random() < 0.5:
            text = f"In {year}, {text[0].lower()}{text[1:].replace(f' in {year}', '')}"
        text = draw.choice(["", "Please, ", "could you tell me, "]) + text if draw.random() < 0.3 else text
        text = text.replace("What was", draw.choice(["What was", "what is", "WHAT was"]))
        return draw.choice([text, text.rstrip("?"), f"  {text}  ", text.replace("the ", "")])
    text = text.replace("是多少", draw.choice(["是多少", "为多少", "多少"]))
    han = "".join("〇一二三四五六七八九"[int(digit)] for digit in str(parts[3]))
    wide = "".join(chr(ord("０") + int(digit)) for digit in str(parts[3]))
    text = text.replace(str(parts[3]), draw.choice([str(parts[3]), han, wide]), 1)
    return draw.choice(["", "请问", "我想知道", "请帮我查询一下，"]) + draw.choice([text, text.rstrip("？") + "呢"])


@given(EN | ZH, EN | ZH, st.randoms(use_true_random=False))
def test_two_questions_are_one_only_when_they_are(one, other, draw):
    asked, kept = reworded(one, draw), reworded(other, draw)
    found = difference(form_of(asked), form_of(kept))
    assert (found is None) == (one == other), (asked, kept, found)
    assert (key_of(form_of(asked)) == key_of(form_of(kept))) == (one == other)
    assert (likeness(form_of(asked), form_of(kept)) >= HIT) == (one == other)


@given(EN | ZH, st.integers(0, 4), st.data())
def test_a_change_in_one_place_is_a_difference(one, place, data):
    strategy = EN if one[0] == "en" else ZH
    other = list(one)
    other[place + 1] = data.draw(strategy.filter(lambda parts: parts[place + 1] != one[place + 1]))[place + 1]
    assert difference(form_of(plain(one)), form_of(plain(tuple(other)))) is not None


@given(WORDS, WORDS)
def test_any_text_has_a_form_and_a_difference_is_mutual(one, other):
    first, second = form_of(one), form_of(other)
    assert difference(first, first) is None
    assert (difference(first, second) is None) == (difference(second, first) is None)
    assert 0.0 <= likeness(first, second) <= 1.0
    assert (likeness(first, second) == 1.0) == (first.tokens == second.tokens)
    completed(one, carried_of(None))
    for start, end, value in periods_in(one):
        assert 0 <= start < end <= len(one)
        assert value


@given(WORDS, st.sampled_from(["7", "七", "not", "不", "%", "$", "<", "C++", "FY", "元", "某"]), st.integers(0, 40))
def test_a_word_more_is_another_question_or_is_known_to_be_harmless(text, word, at):
    at = min(at, len(text))
    longer = f"{text[:at]} {word} {text[at:]}"
    first, second = form_of(text), form_of(longer)
    if first.tokens == second.tokens:
        assert word in ("%", "$", "FY", "元") or not text.strip(), (text, longer)
