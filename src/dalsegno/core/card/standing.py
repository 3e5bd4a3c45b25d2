"""From findings to a card: what stands, what was replaced, what is open.

Rules of this module:

* Findings are taken in the order of the conversation. The same findings give the same card, however they were heard.
* An agreement that says nothing else decides what was asked or offered last before it, by someone else; where nothing
  was, it decides nothing. An option that is named is looked up in the last list that has it. Where it cannot be found,
  the words stand as they are.
* A bare answer (`B.` `第二个吧。`) decides where the last list that somebody else showed is near and has that option; a
  number or an ordinal only where that list came with the question which one. Else it decides nothing.
* A later decision on the same matter replaces the earlier: the same list of options, the same value, or a sentence
  that says so itself (`instead`, `改成`) about the same things. Whether two matters are one is never guessed: else both
  stand.
* A recall takes back what it names, or, naming nothing, what was decided a few messages before; else it does nothing.
* The latest value of a subject holds, and so does the latest demand about it.
* A promise ends when its owner says that it is done, in words that are about the same, or when someone says so by
  number.
* What rests on words that were edited or deleted is stale: it stands in the history only.
* What a model found (`by`) replaces or takes back only what it names by number, and an agreement that names nothing
  looks at what the rules heard before it looks at that.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from dalsegno.core.card import phrases
from dalsegno.core.card.clipping import clip
from dalsegno.core.card.entries import Entry, Evidence, Modality
from dalsegno.core.card.findings import ANSWER, CONFIRMS, QUERY, QUESTION, Finding, Sort
from dalsegno.core.card.options import option_called
from dalsegno.core.card.terms import alike, skeleton, terms

__all__ = ["Standing", "answered_list", "may_answer", "standing"]

_NEAR = 6
"""How many numbers back an agreement or a recall without a name may reach."""
_SURE = 0.5
_LONGEST_REFERENCE = 240
_SHOWN_PROPOSALS = 12
_SHOWN_HISTORY = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The parts of a card that come from what was said."""

    goal: Entry | None
    decisions: tuple[Entry, ...]
    pending: tuple[Entry, ...]
    facts: tuple[Entry, ...]
    constraints: tuple[Entry, ...]
    artifacts: tuple[Entry, ...]
    proposals: tuple[Entry, ...]
    history: tuple[Entry, ...]


def standing(findings: Iterable[Finding]) -> Standing:
    """Put findings together; see the module's rules."""
    ordered = sorted(findings, key=lambda one: one.order)
    table = _Table()
    for one in ordered:
        if one.void_by:
            table.gone(one)
        else:
            table.take(one)
    return table.standing()


def _evidence(one: Finding) -> Evidence:
    return Evidence(number=one.number, author=one.author)


def _evidences(one: Finding) -> tuple[Evidence, ...]:
    return (_evidence(one), *(Evidence(number=number, author=author) for number, author in one.backing))


def _stale(one: Finding) -> Entry:
    modality = {Sort.DECISION: Modality.DECIDED, Sort.PROPOSAL: Modality.PROPOSED, Sort.OFFER: Modality.PROPOSED}
    return Entry(
        text=one.text,
        evidence=(_evidence(one),),
        modality=modality.get(one.sort),
        owner=one.owner,
        due=one.due,
        subject=one.subject,
        superseded_by=f"#{one.void_by}",
        stale=True,
        by=one.by,
    )


def _named(one: Finding, other: Finding) -> bool:
    """Whether a model's finding names another by its number."""
    return bool(one.closes) and one.closes in (other.number, other.place)


def may_answer(one: Finding, offer: Finding) -> bool:
    """Whether an agreement without a name may be the answer to what was offered or asked."""
    if not 0 < one.place - offer.place <= _NEAR or offer.author == one.author:
        return False
    return not (offer.sort is Sort.OFFER and offer.bare) and not (offer.kind == QUERY and one.kind == CONFIRMS)


def answered_list(one: Finding, lists: Iterable[Finding]) -> Finding | None:
    """The list of options that a bare answer chooses from, of those that were shown, the newest first."""
    shown = next((old for old in lists if old.place < one.place and old.author != one.author), None)
    if shown is None or one.place - shown.place > _NEAR or option_called(one.option, shown.options) is None:
        return None
    return shown if not one.option.isdigit() or phrases.CHOOSE_ONE.search(shown.text.lower()) else None


@dataclass(slots=True)
class _Item:
    """An entry in the making."""

    finding: Finding
    entry: Entry
    referred: Finding | None = None


