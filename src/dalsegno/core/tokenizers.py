"""What the tokenizers in use make of Chinese, English and JSON, as a few numbers each.

Rules of this module:

* The numbers are a least-squares fit (relative error, no weight below zero) of what each vocabulary makes of Chinese
  dialogues and investors' questions, English meetings and annual reports, and JSON of tool schemas, tables and states.
  What they are checked on is none of these.
* Scripts that were in none of the texts (`other`, `astral`) are set by hand.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CL100K", "MIDDLE", "O200K", "QWEN", "Weights"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """Tokens for each thing counted in a text.

    Attributes:
        han: a Chinese character.
        run: the start of a run of them.
        particle: a character that seldom merges with its neighbour (的, 了, 我, ...), on top of `han`.
        mark: a full-width mark.
        digit: a digit.
        triple: a group of up to three digits.
        word: a run of Latin letters.
        tail: each letter of a word from the seventh on.
        punctuation: a run of ASCII punctuation.
        change: each stretch of the same mark within such a run.
        line: a line break with the white space after it.
        gap: a blank before a digit or a Chinese character.
        other: a character of any other script.
        astral: a character beyond the basic plane that is not Chinese, such as an emoji.
    """

    han: float
    run: float
    particle: float
    mark: float
    digit: float
    triple: float
    word: float
    tail: float
    punctuation: float
    change: float
    line: float
    gap: float
    other: float = 0.6
    astral: float = 1.5

    def between(self, other: Weights) -> Weights:
        """The mean of two."""
        return Weights(**{name: (getattr(self, name) + getattr(other, name)) / 2 for name in self.__slots__})


QWEN = Weights(
    han=0.48,
    run=0.53,
    particle=0.22,
    mark=0.72,
    digit=1.01,
    triple=0.01,
    word=0.99,
    tail=0.05,
    punctuation=0.43,
    change=0.31,
    line=1.43,
    gap=1.86,
)
"""Qwen's vocabulary of 151,000 entries: a digit is a token."""

O200K = Weights(
    han=0.64,
    run=0.68,
    particle=0.23,
    mark=0.21,
    digit=0.04,
    triple=1.04,
    word=0.96,
    tail=0.07,
    punctuation=0.52,
    change=0.25,
    line=1.23,
    gap=1.64,
)
"""OpenAI's `o200k_base` (GPT-4o and after): up to three digits are a token."""

CL100K = Weights(
    han=1.04,
    run=1.38,
    particle=0.38,
    mark=0.0,
    digit=0.06,
    triple=1.04,
    word=1.01,
    tail=0.03,
    punctuation=0.39,
    change=0.30,
    line=1.38,
    gap=1.81,
)
"""OpenAI's older `cl100k_base` (GPT-4, GPT-3.5): Chinese costs half as much again."""

MIDDLE = QWEN.between(O200K)
"""Between `QWEN` and `O200K`."""
