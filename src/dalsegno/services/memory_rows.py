"""Rows of long-term memory, and the conditions under which they are read.

Rules of this module:

* A memory belongs to one owner: a user, or "" for the tenant itself. Every statement names the owners whose rows it may
  see; nothing else reads them.
* What has expired by the database's clock is not there, swept or not.
* Facts (`ds.memory`) are memories in a namespace of their own, with subject, attribute and validity beside the value.
  Read as items they are objects that say so; times in them are ISO text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import orjson

from dalsegno.contracts import Op, Step
from dalsegno.core import codec
from dalsegno.core.namespaces import Namespace, range_of, unpack
from dalsegno.errors import Damaged, Misuse
from dalsegno.services.frames import from_micros
from dalsegno.services.ids import pack_name, unpack_name
from dalsegno.services.loading import json_text
from dalsegno.services.threads_row import NOBODY, Scope

__all__ = [
    "FACTS",
    "SHARED",
    "MemoryRow",
    "Texts",
    "Within",
    "memories_in",
    "owner_of",
    "require_tenant",
    "text_of_fact",
]

FACTS: Namespace = ("dalsegno", "memories")
"""Where facts stand, for those who read them as items."""

SHARED = ""
"""The owner of what belongs to the tenant itself."""

MAX_OWNER_BYTES = 500

Texts: TypeAlias = Callable[[Mapping[str, Any], "str | None"], "list[str]"]
"""The searchable texts of a value, given its `fields` column: one for each vector."""


def owner_of(user: str | None) -> str:
    """The owner a user is, as the column has it.

    Raises:
        Misuse: the user's name is too long to own memories.
    """
    if user is None:
        return SHARED
    packed = pack_name(user)
    if len(packed.encode()) > MAX_OWNER_BYTES:
        msg = f"user {user[:40]!r}… is too long to own memories (at most {MAX_OWNER_BYTES} bytes); use a shorter id"
        raise Misuse(msg)
    return packed


def require_tenant(scope: Scope) -> None:
    """Refuse to write for a tenant that this database does not know.

    Raises:
        Misuse: it does not, and was opened with create=False.
    """
    if scope.tenant == NOBODY:
        msg = "this tenant is unknown to the database, which was opened with create=False; check its name"
        raise Misuse(msg)


@dataclass(frozen=True, slots=True, kw_only=True)
class Within:
    """Which memories a statement may see.

    Attributes:
        tenant: tenant's number.
        owner, shared: the owners; twice the same where there is one.
        prefix: the namespace at or under which they stand.
        now: the database's time, for what has expired.
        subject, attribute: folded and packed; None for any.
        at: a time at which facts hold; None for whenever.
    """

    tenant: int
    owner: str
    shared: str
    prefix: Namespace
    now: int
    subject: str | None = None
    attribute: str | None = None
    at: int | None = None

    @property
    def params(self) -> dict[str, Any]:
        """What the statements call it."""
        texts = range_of(self.prefix)
        return {
            "tenant": self.tenant,
            "owner": self.owner,
            "shared": self.shared,
            "exact": texts.exact,
            "low": texts.low,
            "high": texts.high,
            "now": self.now,
            "subject": self.subject,
            "attribute": self.attribute,
            "at": self.at,
        }


@dataclass(frozen=True, slots=True)
class MemoryRow:
    """One row of `ds_memories` as it is read."""

    memory: int
    owner: str
    packed_namespace: str
    packed_key: str
    created_at: int
    updated_at: int
    ttl: int | None
    subject: str | None
    attribute: str | None
    valid_from: int | None
    valid_to: int | None
    fields: str | None
    body: str | bytes

    @property
    def namespace(self) -> Namespace:
        """Its namespace as labels."""
        return unpack(self.packed_namespace)

    @property
    def key(self) -> str:
        """Its key in the namespace."""
        return unpack_name(self.packed_key)

    @property
    def is_fact(self) -> bool:
        """Whether `ds.memory` wrote it."""
        return self.subject is not None

    def plain(self) -> dict[str, Any]:
        """The value as it was given."""
        value = codec.decode(orjson.loads(self.body))
        if not isinstance(value, Mapping):
            raise Damaged(f"memory {self.memory}", expected="an object", found=type(value).__name__)
        return dict(value)

    def value(self) -> dict[str, Any]:
        """The value as an item's; a fact's with its validity."""
        value = self.plain()
        return {**value, **self._validity()} if self.is_fact else value

    def texts(self, texts: Texts) -> list[str]:
        """What it is searched by; see `Texts`."""
        return [text_of_fact(self.plain())] if self.is_fact else texts(self.plain(), self.fields)

    def closed(self, at: int) -> MemoryRow:
        """The same fact, held to a time."""
        return replace(self, valid_to=at)

    def _validity(self) -> dict[str, str | None]:
        return {
            "valid_from": None if self.valid_from is None else from_micros(self.valid_from).isoformat(),
            "valid_to": None if self.valid_to is None else from_micros(self.valid_to).isoformat(),
        }


def text_of_fact(value: Mapping[str, Any]) -> str:
    """What a fact is searched by: its subject, attribute and the value in words."""
    return "\n".join(str(value.get(name, "")) for name in ("subject", "attribute", "text"))


def memories_in(tenant: int, numbers: Sequence[int]) -> Op[list[MemoryRow]]:
    """Some memories by number, in the order asked for; those that are gone are left out."""
    if not numbers:
        return []
    rows = yield Step("memories_in", {"tenant": tenant, "memories": json_text(list(numbers))})
    found = {columns[0]: MemoryRow(*columns) for columns in rows}
    return [found[number] for number in numbers if number in found]
