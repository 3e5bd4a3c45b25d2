"""Compiling a graph under a contract: refused early, in the node that breaks it.

Rules of this module:

* What the graph and the schema say of one field has to agree: its nodes, its reducer. Where nodes that may run in one
  superstep write a field that nothing merges, the graph is refused before it ever runs.
* The compiled graph is LangGraph's own. Each node is followed by a check of what it returned, so that the node fails
  that broke the contract, its siblings finish, and a resume runs it again.
* A node is given the defaults of fields that the state lacks.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from langchain_core.runnables import RunnableConfig
from langgraph._internal._runnable import RunnableCallable
from langgraph.channels import BinaryOperatorAggregate, LastValue
from langgraph.graph import START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.pregel._read import PregelNode
from langgraph.pregel._write import ChannelWrite, ChannelWriteTupleEntry

from dalsegno.core.ownership import MISSING, Field
from dalsegno.core.schema import StateSchema
from dalsegno.core.topology import together
from dalsegno.errors import Misuse
from dalsegno.langgraph.linting import builder_of, edges_of
from dalsegno.langgraph.owning import check_write
from dalsegno.langgraph.surroundings import channels_of

__all__ = ["check_graph", "compile"]


class HasSchema(Protocol):
    """What an open database is here."""

    checkpointer: Any
    schema: StateSchema | None


def compile(  # noqa: A001 - what LangGraph calls it
    builder: StateGraph[Any, Any, Any, Any], ds: HasSchema, **settings: Any
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Compile a graph with a database's checkpointer and hold its nodes to the database's schema.

    Args:
        builder: the graph.
        ds: an open database that was given a schema with fields.
        settings: what else `builder.compile` takes.

    Returns:
        The compiled graph. A node that writes another's field, or a value of another shape, raises there and then.

    Raises:
        Misuse: there is no schema, or graph and schema disagree; see `check_graph`.
    """
    schema = ds.schema
    if schema is None or not schema.fields:
        msg = "the database was given no fields; write dalsegno.connect(url, schema=StateSchema(fields=[Field(…), …]))"
        raise Misuse(msg)
    check_graph(builder, schema)
    graph = builder.compile(checkpointer=ds.checkpointer, **settings)
    for name, node in list(graph.nodes.items()):
        if name != START:
            graph.nodes[name] = _held(name, node, schema)
    return graph


def check_graph(graph: Any, schema: StateSchema) -> None:
    """Refuse a graph whose state is another one than its schema declares.

    Args:
        graph: a `StateGraph`, or a compiled one.
        schema: of its state.

    Raises:
        Misuse: a field or an owner that the graph does not have; a reducer that the two do not agree on; owners of one
            field that may run in one superstep, and no reducer.
    """
    builder = builder_of(graph)
    deferred = {name for name, spec in builder.nodes.items() if spec.defer}
    pairs = together(edges_of(builder), deferred)
    for field in schema.fields:
        _check_names(field, builder)
        channel = builder.channels.get(field.name)
        if channel is None:
            continue
        operator = channel.operator if isinstance(channel, BinaryOperatorAggregate) else None
        if field.reducer is not None and operator is not field.reducer:
            has = "none" if operator is None else _called(operator)
            msg = (
                f"the schema merges {field.name!r} with {_called(field.reducer)}, and the "
                f"graph's reducer is {has}; write `{field.name}: Annotated[…, {_called(field.reducer)}]` "
                "in its state"
            )
            raise Misuse(msg)
        clash = next((pair for pair in sorted(pairs) if set(pair) <= set(field.owners)), None)
        if clash is not None and isinstance(channel, LastValue):
            who = f"several calls of {clash[0]!r}" if clash[0] == clash[1] else f"{clash[0]!r} and {clash[1]!r}"
            msg = (
                f"{who} may write {field.name!r} in one superstep, and it has no reducer, so such a run fails; give it "
                f"one in the state (`{field.name}: Annotated[…, operator.add]`), or let one node write it"
            )
            raise Misuse(msg)


def _called(function: Any) -> str:
    return getattr(function, "__name__", None) or repr(function)


def _check_names(field: Field, builder: StateGraph[Any, Any, Any, Any]) -> None:
    if field.scope == "state" and field.name not in builder.channels:
        known = ", ".join(sorted(builder.channels))
        msg = f"the schema declares {field.name!r}, and the graph's state has no such field; it has {known}"
        raise Misuse(msg)
    for owner in field.owners:
        if owner not in builder.nodes:
            msg = (
                f"{field.name!r} belongs to {owner!r}, which is no node of the graph; it has {', '.join(builder.nodes)}"
            )
            raise Misuse(msg)


def _held(name: str, node: PregelNode, schema: StateSchema) -> PregelNode:
    """A node that is followed by a check, and is given defaults."""
    entries = [
        entry
        for writer in node.writers
        if isinstance(writer, ChannelWrite)
        for entry in writer.writes
        if isinstance(entry, ChannelWriteTupleEntry)
    ]

    def check(output: Any, config: RunnableConfig) -> Any:
        channels = channels_of(config) or {}
        for entry in entries:
            for channel, value in entry.mapper(output) or ():
                check_write(schema, name, channel, value, channels)
        return output

    async def acheck(output: Any, config: RunnableConfig) -> Any:
        return check(output, config)

    update: dict[str, Any] = {"writers": [RunnableCallable(check, acheck, trace=False), *node.writers]}
    if isinstance(node.channels, list):
        update["mapper"] = _with_defaults(node.mapper, schema, frozenset(node.channels))
    return node.copy(update)


def _with_defaults(
    mapper: Callable[[Any], Any] | None, schema: StateSchema, read: frozenset[str]
) -> Callable[[Any], Any] | None:
    """A node's mapper that is handed the defaults of fields that it reads and the state lacks."""
    defaults = {each.name: each.default for each in schema.fields if each.default is not MISSING and each.name in read}
    if not defaults:
        return mapper

    def filled(state: Any) -> Any:
        if isinstance(state, Mapping):
            lacking = {name: copy.deepcopy(value) for name, value in defaults.items() if name not in state}
            state = {**state, **lacking}
        return state if mapper is None else mapper(state)

    return filled
