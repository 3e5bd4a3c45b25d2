"""Text of unknown origin cannot steer the terminal of whoever reads it."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from dalsegno.cli.output import as_json
from dalsegno.cli.text import block, clean, clip, inline, one_line, shown

HOSTILE = {
    "\x1b[2J\x1b]0;owned\x07": r"\x1b[2J\x1b]0;owned\x07",
    "safe\u202egpj.exe": r"safe\u202egpj.exe",
    "\x9b31m": r"\x9b31m",
    "carriage\rreturn": r"carriage\rreturn",
    "half \ud800 pair": r"half \ud800 pair",
    "zero\u200bwidth": r"zero\u200bwidth",
    "tag \U000e0041": r"tag \U000e0041",
}


@pytest.mark.parametrize("text", HOSTILE)
def test_what_acts_on_a_terminal_is_written_out(text):
    assert clean(text) == HOSTILE[text]


def test_what_people_write_stays_as_it_is():
    text = "退款 ¥78.00，原路退回。\n\tمی‌خواهم — café 👩‍👩‍👧 [bold]"
    assert clean(text) == text


@given(st.text())
def test_a_console_shows_text_and_nothing_else(text):
    """Whatever stands in a message, no control sequence and no markup reaches the terminal."""
    stream = io.StringIO()
    Console(file=stream, force_terminal=True, color_system="truecolor", width=10_000).print(block(text))
    printed = stream.getvalue().rstrip("\n")
    assert "\x1b" not in printed
    assert "".join(printed.split()) == "".join(clean(text).split())


@given(st.text())
def test_an_id_or_a_name_stays_one_line(text):
    """Whatever an id holds, it cannot pose as the next row."""
    stream = io.StringIO()
    Console(file=stream, width=10_000).print(shown(text), soft_wrap=True)
    assert stream.getvalue() == inline(text) + "\n"
    assert not set(inline(text)) & {"\n", "\r", "\t", "\x85", "\u2028", "\x1b", "\u202e"}


@pytest.mark.parametrize("markup", ["[red]x[/red]", "[/]", "[link=http://x]y", "\\[bold]"])
def test_markup_is_text(markup):
    stream = io.StringIO()
    Console(file=stream, force_terminal=True).print(shown(markup))
    assert stream.getvalue() == markup + "\n"


def test_a_long_text_says_how_much_is_missing():
    assert clip("x" * 5000, 10) == "xxxxxxxxxx… (+4,990 characters)"
    assert clip("x" * 10, 10) == "xxxxxxxxxx"


def test_an_error_is_one_line():
    assert one_line("first\n  second\x1b[0m") == r"first second\x1b[0m"


@given(st.dictionaries(st.text(), st.text() | st.integers() | st.none()))
def test_json_comes_back_and_holds_nothing_that_acts(value):
    for ascii_only in (False, True):
        text = as_json(value, ascii_only=ascii_only)
        assert json.loads(text) == value
        assert clean(text) == text
        if ascii_only:
            assert text.isascii()
