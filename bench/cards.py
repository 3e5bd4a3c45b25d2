"""What a handover card says of real conversations, held against what they were about.

* *tau_bench*: each call with a side effect is an action of the ledger. Actions of the card against the calls that the
  run made and that did not fail (precision, recall; also against the gold actions of runs with full reward); goal and
  demands against the text of the task, which the card's maker never saw.
* *crosswoz*, *acebench_zh*: the latest value of each slot that the user gave, and whether the card has it; *stale* are
  earlier values of a slot that was changed and that the card still gives as standing.
* *evermem_zh*: decisions and commitments against labels (`labels/evermem_zh.json`), by number of the message.
* *search*: how much of the evidence is among the first ten answers of `search_history`'s search, beside BM25 over the
  same messages (bm25s; words, and Chinese characters in pairs). Questions of memorybank_cn by labels
  (`labels/memorybank_cn.json`); of qmsum those whose evidence is at most forty turns, a turn each.

A source that is not there is passed over, with the reason.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.harness import Bound, Report, words
from bench.recordings import folder
from dalsegno.connect import Dalsegno, connect
from dalsegno.core.card.advancing import Notes, card_of, hear
from dalsegno.core.card.entries import Card, Entry, Modality
from dalsegno.core.card.findings import Told
from dalsegno.core.card.listening import listen
from dalsegno.core.card.rendering import render
from dalsegno.core.card.terms import alike, terms
from dalsegno.core.facts import FactIndex, facts_in
from dalsegno.core.search import occurrences

LABELS = Path(__file__).with_name("labels")
WRITES = ("book_reservation", "cancel_reservation", "update_reservation", "send_certificate")
PIECE = 8
FIRST = 10
WIDEST = 40
ALIKE, HALF, FEW = 0.4, 0.5, 2
"""Shares of words from which two wordings are about the same; sentences of fewer words are about nothing."""

Row = dict[str, object]


@dataclass(slots=True)
class Share:
    """A count of a count."""

    hits: int = 0
    total: int = 0

    def add(self, *hits: bool) -> None:
        """Count some more."""
        self.hits += sum(hits)
        self.total += len(hits)

    @property
    def value(self) -> float:
        """As a number from 0 to 1."""
        return self.hits / self.total if self.total else 1.0

    def __str__(self) -> str:
        return f"{self.value:.1%} ({self.hits}/{self.total})"


def card_from(said: Iterable[tuple[str, str, str]]) -> Card:
    """The card of a conversation of role, author and text, heard in pieces as it went on."""
    told = [Told(number=at, role=role, author=who, text=text) for at, (role, who, text) in enumerate(said, 1)]
    notes = Notes()
    for first in range(0, len(told), PIECE):
        notes = hear(notes, told[first : first + PIECE])
    return card_of(notes)


def shown(card: Card) -> str:
    """The card as a model reads it, within two thousand tokens."""
    return render(card, 2000).text


# --- tau_bench ----------------------------------------------------------------------------------------


def calls_of(traj: Sequence[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Name, arguments and result of each call with a side effect."""
    waiting: dict[str, Any] | None = None
    for message in traj:
        if message["role"] == "assistant" and message.get("tool_calls"):
            waiting = message["tool_calls"][0]["function"]
        elif message["role"] == "tool" and waiting is not None:
            if waiting["name"].startswith(WRITES):
                yield waiting["name"], json.loads(waiting["arguments"]), message.get("content") or ""
            waiting = None


def failed(result: str) -> bool:
    """Whether a tool's answer tells of a failure."""
    return result.lower().startswith("error")


def performed(ds: Dalsegno, thread: str, run: Sequence[tuple[str, dict[str, Any], str]]) -> None:
    """Make a run's calls once more, as actions."""
    for at, (name, arguments, result) in enumerate(run):

        def effect(answer: str = result, **_: Any) -> str:
            if failed(answer):
                raise RuntimeError(answer)
            return answer

        effect.__name__ = name
        with suppress(RuntimeError), ds.actions.within(thread, step=str(at)):
            ds.action(kind="update")(effect)(**arguments)


def named(name: str, arguments: dict[str, Any]) -> tuple[str, str]:
    """A call as both sides can name it: the tool, and whom or what it is about."""
    return name, str(arguments.get("reservation_id") or arguments.get("user_id") or "")


