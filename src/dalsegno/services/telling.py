"""Events as the card hears them, from their rows.

Rules of this module:

* Roles, texts and ids are read off the stored trees, without building a message: what a card needs is text, and a
  class that this process does not know is no reason to miss a decision.
* Text that UTF-8 cannot hold is read without what makes it so.
* Of an edit or a deletion it is found out where its message came first; all of them in one statement.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

from dalsegno.contracts import Op, Step
from dalsegno.core.card.findings import Told
from dalsegno.core.items import put_back
from dalsegno.core.journal import Kind, Span, spans_contain, text_of_tree
from dalsegno.core.messages import files_of, text_of
from dalsegno.core.tree import Json, unescape
from dalsegno.services.lines import mark_of
from dalsegno.services.loading import json_text, load
from dalsegno.services.threads_row import ThreadRow

__all__ = ["tell", "told_of"]

_ROLES = {"human": "user", "ai": "assistant", "function": "tool", "developer": "system", "chat": "assistant"}
_CALLS = frozenset(
    {"tool_use", "tool_call", "function_call", "server_tool_use", "server_tool_call", "invalid_tool_call"}
)
_DIRECT = frozenset({Kind.DECISION, Kind.APPROVAL, Kind.TODO, Kind.DONE})
_BACKING, _NAMED = 64, 200
"""So many events a written one may rest on for the card, and so many characters of an owner or a due date it takes."""
_MESSAGES = frozenset({Kind.MESSAGE, Kind.TOOL_CALL, Kind.TOOL_RESULT, Kind.EDIT})


def tell(row: ThreadRow, rows: Sequence[tuple[Any, ...]], spans: Sequence[Span]) -> Op[list[Told]]:
    """Events in the order of their rows.

    Args:
        row: the thread.
        rows: as `events_page` gives them.
        spans: the lineage.
    """
    trees = {columns[0]: orjson.loads(columns[8]) for columns in rows if columns[8] is not None}
    loaded = yield from load(row.tenant, row.thread, trees.values())
    whole = {seq: put_back(tree, loaded.trees, loaded.blobs) for seq, tree in trees.items()}
    changed = {_id_of(whole.get(columns[0])) for columns in rows if columns[1] in (Kind.EDIT.code, Kind.DELETE.code)}
    numbers = yield from _numbers(row, sorted(changed - {""}), spans)
    return [told_of(columns, whole.get(columns[0]), numbers) for columns in rows]


def told_of(columns: tuple[Any, ...], tree: Json, numbers: Mapping[str, Sequence[int]]) -> Told:
    """One event, from its row, its whole tree, and the numbers of the events that had each message."""
    seq, code, author, _at, branch, ckpt, *_ = columns
    kind = Kind.of_code(code)
    known: dict[str, Any] = {"number": seq, "author": author, "branch": branch, "ckpt": ckpt or 0}
    id_ = _id_of(tree)
    if kind is Kind.DELETE:
        return Told(role="delete", text="", message=id_, gone=True, **_places(numbers, id_, seq), **known)
    if kind is Kind.ACTION:
        return _action(tree, known)
    if kind in _DIRECT:
        return _direct(kind, tree, known)
    if kind not in _MESSAGES:
        return Told(role=str(kind), text=text_of_tree(tree), **known)
    if not (isinstance(tree, dict) and "$m" in tree):
        role = (
            _ROLES.get(author, author) if kind is Kind.MESSAGE else "tool" if kind is Kind.TOOL_RESULT else "assistant"
        )
        return Told(role=role, text=_plain_text(tree), **known)
    content = tree.get("content")
    role = str(tree.get("role") or tree["$m"]) if tree["$m"] == "chat" else str(tree["$m"])
    role = role.removesuffix("MessageChunk").lower()
    return Told(
        role=_ROLES.get(role, role),
        text=text_of({"content": _said(content)}),
        message=id_,
        edited=kind is Kind.EDIT,
        calls=bool(tree.get("tool_calls")),
        files=files_of(content),
        **(_places(numbers, id_, seq) if kind is Kind.EDIT else {}),
        **known,
    )


def _places(numbers: Mapping[str, Sequence[int]], id_: str, seq: int) -> dict[str, Any]:
    """Where a message came first, and every event that had it before this one."""
    before = [number for number in numbers.get(id_, ()) if number < seq]
    return {"place": before[0], "earlier": tuple(before)} if before else {}


def _said(content: Any) -> Any:
    """Content without the calls that some providers put among it."""
    if not isinstance(content, list):
        return _legible(content)
    return [
        {**block, "text": _legible(block["text"])} if isinstance(block, dict) and "text" in block else _legible(block)
        for block in content
        if not (isinstance(block, dict) and str(block.get("type")) in _CALLS)
    ]


def _legible(tree: Any) -> Any:
    """A text that is stored in escapes, with blanks for NUL and `?` for lone surrogates; anything else as it is."""
    if isinstance(tree, dict) and tree.keys() == {"$str"} and isinstance(tree["$str"], str):
        return unescape(tree["$str"]).replace("\0", " ").encode(errors="replace").decode()
    return tree


def _id_of(tree: Json) -> str:
    found = tree.get("id") if isinstance(tree, dict) and "$m" in tree else None
    return found if isinstance(found, str) else ""


def _plain_text(tree: Json) -> str:
    if isinstance(tree, dict):
        for key in ("text", "content"):
            if isinstance(found := _legible(tree.get(key)), str):
                return found
    return text_of_tree(_legible(tree))


def _direct(kind: Kind, tree: Json, known: dict[str, Any]) -> Told:
    fields = tree if isinstance(tree, dict) else {}
    given = fields.get("evidence")
    backing = [pair for part in (given if isinstance(given, list) else ())[:_BACKING] for pair in _pair(part)]
    closes = fields.get("closes")
    return Told(
        role=str(kind),
        text=_plain_text(tree),
        owner=str(_legible(fields.get("owner")) or "")[:_NAMED],
        due=str(_legible(fields.get("due")) or "")[:_NAMED],
        backing=tuple(backing),
        closes=closes if type(closes) is int else 0,
        **known,
    )


def _pair(part: Json) -> Iterator[tuple[int, str]]:
    """Number and author, where a part of the evidence is that."""
    if isinstance(part, list) and len(part) == 2:  # noqa: PLR2004 - number and author
        number, author = part
        if type(number) is int and isinstance(author, str):
            yield number, author


def _action(tree: Json, known: dict[str, Any]) -> Told:
    fields = tree if isinstance(tree, dict) else {}
    return Told(
        role="action",
        text=f"{fields.get('name', 'action')}: {fields.get('to', '')}",
        action=str(fields.get("action") or ""),
        **known,
    )


def _numbers(row: ThreadRow, ids: Sequence[str], spans: Sequence[Span]) -> Op[dict[str, list[int]]]:
    """By message id the numbers of its events in the lineage, ascending."""
    if not ids:
        return {}
    rows = yield Step("events_marked", {**row.key, "marks": json_text(sorted(set(map(mark_of, ids))))})
    wanted = set(ids)
    found: dict[str, list[int]] = {}
    for seq, _kind, _author, branch, ckpt, _mark, _lane, _pos, body in rows:
        if not spans_contain(spans, branch, ckpt or 0) or body is None:
            continue
        id_ = _id_of(orjson.loads(body))
        if id_ in wanted:
            found.setdefault(id_, []).append(seq)
    return found
