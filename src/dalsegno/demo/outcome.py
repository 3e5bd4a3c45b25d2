"""What a performance came to: values that can be shown, compared and written as JSON.

The verdict, `Outcome.holds`, is False when one message or event differs from the undisturbed run, when an execution
that had finished ran again or was gone, when an effect on the world came twice or the ledger does not know it, when a
compaction of the conversation keeps less than it must, or when its handover card tells less than ledger and journal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dalsegno.demo.errands import Entry
    from dalsegno.demo.handover import HandedOver
    from dalsegno.demo.measure import FileSize
    from dalsegno.demo.script import Moment
    from dalsegno.demo.shortening import Shortened
    from dalsegno.demo.world import Effect

__all__ = ["Execution", "Outcome", "Reopened"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """One run of one node in one process.

    Attributes:
        node: `model` or `tool`.
        position: index of the message that it yields.
        tool: name of the tool, or None.
        process: 1 for the process that was killed, 2 for the one that came after it.
        step: the superstep.
        reached: the last phase that the process reported.
        finished: whether the result was in the store when the second process opened it.
    """

    node: str
    position: int
    tool: str | None
    process: int
    step: int
    reached: str
    finished: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Reopened:
    """What the second process found, before it did anything.

    Attributes:
        messages: how many the thread held.
        pending: names of the nodes still to run.
        siblings: (node, position) of those that had finished in a step that was not over.
        step: the last superstep that was over.
        coordinate: the journal's last event, such as `#13 model`.
        ms: milliseconds from the URL to the loaded head, imports not counted.
    """

    messages: int
    pending: tuple[str, ...]
    siblings: tuple[tuple[str, int], ...]
    step: int | None
    coordinate: str | None
    ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Everything that happened.

    Attributes:
        thread_id: the thread in the store.
        moments: how many kill points the transcript has.
        killed_at: where the first process was killed.
        killed_step: the superstep it was in.
        reopened: what was there for the second process.
        executions: every run of every node, in order, both processes.
        finished_again: those of the second process that had finished in the first. Must be empty.
        lost: (node, position) that had finished in the first process and were gone. Must be empty.
        messages: how many the thread holds at the end.
        messages_expected: how many the undisturbed run holds.
        first_difference: index of the first message that differs from the undisturbed run; None if none does.
        events: how many events the thread's journal holds.
        events_identical: whether author, kind and text of each equal those of the undisturbed run.
        effects: what happened in the outside world.
        ledger: the actions on record.
        stored: what dalsegno's file for the undisturbed run takes.
        stored_by_langgraph: what the file of LangGraph's own SQLite saver takes for the same run; None where that saver
            is not installed.
        shortened: the conversation compacted, with what was checked; None where it is too short.
        handed_over: the card and the first request for whoever opens the thread next, with what was checked.
    """

    thread_id: str
    moments: int
    killed_at: Moment
    killed_step: int | None
    reopened: Reopened
    executions: tuple[Execution, ...]
    finished_again: tuple[Execution, ...]
    lost: tuple[tuple[str, int], ...]
    messages: int
    messages_expected: int
    first_difference: int | None
    events: int
    events_identical: bool
    effects: tuple[Effect, ...]
    ledger: tuple[Entry, ...]
    stored: FileSize
    stored_by_langgraph: FileSize | None
    shortened: Shortened | None
    handed_over: HandedOver

    @property
    def identical(self) -> bool:
        """Whether messages and journal equal those of the undisturbed run."""
        return self.first_difference is None and self.events_identical

    @property
    def doubled(self) -> tuple[Effect, ...]:
        """Effects on the world that happened more than once. Must be empty."""
        return tuple(effect for effect in self.effects if effect.times > 1 and not effect.reads)

    @property
    def accounted(self) -> bool:
        """Whether the ledger has each effect on the world as a success, and no other."""
        done = sorted(effect.tool for effect in self.effects if not effect.reads)
        return done == sorted(entry.tool for entry in self.ledger if entry.state == "succeeded") and len(done) == len(
            self.ledger
        )

    @property
    def holds(self) -> bool:
        """The verdict: identical, nothing finished ran again or was lost, each effect once, all told in the end."""
        kept = self.shortened is None or self.shortened.holds
        once = not self.doubled and self.accounted
        return self.identical and not self.finished_again and not self.lost and once and kept and self.handed_over.holds