def airline(root: Path) -> tuple[list[Row], list[Bound]]:
    """Actions, goal and demands of a hundred runs of an agent with tools."""
    runs = json.loads((root / "tau_bench" / "airline.json").read_text(encoding="utf-8"))
    precision, recall, gold, goal, grounded, demands = Share(), Share(), Share(), Share(), Share(), Share()
    with connect("memory://") as ds:
        for at, run in enumerate(runs):
            thread, task = str(at), run["info"]["task"]
            for message in run["traj"]:
                if message["role"] in ("user", "assistant") and message.get("content"):
                    ds.journal.append(thread, "message", message["role"], message["content"])
            made = list(calls_of(run["traj"]))
            performed(ds, thread, made)
            card = ds.handover.refresh(thread)
            done = Counter(named(name, arguments) for name, arguments, result in made if not failed(result))
            told = Counter(
                next(
                    (one for one in done if entry.text.startswith(f"{one[0]}(") and one[1] in entry.text),
                    ("", entry.text),
                )
                for entry in card.actions
                if entry.status == "succeeded"
            )
            both = sum((done & told).values())
            precision.hits, precision.total = precision.hits + both, precision.total + sum(told.values())
            recall.hits, recall.total = recall.hits + both, recall.total + sum(done.values())
            if run["reward"] == 1:
                wanted = Counter(
                    named(one["name"], one["kwargs"]) for one in task["actions"] if one["name"].startswith(WRITES)
                )
                gold.add(*(told[one] >= count for one, count in wanted.items()))
            instruction = task["instruction"]
            goal.add(card.goal is not None and alike(terms(card.goal.text), terms(instruction)) >= ALIKE)
            index = FactIndex.of([instruction])
            stated = [fact for entry in card.constraints for fact in facts_in(entry.text) if fact.protected]
            grounded.add(*(index.states(fact) for fact in stated))
            demands.add(*_voiced(card, instruction, run["traj"]))
    row: Row = {
        "text": "tau_bench",
        "conversations": len(runs),
        "actions: precision": str(precision),
        "recall": str(recall),
        "gold actions (reward 1)": str(gold),
        "goal of the task": str(goal),
        "figures of constraints in the task": str(grounded),
        "demands of the task that were voiced": str(demands),
    }
    return [row], [
        Bound(claim="tau_bench: actions of the card that nobody made", limit=0, found=precision.total - precision.hits),
        Bound(
            claim="tau_bench: actions that were made and are not in the card", limit=0, found=recall.total - recall.hits
        ),
    ]


def _voiced(card: Card, instruction: str, traj: Sequence[dict[str, Any]]) -> Iterator[bool]:
    """Of each demand of a task that its user put into words: whether the card has it."""
    task = Told(number=1, role="user", author="user", text=instruction.replace("You ", "I ").replace("your ", "my "))
    kept = [terms(entry.text) for entry in (*card.constraints, *card.decisions, *((card.goal,) if card.goal else ()))]
    kept += [terms(entry.text) for entry in card.history if not entry.stale]
    said = [terms(message.get("content") or "") for message in traj if message["role"] == "user"]
    for one in listen(task):
        about = terms(one.text)
        if one.sort == "constraint" and any(alike(about, each) >= HALF for each in said if len(each) > FEW):
            yield any(alike(about, each) >= ALIKE for each in kept)


# --- slots --------------------------------------------------------------------------------------------


def stands(value: str, text: str) -> bool:
    """Whether a value stands in a text, as it is written or as a fact of another spelling."""
    if value.lower() in text.lower():
        return True
    facts = [fact for fact in facts_in(value) if fact.protected]
    return bool(facts) and all(FactIndex.of([text]).states(fact) for fact in facts)


def figure(value: str) -> bool:
    """Whether a value has a figure, a date, an address or the like."""
    return any(fact.protected for fact in facts_in(value))


def slots_of(
    messages: Sequence[dict[str, Any]],
) -> tuple[
    list[tuple[str, str, str]],
    dict[tuple[str, str], list[str]],
    dict[tuple[str, str], str],
    dict[tuple[int, str], list[str]],
]:
    """What was said; values by slot: that the user gave, that the assistant gave last, that each goal had in turn."""
    given: dict[tuple[str, str], list[str]] = {}
    answered: dict[tuple[str, str], str] = {}
    states: dict[tuple[int, str], list[str]] = {}
    said = []
    for message in messages:
        role, text = "user" if message["role"] == "usr" else "assistant", message["content"]
        said.append((role, role, text))
        for act, domain, slot, value in message["dialog_act"]:
            if act != "Inform" or value in ("", "none", "是", "否") or not stands(value, text):
                continue
            if role == "user":
                given.setdefault((domain, slot), []).append(value)
            else:
                answered[domain, slot] = value
        for number, _, slot, value, _ in message.get("user_state") or ():
            if isinstance(value, str) and not value.startswith("id=") and value and stands(value, text):
                states.setdefault((number, slot), []).append(value)
    return said, given, answered, states


