"""What the graph remembers of a conversation, and how older states of it are read.

Rules of this module:

* References and conclusions stand in the state, never bodies: an attachment is where its body is kept.
* Parallel executors write one workspace, each its own task, so the workspace has a reducer.
* A change of form raises `VERSION` and adds a migration; nothing else does.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NotRequired

from langchain_core.messages import AnyMessage
from langgraph.graph.message import add_messages
from typing_extensions import TypedDict

from dalsegno import Default, Rename, StateSchema

__all__ = ["SCHEMA", "Attachment", "Executing", "State", "Task", "add_attachments", "merge_tasks"]

VERSION = 2


class Task(TypedDict):
    """One thing to find out or to do.

    Attributes:
        id: unique in a request, such as `t-1-order`.
        kind: `order`, `shipping`, `refund` or `email`.
        goal: what is to be known or done in the end.
        order: the order it is about.
        status: `pending`; `done` when an executor has been at it; `accepted` when the critic agreed.
        tool_calls: how many it has made; at most `BUDGET`.
        findings: what the tools answered, field by field.
        reasons: why the critic sent it back last.
    """

    id: str
    kind: str
    goal: str
    order: str
    status: Literal["pending", "done", "accepted"]
    tool_calls: int
    findings: dict[str, str]
    reasons: list[str]


class Attachment(TypedDict):
    """A file that came with a message; `ref` says where its body is."""

    id: str
    kind: str
    ref: str
    caption: NotRequired[str]


def merge_tasks(old: Mapping[str, Task], new: Mapping[str, Task]) -> dict[str, Task]:
    """Tasks by id; a task that is written again takes the place of its older self."""
    return {**old, **new}


def add_attachments(old: Sequence[Attachment], new: Sequence[Attachment]) -> list[Attachment]:
    """All attachments in the order in which they came, each once."""
    return list({each["id"]: each for each in (*old, *new)}.values())


class State(TypedDict, total=False):
    """The conversation.

    Attributes:
        messages: what was said, as far as it is not in the summary.
        summary: what stands for the messages that were taken out.
        workspace: the tasks of the request under way.
        attachments: what came with the messages, by reference.
        review_rounds: how often the critic has looked.
        degraded: whether the reply has to do with tasks that were not accepted.
        budget: tool calls of this request, all tasks together.
    """

    messages: Annotated[list[AnyMessage], add_messages]
    summary: dict[str, Any]
    workspace: Annotated[dict[str, Task], merge_tasks]
    attachments: Annotated[list[Attachment], add_attachments]
    review_rounds: int
    degraded: bool
    budget: Annotated[int, operator.add]


class Executing(TypedDict):
    """What an executor is sent."""

    task: Task


SCHEMA = StateSchema(
    version=VERSION,
    migrations=[
        Rename("attachments[].url", "ref", since=2),
        Default("workspace[].tool_calls", 0, since=2),
    ],
    required=["attachments[].ref", "workspace[].tool_calls"],
)
"""Version 1 called an attachment's place `url`, and its tasks did not count their tool calls."""
