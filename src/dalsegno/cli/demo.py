"""`dalsegno demo`: kill a conversation, pick it up in a new process, and show what is left to wish for.

The exit code is the verdict: 0 when the conversation ended as if nobody had touched it and nothing that had finished
ran again, 1 when not. A person reads messages counted from 1, as events are; JSON holds positions from 0.
"""

from __future__ import annotations

import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

import typer
from rich.panel import Panel
from rich.text import Text

from dalsegno.cli.card import card_table
from dalsegno.cli.frame import Frame, command
from dalsegno.cli.output import plain
from dalsegno.cli.text import shown
from dalsegno.demo import BUILT_IN, perform
from dalsegno.demo.handover import BUDGET
from dalsegno.demo.script import PHASES
from dalsegno.demo.shortening import POLICY

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rich.console import RenderableType
    from rich.table import Table

    from dalsegno.demo import Outcome
    from dalsegno.demo.handover import HandedOver
    from dalsegno.demo.measure import FileSize
    from dalsegno.demo.outcome import Execution
    from dalsegno.demo.shortening import Shortened

__all__ = ["register"]

_Fact: TypeAlias = tuple[str, str, str]
"""What a fact is called, the fact, and how it is shown."""

_KILLED_IN: Final = {
    "start": "killed before it did anything",
    "effect": "killed after its effect",
    "return": "killed as it returned",
}


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "demo")(demo)


def demo(
    frame: Frame,
    *,
    transcript: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Play this transcript; a built-in one if not given.")
    ] = None,
    index: Annotated[
        int | None, typer.Option(min=0, help="Which conversation of a file that holds several, from 0.")
    ] = None,
    kill_at: Annotated[
        int | None, typer.Option(min=1, metavar="K", help="Kill point, from 1; the most telling one if not given.")
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the files, and say where they are.")] = False,
) -> None:
    """Play a conversation, kill its process, resume it in a new one, and compare with an undisturbed run."""
    with _folder(frame, keep=keep) as folder:
        url = frame.named_store or f"sqlite:///{folder / 'demo.db'}"
        outcome = perform(
            url=url,
            folder=folder,
            transcript=transcript or BUILT_IN,
            index=index,
            tenant=frame.tenant or "default",
            user=frame.user,
            kill_at=kill_at,
        )
    if frame.out.as_json:
        frame.out.document(_facts(outcome) | {"folder": str(folder) if keep else None})
    else:
        frame.out.show(*_story(frame, outcome, transcript or Path("built-in transcript")))
        if frame.named_store or keep:
            kept = () if frame.named_store else ("--store", url)
            frame.out.note(f"The thread is kept. Look at it: {frame.proposal('show', outcome.thread_id, *kept)}")
    if not outcome.holds:
        raise typer.Exit(1)


def _facts(outcome: Outcome) -> dict[str, Any]:
    handed = outcome.handed_over
    return {
        **plain(outcome),
        "handed_over": {**plain(handed), "card": handed.card.to_json(), "holds": handed.holds},
        "identical": outcome.identical,
        "doubled": plain(outcome.doubled),
        "accounted": outcome.accounted,
        "bytes_ratio": _ratio(outcome),
        "holds": outcome.holds,
    }