def bookings(root: Path, most: int = 200) -> tuple[list[Row], list[Bound]]:
    """The latest value of each slot that a user gave, in Chinese dialogues about restaurants, hotels and sights."""
    with zipfile.ZipFile(root / "crosswoz" / "test.json.zip") as archive:
        dialogues = list(json.loads(archive.read("test.json")).values())[:most]
    users, figures, told, stale = Share(), Share(), Share(), Share()
    for dialogue in dialogues:
        said, given, answered, states = slots_of(dialogue["messages"])
        text = shown(card_from(said))
        for values in given.values():
            users.add(stands(values[-1], text))
            if figure(values[-1]):
                figures.add(stands(values[-1], text))
        for values in states.values():
            stale.add(*(stands(old, text) for old in set(values) if figure(old) and not stands(old, values[-1])))
        told.add(*(stands(value, text) for value in answered.values() if figure(value)))
    row: Row = {
        "text": "crosswoz",
        "conversations": len(dialogues),
        "latest values of the user": str(users),
        "with a figure": str(figures),
        "figures of the assistant": str(told),
        "stale": str(stale),
    }
    return [row], []


def corrections(root: Path) -> tuple[list[Row], list[Bound]]:
    """The arguments of the last call, as users gave and corrected them."""
    place = root / "acebench_zh"
    name = "data_normal_multi_turn_user_adjust.json"
    dialogues = [json.loads(line) for line in (place / name).read_text(encoding="utf-8").splitlines() if line.strip()]
    answers = [
        json.loads(line)
        for line in (place / "possible_answer" / name).read_text(encoding="utf-8").splitlines()
        if line.strip()
    ]
    values, figures = Share(), Share()
    for dialogue, answer in zip(dialogues, answers, strict=True):
        said = []
        for line in dialogue["question"].splitlines():
            role, colon, text = line.partition(": ")
            if colon and role in ("user", "system"):
                said.append(["user" if role == "user" else "assistant", text])
            elif said and line.strip():
                said[-1][1] += f"\n{line}"
        text = shown(card_from((role, role, text) for role, text in said))
        spoken = "\n".join(text for role, text in said if role == "user")
        for value in set(_leaves(answer["ground_truth"])):
            if stands(value, spoken):
                values.add(stands(value, text))
                if figure(value):
                    figures.add(stands(value, text))
    row: Row = {
        "text": "acebench_zh",
        "conversations": len(dialogues),
        "latest values of the user": str(values),
        "with a figure": str(figures),
    }
    return [row], []


