"""A description of a graph and what may be found in it, for the rules of `core/lint_rules.py`.

Rules of this module:

* The description says what was seen and no more; what could not be told is None, and no rule blames anyone for it.
* Pure: it is collected elsewhere (`langgraph/linting.py`); nothing here knows LangGraph.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from dalsegno.core.schema import StateSchema
from dalsegno.core.topology import Edge

__all__ = ["FieldFacts", "GraphFacts", "Level", "LintFinding", "NodeFacts", "SendFacts", "ToolFacts"]

Level: TypeAlias = Literal["error", "warning"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldFacts:
    """One field of the graph's state.

    Attributes:
        name: of the channel.
        kind: its type as it is written.
        is_list: whether it holds a list.
        reduced: whether writes of one superstep are merged.
        drops: whether its reducer keeps only one of two writes.
        shrinks: whether a message can be taken out of it again; None where that makes no sense.
        stored: whether it is part of checkpoints at all.
        unserializable: what in its type cannot be stored: place, type, and the way out.
        bodies: what in its defaults or the example is a body: place, bytes, and whether it is base64.
        holds_bytes: whether its type holds bytes.
        place: file and line where it is declared, where they are known.
    """

    name: str
    kind: str = "Any"
    is_list: bool = False
    reduced: bool = False
    drops: bool = False
    shrinks: bool | None = None
    stored: bool = True
    unserializable: Sequence[tuple[str, str, str]] = ()
    bodies: Sequence[tuple[str, int, bool]] = ()
    holds_bytes: bool = False
    place: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFacts:
    """One node.

    Attributes:
        name: of the node.
        writes: the fields it was seen to write; None where that cannot be told.
        place: file and line, where they are known.
        deferred: whether it waits for everything else.
    """

    name: str
    writes: Collection[str] | None = None
    place: str = ""
    deferred: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFacts:
    """A tool that a node calls.

    Attributes:
        name: of the tool.
        node: whose it is.
        parameters: what a model gives it.
        is_action: whether its calls go through the ledger.
        place: file and line, where they are known.
    """

    name: str
    node: str
    parameters: Sequence[str] = ()
    is_action: bool = False
    place: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SendFacts:
    """Something in the argument of a `Send` that cannot be stored.

    Attributes:
        node: which node is sent to.
        where: the part of the argument.
        type_name: what it is.
        hint: the way out.
        place: file and line, where they are known.
    """

    node: str
    where: str
    type_name: str
    hint: str
    place: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphFacts:
    """A graph, as far as it was seen.

    Attributes:
        name: what the caller calls it.
        fields: by name.
        nodes: by name.
        edges: between them; `__start__` is where they begin.
        tools: of its tool nodes.
        sends: arguments that cannot be stored.
        schema: its state's schema; None where none was found.
        place: file of the graph.
    """

    name: str
    fields: Mapping[str, FieldFacts] = field(default_factory=dict)
    nodes: Mapping[str, NodeFacts] = field(default_factory=dict)
    edges: Sequence[Edge] = ()
    tools: Sequence[ToolFacts] = ()
    sends: Sequence[SendFacts] = ()
    schema: StateSchema | None = None
    place: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LintFinding:
    """One thing to change.

    Attributes:
        rule: id of the rule.
        level: `error` or `warning`.
        subject: the field, node or tool it is about.
        why: what is wrong and what it costs.
        fix: what to write instead.
        place: file and line, where they are known.
    """

    rule: str
    level: Level
    subject: str
    why: str
    fix: str
    place: str = ""