class _Table:
    """The conversation so far."""

    def __init__(self) -> None:
        self.goal: _Item | None = None
        self.opened = False
        self.decisions: list[_Item] = []
        self.proposals: list[_Item] = []
        self.lists: list[Finding] = []
        self.promises: list[_Item] = []
        self.constraints: list[_Item] = []
        self.facts: dict[tuple[str, str], _Item] = {}
        self.files: dict[str, _Item] = {}
        self.past: list[tuple[tuple[int, int, int], Entry]] = []

    def take(self, one: Finding) -> None:
        taken = _TAKEN.get(one.sort)
        if taken is not None:
            taken(self, one)

    def gone(self, one: Finding) -> None:
        """What no longer stands in its event; a request that never became the goal needs no telling."""
        if one.sort is Sort.GOAL and one.matter == "opening":
            if self.opened:
                return
            self.opened = True
        self.past.append((one.order, _stale(one)))

    def standing(self) -> Standing:
        past = sorted(self.past, key=lambda pair: pair[0])[-_SHOWN_HISTORY:]
        return Standing(
            goal=None if self.goal is None else self.goal.entry,
            decisions=tuple(item.entry for item in self.decisions),
            pending=tuple(item.entry for item in self.promises),
            facts=tuple(item.entry for item in sorted(self.facts.values(), key=lambda item: item.finding.order)),
            constraints=tuple(item.entry for item in self.constraints),
            artifacts=tuple(item.entry for item in self.files.values()),
            proposals=tuple(
                [item.entry for item in self.proposals if item.finding.kind not in (QUESTION, QUERY)][
                    -_SHOWN_PROPOSALS:
                ]
            ),
            history=tuple(entry for _, entry in past),
        )

    def _retire(self, item: _Item, by: Finding, modality: Modality | None = None) -> None:
        entry = replace(item.entry, superseded_by=by.coordinate)
        if modality is not None:
            entry = replace(entry, modality=modality)
        self.past.append((item.finding.order, entry))

    # --- goal

    def _goal(self, one: Finding) -> None:
        if self.goal is not None and one.matter == "opening":
            return  # kept in case the first one goes
        self.opened = True
        item = _Item(one, Entry(text=one.text, evidence=_evidences(one), by=one.by))
        if self.goal is not None:
            self._retire(self.goal, one)
            item.entry = replace(item.entry, supersedes=self.goal.entry.coordinates[:1])
        self.goal = item

    # --- decisions

    def _proposal(self, one: Finding) -> None:
        entry = Entry(text=one.text, evidence=_evidences(one), modality=Modality.PROPOSED, by=one.by)
        self.proposals.append(_Item(one, entry))
        if one.options and not one.by:
            self.lists.append(one)

    def _decision(self, one: Finding) -> None:
        offer, wording = self._referred(one)
        if one.bare and offer is None:
            return
        text = one.text
        evidence = [*_evidences(one)]
        if offer is not None:
            evidence.append(_evidence(offer))
            text = f"{text} ← {offer.coordinate}: {clip(wording, _LONGEST_REFERENCE)}"
        entry = Entry(text=text, evidence=tuple(evidence), modality=Modality.DECIDED, by=one.by)
        item = _Item(one, entry, offer)
        replaced = [old for old in self.decisions if self._same_matter(old, item)]
        for old in replaced:
            self.decisions.remove(old)
            self._retire(old, one)
        if replaced:
            item.entry = replace(
                item.entry, supersedes=tuple(dict.fromkeys(old.entry.coordinates[0] for old in replaced))
            )
        self.proposals = [old for old in self.proposals if old.finding is not offer]
        self.decisions.append(item)

    def _referred(self, one: Finding) -> tuple[Finding | None, str]:
        """The offer or proposal that a decision takes up, and the words of it that count."""
        if one.backing or not one.refers:
            return None, ""
        earlier = [item.finding for item in self.proposals if item.finding.place < one.place]
        heard = [offer for offer in earlier if not offer.by]
        if one.kind == ANSWER:
            shown = answered_list(one, reversed(self.lists))
            called = option_called(one.option, shown.options) if shown else None
            return (shown, f"{called[0].upper()}: {called[1]}") if called else (None, "")
        if one.option:
            known = {id(offer) for offer in heard}
            listed = [old for old in self.lists if id(old) not in known and old.place < one.place]  # chosen from before
            for offer in sorted((*heard, *listed), key=lambda each: each.order, reverse=True):
                called = option_called(one.option, offer.options)
                if called is not None:
                    return offer, f"{called[0].upper()}: {called[1]}"
                if offer.option == one.option:
                    return offer, offer.text
            return None, ""
        for offer in (*reversed(heard), *reversed([other for other in earlier if other.by])):
            if may_answer(one, offer):
                return offer, offer.text
        return None, ""

    def _same_matter(self, old: _Item, new: _Item) -> bool:
        one, other = old.finding, new.finding
        if other.by:
            return _named(other, one)
        if old.referred is not None and old.referred is new.referred and bool(one.option) == bool(other.option):
            return True
        if one.matter and one.matter == other.matter:
            apart = old.referred is not None and new.referred is not None and not other.instead
            return not (one.matter == "option" and apart and old.referred is not new.referred)
        return other.instead and alike(terms(one.text), terms(other.text)) >= _SURE

    def _withdrawal(self, one: Finding) -> None:
        for part in (self.decisions, self.proposals, self.promises, self.constraints):
            target = self._meant(one, part)
            if target is not None:
                part.remove(target)
                self._retire(target, one, Modality.WITHDRAWN)
                return

    def _meant(self, one: Finding, part: Sequence[_Item]) -> _Item | None:
        if one.by:
            return next((item for item in part if _named(one, item.finding)), None)
        earlier = [item for item in part if item.finding.place < one.place and item.finding.sort is not Sort.OFFER]
        if one.option:
            return next((item for item in reversed(earlier) if item.finding.option == one.option), None)
        if one.bare:
            near = [item for item in earlier if one.place - item.finding.place <= _NEAR]
            return near[-1] if near else None
        about = terms(one.text)
        for item in reversed(earlier):
            known = terms(item.entry.text)
            if alike(about, known) >= _SURE:
                return item
        return None

    # --- promises

    def _promise(self, one: Finding) -> None:
        entry = Entry(text=one.text, evidence=_evidences(one), owner=one.owner, due=one.due, status="open", by=one.by)
        about = terms(one.text)
        for old in self.promises:
            same = old.finding.owner == one.owner and alike(terms(old.finding.text), about)
            again = same and same > 0.8 and len(about) > 1  # noqa: PLR2004 - nearly every word of it
            if _named(one, old.finding) if one.by else again:
                self.promises.remove(old)
                self._retire(old, one)
                entry = replace(entry, supersedes=old.entry.coordinates[:1])
                break
        self.promises.append(_Item(one, entry))

    def _done(self, one: Finding) -> None:
        about = terms(one.text)
        for item in self.promises:
            if one.closes:
                ended = one.closes in (item.finding.number, item.finding.place)
            else:
                known = terms(item.finding.text)
                mine = one.kind == "direct" or one.author in (item.finding.author, item.finding.owner)
                shared = len(about & known)
                ended = mine and item.finding.place < one.place and shared > 0 and alike(about, known) >= _SURE
            if ended:
                self.promises.remove(item)
                item.entry = replace(item.entry, status="done")
                self._retire(item, one)
                return

    # --- the rest

    def _constraint(self, one: Finding) -> None:
        about = skeleton(one.text)
        replaced = [
            old
            for old in self.constraints
            if (
                _named(one, old.finding)
                if one.by
                else (one.subject and one.subject == old.finding.subject and one.kind == old.finding.kind)
                or (about and about == skeleton(old.finding.text))
            )
        ]
        entry = Entry(text=one.text, evidence=_evidences(one), subject=one.subject, by=one.by)
        for old in replaced:
            self.constraints.remove(old)
            if old.finding.text != one.text:
                self._retire(old, one)
        if replaced:
            entry = replace(entry, supersedes=tuple(old.entry.coordinates[0] for old in replaced))
        self.constraints.append(_Item(one, entry))

    def _fact(self, one: Finding) -> None:
        key = (one.subject, one.kind)
        entry = Entry(text=one.text, evidence=_evidences(one), subject=one.subject, by=one.by)
        old = self.facts.pop(key, None)
        if old is not None and old.finding.value != one.value:
            self._retire(old, one)
            entry = replace(entry, supersedes=old.entry.coordinates[:1])
        self.facts[key] = _Item(one, entry)
        if one.instead or (old is not None and old.finding.value != one.value):
            self._outdated(one)

    def _outdated(self, one: Finding) -> None:
        """A demand that names another value of what was corrected."""
        for old in list(self.constraints):
            demand = old.finding
            same = demand.subject == one.subject and demand.kind == one.kind and demand.place < one.place
            if same and demand.value != one.value and one.instead:
                self.constraints.remove(old)
                self._retire(old, one)

    def _file(self, one: Finding) -> None:
        self.files.setdefault(one.key, _Item(one, Entry(text=one.text, evidence=(_evidence(one),), key=one.key)))


_TAKEN = {
    Sort.GOAL: _Table._goal,  # noqa: SLF001 - the table's own methods
    Sort.PROPOSAL: _Table._proposal,  # noqa: SLF001
    Sort.OFFER: _Table._proposal,  # noqa: SLF001
    Sort.DECISION: _Table._decision,  # noqa: SLF001
    Sort.WITHDRAWAL: _Table._withdrawal,  # noqa: SLF001
    Sort.PROMISE: _Table._promise,  # noqa: SLF001
    Sort.DONE: _Table._done,  # noqa: SLF001
    Sort.CONSTRAINT: _Table._constraint,  # noqa: SLF001
    Sort.FACT: _Table._fact,  # noqa: SLF001
    Sort.FILE: _Table._file,  # noqa: SLF001
}