def _leaves(tree: Any) -> Iterator[str]:
    if isinstance(tree, dict):
        for value in tree.values():
            yield from _leaves(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from _leaves(value)
    elif not isinstance(tree, bool) and tree is not None:
        yield str(tree)


# --- decisions and commitments ------------------------------------------------------------------------


def team_chat(root: Path) -> tuple[list[Row], list[Bound]]:
    """Decisions and commitments of a Chinese team's chat, against labels."""
    record = json.loads((root / "evermem_zh" / "team_chat_zh.json").read_text(encoding="utf-8"))["conversation_list"]
    labels = json.loads((LABELS / "evermem_zh.json").read_text(encoding="utf-8"))
    found: dict[str, set[int]] = {"decisions": set(), "commitments": set()}
    for first, last in labels["parts"]:
        for begin in range(first, last + 1, 50):  # a card shows the newest; all that was heard is asked for here
            part = record[begin - 1 : min(begin + 49, last)]
            card = card_from(("user", said["sender_name"], said["content"]) for said in part)
            decided = (
                *card.decisions,
                *(e for e in card.history if e.modality in (Modality.DECIDED, Modality.WITHDRAWN)),
            )
            found["decisions"] |= _numbers(decided, begin)
            found["commitments"] |= _numbers((*card.pending, *(e for e in card.history if e.owner)), begin)
    rows: list[Row] = []
    for kind, numbers in found.items():
        wanted, arguable = set(labels[kind]), set(labels[f"arguable_{kind}"])
        hits, counted = len(numbers & wanted), numbers - (arguable - wanted)
        rows.append(
            {
                "text": f"evermem_zh, {kind}",
                "labelled": len(wanted),
                "found": len(counted),
                "precision": str(Share(hits, len(counted))),
                "recall": str(Share(hits, len(wanted))),
                "arguable ones found": len(numbers & arguable - wanted),
            }
        )
    return rows, []


def _numbers(entries: Iterable[Entry], begin: int) -> set[int]:
    return {entry.evidence[0].number + begin - 1 for entry in entries}


# --- search -------------------------------------------------------------------------------------------


def ranked_by_bm25(messages: Sequence[str]) -> Callable[[str], list[int]]:
    """Numbers of the messages that answer a question best, by BM25 over the same terms."""
    import bm25s  # type: ignore[import-untyped] # noqa: PLC0415 - a peer of this measurement alone

    index = bm25s.BM25()
    index.index([occurrences(text) or ["\x00"] for text in messages], show_progress=False)

    def ask(question: str) -> list[int]:
        found, scores = index.retrieve([occurrences(question)], k=min(FIRST, len(messages)), show_progress=False)
        return [int(at) + 1 for at, score in zip(found[0], scores[0], strict=True) if score > 0]

    return ask


def searched(
    name: str, threads: Iterable[tuple[Sequence[tuple[str, str]], Sequence[tuple[str, Sequence[int]]]]]
) -> Row:
    """Recall of both searches over conversations with questions and their evidence."""
    ours, peer, hit, peer_hit, asked = 0.0, 0.0, 0, 0, 0
    with connect("memory://") as ds:
        for at, (said, questions) in enumerate(threads):
            thread = str(at)
            _fill(ds, thread, said)
            ask = ranked_by_bm25([text for _, text in said])
            for question, evidence in questions:
                gold = set(evidence)
                mine = {event.seq for event in ds.journal.search(thread, question, FIRST)} & gold
                theirs = set(ask(question)) & gold
                most = min(FIRST, len(gold))
                ours, peer, asked = ours + len(mine) / most, peer + len(theirs) / most, asked + 1
                hit, peer_hit = hit + bool(mine), peer_hit + bool(theirs)
    return {
        "text": name,
        "questions": asked,
        "recall@10": f"{ours / asked:.1%}",
        "BM25 recall@10": f"{peer / asked:.1%}",
        "any of it": f"{hit / asked:.1%}",
        "BM25 any of it": f"{peer_hit / asked:.1%}",
        "ratio": f"{ours / peer:.2f}",
    }


def _fill(ds: Dalsegno, thread: str, said: Sequence[tuple[str, str]]) -> None:
    from bench.handover import messages_into  # noqa: PLC0415 - which imports what only it needs

    messages_into(ds, thread, said)


def memories(root: Path) -> Iterator[tuple[list[tuple[str, str]], list[tuple[str, Sequence[int]]]]]:
    """Chinese chats of ten days with questions about them."""
    place = root / "memorybank_cn"
    people = json.loads((place / "memory_bank_cn.json").read_text(encoding="utf-8"))
    questions: dict[str, list[str]] = {}
    for line in (place / "probing_questions_cn.jsonl").read_text(encoding="utf-8").splitlines():
        if line.strip():
            questions |= json.loads(line)
    labels = json.loads((LABELS / "memorybank_cn.json").read_text(encoding="utf-8"))
    for person, evidence in labels.items():
        if person == "about":
            continue
        said = [
            pair
            for turns in people[person]["history"].values()
            for turn in turns
            for pair in (("user", turn["query"]), ("assistant", turn["response"]))
        ]
        yield said, list(zip(questions[person], evidence, strict=True))


def meetings(root: Path) -> Iterator[tuple[list[tuple[str, str]], list[tuple[str, Sequence[int]]]]]:
    """English meetings with questions and the turns that answer them."""
    for line in (root / "qmsum" / "meetings.jsonl").read_text(encoding="utf-8").splitlines():
        meeting = json.loads(line)
        said = [
            (str(turn["speaker"] or "user"), str(turn["content"] or "-")) for turn in meeting["meeting_transcripts"]
        ]
        questions: list[tuple[str, Sequence[int]]] = []
        for asked in meeting["specific_query_list"]:
            spans = [range(int(first) + 1, int(last) + 2) for first, last in asked["relevant_text_span"]]
            evidence = sorted({number for span in spans for number in span})
            if 0 < len(evidence) <= WIDEST:
                questions.append((asked["query"], evidence))
        if questions:
            yield said, questions


def search(root: Path) -> tuple[list[Row], list[Bound]]:
    """Both searches, beside one another."""
    if importlib.util.find_spec("bm25s") is None:
        raise FileNotFoundError("bm25s, of the extra `bench`")
    rows = [searched("memorybank_cn", memories(root)), searched("qmsum", meetings(root))]
    return rows, []


PARTS: dict[str, Callable[[Path], tuple[list[Row], list[Bound]]]] = {
    "tau_bench": airline,
    "crosswoz": bookings,
    "acebench_zh": corrections,
    "evermem_zh": team_chat,
    "search": search,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the measurements; exit code 1 when a bound is broken."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object for each part instead of tables")
    parser.add_argument("--parts", type=words, default=tuple(PARTS), help=f"what to measure, of {tuple(PARTS)}")
    asked = parser.parse_args(argv)
    code = 0
    for part in asked.parts:
        report = Report(title=f"Cards of real conversations: {part}")
        try:
            report.rows, report.bounds = PARTS[part](folder())
        except FileNotFoundError as error:
            report.notes = (f"passed over: {error.filename or error} is not there",)
        code |= report.close(as_json=asked.json)
    return code


if __name__ == "__main__":
    sys.exit(main())
