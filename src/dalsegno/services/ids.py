"""Names and ids on their way to and from columns.

Rules of this module:

* A thread's name is any text but a blank one, at most `MAX_NAME_BYTES` of UTF-8, the same on every store: text that a
  database would refuse or change (NUL, lone surrogates) is written in an escaped form that no other name has.
* A task's path loses the start that nearly all have, LangGraph's word for a node that was triggered.
* Checkpoint and task ids take 16 bytes: a UUID as it is; any other text by its digest, the text kept beside it.
"""

from __future__ import annotations

import hashlib
from uuid import UUID

from dalsegno.core.tree import is_blank, is_plain_text
from dalsegno.errors import Misuse

__all__ = [
    "MAX_NAME_BYTES",
    "is_packed",
    "pack_id",
    "pack_name",
    "pack_path",
    "thread_name",
    "unpack_id",
    "unpack_name",
    "unpack_path",
]

MAX_NAME_BYTES = 1000
_ESCAPE = "\x1a"
_UUID_LENGTH = 36
_PULLED, _SHORT = "~__pregel_pull, ", "~, "


def thread_name(value: object) -> str:
    """Check a thread id that came from outside.

    Raises:
        Misuse: it is missing, blank, too long or not text.
    """
    if isinstance(value, (int, UUID)) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        msg = f"thread_id must be text, not {type(value).__name__}; give the conversation a stable id"
        raise Misuse(msg)
    if is_blank(value):
        msg = "thread_id is blank; give the conversation a stable id"
        raise Misuse(msg)
    pack_name(value)
    return value


def pack_name(text: str) -> str:
    """A name as it stands in a text column."""
    raw = text.encode("utf-8", "surrogatepass")
    if len(raw) > MAX_NAME_BYTES:
        msg = f"a name of {len(raw)} bytes is too long (at most {MAX_NAME_BYTES}); use a shorter id: {text[:40]!r}…"
        raise Misuse(msg)
    if _ESCAPE in text or not is_plain_text(text):
        return _ESCAPE + raw.hex()
    return text


def unpack_name(column: str) -> str:
    """The name behind a column's text."""
    if column.startswith(_ESCAPE):
        return bytes.fromhex(column[1:]).decode("utf-8", "surrogatepass")
    return column


def pack_path(path: str) -> str | None:
    """A task's path as it stands in a text column, or None when no column can hold it."""
    if path.startswith(_SHORT) or not is_plain_text(path):
        return None
    return _SHORT + path[len(_PULLED) :] if path.startswith(_PULLED) else path


def unpack_path(column: str) -> str:
    """The path behind a column's text."""
    return _PULLED + column[len(_SHORT) :] if column.startswith(_SHORT) else column


def pack_id(text: str) -> bytes:
    """An id as 16 bytes: a UUID in its usual spelling as it is, any other text by its digest."""
    if is_packed(text):
        return bytes.fromhex(text.replace("-", ""))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16]


def is_packed(text: str) -> bool:
    """Whether `pack_id` keeps all of an id, so that it need not be stored beside."""
    if len(text) != _UUID_LENGTH:
        return False
    try:
        return str(UUID(text)) == text
    except ValueError:
        return False


def unpack_id(column: bytes) -> str:
    """The UUID behind 16 bytes."""
    raw = column.hex()
    return f"{raw[:8]}-{raw[8:12]}-{raw[12:16]}-{raw[16:20]}-{raw[20:]}"
