"""What a LangGraph graph is made of, for the rules of `core/lint.py` and the check at compile time.

Rules of this module:

* Nothing of the graph is run: types, channels, edges and sources are looked at. Reducers are tried on two small values,
  and branches on an example, where the caller gave one.
* Subgraphs are looked at too, each as a graph of its own under its node's name.
"""

from __future__ import annotations

import base64
import binascii
import typing
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from langchain_core.messages import BaseMessage, HumanMessage, RemoveMessage
from langgraph.channels import BinaryOperatorAggregate, EphemeralValue, LastValue, UntrackedValue
from langgraph.channels.base import BaseChannel
from langgraph.graph import END, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.pregel import Pregel
from langgraph.types import Send

from dalsegno.core import codec
from dalsegno.core.lint import FieldFacts, GraphFacts, NodeFacts, SendFacts, ToolFacts
from dalsegno.core.schema import StateSchema
from dalsegno.core.storability import bytes_in, unstorable
from dalsegno.core.topology import Edge
from dalsegno.errors import Misuse, NotSerializable
from dalsegno.langgraph.checkpointer import DalsegnoSaver
from dalsegno.langgraph.seen import Seen, declared_in, function_of, place_of, seen_in
from dalsegno.langgraph.tools import ToolActions

__all__ = ["builder_of", "edges_of", "facts_of", "schema_of"]

_BODY_BYTES: Final = 8192
_CODED_BYTES: Final = 1024
_DEEP: Final = 8

Builder = StateGraph[Any, Any, Any, Any]


def builder_of(target: Any) -> Builder:
    """The builder of a graph: itself, that of a compiled graph, or what a function without arguments returns.

    Raises:
        Misuse: it is none of these.
    """
    if callable(target) and not isinstance(target, (Pregel, StateGraph)):
        try:
            target = target()
        except TypeError as error:
            msg = f"the function that makes the graph could not be called without arguments: {error}"
            raise Misuse(msg) from error
    builder = getattr(target, "builder", target)
    if not isinstance(builder, StateGraph):
        msg = f"{type(target).__name__} is no graph; name a StateGraph, a compiled one, or a function that returns one"
        raise Misuse(msg)
    return builder


def schema_of(target: Any) -> StateSchema | None:
    """The schema of the database that a graph was compiled with."""
    saver = getattr(target, "checkpointer", None)
    return saver.schema if isinstance(saver, DalsegnoSaver) else None


def facts_of(
    builder: Builder, name: str, *, schema: StateSchema | None = None, example: Mapping[str, Any] | None = None
) -> Iterator[GraphFacts]:
    """The description of a graph, and of each of its subgraphs.

    Args:
        builder: the graph.
        name: what it is called.
        schema: of its state.
        example: a state such as it has in use; its bodies are found, and its branches are tried on it.
    """
    seen = {key: seen_in(function_of(spec.runnable)) for key, spec in builder.nodes.items()}
    edges = list(edges_of(builder, seen))
    hints, places = _hints(builder), _places(builder)
    yield GraphFacts(
        name=name,
        fields={
            key: _field(key, channel, hints.get(key), places.get(key, ""), {**_defaults(builder), **(example or {})})
            for key, channel in builder.channels.items()
        },
        nodes={key: _node(key, builder, seen[key]) for key in builder.nodes},
        edges=edges,
        tools=[tool for key, spec in builder.nodes.items() for tool in _tools(key, spec.runnable)],
        sends=list(dict.fromkeys([*_sends(builder, seen), *_tried(builder, example)])),
        schema=schema,
        place=place_of(builder.state_schema),
    )
    for key, spec in builder.nodes.items():
        inner = getattr(spec.runnable, "builder", None)
        if isinstance(inner, StateGraph):
            yield from facts_of(inner, f"{name}/{key}", schema=StateSchema())


# --- edges -------------------------------------------------------------------------------------------


def edges_of(builder: Builder, seen: Mapping[str, Seen] | None = None) -> Iterator[Edge]:
    """The ways of a graph; `__start__` is where they begin."""
    static: dict[str, list[str]] = {}
    for source, target in sorted(builder.edges):
        static.setdefault(source, []).append(target)
    for source, targets in static.items():
        yield Edge(sources=(source,), targets=_nodes(targets))
    for sources, target in sorted(builder.waiting_edges):
        yield Edge(sources=tuple(sources), targets=_nodes([target]))
    for source, branches in builder.branches.items():
        for branch in branches.values():
            function = function_of(branch.path)
            found = seen_in(function)
            ends = _nodes(branch.ends.values() if branch.ends else builder.nodes)
            yield from _branch(source, found, ends, known=bool(branch.ends), place=place_of(function))
    for key, spec in builder.nodes.items():
        found = (seen or {}).get(key) or seen_in(function_of(spec.runnable))
        ends = _nodes(spec.ends) if spec.ends else ()
        if ends or found.sends:
            yield from _branch(key, found, ends, known=True, place=place_of(function_of(spec.runnable)))


