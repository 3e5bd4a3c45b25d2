"""Whether what a model proposes may stand in a card.

Rules of this module:

* No evidence, no entry: the quote stands word for word in the first event that is named, in words that are its
  author's own (`own_words`), and every event that is named was shown or is evidence of the card.
* Every number, date, id and address of the wording stands in that evidence (`gate.py`), and most of its words do; it
  names nobody who has not said it and is not named there. A wording with a word that the evidence lacks, with another
  option, or that denies what its quote does not, gives way to the quote.
* The speaker is who said it, whatever the model says. A named author who is not that one ends the proposal; so does an
  owner who is neither the speaker nor named in the words.
* A decision is decided only where someone who may decide says so: in a sentence with words of his own will that is no
  question, guess, condition, denial or report. Else it is proposed. An agreement that says nothing else needs the
  question that it answers.
* What it finishes, replaces or takes back it names, it shares words with it, and only someone who may says so.
* What the rules heard in the same words is not entered twice.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from dalsegno.core.card import phrases
from dalsegno.core.card.clipping import clip
from dalsegno.core.card.entries import Card, Entry
from dalsegno.core.card.findings import Finding, Sort, Told
from dalsegno.core.card.gate import admit
from dalsegno.core.card.judged import asked, conditional, informs, reported, rest_of, wholehearted, willing
from dalsegno.core.card.listening import DECIDERS, decides
from dalsegno.core.card.options import label_in, listed
from dalsegno.core.card.own_words import own_words
from dalsegno.core.card.proposals import Proposed
from dalsegno.core.card.terms import alike, terms
from dalsegno.core.facts import WORDINGS, facts_in
from dalsegno.core.facts.folding import folded, lowered
from dalsegno.core.facts.speech import sentences
from dalsegno.errors import Ungrounded

__all__ = ["Admission", "admission"]

_HUMAN = frozenset({"user", "assistant"})
_NEAR = 6
_MOSTLY = 0.6
_SURE = 0.5
_LONGEST = 240
_SORTS = {
    "goal": Sort.GOAL,
    "decision": Sort.DECISION,
    "proposal": Sort.PROPOSAL,
    "commitment": Sort.PROMISE,
    "constraint": Sort.CONSTRAINT,
    "fact": Sort.FACT,
    "done": Sort.DONE,
    "withdrawal": Sort.WITHDRAWAL,
}
_SAME = {Sort.OFFER: Sort.PROPOSAL}
_FOR_DECIDERS = frozenset({Sort.GOAL, Sort.CONSTRAINT, Sort.WITHDRAWAL})
_FIRST_PART = 200
"""Findings of a model stand behind those of the rules in the same event."""
_PUNCTUATION = " \t,，.。;；:：!！?？\"'“”‘’「」…*-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """What became of some proposals.

    Attributes:
        findings: those that may stand.
        refused: why the others may not.
        known: how many said what the card has already.
    """

    findings: tuple[Finding, ...]
    refused: tuple[str, ...]
    known: int


class _RefusedError(Exception):
    """A proposal may not stand; the message says why."""


class _KnownError(Exception):
    """A proposal says what the card has already."""


def admission(
    proposals: Sequence[Proposed],
    events: Mapping[int, Told],
    shown: Collection[int],
    card: Card,
    *,
    by: str,
    deciders: Collection[str] = DECIDERS,
) -> Admission:
    """Judge proposals.

    Args:
        proposals: as the model made them.
        events: what may be evidence, by number; only events whose words still stand.
        shown: numbers of those that the model was shown just now. A quote is from one of them.
        card: as it stands.
        by: which model.
        deciders: roles and names that may decide.
    """
    judge = _Judge(events, shown, card, by, deciders)
    found: list[Finding] = []
    refused: list[str] = []
    known = 0
    for proposed in proposals:
        try:
            finding = judge.finding(proposed, [*card.findings, *found])
        except _KnownError:
            known += 1
        except _RefusedError as error:
            refused.append(f"{proposed.kind} {_brief(proposed)} {error}")
        else:
            found.append(replace(finding, part=_FIRST_PART + len(found)))
    return Admission(findings=tuple(found), refused=tuple(refused), known=known)


def _brief(proposed: Proposed) -> str:
    words = proposed.text or proposed.quote
    return f"“{words if len(words) <= 40 else f'{words[:40]}…'}”"  # noqa: PLR2004 - a line's worth


@dataclass(frozen=True, slots=True)
class _Words:
    """The words that a proposal rests on.

    Attributes:
        told: whose event it is.
        quote: as it stands there.
        lows: the sentences it is part of, folded, in lower case.
    """

    told: Told
    quote: str
    lows: tuple[str, ...]

    @property
    def low(self) -> str:
        return " ".join(self.lows)


class _Judge:
    """Holds proposals against the conversation."""

    def __init__(
        self,
        events: Mapping[int, Told],
        shown: Collection[int],
        card: Card,
        by: str,
        deciders: Collection[str],
    ) -> None:
        self._events, self._shown, self._card, self._by = events, frozenset(shown), card, by
        self._deciders = deciders
        self._names = {name.casefold() for one in events.values() for name in (one.author, one.role) if name}

    def finding(self, proposed: Proposed, known: Sequence[Finding]) -> Finding:
        """The finding that a proposal becomes.

        Raises:
            _RefusedError, _KnownError: it becomes none.
        """
        evidence = self._evidence(proposed)
        words = self._words(proposed, evidence[0])
        sort = _SORTS[proposed.kind]
        told = words.told
        may_decide = decides(told, self._deciders)
        if not (may_decide or told.role in _HUMAN):
            raise _RefusedError(f"rests on words of {told.author}, who takes no part in the conversation")
        if sort in _FOR_DECIDERS and not may_decide:
            raise _RefusedError(f"rests on words of {told.author}, who may not decide")
        if sort is Sort.DECISION and not self._decided(words, evidence):
            sort = Sort.PROPOSAL
        text = self._text(proposed, words, evidence, agrees=sort in (Sort.DECISION, Sort.WITHDRAWAL))
        finding = Finding(
            sort=sort,
            place=told.stands_at,
            number=told.number,
            author=told.author,
            text=text,
            message=told.message,
            branch=told.branch,
            ckpt=told.ckpt,
            role=told.role,
            option=label_in(words.low) if sort in (Sort.DECISION, Sort.PROPOSAL) else "",
            backing=tuple((one.number, one.author) for one in evidence[1:]),
            by=self._by,
        )
        finding = self._of_its_sort(finding, proposed, words, evidence)
        if any(_same(finding, other, words.quote) for other in known):
            raise _KnownError
        return finding

    # --- evidence and words

    def _evidence(self, proposed: Proposed) -> list[Told]:
        if not proposed.evidence:
            raise _RefusedError("rests on nothing")
        found = []
        for number, author in proposed.evidence:
            told = self._events.get(number)
            if told is None:
                raise _RefusedError(f"names #{number}, which was not shown or no longer stands")
            if author and author.casefold() not in (told.author.casefold(), told.role.casefold()):
                raise _RefusedError(f"says that {author} said #{number}, which {told.author} did")
            found.append(told)
        if found[0].number not in self._shown:
            raise _RefusedError(f"rests on #{found[0].number}, which it was not shown")
        return found

    def _words(self, proposed: Proposed, told: Told) -> _Words:
        own = own_words(told.text)
        low = lowered(folded(own))
        signs, places = _squeezed(low)
        quote, _ = _squeezed(lowered(folded(proposed.quote.strip(_PUNCTUATION))))
        at = signs.find(quote) if len(quote) > 1 else -1
        if at < 0:
            raise _RefusedError(f"quotes words that are not {told.author}'s own in #{told.number}")
        start, end = places[at], places[at + len(quote) - 1] + 1
        lows = tuple(
            low[first:last].strip()
            for first, last in sentences(low)
            if first < end and start < last and low[first:last].strip()
        )
        return _Words(told, " ".join(told.text[start:end].split()), lows)

    def _text(self, proposed: Proposed, words: _Words, evidence: Sequence[Told], *, agrees: bool) -> str:
        """The wording, where every word of it stands in the evidence; else the quote, where most do."""
        quote, text = words.quote, proposed.text
        texts = [one.text for one in evidence]
        try:
            admit(text, texts, place="it")
        except Ungrounded as error:
            raise _RefusedError(str(error).partition(";")[0].removeprefix("it ")) from error
        about = terms(text)
        shared = len(about & frozenset().union(*map(terms, texts)))
        if about and shared < _MOSTLY * len(about):
            raise _RefusedError("says what its evidence does not")
        self._nobody_else(text, evidence)
        bare = len(rest_of(words.low, None)) < 2  # noqa: PLR2004 - letters
        if (bare and not agrees) or not (bare or terms(quote) or facts_in(quote)):
            raise _RefusedError("quotes words that say nothing")
        low = lowered(folded(text))
        denied = bool(phrases.DENIES.search(low)) != bool(phrases.DENIES.search(words.low))
        option = label_in(low)
        other = option and option not in {label_in(lowered(folded(one))) for one in texts}
        if about and shared == len(about) and not denied and not other:
            return clip(text, _LONGEST)
        if bare and len(evidence) > 1:
            last = evidence[1]
            quote = f"{quote} ← #{last.number} {last.author}: {' '.join(last.text.split())}"
        return clip(quote, _LONGEST)

    def _nobody_else(self, text: str, evidence: Sequence[Told]) -> None:
        said = "\n".join(one.text for one in evidence).casefold()
        mine = {name.casefold() for one in evidence for name in (one.author, one.role)}
        low = text.casefold()
        for name in self._names - mine:
            if _stands(name, low) and not _stands(name, said):
                raise _RefusedError(f"names {name}, who is not in its evidence")

    # --- what each sort needs

    def _decided(self, words: _Words, evidence: Sequence[Told]) -> bool:
        return decides(words.told, self._deciders) and any(self._decides(low, words, evidence) for low in words.lows)

    def _decides(self, low: str, words: _Words, evidence: Sequence[Told]) -> bool:
        chosen, accepted = phrases.CHOOSES.search(low), phrases.ACCEPTS.match(low)
        if asked(low) or informs(low) or not wholehearted(low, chosen, accepted):
            return False
        if phrases.HEDGES.search(phrases.WILLING.sub("", low)) or conditional(low):
            return False
        if phrases.SETTLED.search(low) and not label_in(low):
            return False  # points to what was decided before
        if accepted and len(rest_of(low, chosen)) < 4 and not label_in(low):  # noqa: PLR2004 - letters; less says nothing
            return any(self._asks(one, words.told) for one in evidence[1:])
        return bool(chosen or accepted or willing(low) or label_in(low))

    def _asks(self, told: Told, answer: Told) -> bool:
        """Whether an event asks or offers what another, right after it, agrees to."""
        if told.author == answer.author or not 0 < answer.stands_at - told.stands_at <= _NEAR:
            return False
        if told.role not in _HUMAN and not decides(told, self._deciders):
            return False
        own = own_words(told.text)
        low = lowered(folded(own))
        return bool(phrases.ASKS.search(low) or phrases.SUGGESTS.search(low) or listed(own))

    def _of_its_sort(self, finding: Finding, proposed: Proposed, words: _Words, evidence: Sequence[Told]) -> Finding:
        match finding.sort:
            case Sort.GOAL:
                self._sound(words, asking=True)
                if self._card.goal is not None and not _WANTS.search(words.low):
                    raise _RefusedError("says no aim")
                return finding
            case Sort.CONSTRAINT:
                self._sound(words)
                return replace(finding, closes=self._replaced(proposed, words, self._card.constraints))
            case Sort.DECISION:
                return replace(finding, closes=self._replaced(proposed, words, self._card.decisions))
            case Sort.PROMISE:
                return self._promise(finding, proposed, words, evidence)
            case Sort.FACT:
                return self._fact(finding, proposed, words)
            case Sort.DONE:
                return self._done(finding, proposed, words)
            case Sort.WITHDRAWAL:
                return self._withdrawal(finding, proposed, words)
        return finding

    def _sound(self, words: _Words, *, asking: bool = False) -> None:
        if all((asked(low) and not asking) or reported(low) for low in words.lows):
            raise _RefusedError("asks, or reports what someone else says")

    def _promise(self, finding: Finding, proposed: Proposed, words: _Words, evidence: Sequence[Told]) -> Finding:
        owner, told = proposed.owner, words.told
        named = bool(owner) and _stands(owner.casefold(), told.text.casefold())
        if owner.casefold() in ("", told.author.casefold(), told.role.casefold()):
            owner = told.author
        elif not named:
            raise _RefusedError(f"gives it to {owner}, who neither says so nor is named")
        if all((asked(low) and not named) or conditional(low) for low in words.lows):
            raise _RefusedError("asks, or depends on something")
        due = proposed.due
        if due and not any(_stands(due.casefold(), one.text.casefold()) for one in evidence):
            raise _RefusedError(f"is due {due}, which its evidence does not say")
        replaced = self._replaced(proposed, words, [one for one in self._card.pending if one.owner == owner])
        return replace(finding, owner=owner, due=due, closes=replaced)

    def _fact(self, finding: Finding, proposed: Proposed, words: _Words) -> Finding:
        subject = proposed.subject
        if not subject or not _stands(lowered(folded(subject)), words.low):
            raise _RefusedError(f"is a value of {subject or 'nothing'}, which its words do not name")
        if all(asked(low) or conditional(low) for low in words.lows):
            raise _RefusedError("asks, or depends on something")
        stated = [fact for fact in facts_in(words.quote) if fact.protected and fact.kind not in WORDINGS]
        meant = [fact for fact in facts_in(proposed.text) if fact.protected and fact.kind not in WORDINGS]
        fact = next((one for one in stated if not meant or one.value == meant[0].value), None)
        if fact is None:
            return replace(finding, subject=subject, value=finding.text.casefold(), kind="said")
        return replace(finding, text=fact.text, subject=subject, value=fact.value, kind=str(fact.kind))

    def _done(self, finding: Finding, proposed: Proposed, words: _Words) -> Finding:
        entry = self._named(proposed, self._card.pending)
        told = words.told
        if told.author not in (entry.owner, entry.evidence[0].author) and not decides(told, self._deciders):
            raise _RefusedError(f"ends what {entry.owner} has to do, on the word of {told.author}")
        if not any(
            (phrases.FINISHES.search(low) or _ENDED.search(low))
            and not (asked(low) or conditional(low) or phrases.DENIES.search(low))
            for low in words.lows
        ):
            raise _RefusedError("does not say that it is finished")
        if not terms(words.low) & terms(entry.text):
            raise _RefusedError("is about something else than what it ends")
        return replace(finding, closes=proposed.ends, kind="direct")

    def _withdrawal(self, finding: Finding, proposed: Proposed, words: _Words) -> Finding:
        card = self._card
        entry = self._named(proposed, (*card.decisions, *card.proposals, *card.pending, *card.constraints))
        if not any(
            (phrases.WITHDRAWS.search(low) or phrases.DENIES.search(low))
            and not (asked(low) or conditional(low) or reported(low) or phrases.HEDGES.search(low))
            for low in words.lows
        ):
            raise _RefusedError("does not take anything back")
        near = words.told.stands_at - entry.evidence[0].number <= _NEAR
        about = bool(terms(words.low) & terms(entry.text))
        if not about and not (near and phrases.WITHDRAWS_BARE.search(words.low)):
            raise _RefusedError("is about something else than what it takes back")
        return replace(finding, closes=proposed.ends)

    def _named(self, proposed: Proposed, entries: Sequence[Entry]) -> Entry:
        for entry in entries:
            if proposed.ends and entry.evidence[0].number == proposed.ends:
                return entry
        raise _RefusedError("names no entry that stands")

    def _replaced(self, proposed: Proposed, words: _Words, entries: Sequence[Entry]) -> int:
        """The entry that is replaced, where it is one and about the same."""
        if not proposed.ends:
            return 0
        for entry in entries:
            place = entry.evidence[0].number
            if place == proposed.ends and place < words.told.number and terms(words.low) & terms(entry.text):
                return place
        return 0


_WANTS = phrases.Phrase(
    r"\b(?:want|need|like\sto|help|goal|aim|task|would\slike|looking\s(?:to|for)|trying\sto|please|instead|let's)\b"
    r"|帮|想|要|需要|请|目标|希望|打算|计划|任务|改"
)


_ENDED = phrases.Phrase(r"\b(?:done|ready|over|finished|sent|paid|[a-z]{3,}ed)\b|已|完|好了|了[。！!\s]*$")
"""Signs that something has come to its end, for words that the rules do not know."""


def _squeezed(low: str) -> tuple[str, list[int]]:
    """A text without blanks, and where each of its characters stands."""
    places = [at for at, sign in enumerate(low) if not sign.isspace()]
    return "".join(low[at] for at in places), places


def _stands(name: str, text: str) -> bool:
    """Whether a name stands in a text, as a word of its own where it is written in Latin letters."""
    at = text.find(name)
    while at >= 0:
        before, after = text[at - 1 : at], text[at + len(name) : at + len(name) + 1]
        if not name.isascii() or not (_wordy(before) or _wordy(after)):
            return True
        at = text.find(name, at + 1)
    return False


def _wordy(sign: str) -> bool:
    return sign.isascii() and sign.isalnum()


def _same(finding: Finding, other: Finding, quote: str) -> bool:
    """Whether a finding says what another says already."""
    if other.void_by or other.number != finding.number or _SAME.get(other.sort, other.sort) is not finding.sort:
        return False
    if finding.sort is Sort.FACT:
        return other.value == finding.value or other.subject.casefold() == finding.subject.casefold()
    if finding.sort in (Sort.DONE, Sort.WITHDRAWAL):
        return True
    mine, its = _squeezed(quote.casefold())[0], _squeezed(other.text.casefold())[0]
    return mine in its or its in mine or alike(terms(quote), terms(other.text)) >= _SURE
