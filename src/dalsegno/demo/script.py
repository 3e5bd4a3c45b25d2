"""A recorded conversation as a script that can be played again.

Rules of this module:

* Everything is found by *position*: the message that stands at index `n` of the transcript is message `n` of the
  thread. What comes next is therefore a pure function of how many messages there are; nothing else is remembered,
  which is why a process that knows only the thread can go on with it.
* Ids of tool calls are not trusted to be unique (in real recordings they are not): a result belongs to the call of the
  assistant message before it.
* Messages are handed out as copies, because LangGraph writes ids into the ones it is given.
* A script that the agent could not play to its end is refused when it is built, before anything is stored.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from dalsegno.demo.world import only_reads
from dalsegno.errors import Misuse, TranscriptError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["BUILT_IN", "MODEL", "PHASES", "TOOL", "Errand", "Moment", "Phase", "Script", "said"]

BUILT_IN: Final = Path(__file__).with_name("transcript.json")
"""The transcript that is played when none is named: a service desk, in Chinese and English."""

MODEL: Final = "model"
TOOL: Final = "tool"

_ROLES: Final = {"ai": "assistant", "human": "user"}

Phase = Literal["start", "effect", "return", "rest"]

PHASES: Final[dict[Phase, str]] = {
    "start": "before the node did anything",
    "effect": "in mid-effect: it was there in the world, and nobody had written that down",
    "return": "as the node returned, while its result was on the way to the store",
    "rest": "between two turns, with nothing left to run",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Errand:
    """One tool call that the script holds a result for.

    Attributes:
        position: index of the result in the transcript.
        name: the tool.
        arguments: what the model asked for, as recorded.
        call_id: the recorded id of the call.
    """

    position: int
    name: str
    arguments: Any
    call_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """A point of the conversation at which the process can be killed.

    Attributes:
        number: 1 for the first moment of the script.
        node: `model` or `tool`; the last node of the turn for the phase `rest`.
        position: index of the message that the node yields.
        phase: where in the node's life, see `PHASES`.
        turn: number of the user's turn, from 1.
        tool: name of the tool, or None for the model.
    """

    number: int
    node: str
    position: int
    phase: Phase
    turn: int
    tool: str | None = None


def said(message: BaseMessage) -> dict[str, Any]:
    """What a message says, without the id that each run gives anew; equal for equal messages."""
    calls = [*getattr(message, "tool_calls", ()), *getattr(message, "invalid_tool_calls", ())]
    return {
        "role": _ROLES.get(message.type, message.type),
        "content": message.content,
        "name": message.name,
        "tool_calls": [{key: call[key] for key in ("name", "args", "id")} for call in calls],
        "tool_call_id": getattr(message, "tool_call_id", None),
    }


class Script:
    """The messages of a transcript, and what comes next at each position."""

    def __init__(self, messages: Sequence[BaseMessage]) -> None:
        """Take over a transcript.

        Args:
            messages: the whole conversation, oldest first.

        Raises:
            TranscriptError: it holds no user turn, or a tool result that no call asked for.
        """
        self.messages: Final = tuple(message.model_copy(update={"id": None}) for message in messages)
        self._errands: Final = dict(self._pair_results_with_calls())
        if not any(message.type == "human" for message in self.messages):
            raise TranscriptError("the transcript has no user turn, so there is nothing to play; name another one.")

    def __len__(self) -> int:
        return len(self.messages)

    def turn_at(self, position: int) -> tuple[BaseMessage, ...]:
        """The messages from outside that come next (a user's, and any system text around it); empty at the end.

        Raises:
            Misuse: the agent is to speak at this position, or it lies beyond the script.
        """
        if position > len(self.messages):
            raise Misuse(
                f"the thread holds {position} messages, the transcript {len(self.messages)}; "
                f"name the transcript that this thread was played from."
            )
        end = position
        while end < len(self.messages) and not isinstance(self.messages[end], AIMessage | ToolMessage):
            end += 1
        if end == position < len(self.messages):
            raise Misuse(f"message {position} is the agent's, not the user's: resume the thread before going on.")
        return tuple(message.model_copy() for message in self.messages[position:end])

    def reply_at(self, position: int) -> AIMessage | None:
        """The assistant's recorded words at this position; None where it said nothing more."""
        message = self.messages[position] if position < len(self.messages) else None
        return message.model_copy() if isinstance(message, AIMessage) else None

    def errands_at(self, position: int) -> tuple[Errand, ...]:
        """The tool calls whose results stand from this position on; empty where the next message is no result."""
        found = []
        while (errand := self._errands.get(position)) is not None:
            found.append(errand)
            position += 1
        return tuple(found)

    def result_at(self, position: int) -> ToolMessage:
        """The recorded result of the errand at this position."""
        message = self.messages[position]
        if not isinstance(message, ToolMessage):
            raise Misuse(f"message {position} of the transcript is no tool result; ask `errands_at` first.")
        return message.model_copy()

    def follow(self, messages: Sequence[BaseMessage]) -> int:
        """Check that a thread's messages are this script so far, word for word.

        Returns:
            The position of the next message.

        Raises:
            Misuse: they part from the script; the message says where.
        """
        for position, (found, expected) in enumerate(zip(messages, self.messages, strict=False)):
            if said(found) != said(expected):
                raise Misuse(
                    f"the thread and the transcript part at message {position}: {said(found)!r} instead of "
                    f"{said(expected)!r}; name the transcript that this thread was played from."
                )
        return len(messages)

    def widest_step(self) -> int:
        """The largest number of errands that one message asks for."""
        return max((len(self.errands_at(position)) for position in self._errands), default=0)

    def moments(self) -> tuple[Moment, ...]:
        """Every point at which the play can be killed, in the order in which it reaches them."""
        return tuple(
            Moment(number=number, node=node, position=position, phase=phase, turn=turn, tool=tool)
            for number, (node, position, phase, turn, tool) in enumerate(self._walk(), start=1)
        )

    def default_moment(self) -> Moment:
        """The most telling moment: a tool in mid-effect, a sibling of the same step finished, another still to come.

        Where the transcript has no such step, the last tool in mid-effect, rather one that acts than one that looks;
        where it has no tool, the model in the middle of the conversation.
        """
        moments = self.moments()
        errands = [moment for moment in moments if moment.phase == "effect"]
        acting = [moment for moment in errands if not only_reads(moment.tool or "")]
        between = [
            moment for moment in acting if moment.position - 1 in self._errands and moment.position + 1 in self._errands
        ]
        speaking = [moment for moment in moments if moment.phase == "start"]
        return (between or acting[-1:] or errands[-1:] or speaking[len(speaking) // 2 :])[0]

    def _walk(self) -> Iterator[tuple[str, int, Phase, int, str | None]]:
        """Yield (node, position, phase, turn, tool) as the agent's graph reaches them."""
        position = turn = 0
        while incoming := self.turn_at(position):
            turn += 1
            position += len(incoming)
            speaking = True
            while speaking:
                yield MODEL, position, "start", turn, None
                yield MODEL, position, "return", turn, None
                if self.reply_at(position) is None:
                    break
                position += 1
                errands = self.errands_at(position)
                for errand in errands:
                    for phase in ("start", "effect", "return"):
                        yield TOOL, errand.position, phase, turn, errand.name
                position += len(errands)
                speaking = bool(errands) or self.reply_at(position) is not None
            yield MODEL, position, "rest", turn, None

    def _pair_results_with_calls(self) -> Iterator[tuple[int, Errand]]:
        open_calls: list[Any] = []
        for position, message in enumerate(self.messages):
            if isinstance(message, AIMessage):
                open_calls = [*message.tool_calls, *message.invalid_tool_calls]
            elif isinstance(message, ToolMessage):
                call = next((call for call in open_calls if call["id"] == message.tool_call_id), None)
                if call is None and not open_calls:
                    raise TranscriptError(
                        f"message {position} is the result of a tool call ({message.tool_call_id!r}) that no assistant "
                        f"message before it makes; this transcript cannot be played."
                    )
                call = call or open_calls[0]
                open_calls.remove(call)
                yield (
                    position,
                    Errand(
                        position=position,
                        name=call["name"] or message.name or "tool",
                        arguments=call["args"],
                        call_id=message.tool_call_id,
                    ),
                )
            else:
                open_calls = []
