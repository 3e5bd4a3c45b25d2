"""What a person searches for is found: in Chinese, in English, in both at once, and whatever stands around it."""

from __future__ import annotations

import subprocess
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalsegno.core.search import ALWAYS, MAX_CODES, fold, query, signature, terms

han = st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF)
dense = st.one_of(
    han,
    st.sampled_from("あのカタ漢字々〇ーㄅㄆ환불요청กขคง한豈丽"),
    st.characters(min_codepoint=0x0E01, max_codepoint=0x0E3A),
    st.characters(min_codepoint=0x20000, max_codepoint=0x2A6D0),
)
latin_word = st.text(st.sampled_from("abcXYZ0189éßйЖωИ"), min_size=1, max_size=12)
glue = st.text(st.sampled_from(" ,.;:-_/()[]\"'\n\t，。！？（）「」…%$¥€#@*|~🎉\u00a0\u3000"), min_size=1, max_size=3)
filling = st.lists(st.one_of(latin_word, glue, st.text(han, max_size=8)), max_size=30).map("".join)


def found(needle: str, text: str) -> bool:
    """The two steps of a search: the signature lets the text through, and the text itself answers in full."""
    asked = query(needle)
    return asked.matches(signature(text)) and asked.score(text) >= 1


# --- nothing is missed ----------------------------------------------------------------------------


@given(st.text(dense, min_size=2, max_size=40), filling, filling, st.data())
def test_any_stretch_of_dense_script_is_found(stretch: str, before: str, after: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(stretch) - 2))
    end = data.draw(st.integers(start + 2, len(stretch)))
    assert found(stretch[start:end], before + stretch + after)


@given(st.text(dense, min_size=1, max_size=40), filling, filling, st.data())
def test_any_single_dense_character_is_found(stretch: str, before: str, after: str, data: st.DataObject) -> None:
    character = stretch[data.draw(st.integers(0, len(stretch) - 1))]
    asked = query(character)
    assert asked.required == () or len(asked.text) > 1
    assert asked.score(before + stretch + after) == 3


@given(latin_word, filling, filling, glue | st.text(han, min_size=1), glue | st.text(han, min_size=1))
def test_any_whole_word_is_found(word: str, before: str, after: str, left: str, right: str) -> None:
    assert found(word, before + left + word + right + after)


@given(filling.map(str.split).filter(bool), st.data())
def test_any_words_between_blanks_are_found_with_their_signs(words: list[str], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(words) - 1))
    end = data.draw(st.integers(start + 1, len(words)))
    text = "  ".join(words)
    assert found(" ".join(words[start:end]), text)
    assert query(" ".join(words[start:end])).score(text) == 3


@given(filling, st.sampled_from(["NFC", "NFD", "NFKC", "NFKD"]))
def test_the_normal_form_a_text_came_in_does_not_matter(text: str, form: str) -> None:
    other = unicodedata.normalize(form, text)
    assert signature(other) == signature(text)
    assert fold(other) == fold(text)


@given(st.text(max_size=200))
def test_any_text_finds_itself(text: str) -> None:
    asked = query(text)
    assert asked.matches(signature(text))
    assert asked.score(text) == (0 if asked.blank else 3)