def _branch(source: str, found: Seen, ends: tuple[str, ...], *, known: bool, place: str) -> Iterator[Edge]:
    fans = found.sends or (ends if found.fans and known else ())
    if fans:
        yield Edge(sources=(source,), targets=_nodes(fans), kind="fan", place=place)
    rest = tuple(end for end in ends if end not in fans)
    if rest and not (fans and not known):
        yield Edge(sources=(source,), targets=rest, kind="all" if found.lists and not fans else "one", place=place)


def _nodes(targets: Any) -> tuple[str, ...]:
    return tuple(sorted({target for target in targets if isinstance(target, str) and target != END}))


# --- nodes and tools -----------------------------------------------------------------------------------


def _node(key: str, builder: Builder, found: Seen) -> NodeFacts:
    spec = builder.nodes[key]
    writes = found.writes
    if isinstance(spec.runnable, ToolNode):
        writes = frozenset({getattr(spec.runnable, "_messages_key", "messages")})
    elif isinstance(spec.runnable, Pregel):
        out = spec.runnable.output_channels
        writes = frozenset([out] if isinstance(out, str) else out) & frozenset(builder.channels)
    return NodeFacts(
        name=key,
        writes=None if writes is None else writes & frozenset(builder.channels),
        place=place_of(function_of(spec.runnable)),
        deferred=spec.defer,
    )


def _tools(node: str, runnable: Any) -> Iterator[ToolFacts]:
    if not isinstance(runnable, ToolNode):
        return
    known = set(getattr(runnable, "action_names", ())) | _named_in(getattr(runnable, "_wrap_tool_call", None))
    for name, tool in runnable.tools_by_name.items():
        function: Any = getattr(tool, "func", None) or getattr(tool, "coroutine", None)
        yield ToolFacts(
            name=name,
            node=node,
            parameters=tuple(getattr(tool, "args", {}) or ()),
            is_action=name in known or hasattr(function, "__dalsegno_action__"),
            place=place_of(function),
        )


def _named_in(wrapper: Any, depth: int = 0) -> set[str]:
    """The actions of a ledger that stands behind a tool node's wrapper, such as a middleware's."""
    if wrapper is None or depth > _DEEP:
        return set()
    if isinstance(wrapper, ToolActions):
        return set(wrapper.names)
    found: set[str] = set(getattr(getattr(wrapper, "_actions", None), "names", ()))
    inside: list[Any] = [getattr(wrapper, "__self__", None)]
    for cell in getattr(wrapper, "__closure__", None) or ():
        try:
            inside.append(cell.cell_contents)
        except ValueError:  # not filled yet
            continue
    parts = [each for part in inside for each in (part if isinstance(part, (list, tuple)) else [part])]
    return found.union(*(_named_in(part, depth + 1) for part in parts))


# --- fields ------------------------------------------------------------------------------------------


def _hints(builder: Builder) -> dict[str, Any]:
    hints: dict[str, Any] = {}
    for schema in builder.schemas:
        try:
            hints.update(typing.get_type_hints(schema, include_extras=True))
        except (NameError, TypeError, AttributeError):
            continue
    return hints


def _defaults(builder: Builder) -> dict[str, Any]:
    """The defaults that a state's class gives to its fields."""
    declared: Mapping[str, Any] = getattr(builder.state_schema, "model_fields", None) or getattr(
        builder.state_schema, "__dataclass_fields__", {}
    )
    return {name: field.default for name, field in declared.items()}


def _places(builder: Builder) -> dict[str, str]:
    """Where fields are declared, as far as their classes have source."""
    places: dict[str, str] = {}
    for schema in builder.schemas:
        for cls in getattr(schema, "__mro__", (schema,)):
            for name, offset in declared_in(cls).items():
                places.setdefault(name, place_of(cls, offset))
    return places


def _field(
    name: str, channel: BaseChannel[Any, Any, Any], hint: Any, place: str, example: Mapping[str, Any]
) -> FieldFacts:
    bare = typing.get_args(hint)[0] if typing.get_origin(hint) is typing.Annotated else hint
    kind = bare if bare is not None else channel.ValueType
    is_list = (typing.get_origin(kind) or kind) is list
    stored = not isinstance(channel, (UntrackedValue, EphemeralValue))
    bodies = list(_bodies(example[name], name)) if name in example else []
    return FieldFacts(
        name=name,
        kind=getattr(kind, "__name__", str(kind)) if not typing.get_args(kind) else str(kind).replace("typing.", ""),
        is_list=is_list,
        reduced=not isinstance(channel, LastValue),
        drops=is_list and _drops(channel),
        shrinks=_shrinks(channel, kind) if is_list else None,
        stored=stored,
        unserializable=tuple(unstorable(kind, name)) if stored and kind is not None else (),
        bodies=bodies,
        holds_bytes=bytes_in(kind),
        place=place,
    )


