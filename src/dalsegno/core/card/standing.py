"""From findings to a card: what stands, what was replaced, what is open.

Rules of this module:

* Findings are taken in the order of the conversation. The same findings give the same card, however they were heard.
* An agreement that says nothing else decides what was asked or offered last before it, by someone else; where nothing
  was, it decides nothing. An option that is named is looked up in the last list that has it. Where it cannot be found,
  the words stand as they are.
* A bare answer (`B.` `第二个吧。`) decides where the last list that somebody else showed is near and has that option; a
  number or an ordinal only where that list came with the question which one. Else it decides nothing.
* A decision that has no label takes the option whose name it says, from a list that somebody else showed near before
  it, or, where it says that it replaces something, from a list that was chosen from. A message that is hardly more than
  such a name (`Porto, please.` `那就苏州吧`) decides only where that list came with the question which one, or where
  the question right before it has all that it names (`Now, or at the end of the month?`).
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
from dalsegno.core.card.findings import ANSWER, CONFIRMS, EITHER, QUERY, QUESTION, Finding, Sort
from dalsegno.core.card.options import name_in, option_called, option_meant, option_named, said_of
from dalsegno.core.card.terms import alike, skeleton, terms

__all__ = ["Standing", "answer_to", "may_answer", "standing"]

_NEAR = 6
"""How many numbers back an agreement or a recall without a name may reach."""
_AT_ONCE = 2
"""How many numbers back a question may stand that a mere name answers, or one of several things at once."""
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
    if offer.sort is Sort.OFFER and offer.bare:
        return False
    if offer.kind == EITHER and (one.bare or one.place - offer.place > _AT_ONCE):
        return False
    return not (offer.kind == QUERY and one.kind == CONFIRMS)


def answer_to(one: Finding, earlier: Iterable[Finding]) -> tuple[Finding, tuple[str, str] | None] | None:
    """What a bare answer or a name chooses from, and the option.

    Args:
        one: the answer.
        earlier: the lists and offers before it that no model found, the newest first.

    Returns:
        The newest list that somebody else showed, where it has that option. For a name, also the question right before
        it that offers what is named; it has no options. None where it answers nothing.
    """
    asked = [old for old in earlier if 0 < one.place - old.place <= _NEAR and old.author != one.author]
    shown = next((old for old in asked if old.options), None)
    if one.sort is not Sort.NAMING:
        called = option_called(one.option, shown.options) if shown else None
        which = not one.option.isdigit() or (shown is not None and _which(shown))
        return (shown, called) if shown and called and which else None
    name = name_in(one.text.lower())
    called = option_named(name, shown.options) if shown and _which(shown) else None
    if shown and called:
        return shown, called
    offer = next((old for old in asked if old.sort is Sort.OFFER), None)
    if offer is None or offer.options or one.place - offer.place > _AT_ONCE or not said_of(name, offer.text):
        return None
    return offer, None


def _which(shown: Finding) -> bool:
    return phrases.CHOOSE_ONE.search(shown.text.lower()) is not None


def _optional(offer: Finding, called: tuple[str, str] | None) -> tuple[Finding, str, str]:
    """What a decision refers to: an option, or all that was offered."""
    if called is None:
        return offer, offer.text, ""
    label, words = called
    return offer, f"{label.upper()}: {words}", label


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
        offer, wording, label = self._referred(one)
        if one.bare and offer is None:
            return
        if label and not one.option:
            one = replace(one, option=label, matter="option")
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

    def _referred(self, one: Finding) -> tuple[Finding | None, str, str]:
        """The offer or proposal that a decision takes up, the words of it that count, and the option's label."""
        if one.backing or (one.kind == "direct" and not one.refers):
            return None, "", ""  # it stands as it was written
        earlier = [item.finding for item in self.proposals if item.finding.place < one.place]
        heard = [offer for offer in earlier if not offer.by]
        if one.kind == ANSWER or one.sort is Sort.NAMING:
            known = {id(each): each for each in (*self.lists, *heard)}.values()
            chosen = answer_to(one, sorted(known, key=lambda each: each.order, reverse=True))
            return (None, "", "") if chosen is None else _optional(*chosen)
        if one.option:
            return self._labelled(one, heard)
        candidates = (*reversed(heard), *reversed([other for other in earlier if other.by])) if one.refers else ()
        offer = next((other for other in candidates if may_answer(one, other)), None)
        meant = self._meant_option(one, since=offer.place if offer else 0)
        if meant is not None:
            return _optional(*meant)
        return (None, "", "") if offer is None else (offer, offer.text, "")

    def _labelled(self, one: Finding, heard: Sequence[Finding]) -> tuple[Finding | None, str, str]:
        known = {id(offer) for offer in heard}
        listed = [old for old in self.lists if id(old) not in known and old.place < one.place]  # chosen from before
        for offer in sorted((*heard, *listed), key=lambda each: each.order, reverse=True):
            called = option_called(one.option, offer.options)
            if called is not None:
                return _optional(offer, called)
            if offer.option == one.option:
                return offer, offer.text, one.option
        return None, "", ""

    def _meant_option(self, one: Finding, since: int) -> tuple[Finding, tuple[str, str]] | None:
        """The list whose option a decision names in words, and the option; no list older than what it answers."""
        if one.by:
            return None
        near = [old for old in self.lists if 0 < one.place - old.place <= _NEAR and old.author != one.author]
        shown = [old for old in near if old.place >= since]
        if one.instead:
            shown = [*(old.referred for old in self.decisions if old.referred and old.referred.options), *shown]
        for old in reversed(shown):
            lettered = not old.options[0][0].isdigit()
            called = option_meant(one.text, old.options, loosely=_which(old)) if lettered or _which(old) else None
            if called is not None:
                return old, called
        return None

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
    Sort.NAMING: _Table._decision,  # noqa: SLF001
    Sort.WITHDRAWAL: _Table._withdrawal,  # noqa: SLF001
    Sort.PROMISE: _Table._promise,  # noqa: SLF001
    Sort.DONE: _Table._done,  # noqa: SLF001
    Sort.CONSTRAINT: _Table._constraint,  # noqa: SLF001
    Sort.FACT: _Table._fact,  # noqa: SLF001
    Sort.FILE: _Table._file,  # noqa: SLF001
}