@given(st.text(max_size=100))
def test_folding_twice_changes_nothing(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@pytest.mark.parametrize(
    ("needle", "text"),
    [
        ("退款", "请尽快为订单办理退款手续"),
        ("REFUND", "退款REFUND 2026年"),
        ("退款", "退款REFUND 2026年"),
        ("2026年", "退款REFUND 2026年"),
        ("2026", "２０２６年度报告"),
        ("２０２６年", "2026年度报告"),
        ("年度", "2026年度报告"),
        ("SO20260901", "订单SO20260901已发货"),
        ("20260901", "订单SO20260901已发货"),
        ("so 20260901", "订单SO20260901已发货"),
        ("WX-123", "flight WX-123, gate 4"),
        ("123", "flight WX-123, gate 4"),
        ("wx 123", "flight WX-123, gate 4"),
        ("report_final.pdf", "见附件report_final.pdf。"),
        ("final", "见附件report_final.pdf。"),
        ("cafe", "Meet at the Café Müller"),
        ("CAFÉ", "meet at the café"),
        ("cafe\u0301", "meet at the café"),
        ("1200", "a total of $1,200.50"),
        ("1,200", "共计1200元"),
        ("1,200元", "共计1,200元"),
        ("200", "a total of $1,200.50"),
        ("straße", "STRASSE 5"),
        ("ＡＢＣ公司", "abc公司的合同"),
        ("ﬁle", "the file"),
        ("葛城", "葛\U000e0100城市"),
        ("hyphenation", "hyphen\u00adation"),
        ("환불", "환불을 요청합니다"),
        ("возврат", "Запрошен ВОЗВРАТ средств"),
        ("रिफंड", "कृपया रिफंड दें"),
        ("คืนเงิน", "ขอคืนเงินค่ะ"),
        ("مدرسه", "في مَدْرَسِه جديدة"),
        ("->", "A -> B"),
        ("🎉", "done 🎉"),
        ("款", "退款"),
    ],
)
def test_real_wordings_are_found(needle: str, text: str) -> None:
    assert found(needle, text)


# --- and what is not there is not said to be ------------------------------------------------------


@pytest.mark.parametrize(
    ("needle", "text"),
    [
        ("fund", "the refund"),
        ("退货", "退款和货物"),
        ("款退", "退款"),
        ("WX-124", "WX-123"),
        ("2026", "SO20260901"),
        ("款", "refund"),
        ("->", "A - > B"),
        ("", "anything"),
        (" \n\u200b", "anything"),
    ],
)
def test_what_is_not_there_is_not_found(needle: str, text: str) -> None:
    assert query(needle).score(text) < 1


def test_a_false_perhaps_of_the_signature_is_corrected_by_the_text() -> None:
    asked = query("refund")
    assert asked.matches(b"".join(asked.required))
    assert asked.score("退款 and nothing else") == 0


# --- rank -----------------------------------------------------------------------------------------


def test_wording_beats_all_terms_beats_some_terms() -> None:
    asked = query("refund policy 退款")
    scores = [
        asked.score(text)
        for text in (
            "our Refund  Policy\n退款: see below",
            "退款: policy on a refund",
            "the policy of refund",
            "退款",
            "nothing of it",
        )
    ]
    assert scores[0] == 3
    assert 1 <= scores[1] <= 2
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) == 5


def test_a_joined_whole_ranks_above_its_scattered_parts() -> None:
    asked = query("status of WX-123")
    assert asked.score("WX-123: status of today") > asked.score("status of 123 WX today") >= 1


def test_some_terms_are_looked_for_by_any_of_the_partial_codes() -> None:
    asked = query("refund 退款 policy")
    text = "only a refund"
    assert not asked.matches(signature(text))
    assert any(code in signature(text) for code in asked.partial)
    assert 0 < asked.score(text) < 1


# --- terms and bytes ------------------------------------------------------------------------------


def test_terms_hold_ids_whole_and_by_parts() -> None:
    assert terms("退款单 SO20260901 / WX-123 report_final.v2.pdf 款") == [
        "退款", "款单", "so20260901", "so", "20260901", "wx", "123", "report", "final", "v2", "v", "2", "pdf", "款",
        "wx-123", "report_final.v2.pdf",
    ]  # fmt: skip


def test_a_digest_is_one_term() -> None:
    digest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
    assert terms(digest) == [digest]


@given(st.text(max_size=300))
def test_a_signature_is_sorted_distinct_and_never_zero(text: str) -> None:
    made = signature(text)
    codes = [made[at : at + 2] for at in range(0, len(made), 2)]
    assert codes == sorted(set(codes))
    assert ALWAYS not in codes
    assert all(len(code) == 2 for code in codes)


def test_a_term_whose_checksum_folds_to_zero_has_a_code_all_the_same() -> None:
    assert ALWAYS not in query("w79669").required
    assert found("w79669", "before w79669 after")


def test_a_mixed_word_is_asked_for_as_a_whole() -> None:
    assert query("SO20260901 1,200").words == ("so20260901", "1200")


def test_beyond_the_cap_every_query_reads_the_text() -> None:
    text = " ".join(f"w{number}" for number in range(MAX_CODES * 2))
    assert signature(text) == ALWAYS
    assert found("w17", text)
    below = " ".join(f"{number}" for number in range(MAX_CODES // 2))
    assert signature(below) != ALWAYS


def test_a_text_without_terms_has_an_empty_signature_and_no_word_is_sought_in_it() -> None:
    assert signature("") == signature("!? …") == b""
    assert not query("refund").matches(b"")


def test_a_pasted_page_asks_for_a_bounded_number_of_codes() -> None:
    page = " ".join(f"word{number}" for number in range(500))
    asked = query(page)
    assert len(asked.required) <= 16
    assert len(asked.partial) <= 64
    assert found(page, f"before {page} after")


def test_bytes_are_the_same_for_ever_and_in_every_process() -> None:
    text = "退款REFUND 2026年 SO20260901"
    program = (
        "from dalsegno.core.search import signature; import sys; "
        "sys.stdout.write(signature('退款REFUND 2026年 SO20260901').hex())"
    )
    said = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
    assert said == signature(text).hex()
    assert said == "32424f74730eb689dcc5edbf"


def test_lone_surrogates_and_nul_characters_are_no_trouble() -> None:
    text = "a\x00b \ud800 退款\udfff"
    assert found("退款", text)
    assert found("\ud800", text)
