"""Compaction with whoever writes the digest: pieces out, drafts in, and a failing writer held at arm's length.

Rules of this module:

* A summarizer sees all of what is taken out, in pieces under its own budget, and has `timeout` for all of them.
* Whatever it does (raise, return nothing, an error's text or a lie, never return), the outcome is either a compaction
  that holds or everything as it was; the reason goes to the log as a warning, and the run goes on.
* An answer far longer than what it was to shorten is nonsense; to judge it would take longer than the answer took.
* With `fallback`, a span whose summarizer failed is told in its own words instead.
* Who wants the program to stop is no failing summarizer: `KeyboardInterrupt` and `SystemExit` go through.
"""

from __future__ import annotations

import asyncio
import logging
import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from dalsegno.contracts import Summarizer
from dalsegno.core.compaction import EXTRACT, Kept, Prepared, Settled, settle
from dalsegno.core.failures import named
from dalsegno.core.pieces import LEAST_TOKENS, Piece, pieces
from dalsegno.core.tokens import Count, estimate
from dalsegno.errors import Misuse
from dalsegno.services.patience import Unserved, within

__all__ = ["Writing", "acarry_out", "carry_out", "check_budget"]

_log = logging.getLogger("dalsegno.compaction")


@dataclass(frozen=True, slots=True, kw_only=True)
class Writing:
    """Who writes digests, and how far they are trusted with time.

    Attributes:
        summarizer: the writer; None for the messages' own words.
        timeout: for all pieces of one digest, in seconds or as a timedelta.
        fallback: whether a failed digest is replaced by the messages' own words; else everything stays as it was.
    """

    summarizer: Summarizer | None = None
    timeout: timedelta | float = timedelta(seconds=60)
    fallback: bool = False

    def __post_init__(self) -> None:
        _check_time(self.timeout)
        if self.summarizer is not None:
            _check_summarizer(self.summarizer)

    @property
    def seconds(self) -> float:
        """The time for one digest, as far as a clock goes."""
        given = self.timeout
        return min(given.total_seconds() if isinstance(given, timedelta) else float(given), threading.TIMEOUT_MAX)


def _check_time(given: Any) -> None:
    seconds = given.total_seconds() if isinstance(given, timedelta) else given
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not math.isfinite(seconds):
        raise Misuse(f"timeout={given!r}: give seconds, such as 60, or a timedelta.")
    if seconds <= 0:
        raise Misuse(f"timeout={given!r}: a summarizer needs time; give more than none, in seconds or as a timedelta.")


def _check_summarizer(given: Any) -> None:
    if isinstance(given, type):
        raise Misuse(f"summarizer is the class {given.__name__}; give an instance of it.")
    if not callable(getattr(given, "summarize", None)) or not callable(getattr(given, "asummarize", None)):
        raise Misuse(
            f"summarizer={type(given).__name__}: give an object with summarize and asummarize; a chat model becomes "
            "one with ChatSummarizer(model)."
        )
    check_budget(getattr(given, "budget_tokens", None))


def check_budget(budget: Any) -> None:
    """Refuse what is no number of tokens that a summarizer can take in at once.

    Raises:
        Misuse: no whole number, or too few for a message.
    """
    if isinstance(budget, bool) or not isinstance(budget, int) or budget < LEAST_TOKENS:
        raise Misuse(
            f"a summarizer with budget_tokens={budget!r} cannot be shown a message; give it how many tokens of "
            f"messages it takes at once, a whole number of at least {LEAST_TOKENS}."
        )


_TWICE, _CHATTER = 2, 20_000
_THREAD = "dalsegno-summarizer"


def carry_out(prepared: Prepared, writing: Writing, count: Count = estimate) -> Settled | Kept:
    """Have the digest written and take it in.

    Returns:
        The compaction, verified; or why everything stays as it was. The latter is logged.
    """
    summarizer = writing.summarizer
    if summarizer is None:
        return _told(settle(prepared, count=count))
    try:
        shown = _shown(prepared, summarizer, count)
        most = _most(shown)
        drafts = within(writing.seconds, lambda: [summarizer.summarize(piece) for piece in shown], _THREAD)
        draft = _joined(drafts, most)
    except Exception as error:  # noqa: BLE001 - a summarizer's own code; whatever it raises, the run goes on
        return _failed(prepared, writing, error, count)
    return _concluded(prepared, writing, draft, count)


