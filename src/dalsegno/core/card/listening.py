"""What one event says, by rules alone.

Rules of this module:

* Only someone who may decide decides: users, unless it is said otherwise. Whatever an assistant, a tool or a quoted
  text says is at most a proposal.
* A sentence is taken word for word or not at all. So every number and every date of a finding stands in its event.
* The reading of an event depends on the event alone (and on whether a goal was named before): read in one go, in
  pieces or once more after an edit, a conversation gives the same findings.
* Of a very long message the beginning and the end are read; its middle is as a rule somebody else's text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from dalsegno.core.card import phrases
from dalsegno.core.card.clipping import clip
from dalsegno.core.card.findings import ANSWER, CONFIRMS, EITHER, QUERY, QUESTION, Finding, Sort, Told
from dalsegno.core.card.judged import (
    AT_ONCE,
    DEADLINE,
    DELIVERS,
    IN_RETURN,
    POLITE,
    asked,
    conditional,
    denied_choice,
    informs,
    open_question,
    reported,
    rest_of,
    takes_instead,
    wholehearted,
    willing,
)
from dalsegno.core.card.options import answer_in, label_in, listed, name_in
from dalsegno.core.card.own_words import own_words
from dalsegno.core.card.promises import asked_for, deferred, due_in, given_to, noted, own_plan, own_task, taken_on
from dalsegno.core.card.slots import slots
from dalsegno.core.extracts import extract
from dalsegno.core.facts import WORDINGS, Kind, Said, said_in
from dalsegno.core.facts.folding import folded, lowered
from dalsegno.core.facts.speech import sentences

__all__ = ["DECIDERS", "LONGEST", "decides", "listen", "stirs"]

DECIDERS = frozenset({"user"})
"""Roles, or names of authors, that may decide."""

_HEAD, _TAIL = 4000, 2000
LONGEST = _HEAD + _TAIL
"""So many characters of a message are read; of a longer one its beginning and its end."""

_LONGEST = 300
_LONGEST_OF_ALL = 1200
_SPOKEN_BYTES = 240
"""What a sentence may take in a card: some forty words of English, eighty characters of Chinese. A card is written anew
as it grows; the whole wording is where its coordinate points."""
_GOAL_TOKENS = 80
_TELLS = 4
"""Letters; fewer besides the words that decide say nothing."""
_MOST = 4
_MOST_FACTS = 12
_HUMAN = frozenset({"user", "assistant"})
_DEAF = frozenset({"system", "tool", "note", "edit", "delete", "field"})
_DIRECT = {"decision": Sort.DECISION, "approval": Sort.DECISION, "todo": Sort.PROMISE, "done": Sort.DONE}


def decides(told: Told, deciders: Collection[str] = DECIDERS) -> bool:
    """Whether the speaker may decide, by role or by name."""
    return told.role in deciders or told.author in deciders


_STIRS = (phrases.CHOOSES, phrases.ACCEPTS, phrases.WITHDRAWS)


def stirs(text: str) -> bool:
    """Whether a text may decide or withdraw something: a quick look, so that the card is brought up to date at once."""
    low = lowered(folded(text[:_TAIL]))
    return any(pattern.search(low) for pattern in _STIRS) or bool(answer_in(low))


def listen(told: Told, deciders: Collection[str] = DECIDERS, *, opening: bool = False) -> tuple[Finding, ...]:
    """What an event says.

    Args:
        told: the event.
        deciders: roles and names that may decide.
        opening: whether the goal is still looked for.

    Returns:
        Findings in the order in which they are said.
    """
    if told.gone:
        return ()
    if told.role == "action":
        return (_finding(told, Sort.ACTION, told.text[:_LONGEST], key=told.action),) if told.action else ()
    if told.role in _DIRECT:
        return _said_outright(told)
    names = [name[:_LONGEST] for name in told.files[:_MOST]]
    files = tuple(_finding(told, Sort.FILE, name, key=name, part=90 + at) for at, name in enumerate(names))
    if told.role in _DEAF or not told.text.strip():
        return files
    found = [*_Hearing(told, decides(told, deciders)).findings(opening=opening)]
    return (*(_numbered(one, at) for at, one in enumerate(found)), *files)


def _said_outright(told: Told) -> tuple[Finding, ...]:
    text = clip(" ".join(told.text.split()), _LONGEST)
    low = lowered(folded(text))
    sort = _DIRECT[told.role]
    if not text and not told.closes:
        return ()
    return (
        _finding(
            told,
            sort,
            text,
            owner=told.owner,
            due=told.due,
            backing=told.backing,
            closes=told.closes,
            option=label_in(low) if sort is Sort.DECISION else "",
            matter=_matter(text, low, told) if sort is Sort.DECISION else "",
            instead=sort is Sort.DECISION and bool(phrases.INSTEAD.search(low)),
            kind="direct",
        ),
    )


def _finding(told: Told, sort: Sort, text: str, **more: object) -> Finding:
    known = {
        "message": told.message,
        "branch": told.branch,
        "ckpt": told.ckpt,
        "role": told.role,
        **more,
    }
    if len(text) > _LONGEST_OF_ALL:  # of odd characters even a few tokens are long
        text = clip(text, _LONGEST_OF_ALL)
    return Finding(sort=sort, place=told.stands_at, number=told.number, author=told.author, text=text, **known)  # type: ignore[arg-type] # each under its own name


def _numbered(finding: Finding, at: int) -> Finding:
    object.__setattr__(finding, "part", at)  # just made, and seen by nobody yet
    return finding


def _matter(text: str, low: str, told: Told) -> str:
    if label_in(low):
        return "option"
    subjects = [said.subject for said in said_in(text, coordinate="", author=told.author) if said.subject]
    return f"={subjects[0]}" if subjects else ""


@dataclass(frozen=True, slots=True)
class _Sentence:
    """One sentence of a message: as it stands, and folded in lower case."""

    text: str
    low: str
    start: int
    end: int
    said: tuple[Said, ...]
    chosen: re.Match[str] | None
    denied: bool

    @property
    def shown(self) -> str:
        said = " ".join(self.text.split())
        return clip(said, _SPOKEN_BYTES * len(said) // max(1, len(said.encode("utf-8", "surrogatepass"))))

    def has(self, kind: Kind) -> bool:
        return any(said.fact.kind is kind for said in self.said)

    @property
    def goes_on(self) -> bool:
        """Whether it only points to what was decided before, and decides nothing itself."""
        settled = phrases.SETTLED.search(self.low) is not None
        return settled and not label_in(self.low) and self.subject is None and not phrases.INSTEAD.search(self.low)

    @property
    def subject(self) -> Said | None:
        return next((said for said in self.said if said.subject and not said.denied), None)


class _Hearing:
    """One message being heard."""

    def __init__(self, told: Told, may_decide: bool) -> None:  # noqa: FBT001 - private
        self._told = told
        self._may_decide = may_decide
        text = told.text
        if len(text) > LONGEST:
            text = f"{text[:_HEAD]}\n\n{text[-_TAIL:]}"
        self._text = text
        self._own = own_words(text)
        self._low = lowered(folded(self._own))
        self._said = said_in(self._own, coordinate="", author=told.author)
        self._sentences = list(self._divided())

    def _divided(self) -> Iterator[_Sentence]:
        at = 0
        for start, end in sentences(self._low):
            if not self._low[start:end].strip():
                continue
            while at < len(self._said) and self._said[at].fact.start < start:
                at += 1
            last = at
            while last < len(self._said) and self._said[last].fact.start < end:
                last += 1
            low = self._low[start:end].strip()
            chosen = phrases.CHOOSES.search(low)
            denied = chosen is not None and denied_choice(low)
            yield _Sentence(self._text[start:end], low, start, end, self._said[at:last], chosen, denied)

    def findings(self, *, opening: bool) -> Iterator[Finding]:
        """Everything that is heard."""
        if self._may_decide:
            yield from self._goals(opening=opening)
            yield from self._questions()
            yield from self._decisions()
            yield from self._constraints()
        else:
            yield from self._offers()
        yield from self._proposals()
        if self._told.role in _HUMAN or self._may_decide:
            yield from self._promises()
            yield from self._done()
        yield from self._facts()

    # --- goal

    def _goals(self, *, opening: bool) -> Iterator[Finding]:
        for one in self._sentences:
            if phrases.GOALS.search(one.low) and not asked(one.low) and not reported(one.low):
                yield _finding(self._told, Sort.GOAL, one.shown)
                return
        if opening and not phrases.GREETING.match(self._low):
            text = extract(self._own, _GOAL_TOKENS)
            if len(text) > 3:  # noqa: PLR2004 - a word
                yield _finding(self._told, Sort.GOAL, text, matter="opening")

    # --- decisions

    def _decisions(self) -> Iterator[Finding]:
        decided: list[Finding] = []
        for one in self._sentences:
            if (found := self._withdrawal(one)) is not None:
                yield found
                continue
            if (found := self._decision(one)) is not None:
                decided.append(found)
        if len({one.option for one in decided if one.kind == ANSWER}) > 1 or listed(self._own):
            decided = [one for one in decided if one.kind != ANSWER]  # a list of his own, or no choice
        full = [one for one in decided if not one.bare or one.kind == ANSWER]
        yield from (full or decided[-1:])[:_MOST]
        if not decided and len(self._sentences) == 1 and (found := self._naming(self._sentences[0])) is not None:
            yield found

    def _naming(self, one: _Sentence) -> Finding | None:
        """A message that is hardly more than a name: of an option, where a list was just shown."""
        if not name_in(one.low) or asked(one.low) or reported(one.low) or phrases.WITHDRAWS.search(one.low):
            return None
        return _finding(
            self._told,
            Sort.NAMING,
            one.shown,
            bare=True,
            refers=True,
            instead=bool(phrases.INSTEAD.search(one.low)),
        )

    def _withdrawal(self, one: _Sentence) -> Finding | None:
        found = phrases.WITHDRAWS.search(one.low)
        denied = one.denied
        if not (found or denied) or asked(one.low) or conditional(one.low) or reported(one.low):
            return None
        if found and not denied and phrases.HEDGES.search(phrases.WILLING.sub("", one.low)):
            return None
        if label_in(one.low[found.end() :] if found else "") == "" and takes_instead(one.low, found):
            return None  # the sentence drops one thing and takes another: a decision that replaces
        return _finding(
            self._told,
            Sort.WITHDRAWAL,
            one.shown,
            option=label_in(one.low),
            bare=bool(phrases.WITHDRAWS_BARE.search(one.low)) and not label_in(one.low),
        )

    def _decision(self, one: _Sentence) -> Finding | None:
        low = one.low
        chosen = one.chosen
        accepted = phrases.ACCEPTS.match(low)
        approved = one.has(Kind.APPROVAL)
        answer = answer_in(low)
        if asked(low) or not (chosen or accepted or approved or answer):
            return None
        if one.goes_on or informs(low) or not wholehearted(low, chosen, accepted):
            return None
        if answer and not (chosen and label_in(low)):
            says_more = chosen is not None and len(rest_of(low, chosen)) >= _TELLS
            return _finding(
                self._told,
                Sort.DECISION,
                one.shown,
                option=answer,
                bare=not says_more,
                refers=True,
                instead=bool(phrases.INSTEAD.search(low)),
                matter="option",
                kind=ANSWER,
            )
        option = label_in(low)
        refers = bool(accepted or approved or phrases.REFERS.search(low) or option)
        rest = rest_of(low, chosen)
        subject = one.subject
        bare = len(rest) < _TELLS and not option and subject is None
        if not (chosen or approved) and not bare and not willing(low):
            bare = True  # an agreement with a remark: it decides where something was asked
        return _finding(
            self._told,
            Sort.DECISION,
            one.shown,
            option=option,
            bare=bare,
            refers=refers or bare,
            instead=bool(phrases.INSTEAD.search(low)),
            matter="option" if option else f"={subject.subject}" if subject else "",
            kind="chosen" if chosen else CONFIRMS if _CONFIRMS.match(low) else "assent",
        )

    # --- proposals

    def _questions(self) -> Iterator[Finding]:
        """What someone who may decide asks others who may: their agreement decides it. They have names there."""
        if self._told.author == self._told.role:
            return
        asking = [one for one in self._sentences if phrases.ASKS.search(one.low) or _SO.search(one.low)]
        low = asking[-1].low if asking else ""
        if asking and not (phrases.INQUIRES.search(low) or phrases.WHICH.search(low) or _EITHER.search(low)):
            consent = bool(phrases.ASKS.search(asking[-1].low))
            yield _finding(self._told, Sort.OFFER, asking[-1].shown, kind=QUESTION if consent else QUERY)

    def _offers(self) -> Iterator[Finding]:
        options = listed(self._own)
        asking = [
            one for one in self._sentences if phrases.ASKS.search(one.low) and not phrases.INQUIRES.search(one.low)
        ]
        if not asking and not options:
            return
        text = asking[-1].shown if asking else extract(self._own, _GOAL_TOKENS)
        if asking and not options and len(self._sentences) > 1:
            text = extract(self._own, 2 * _GOAL_TOKENS)
        bare = not asking or open_question(asking[-1].low)
        kind = EITHER if asking and _EITHER.search(asking[-1].low) else ""
        yield _finding(self._told, Sort.OFFER, text, options=options, bare=bare, kind=kind)

    def _proposals(self) -> Iterator[Finding]:
        count = 0
        if self._may_decide and (options := listed(self._own)):
            yield _finding(self._told, Sort.PROPOSAL, extract(self._own, _GOAL_TOKENS), options=options)
        for one in self._sentences:
            if count == 2:  # noqa: PLR2004 - a message that suggests more than two things is a list
                return
            weak = one.chosen and not one.goes_on and not (self._may_decide and self._decision(one))
            if (phrases.SUGGESTS.search(one.low) or weak) and not (one.denied or self._inquires(one)):
                count += 1
                yield _finding(self._told, Sort.PROPOSAL, one.shown, option=label_in(one.low))

    def _inquires(self, one: _Sentence) -> bool:
        """Whether an assistant asks for something to know, or says goodbye."""
        return not self._may_decide and bool(phrases.INQUIRES.search(one.low))

    # --- the rest

    def _constraints(self) -> Iterator[Finding]:
        count = 0
        for one in self._sentences:
            if not phrases.DEMANDS.search(one.low) or phrases.NOT_DEMANDS.search(one.low) or asked(one.low):
                continue
            if reported(one.low) or count == _MOST or phrases.WITHDRAWS.search(one.low):
                continue
            count += 1
            subject = one.subject
            yield _finding(
                self._told,
                Sort.CONSTRAINT,
                one.shown,
                subject=subject.subject if subject else "",
                value=subject.fact.value if subject else "",
                kind=str(subject.fact.kind) if subject else "",
            )

    def _promises(self) -> Iterator[Finding]:
        count = 0
        for one in self._sentences:
            if count == _MOST:
                return
            due = due_in(one.text.strip(), one.low)
            owner = given_to(one.text) or self._asked_to(one, due)
            promised = one.has(Kind.COMMITMENT) or own_task(one.low) or (self._may_decide and taken_on(one.low))
            promised = promised or noted(one.low) or (bool(due) and own_plan(one.low))
            if not (owner or promised) or (asked(one.low) and not owner):
                continue
            if not owner and not noted(one.low) and self._idle(one.low, due):
                continue
            if promised and not owner and (conditional(one.low) or one.has(Kind.APPROVAL)):
                continue
            count += 1
            yield _finding(self._told, Sort.PROMISE, one.shown, owner=owner or self._told.author, due=due)

    def _asked_to(self, one: _Sentence, due: str) -> str:
        """The assistant, where a user without a name asks something of him that is not for now."""
        told = self._told
        if told.role != "user" or told.author != told.role or reported(one.low):
            return ""
        asks = asked_for(one.low, due) and not conditional(one.low)
        return "assistant" if asks or (deferred(one.low) and not asked(one.low)) else ""

    def _idle(self, low: str, due: str) -> bool:
        """Whether a promise is of the moment: of what is being done already, or of nothing that would be missed."""
        if (AT_ONCE.search(low) and not DEADLINE.search(low)) or (not self._may_decide and IN_RETURN.search(low)):
            return True
        if due:
            return False
        if self._told.calls or (not low.isascii() and POLITE.search(low)):
            return True
        return self._told.role == "user" and low.isascii() and not DELIVERS.search(low)

    def _done(self) -> Iterator[Finding]:
        for one in self._sentences[:40]:
            found = phrases.FINISHES.search(one.low)
            if found and not asked(one.low) and not conditional(one.low):
                if phrases.DENIES.search(one.low[: found.end()]):
                    continue
                yield _finding(self._told, Sort.DONE, one.shown)

    def _facts(self) -> Iterator[Finding]:
        count = 0
        seen: set[tuple[str, str]] = set()
        if not self._may_decide and listed(self._own):
            return  # values of options, of which at most one comes true
        for said in self._said:
            fact = said.fact
            if not said.subject or said.denied or not fact.protected or fact.kind in WORDINGS:
                continue
            if (said.subject, fact.value) in seen or count == _MOST_FACTS:
                continue
            seen.add((said.subject, fact.value))
            count += 1
            yield _finding(
                self._told,
                Sort.FACT,
                fact.text,
                subject=said.subject,
                value=fact.value,
                kind=str(fact.kind),
                instead=said.correction,
            )
        if self._may_decide:
            yield from self._slots({said.fact.start for said in self._said if said.subject})

    def _slots(self, figures: Collection[int]) -> Iterator[Finding]:
        """Values that are words; those with a figure have been heard already."""
        for at, subject, value in slots(self._own, self._low):
            sentence = next((one for one in self._sentences if one.start <= at < one.end), None)
            if sentence is None or asked(sentence.low) or conditional(sentence.low) or reported(sentence.low):
                continue
            if not any(at <= place < at + len(value) for place in figures):
                yield _finding(self._told, Sort.FACT, value, subject=subject, value=value.lower(), kind="said")


_SO = re.compile(r"[?？]\s*$")
_EITHER = re.compile(r"\bor\b|还是[^，。]*[?？]")
_CONFIRMS = re.compile(r"\W*(?:yes\sit|correct|exactly|true|that's\sright|是的|对|没错|嗯|正确)")
"""Words that may say no more than that something is so."""
