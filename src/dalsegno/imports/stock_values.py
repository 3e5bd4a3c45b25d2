"""Values as LangGraph's serializer wrote them, rebuilt without trusting a name.

Rules of this module:

* LangGraph's format says which class to build by module and name. Here such a pair is a key into a table of live
  classes and nothing else: nothing is imported, no attribute of a module is looked up.
* In the table are built-in types, LangChain's messages and documents, LangGraph's own types, and the classes the
  caller hands over. Any other pair is refused with its name. LangGraph itself puts plain data or None in its place,
  which is how a state silently changes its shape.
* A pickle is never loaded; an encrypted value is said to be one.
"""

from __future__ import annotations

import ipaddress
import json
import pathlib
import re
from collections import deque
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID
from zoneinfo import ZoneInfo

from langchain_core.documents import Document
from langchain_core.messages import RemoveMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.store.base import Item
from langgraph.types import Command, Interrupt, Overwrite, PregelTask, Send, StateSnapshot, TimeoutPolicy

from dalsegno.imports.langchain_messages import CLASSES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Maker = Callable[..., Any]

__all__ = ["Decoder", "Unreadable"]

_SINGLE, _POSITIONAL, _KEYWORDS, _METHOD, _PYDANTIC_V1, _PYDANTIC_V2, _NUMPY, _DELTA = range(8)
"""LangGraph's codes for the ways in which a value is rebuilt."""


def _send(node: str, arg: Any, timeout: Any = None) -> Send:
    return Send(node, arg, timeout=timeout)


_BUILT_IN: Final[tuple[type, ...]] = (set, frozenset, deque, Decimal, UUID, ZoneInfo, date, time, timedelta, timezone)
_ADDRESSES: Final[tuple[type, ...]] = (
    ipaddress.IPv4Address,
    ipaddress.IPv4Interface,
    ipaddress.IPv4Network,
    ipaddress.IPv6Address,
    ipaddress.IPv6Interface,
    ipaddress.IPv6Network,
)
_FRAMEWORK: Final[tuple[type, ...]] = (
    *CLASSES.values(),
    RemoveMessage,
    Document,
    Command,
    Interrupt,
    Item,
    Overwrite,
    PregelTask,
    StateSnapshot,
    TimeoutPolicy,
)
_OTHERS: Final[dict[tuple[str, str], Maker]] = {
    ("langgraph.types", "Send"): _send,
    ("re", "compile"): re.compile,
    **{
        (module, name): pathlib.Path
        for module in ("pathlib", "pathlib._local")
        for name in ("Path", "PosixPath", "WindowsPath")
    },
}


class Unreadable(Exception):
    """A stored value that is not rebuilt; says why and what to do. Never leaves the room."""


class Decoder:
    """Rebuilds values; made anew for each reading."""

    def __init__(self, types: Iterable[type] = ()) -> None:
        """Take the program's own classes into the table.

        Args:
            types: classes that may stand in the values besides the built-in ones.
        """
        self._makers: Final[dict[tuple[str, str], Maker]] = {
            **{(cls.__module__, cls.__name__): cls for cls in (*_BUILT_IN, *_ADDRESSES, *_FRAMEWORK, *types)},
            **_OTHERS,
        }
        self._serde: Final = JsonPlusSerializer(
            pickle_fallback=False, allowed_json_modules=None, __unpack_ext_hook__=self._rebuilt
        )
        self._reasons: Final[list[Unreadable]] = []

    def decode(self, kind: str | None, data: bytes | None) -> Any:
        """Rebuild a value from its type tag and bytes.

        Raises:
            Unreadable: it names an unknown class, is of an unknown kind, or cannot be rebuilt.
        """
        if kind == "pickle":
            raise Unreadable("is a pickle, which is never loaded; save the thread again without pickle_fallback")
        if kind not in {"null", "bytes", "bytearray", "json", "msgpack"}:
            hint = "encrypted; decrypt the database first" if "+" in (kind or "") else "not a kind LangGraph writes"
            raise Unreadable(f"is of kind {kind!r}: {hint}")
        self._reasons.clear()
        try:
            if kind == "json":
                return json.loads(data or b"", object_hook=self._from_json)
            return self._serde.loads_typed((kind, data or b""))
        except Unreadable:
            raise
        except (ValueError, RecursionError) as error:  # msgpack hides what the hook raised
            torn = Unreadable(f"is torn ({error}); restore the database from a backup")
            raise next(iter(self._reasons), torn) from error

    def _rebuilt(self, code: int, data: bytes) -> Any:
        """Called for each value that plain msgpack has no form for, the inner ones first."""
        try:
            inner = self._serde.loads_typed(("msgpack", data))
            if code == _DELTA:
                return _DeltaSnapshot(inner)
            if code == _NUMPY:
                return _array(*inner)
            module, name, arguments, *method = inner
            return self._made(code, (module, name), arguments, *method)
        except Unreadable as error:
            self._reasons.append(error)
            raise
        except Exception as error:  # classes of the program run here, and may raise anything
            self._reasons.append(Unreadable(f"is torn ({error!r}); restore the database from a backup"))
            raise

    def _made(self, code: int, key: tuple[str, str], arguments: Any, method: str | None = None) -> Any:
        if code == _METHOD and key == ("datetime", "datetime") and method == "fromisoformat":
            return datetime.fromisoformat(arguments)
        maker = self._makers.get(key)
        if maker is None or code not in {_SINGLE, _POSITIONAL, _KEYWORDS, _PYDANTIC_V1, _PYDANTIC_V2}:
            raise Unreadable(
                f"holds a {'.'.join(map(str, key))}, a class this reader does not know and does not import by name; "
                f"hand it over in types=[...]"
            )
        try:
            if code == _SINGLE:
                return maker(arguments)
            if code == _POSITIONAL:
                return maker(*arguments)
            return maker(**arguments)
        except Exception as error:
            construct = getattr(maker, "model_construct", None) if code == _PYDANTIC_V2 else None
            if construct is not None:
                return construct(**arguments)
            raise Unreadable(f"holds a {'.'.join(key)} that its class refuses ({error!r})") from error

    def _from_json(self, value: dict[str, Any]) -> Any:
        """An object of the older JSON form, in which LangGraph wrote before msgpack."""
        if value.get("lc") not in {1, 2} or value.get("type") != "constructor" or not value.get("id"):
            return value
        *path, name = map(str, value["id"])
        arguments, fields = value.get("args") or [], value.get("kwargs") or {}
        if value["lc"] == 1 and path[:1] != ["langgraph"] and name in {*CLASSES, "Document"}:
            cls = CLASSES.get(name, Document)
            return self._made(_PYDANTIC_V2, (cls.__module__, name), fields)
        if (path, name) == (["datetime"], "datetime") and arguments:
            return datetime.fromisoformat(str(arguments[0]))
        if arguments:
            return self._made(_POSITIONAL, (".".join(path), name), arguments)
        return self._made(_KEYWORDS, (".".join(path), name), fields)


def _array(dtype: str, shape: tuple[int, ...], order: Any, buffer: bytes) -> Any:
    try:
        import numpy as np  # noqa: PLC0415 - only states with arrays need it
    except ImportError as error:
        raise Unreadable("holds a numpy array; install numpy to read it") from error
    return np.frombuffer(buffer, dtype=np.dtype(dtype)).reshape(shape, order=order)