def _drops(channel: BaseChannel[Any, Any, Any]) -> bool:
    """Whether a reducer makes one of two lists."""
    operator: Callable[[Any, Any], Any] | None = getattr(channel, "operator", None)
    if not isinstance(channel, BinaryOperatorAggregate) or operator is None:
        return False
    one, other = HumanMessage("a", id="a"), HumanMessage("b", id="b")
    try:
        made = operator([one], [other])
    except Exception:  # noqa: BLE001 - a reducer is other people's code; what it does with these tells nothing then
        return False
    return isinstance(made, list) and len(made) < 2  # noqa: PLR2004 - of two, one is missing


def _shrinks(channel: BaseChannel[Any, Any, Any], kind: Any) -> bool | None:
    """Whether a message can be taken out of a list of messages again."""
    if isinstance(channel, LastValue) or not _has_messages(kind):
        return None
    try:
        trial = channel.from_checkpoint([HumanMessage("a", id="a"), HumanMessage("b", id="b")])
        trial.update([[RemoveMessage(id="a")]])
        held = trial.get()
    except Exception:  # noqa: BLE001 - a reducer is other people's code; what it does with these tells nothing then
        return None
    return isinstance(held, list) and [getattr(each, "id", None) for each in held] == ["b"]


def _has_messages(kind: Any) -> bool:
    if isinstance(kind, type) and not typing.get_args(kind):
        return issubclass(kind, BaseMessage)
    return any(map(_has_messages, typing.get_args(kind)))


def _bodies(value: Any, place: str, depth: int = 0) -> Iterator[tuple[str, int, bool]]:
    """Bodies in a value: place, bytes, whether it is base64."""
    if isinstance(value, (bytes, bytearray)):
        if len(value) >= _CODED_BYTES:
            yield place, len(value), False
    elif isinstance(value, str):
        coded = len(value) >= _CODED_BYTES and _is_base64(value)
        size = len(value.encode(errors="surrogatepass"))
        if coded or size >= _BODY_BYTES:
            yield place, size, coded
    elif depth < _DEEP:
        for inside, part in _parts(value, place):
            yield from _bodies(part, inside, depth + 1)


def _parts(value: Any, place: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, BaseMessage):
        yield f"{place}.content", value.content
    elif isinstance(value, (list, tuple)):
        yield from ((f"{place}[{at}]", part) for at, part in enumerate(value))
    else:
        named = value if isinstance(value, Mapping) else getattr(value, "__dict__", {})
        yield from ((f"{place}.{key}", part) for key, part in named.items())


def _is_base64(text: str) -> bool:
    body = text.partition("base64,")[2] if text.startswith("data:") else text
    try:
        base64.b64decode(body[: len(body) // 4 * 4], validate=True)
    except (binascii.Error, ValueError):
        return False
    return len(set(body)) > 16  # noqa: PLR2004 - a line of dashes or one word over and over is no base64


# --- sends -------------------------------------------------------------------------------------------


def _sends(builder: Builder, seen: Mapping[str, Seen]) -> Iterator[SendFacts]:
    """What in the arguments of sends cannot be stored: as it is written, and by the type of what a node takes."""
    branches = [branch.path for each in builder.branches.values() for branch in each.values()]
    for runnable in [*branches, *(builder.nodes[key].runnable for key in seen)]:
        function = function_of(runnable)
        for node, where, what, hint, line in seen_in(function).unstorable:
            yield SendFacts(node=node, where=where, type_name=what, hint=hint, place=place_of(function, line))
    for edge in edges_of(builder, seen):
        for target in edge.targets if edge.kind == "fan" else ():
            schema = builder.nodes[target].input_schema if target in builder.nodes else None
            if schema is None or schema is builder.state_schema:
                continue
            for where, what, hint in unstorable(schema, "its argument"):
                yield SendFacts(node=target, where=where, type_name=what, hint=hint, place=edge.place)


def _tried(builder: Builder, example: Mapping[str, Any] | None) -> Iterator[SendFacts]:
    """What branches send on an example."""
    if example is None:
        return
    for branches in builder.branches.values():
        for branch in branches.values():
            function = function_of(branch.path)
            try:
                made = function(dict(example)) if function is not None else None
            except Exception:  # noqa: BLE001, S112 - a branch is other people's code; what it cannot take tells nothing
                continue
            for each in made if isinstance(made, (list, tuple)) else [made]:
                if isinstance(each, Send):
                    try:
                        codec.encode(each.arg, "its argument")
                    except NotSerializable as error:
                        hint = str(error).partition("): ")[2]
                        yield SendFacts(
                            node=each.node,
                            where=error.path,
                            type_name=error.type_name,
                            hint=hint or "send plain data",
                            place=place_of(function),
                        )
