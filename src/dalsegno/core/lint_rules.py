"""What is wrong with a graph's state before it runs: rules over the description of a graph.

Rules of this module:

* Each rule is a function from the description to findings. A finding names the field or node, why it hurts, the fix.
* An error is what will fail or lose something; a warning is what costs, or what only a name hints at.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from typing import Final, TypeAlias

from dalsegno.core.effects import is_effect, is_send, names_recipient, words_of
from dalsegno.core.lint import GraphFacts, Level, LintFinding
from dalsegno.core.topology import together

__all__ = ["IDS", "RULES", "lint"]

Rule: TypeAlias = Callable[[GraphFacts], Iterator[LintFinding]]


def lint(graph: GraphFacts, *, strict: bool = False) -> list[LintFinding]:
    """Every finding over a graph, errors first.

    Args:
        graph: the description.
        strict: makes errors of warnings.
    """
    found = [finding for _, rule in RULES.values() for finding in rule(graph)]
    if strict:
        found = [replace(each, level="error") for each in found]
    return sorted(found, key=lambda each: each.level)


# --- writers -----------------------------------------------------------------------------------------


def _writers(graph: GraphFacts, name: str) -> list[str]:
    """The nodes that write a field: those that the schema names, else those that were seen to."""
    known = graph.schema.field(name) if graph.schema is not None else None
    if known is not None and known.owners:
        return [owner for owner in known.owners if owner in graph.nodes]
    return sorted(node.name for node in graph.nodes.values() if node.writes is not None and name in node.writes)


def _parallel(graph: GraphFacts, name: str) -> list[tuple[str, str]]:
    """Pairs of writers of a field that may run in one superstep."""
    writers = _writers(graph, name)
    deferred = {node.name for node in graph.nodes.values() if node.deferred}
    return sorted(pair for pair in together(graph.edges, deferred) if pair[0] in writers and pair[1] in writers)


def _said(pair: tuple[str, str]) -> str:
    return f"several calls of {pair[0]!r}" if pair[0] == pair[1] else f"{pair[0]!r} and {pair[1]!r}"


def _unreduced(graph: GraphFacts) -> Iterator[LintFinding]:
    for each in graph.fields.values():
        if each.reduced or not (pairs := _parallel(graph, each.name)):
            continue
        merge = "operator.add" if each.is_list else "a function of the old and the new value"
        yield LintFinding(
            rule="unreduced-list" if each.is_list else "unreduced-field",
            level="error",
            subject=each.name,
            why=f"{_said(pairs[0])} may write it in one superstep, and it has no reducer: the run fails each time",
            fix=f"say how they merge: `{each.name}: Annotated[{each.kind}, …]` with {merge}, or let one node write it",
            place=graph.nodes[pairs[0][0]].place or graph.place,
        )


def _drops(graph: GraphFacts) -> Iterator[LintFinding]:
    for each in graph.fields.values():
        if each.drops and (pairs := _parallel(graph, each.name)):
            yield LintFinding(
                rule="dropping-reducer",
                level="error",
                subject=each.name,
                why=f"{_said(pairs[0])} may write it in one superstep, and its reducer keeps only one of two writes",
                fix="merge both in the reducer, such as operator.add, and let nodes return only what is new",
                place=graph.nodes[pairs[0][0]].place or graph.place,
            )


def _owners(graph: GraphFacts) -> Iterator[LintFinding]:
    for each in graph.fields.values():
        known = graph.schema.field(each.name) if graph.schema is not None else None
        seen = sorted(
            node.name for node in graph.nodes.values() if node.writes is not None and each.name in node.writes
        )
        if known is not None and known.owners:
            for node in seen:
                if node not in known.owners:
                    yield LintFinding(
                        rule="not-the-owner",
                        level="error",
                        subject=each.name,
                        why=f"{node!r} writes it, and {' and '.join(map(repr, known.owners))} own it: it is refused",
                        fix=f"let the owner write it, or name {node!r} in Field({each.name!r}, owner=…)",
                        place=graph.nodes[node].place,
                    )
        elif len(seen) > 1 and not each.reduced and not _parallel(graph, each.name):
            yield LintFinding(
                rule="several-owners",
                level="warning",
                subject=each.name,
                why=f"{', '.join(map(repr, seen))} write it over each other; nobody answers for its value",
                fix=f"give each its own field, or declare Field({each.name!r}, owner=({', '.join(map(repr, seen))}))",
                place=graph.nodes[seen[0]].place,
            )


def _unknown(graph: GraphFacts) -> Iterator[LintFinding]:
    for each in graph.schema.fields if graph.schema is not None else ():
        for owner in each.owners:
            if owner not in graph.nodes:
                yield LintFinding(
                    rule="unknown-owner",
                    level="error",
                    subject=each.name,
                    why=f"its owner {owner!r} is no node of the graph, so nothing can write it",
                    fix=f"name one of {', '.join(map(repr, sorted(graph.nodes)))}",
                    place=graph.place,
                )
        if each.scope == "state" and each.name not in graph.fields:
            yield LintFinding(
                rule="unknown-field",
                level="error",
                subject=each.name,
                why="the schema declares it and the state has no such field: what is written to it is dropped",
                fix=f"add `{each.name}` to the state, or take it out of the schema",
                place=graph.place,
            )


# --- what is kept ------------------------------------------------------------------------------------


def _append_only(graph: GraphFacts) -> Iterator[LintFinding]:
    for each in graph.fields.values():
        if each.shrinks is False:
            yield LintFinding(
                rule="append-only",
                level="error",
                subject=each.name,
                why="its reducer can only append: compaction cannot take a message out, and each call costs more",
                fix=f"`{each.name}: Annotated[list[AnyMessage], add_messages]`, which can replace and remove",
                place=each.place or graph.place,
            )


_BODY: Final = frozenset(
    (
        *("pdf", "html", "base64", "b64", "bytes", "binary", "raw", "blob", "fulltext"),
        *("image", "images", "img", "audio", "video", "screenshot", "screenshots"),
    )
)
_BODY_PAIRS: Final = (
    "full_text",
    "file_content",
    "file_data",
    "file_bytes",
    "document_text",
    "page_content",
    "raw_text",
)


def _keeps(graph: GraphFacts, name: str) -> bool:
    known = graph.schema.field(name) if graph.schema is not None else None
    return known is not None and (known.keep == "reference" or known.scope == "run")


def _bodies(graph: GraphFacts) -> Iterator[LintFinding]:
    for each in graph.fields.values():
        if not each.stored or _keeps(graph, each.name):
            continue
        name = "_".join(words_of(each.name))
        level: Level = "warning"
        if each.bodies:
            place, size, coded = max(each.bodies, key=lambda body: body[1])
            what, level = f"{place} holds {size:,} bytes{' of base64' if coded else ''}", "error"
        elif each.holds_bytes:
            what = f"its type {each.kind} holds bytes"
        elif (set(words_of(each.name)) & _BODY or any(part in name for part in _BODY_PAIRS)) and not _refers(name):
            what = "its name says that it holds a body"
        else:
            continue
        yield LintFinding(
            rule="body-in-state",
            level=level,
            subject=each.name,
            why=f"{what}: it travels through every node and every checkpoint that touches it, and into prompts",
            fix=f"store it elsewhere and keep an id: Field({each.name!r}, keep='reference')",
            place=each.place or graph.place,
        )


def _refers(name: str) -> bool:
    return name.rsplit("_", maxsplit=1)[-1] in {
        "id",
        "ids",
        "ref",
        "refs",
        "url",
        "urls",
        "uri",
        "path",
        "paths",
        "name",
        "names",
        "hash",
    }


_COUNTS: Final = re.compile(r"^(?:num|number_of|n|count|total|len)_(\w+)$|^(\w+?)_(?:count|total|length|len|size)$")
_PICKS: Final = re.compile(r"^(?:last|latest|first|current|newest)_(\w+)$")
_MADE: Final = re.compile(
    r"^(?:formatted|rendered|joined|filtered|sorted)_\w+$|^\w*(?:_prompt|_markdown|_as_text|_str)$|^(?:prompt|history_text)$"
)


def _recomputable(graph: GraphFacts) -> Iterator[LintFinding]:
    for each in graph.fields.values():
        source = _source(each.name, graph.fields)
        if not each.stored or source is None:
            continue
        yield LintFinding(
            rule="recomputable",
            level="warning",
            subject=each.name,
            why=f"it looks like something made of {source}: stored, it is a second truth that can disagree",
            fix="compute it in the node that needs it, and take it out of the state",
            place=each.place or graph.place,
        )


def _source(name: str, others: Collection[str]) -> str | None:
    for pattern in (_COUNTS, _PICKS):
        if (match := pattern.match(name)) is not None:
            stem = next(part for part in match.groups() if part)
            for whole in (stem, f"{stem}s", f"{stem}es", stem.removesuffix("y") + "ies"):
                if whole in others and whole != name:
                    return f"`{whole}`"
    return "other fields" if _MADE.match(name) else None


def _unserializable(graph: GraphFacts) -> Iterator[LintFinding]:
    for each in graph.fields.values():
        known = graph.schema.field(each.name) if graph.schema is not None else None
        if not each.stored or (known is not None and known.scope == "run"):
            continue
        for place, type_name, hint in each.unserializable:
            yield LintFinding(
                rule="unserializable",
                level="error",
                subject=each.name,
                why=f"{place} may hold {type_name}, which cannot be stored: the run fails when it is written",
                fix=hint,
                place=each.place or graph.place,
            )
    for send in graph.sends:
        yield LintFinding(
            rule="send-argument",
            level="error",
            subject=send.node,
            why=f"a Send to it carries {send.type_name} at {send.where}, which cannot be stored: the run fails there",
            fix=send.hint,
            place=send.place or graph.place,
        )


def _run_scope(graph: GraphFacts) -> Iterator[LintFinding]:
    for each in graph.schema.fields if graph.schema is not None else ():
        if each.scope == "run" and each.name in graph.fields and graph.fields[each.name].stored:
            yield LintFinding(
                rule="run-field-in-state",
                level="warning",
                subject=each.name,
                why="it says how one run goes and is a field of the state; the checkpointer takes it out, and "
                "get_state will not show it",
                fix="declare it in the graph's context_schema and read runtime.context",
                place=graph.place,
            )


def _version(graph: GraphFacts) -> Iterator[LintFinding]:
    if graph.schema is None:
        yield LintFinding(
            rule="no-version",
            level="warning",
            subject=graph.name,
            why="its state has no version: after a change of its form, waiting threads are read as if they had it",
            fix="dalsegno.connect(url, schema=StateSchema(version=1)), and a migration with each change",
            place=graph.place,
        )


# --- what is done ------------------------------------------------------------------------------------


def _actions(graph: GraphFacts) -> Iterator[LintFinding]:
    for tool in graph.tools:
        if is_effect(tool.name) and not tool.is_action:
            yield LintFinding(
                rule="action-without-key",
                level="warning",
                subject=tool.name,
                why=f"the tool looks like an effect on the world, and {tool.node!r} calls it without a key: after a "
                "crash it is done again",
                fix=f"ActionToolNode(…, actions={{{tool.name!r}: ActionPolicy(kind=…)}}), or @ds.action(kind=…)",
                place=tool.place or graph.place,
            )
        if is_send(tool.name) and not any(map(names_recipient, tool.parameters)):
            yield LintFinding(
                rule="send-without-recipient",
                level="warning",
                subject=tool.name,
                why="the tool looks like a send, and none of its parameters says who gets it: two cannot be told apart",
                fix="take the recipient as a parameter, and name it: ActionPolicy(kind='send', recipient='to')",
                place=tool.place or graph.place,
            )


RULES: Final[Mapping[str, tuple[str, Rule]]] = {
    "unreduced-list": ("A list that parallel nodes write has a reducer", _unreduced),
    "dropping-reducer": ("A reducer under parallel writers keeps what all of them write", _drops),
    "several-owners": ("A field has one owner", _owners),
    "unknown-owner": ("A schema names nodes and fields that the graph has", _unknown),
    "append-only": ("A message list can be shortened", _append_only),
    "body-in-state": ("Bodies stay out of the state", _bodies),
    "recomputable": ("What can be computed is not stored", _recomputable),
    "unserializable": ("What is in the state can be stored", _unserializable),
    "run-field-in-state": ("What says how a run goes is in its context", _run_scope),
    "no-version": ("A state has a version", _version),
    "action-without-key": ("An effect on the world has a key", _actions),
}
"""By the id of their first finding: what each holds up, and the function."""

IDS: Final[Mapping[str, str]] = {
    **{name: text for name, (text, _) in RULES.items()},
    "unreduced-field": "A field that parallel nodes write has a reducer",
    "not-the-owner": "Only its owner writes a field",
    "unknown-field": "A schema names fields that the graph has",
    "send-argument": "The argument of a Send can be stored",
    "send-without-recipient": "A send says who gets it",
}
"""Every id that a finding may have, with what it holds up."""
