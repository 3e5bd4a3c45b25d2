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
from dalsegno.core.card.findings import Finding, Sort, Told
from dalsegno.core.card.options import label_in, listed
from dalsegno.core.card.own_words import own_words
from dalsegno.core.card.promises import due_in, given_to, own_task
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
    return any(pattern.search(low) for pattern in _STIRS)


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
            denied = chosen is not None and _denied_choice(low)
            yield _Sentence(self._text[start:end], low, start, end, self._said[at:last], chosen, denied)

    def findings(self, *, opening: bool) -> Iterator[Finding]:
        """Everything that is heard."""
        if self._may_decide:
            yield from self._goals(opening=opening)
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
            if phrases.GOALS.search(one.low) and not _asked(one.low) and not _reported(one.low):
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
        full = [one for one in decided if not one.bare]
        yield from (full or decided[-1:])[:_MOST]

    def _withdrawal(self, one: _Sentence) -> Finding | None:
        found = phrases.WITHDRAWS.search(one.low)
        denied = one.denied
        if not (found or denied) or _asked(one.low) or _conditional(one.low) or _reported(one.low):
            return None
        if found and not denied and phrases.HEDGES.search(phrases.WILLING.sub("", one.low)):
            return None
        if label_in(one.low[found.end() :] if found else "") == "" and _decided(one.low, found):
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
        if _asked(low) or not (chosen or accepted or approved):
            return None
        if one.goes_on or _informs(low) or not _wholehearted(low, chosen, accepted):
            return None
        option = label_in(low)
        refers = bool(accepted or approved or phrases.REFERS.search(low) or option)
        rest = _rest(low, chosen)
        subject = one.subject
        bare = len(rest) < 4 and not option and subject is None  # noqa: PLR2004 - letters; less says nothing
        if not (chosen or approved) and not bare and not _willing(low):
            return None
        return _finding(
            self._told,
            Sort.DECISION,
            one.shown,
            option=option,
            bare=bare,
            refers=refers or bare,
            instead=bool(phrases.INSTEAD.search(low)),
            matter="option" if option else f"={subject.subject}" if subject else "",
            kind="chosen" if chosen else "assent",
        )

    # --- proposals

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
        yield _finding(self._told, Sort.OFFER, text, options=options, bare=not asking or _open(asking[-1].low))

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
            if not phrases.DEMANDS.search(one.low) or phrases.NOT_DEMANDS.search(one.low) or _asked(one.low):
                continue
            if _reported(one.low) or count == _MOST or phrases.WITHDRAWS.search(one.low):
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
            owner = given_to(one.text)
            promised = one.has(Kind.COMMITMENT) or own_task(one.low)
            if not (owner or promised) or count == _MOST or (_asked(one.low) and not owner):
                continue
            due = due_in(one.text.strip(), one.low)
            if not owner and self._idle(one.low, due):
                continue
            if promised and not owner and (_conditional(one.low) or one.has(Kind.APPROVAL)):
                continue
            count += 1
            yield _finding(self._told, Sort.PROMISE, one.shown, owner=owner or self._told.author, due=due)

    def _idle(self, low: str, due: str) -> bool:
        """Whether a promise is of the moment: of what is being done already, or of nothing that would be missed."""
        if (_AT_ONCE.search(low) and not _DEADLINE.search(low)) or (not self._may_decide and _IN_RETURN.search(low)):
            return True
        if due:
            return False
        return self._told.calls or (self._told.role == "user" and low.isascii() and not _DELIVERS.search(low))

    def _done(self) -> Iterator[Finding]:
        for one in self._sentences[:40]:
            found = phrases.FINISHES.search(one.low)
            if found and not _asked(one.low) and not _conditional(one.low):
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


# --- a sentence judged --------------------------------------------------------------------------------