async def acarry_out(prepared: Prepared, writing: Writing, count: Count = estimate) -> Settled | Kept:
    """Async face of `carry_out`."""
    summarizer = writing.summarizer
    if summarizer is None:
        return _told(settle(prepared, count=count))
    try:
        shown = _shown(prepared, summarizer, count)
        most = _most(shown)
        async with asyncio.timeout(writing.seconds):
            draft = _joined([await summarizer.asummarize(piece) for piece in shown], most)
    except TimeoutError:
        late = Unserved(f"did not answer within {writing.seconds:g} s")
        return _failed(prepared, writing, late, count)
    except _STOPS:
        raise
    except BaseException as error:  # noqa: BLE001 - a summarizer's own code; whatever it raises, the run goes on
        return _failed(prepared, writing, error, count)
    return _concluded(prepared, writing, draft, count)


_STOPS = (KeyboardInterrupt, SystemExit, GeneratorExit, asyncio.CancelledError)
"""What ends a coroutine from outside."""


def _shown(prepared: Prepared, summarizer: Summarizer, count: Count) -> Sequence[Piece]:
    """What the summarizer is handed: copies, for what it is given it may change, and the originals judge it."""
    return pieces([replace(turn) for turn in prepared.evicted], summarizer.budget_tokens, prepared.budget_tokens, count)


def _most(shown: Sequence[Piece]) -> list[int]:
    """How many characters the answer to each piece may have: taken before anyone else has the pieces in hand."""
    return [_TWICE * len(piece.text) + _CHATTER for piece in shown]


def _joined(drafts: Sequence[object], most: Sequence[int]) -> str:
    """The answers as one draft.

    Raises:
        Unserved: one of them is no text, says nothing, or is out of all proportion.
    """
    for at, draft in enumerate(drafts, 1):
        if not isinstance(draft, str):
            raise Unserved(f"returned {type(draft).__name__} instead of text for piece {at} of {len(drafts)}")
        if not draft.strip():
            raise Unserved(f"returned nothing for piece {at} of {len(drafts)}")
        if len(draft) > most[at - 1]:
            raise Unserved(
                f"returned {len(draft):,} characters for piece {at} of {len(drafts)}; {most[at - 1]:,} are the most "
                "for what it was shown"
            )
    return "\n".join(map(str, drafts))


def _concluded(prepared: Prepared, writing: Writing, draft: str, count: Count) -> Settled | Kept:
    by = _name(writing)
    outcome = settle(prepared, draft, by=by, count=count)
    if isinstance(outcome, Kept) and writing.fallback:
        _log.warning("the digest by %s was not taken (%s); the span is told in its own words", by, outcome.reason)
        return _told(settle(prepared, count=count))
    return _told(outcome, _HINT)


def _failed(prepared: Prepared, writing: Writing, error: BaseException, count: Count) -> Settled | Kept:
    why = str(error) if isinstance(error, Unserved) else f"raised {named(error)}"
    reason = f"the summarizer {_name(writing)} {why}"
    if writing.fallback:
        _log.warning("%s; the span is told in its own words", reason)
        return _told(settle(prepared, count=count))
    return _told(Kept(reason=reason), _HINT)


def _name(writing: Writing) -> str:
    """The summarizer's name, as long as it can say it."""
    try:
        name = getattr(writing.summarizer, "name", None)
    except Exception:  # noqa: BLE001 - a summarizer's own code
        name = None
    return str(name) if name else EXTRACT if writing.summarizer is None else type(writing.summarizer).__name__


_HINT = "; the next trigger tries again, and fallback=True tells such a span in the messages' own words instead"


def _told(outcome: Settled | Kept, hint: str = "") -> Settled | Kept:
    if isinstance(outcome, Kept):
        _log.warning("the conversation was not compacted, everything stays as it was: %s%s", outcome.reason, hint)
    elif outcome.report.dropped:
        _log.info("a digest was repaired: %s", outcome.report)
    return outcome