@contextmanager
def _folder(frame: Frame, *, keep: bool) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="dalsegno-demo-"))
    try:
        yield folder
    finally:
        if keep:
            frame.out.note(f"kept: {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)


def _story(frame: Frame, outcome: Outcome, transcript: Path) -> Iterator[RenderableType]:
    yield _section(frame, "1. Killed", _killed(outcome, transcript))
    yield _section(frame, "2. Reopened by a new process, without an input", _reopened(outcome))
    yield _executions(frame, outcome)
    yield _section(frame, "3. Compared with a run that nobody disturbed", _compared(outcome))
    yield _section(frame, "4. The ledger of effects on the world", _effects(outcome))
    if outcome.ledger:
        yield _ledger(frame, outcome)
    yield _section(frame, "5. Compacted, and the summary checked", _compacted(outcome.shortened))
    yield _section(frame, "6. Handed over to whoever opens it next", _handed_over(outcome.handed_over))
    yield card_table(frame.out, outcome.handed_over.card, history=False)
    yield shown("It holds." if outcome.holds else "It does NOT hold.", "bold green" if outcome.holds else "bold red")


def _section(frame: Frame, title: str, facts: Iterable[_Fact]) -> Panel:
    table = frame.out.pairs()
    for name, text, style in facts:
        table.add_row(shown(name, "dim"), shown(text, style))
    return Panel(table, title=shown(title, "bold"), title_align="left", expand=False)


def _fact(name: str, text: str, style: str = "") -> _Fact:
    return name, text, style


def _killed(outcome: Outcome, transcript: Path) -> Iterator[_Fact]:
    moment = outcome.killed_at
    what = f"tool {moment.tool}" if moment.tool else moment.node
    yield _fact("transcript", f"{transcript.name}, {outcome.messages_expected} messages")
    yield _fact("SIGKILL at kill point", f"{moment.number} of {outcome.moments} (--kill-at)", "red")
    yield _fact(
        "node", f"{what}, for message {moment.position + 1}; turn {moment.turn}, superstep {outcome.killed_step}"
    )
    yield _fact("moment", PHASES[moment.phase])


def _reopened(outcome: Outcome) -> Iterator[_Fact]:
    found = outcome.reopened
    tools = {one.position: one.tool for one in outcome.executions}
    kept = [tools.get(position) or node for node, position in found.siblings]
    yield _fact("messages", f"{found.messages} of {outcome.messages_expected}")
    yield _fact("last event", found.coordinate or "none")
    yield _fact("last finished superstep", "none" if found.step is None else str(found.step))
    yield _fact("still to run", ", ".join(found.pending) or "nothing in this superstep")
    yield _fact("finished siblings kept", ", ".join(kept) or "none")
    yield _fact("time to reopen", f"{found.ms:.1f} ms from the URL to the loaded head (imports not counted)")


def _executions(frame: Frame, outcome: Outcome) -> Table:
    table = frame.out.table("message#", "node", "first process", "second process", title="What ran where")
    by_place: dict[int, dict[int, Execution]] = {}
    for each in outcome.executions:
        by_place.setdefault(each.position, {})[each.process] = each
    for position, runs in sorted(by_place.items()):
        first, second = runs.get(1), runs.get(2)
        one = next(iter(runs.values()))
        table.add_row(shown(str(position + 1)), shown(one.tool or one.node), _first(first), _second(first, second))
    return table


def _first(one: Execution | None) -> Text:
    if one is None:
        return shown("")
    if one.finished:
        return shown("finished", "green")
    return shown(_KILLED_IN[one.reached], "red")


def _second(first: Execution | None, second: Execution | None) -> Text:
    if second is None:
        return shown("kept, not run again" if first is not None else "", "green")
    if second.finished:
        return shown("RAN AGAIN although it had finished", "bold red")
    return shown("ran again: unfinished" if first is not None else "ran", "yellow" if first else "")


def _compared(outcome: Outcome) -> Iterator[_Fact]:
    good, bad = "green", "bold red"
    difference = outcome.first_difference
    yield _fact(
        "messages",
        f"{outcome.messages} and {outcome.messages_expected}: "
        + ("identical in role, content and calls" if difference is None else f"they part at message {difference + 1}"),
        good if difference is None else bad,
    )
    yield _fact(
        "journal",
        f"{outcome.events} events, " + ("identical" if outcome.events_identical else "NOT identical"),
        good if outcome.events_identical else bad,
    )
    again, lost = outcome.finished_again, outcome.lost
    yield _fact("ran again when finished", _listed(one.tool or one.node for one in again), bad if again else good)
    yield _fact(
        "finished and lost", _listed(f"{node} ({position + 1})" for node, position in lost), bad if lost else good
    )
    yield from _bytes(outcome)


def _compacted(found: Shortened | None) -> Iterator[_Fact]:
    if found is None:
        yield _fact("messages", f"at most {POLICY.max_messages}: nothing to take out yet")
        return

    def verdict(done: int, of: int) -> str:
        return "green" if done == of else "bold red"

    yield _fact(
        "messages", f"{found.messages}; {found.messages_after} stay word for word, a summary stands for {found.evicted}"
    )
    yield _fact(
        "covered",
        f"{found.covered} of {found.evicted}, each with number and author",
        verdict(found.covered, found.evicted),
    )
    yield _fact(
        "protected facts",
        f"{found.facts_kept} of {found.facts} kept verbatim, with the number of their message",
        verdict(found.facts_kept, found.facts),
    )
    yield _fact("invented figures", str(found.invented), verdict(found.invented, 0))
    yield _fact("tokens", f"about {found.tokens:,} before, {found.tokens_after:,} after, summary and facts included")
    yield _fact("a line of it", found.line)


def _handed_over(found: HandedOver) -> Iterator[_Fact]:
    def verdict(done: int, of: int) -> str:
        return "green" if done == of else "bold red"

    of_card = len(found.card.actions)
    yield _fact(
        "actions on the card",
        f"{of_card}, of which {found.actions} are in the ledger with the same key and state" if of_card else "none",
        verdict(found.actions, of_card) if of_card or not found.actions_of_ledger else "bold red",
    )
    yield _fact(
        "evidence",
        f"{found.quoted} of {found.evidence} events that its entries rest on are there word for word",
        verdict(found.quoted, found.evidence),
    )
    yield _fact(
        "since the card", f"{found.shown} of {found.since} events are in the request", verdict(found.shown, found.since)
    )
    yield _fact(
        "first request",
        f"{found.messages} messages, card included, about {found.tokens:,} of {BUDGET:,} tokens, in {found.ms:.0f} ms "
        "and without a model call",
    )


def _effects(outcome: Outcome) -> Iterator[_Fact]:
    acts = [effect for effect in outcome.effects if not effect.reads]
    once = f"{len(acts)}, each of them once" if acts else "none"
    twice = _listed(f"{effect.tool} {effect.times} times" for effect in outcome.doubled)
    yield _fact(
        "effects on the world",
        f"{sum(effect.times for effect in acts)}: {twice}" if outcome.doubled else once,
        "bold red" if outcome.doubled else "green",
    )
    yield _fact(
        "on record", f"{len(outcome.ledger)}, each with its moves", "green" if outcome.accounted else "bold red"
    )
    for entry in outcome.ledger:
        if entry.asked:
            found = "it had happened, so it was not done again"
            if entry.attempts > 1:
                found = "it had not happened, so it was done"
            yield _fact(
                "killed in mid-effect",
                f"{entry.tool}: its end was unknown, the world was asked by its key; {found}",
                "yellow",
            )


def _ledger(frame: Frame, outcome: Outcome) -> Table:
    table = frame.out.table("action", "tool", "state", "tries#", "moves", title="The ledger")
    for entry in outcome.ledger:
        moves = ", ".join(move if role == "ledger" else f"{move} ({role})" for move, role in entry.moves)
        table.add_row(
            shown(entry.action_id[:12]),
            shown(entry.tool),
            shown(entry.state, "green" if entry.state == "succeeded" else "red"),
            shown(str(entry.attempts)),
            shown(moves, "yellow" if entry.asked else ""),
        )
    return table


def _bytes(outcome: Outcome) -> Iterator[_Fact]:
    ours, theirs = outcome.stored, outcome.stored_by_langgraph
    yield _fact("stored by dalsegno", f"{_grown(ours)}, as a SQLite file")
    if theirs is None:
        yield _fact("stored by LangGraph", "not measured: its SQLite saver is not here (pip install 'dalsegno[demo]')")
    else:
        ratio = _ratio(outcome)
        compared = "dalsegno needed no new page" if ratio is None else f"{ratio:.1f} times as much"
        yield _fact("stored by LangGraph", f"{_grown(theirs)} with its own SQLite saver: {compared}")


def _ratio(outcome: Outcome) -> float | None:
    """How many times as much LangGraph's own saver stored; None where nothing can be divided."""
    theirs = outcome.stored_by_langgraph
    return theirs.run_bytes / outcome.stored.run_bytes if theirs is not None and outcome.stored.run_bytes else None


def _grown(file: FileSize) -> str:
    return f"{file.run_bytes:,} bytes for this run (the file: {file.full_bytes:,}; empty: {file.empty_bytes:,})"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"