_BUT = re.compile(r"\b(?:but|however|although|though|except)\b|但|不过|可是|只是|然而")
_INFORMS = re.compile(
    r"^\W*(?:yes|yeah|yep|sure|ok|okay|great|right|correct|是的|对|好的?|嗯)[,，.!。\s]+(?:it's|it\sis|my\s"
    r"|i\s(?:have|am|was|do\shave|did|already|still)|i've|i'm\s(?!fine|ok|good|happy)|here|"
    r"the\s[a-z ]{2,24}(?:id|name|email|number|date)\sis|there|我的(?!意思)|我是|我叫|我有|这是|他|她)"
)
_AT_ONCE = re.compile(
    r"\b(?:now|check|look|looking|retrieve|transfer|search|calculate|verify|proceed|assist|help|guide|review"
    r"|gather|go\sahead|keep|do\smy\sbest|let\syou\sknow|update\syou|be\sable|need)\b"
    r"|马上|立刻|这就|帮您查|帮你查|查询一下|查一下|看一下|为您查"
)
_IN_RETURN = re.compile(r"\b(?:please|once|when|after|let\sme\sknow)\b.{0,80}\bi(?:'ll|\swill)\b")
_DEADLINE = re.compile(r"\b(?:by|before|within|until|no\slater)\b|前|内|底")
_DELIVERS = re.compile(
    r"\b(?:send|upload|e-?mail|share|prepare|write|review|sign|pay|deliver|submit|draft|finish|call|bring"
    r"|forward|provide|refund|ship|fix|build|test|deploy|publish|release|book|order|ask|talk\sto|check\swith"
    r"|confirm\swith)\b"
)
_FILLER = re.compile(
    r"\b(?:yes|yeah|yep|yup|ok|okay|sure|please|thanks?|thank\syou|great|perfect|fine|good|then|so|just|i|we|it"
    r"|that|this|with|the|a|and|to|go|ahead|proceed|do|is|are|'s|confirmed|confirm|"
    r"agreed|agree|approved|approve|deal|sounds|looks|works|for|me|us|all|right|correct|absolutely|let's|as|you"
    r"|suggested|proposed|said|everything|very|much|decided|option|plan|one)\b"
    r"|[好的行可以没问题同意确认对是嗯就这么样按定了吧啊呀呢哈我们咱你您那请办做来执继续通过批准它个先谢都已经]+"
)
_WILL = re.compile(
    r"\b(?:please|proceed|go\s(?:ahead|with)|book|cancel|send|change|update|upgrade|add|remove|use|do|i'd\slike"
    r"|i\swould\slike|i\swant|let's|that\s(?:works|would|will|sounds|is)|works|"
    r"that's\s(?:fine|correct|right|good|perfect|great|ok))\b|就|请|帮我|按|用|办|发|订|改|取消|加|买|选|做|执行"
    r"|继续|推进|走"
)


def _open(low: str) -> bool:
    """Whether a question asks for a choice, so that a mere yes does not answer it."""
    return bool(phrases.WHICH.search(low)) and not _YES_OR_NO.search(low)


_YES_OR_NO = re.compile(
    r"\b(?:would\syou\slike\s(?:me\s)?to|shall\s(?:i|we)|should\s(?:i|we)|do\syou\swant\sme|may\si"
    r"|please\sconfirm|is\s(?:that|this)\s(?:ok|okay|correct|right|fine)|do\syou\s(?:agree|approve|confirm))\b"
    r"|是否|要不要|可以吗|好吗|行吗|对吗|同意吗|可行吗"
)


def _asked(low: str) -> bool:
    return bool(phrases.ASKED.search(low))


def _conditional(low: str) -> bool:
    return bool(phrases.CONDITIONS.search(phrases.WILLING.sub("", low)))


def _reported(low: str) -> bool:
    return bool(phrases.REPORTS.search(phrases.OWN_REPORT.sub("", low)))


def _informs(low: str) -> bool:
    return bool(_INFORMS.match(low))


def _willing(low: str) -> bool:
    return bool(_WILL.search(low))


def _rest(low: str, chosen: re.Match[str] | None) -> str:
    """What a deciding sentence says besides deciding, letters alone."""
    rest = low if chosen is None else low[: chosen.start()] + " " + low[chosen.end() :]
    return "".join(character for character in _FILLER.sub("", rest) if character.isalnum())


def _decided(low: str, dropped: re.Match[str] | None) -> bool:
    """Whether a sentence takes something, beside what it drops."""
    chosen = phrases.CHOOSES.search(low, dropped.end()) if dropped else None
    return chosen is not None and not _denied_choice(low[dropped.end() :] if dropped else low)


def _denied_choice(low: str) -> bool:
    """Whether deciding words are denied: `let's not go with B`, `先不按方案B`."""
    return any(phrases.DENIES.search(_clause_before(low, found.start())) for found in phrases.CHOOSES.finditer(low))


def _clause_before(low: str, at: int) -> str:
    start = max((low.rfind(sign, 0, at) for sign in ",，;；:：.。"), default=-1)
    return low[start + 1 : at]


def _wholehearted(low: str, chosen: re.Match[str] | None, accepted: re.Match[str] | None) -> bool:
    """Whether deciding words are meant: not denied, hedged, made to depend on something, or somebody else's."""
    plain = phrases.WILLING.sub(lambda found: " " * len(found[0]), low)
    at = chosen.start() if chosen else len(plain)
    before = plain[:at]
    if chosen and (phrases.DENIES.search(_clause_before(plain, at)) or phrases.HEDGES.search(before)):
        return False
    if phrases.CONDITIONS.search(before) or _IF_AFTER.search(plain):
        return False
    if phrases.REPORTS.search(phrases.OWN_REPORT.sub("", before)):
        return False
    if chosen is None and (phrases.HEDGES.search(plain) or phrases.DENIES.search(plain) or _BUT.search(plain)):
        return bool(accepted) and not _MOOD.search(plain)
    return not (accepted and _BUT.search(plain) and chosen is None)


_IF_AFTER = re.compile(
    r"\b(?:if|unless|provided|assuming|as\slong\sas|subject\sto|depending)\b|如果|要是|的话|前提是|只要|除非"
)
_MOOD = re.compile(
    r"\b(?:but|however|although|though|not|n't|maybe|perhaps|might|could|would|think|guess|sure\sabout)\b|n't\b"
    r"|但|不过|可是|只是|也许|可能|考虑|想想|觉得|没|不|别|再"
)
