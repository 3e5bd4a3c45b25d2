"""What can be seen in a function's source: which fields it writes, whom it sends to. Nothing is run.

Rules of this module:

* Only what stands there plainly is told: dictionaries that are returned, keywords of `Command(update=…)`, `Send("node",
  …)`. What is put together elsewhere is not known, and no rule blames anyone for it.
* A function without source (from a shell, from C) is not known.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

__all__ = ["Seen", "declared_in", "function_of", "place_of", "seen_in"]

_UNSTORABLE: Final = {
    "open": ("an open file", "send its path, and open it in the node"),
    "socket": ("a socket", "send an address, and connect in the node"),
    "connect": ("a connection", "send an id, and connect in the node"),
    "Lock": ("a lock", "a lock belongs to one process; leave it out"),
    "RLock": ("a lock", "a lock belongs to one process; leave it out"),
    "Thread": ("a thread", "send what it needs, and start it in the node"),
    "iter": ("an iterator", "send the list itself"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What was seen in a function.

    Attributes:
        writes: fields in what it returns; None where nothing of it can be told.
        sends: nodes that it sends to by name.
        fans: whether it makes any `Send`.
        lists: whether it returns a list of targets.
        unstorable: in the arguments of its `Send`s: node, part, what it is, way out, line.
    """

    writes: frozenset[str] | None = None
    sends: tuple[str, ...] = ()
    fans: bool = False
    lists: bool = False
    unstorable: tuple[tuple[str, str, str, str, int], ...] = ()


def function_of(runnable: Any) -> Callable[..., Any] | None:
    """The function behind a node or a branch; None where there is none."""
    for name in ("func", "afunc", "coroutine"):
        found = getattr(runnable, name, None)
        if callable(found):
            unwrapped: Callable[..., Any] = inspect.unwrap(found)
            return unwrapped
    return runnable if inspect.isfunction(runnable) else None


def place_of(function: Any, offset: int = 0) -> str:
    """File and line of a function, from the working directory where it lies below it; empty if not known."""
    try:
        file, line = inspect.getsourcefile(function), inspect.getsourcelines(function)[1]
    except (TypeError, OSError):
        return ""
    path = Path(file or "")
    shown = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
    return f"{shown}:{line + offset}" if file else ""


def declared_in(cls: Any) -> dict[str, int]:
    """The annotated names of a class, each with its line from the class's first."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(cls)))
    except (TypeError, OSError, SyntaxError):
        return {}
    body = tree.body[0].body if tree.body and isinstance(tree.body[0], ast.ClassDef) else []
    return {
        node.target.id: node.lineno - 1
        for node in body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }


def seen_in(function: Callable[..., Any] | None) -> Seen:
    """Look at a function's source."""
    tree = _tree(function)
    if tree is None:
        return Seen()
    calls = [node for node in _inside(tree) if isinstance(node, ast.Call)]
    sends = [call for call in calls if _name(call.func) == "Send"]
    returned = [tree.body] if isinstance(tree, ast.Lambda) else _returned(tree)
    return Seen(
        writes=_writes(tree, returned),
        sends=tuple(dict.fromkeys(name for call in sends if (name := _text(_argument(call, 0, "node"))) is not None)),
        fans=bool(sends),
        lists=any(isinstance(value, (ast.List, ast.ListComp)) for value in returned),
        unstorable=tuple(found for call in sends for found in _unstorable(call)),
    )


def _tree(function: Callable[..., Any] | None) -> ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | None:
    try:
        source = textwrap.dedent(inspect.getsource(function))  # type: ignore[arg-type] # None is refused like C code
    except (TypeError, OSError):
        return None
    for text in (source, f"({source.strip().rstrip(',')})"):
        try:
            module = ast.parse(text)
        except SyntaxError:
            continue
        wanted = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
        return next((node for node in ast.walk(module) if isinstance(node, wanted)), None)
    return None


def _inside(tree: ast.AST) -> Iterator[ast.AST]:
    """The parts of a function, without the functions inside it."""
    for node in ast.iter_child_nodes(tree):
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            yield from _inside(node)


def _returned(tree: ast.AST) -> list[ast.expr]:
    return [node.value for node in _inside(tree) if isinstance(node, ast.Return) and node.value is not None]


def _writes(tree: ast.AST, returned: list[ast.expr]) -> frozenset[str] | None:
    known: set[str] = set()
    told = False
    for value in returned:
        keys = _keys(tree, value)
        if keys is not None:
            told = True
            known |= keys
    return frozenset(known) if told else None


def _keys(tree: ast.AST, value: ast.expr) -> set[str] | None:
    """The fields that a returned value writes; None where that cannot be told."""
    if isinstance(value, ast.Constant) and value.value is None:
        return set()
    if isinstance(value, ast.Dict):
        return {key.value for key in value.keys if isinstance(key, ast.Constant) and isinstance(key.value, str)}
    if isinstance(value, ast.IfExp):
        return _either(_keys(tree, value.body), _keys(tree, value.orelse))
    if isinstance(value, ast.List):
        found: set[str] | None = None
        for part in value.elts:
            found = _either(found, _keys(tree, part))
        return found
    if isinstance(value, ast.Call):
        if _name(value.func) == "Command":
            update = next((keyword.value for keyword in value.keywords if keyword.arg == "update"), None)
            return set() if update is None else _keys(tree, update)
        if _name(value.func) == "dict" or _name(value.func)[:1].isupper():
            return {keyword.arg for keyword in value.keywords if keyword.arg is not None} or None
    if isinstance(value, ast.Name):
        return _assigned(tree, value.id)
    return None


def _assigned(tree: ast.AST, name: str) -> set[str] | None:
    """Keys of a dictionary that a name was given in the function."""
    found: set[str] | None = None
    for node in _inside(tree):
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        for target in targets:
            if isinstance(target, ast.Name) and target.id == name and isinstance(node.value, ast.Dict):  # type: ignore[attr-defined]
                found = _either(found, _keys(tree, node.value))  # type: ignore[attr-defined]
            if isinstance(target, ast.Subscript) and _name(target.value) == name and (key := _text(target.slice)):
                found = _either(found, {key})
    return found


def _either(one: set[str] | None, other: set[str] | None) -> set[str] | None:
    return other if one is None else one if other is None else one | other


def _unstorable(call: ast.Call) -> Iterator[tuple[str, str, str, str, int]]:
    node = _text(_argument(call, 0, "node")) or "a node"
    argument = _argument(call, 1, "arg")
    if argument is None:
        return
    parts: list[tuple[ast.expr | None, ast.expr]] = [(None, argument)]
    if isinstance(argument, ast.Dict):
        parts = list(zip(argument.keys, argument.values, strict=True))
    for key, value in parts:
        where = f"`{_text(key)}`" if _text(key) else "its argument"
        if isinstance(value, ast.Lambda):
            yield node, where, "a function", "send a name, and look the function up in the node", call.lineno - 1
        elif isinstance(value, ast.GeneratorExp):
            yield node, where, "a generator", "send a list", call.lineno - 1
        elif isinstance(value, ast.Call) and (known := _UNSTORABLE.get(_name(value.func))) is not None:
            yield node, where, *known, call.lineno - 1


def _argument(call: ast.Call, place: int, name: str) -> ast.expr | None:
    if len(call.args) > place:
        return call.args[place]
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)


def _name(node: ast.AST) -> str:
    if isinstance(node, ast.Subscript):
        return _name(node.value)
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _text(node: ast.AST | None) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None
