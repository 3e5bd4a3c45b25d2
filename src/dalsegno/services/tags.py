"""Tags: words that a program puts on threads, to find them again and to say how long they are kept.

Rules of this module:

* A tag says something of a thread, not in it: putting one on neither needs the thread's lease nor counts as use of it.
* Tags go with their thread, and a copy has those of the original.
"""

from __future__ import annotations

from collections.abc import Sequence

from dalsegno.contracts import Op, Step
from dalsegno.core.rights import Right
from dalsegno.errors import Misuse
from dalsegno.services.access import absent, admit
from dalsegno.services.ids import pack_name, unpack_name
from dalsegno.services.threads_row import Scope, ThreadRow, row_of_thread

__all__ = ["check_tags", "tag", "tags_of", "untag"]

_MOST_BYTES = 200


def check_tags(tags: Sequence[object]) -> tuple[str, ...]:
    """Check tags that came from outside.

    Raises:
        Misuse: one is no text, blank or too long.
    """
    for each in tags:
        if not isinstance(each, str) or not each.strip():
            msg = f"{each!r} is no tag; give text that is not blank"
            raise Misuse(msg)
        if len(pack_name(each).encode()) > _MOST_BYTES:
            msg = f"a tag of more than {_MOST_BYTES} bytes: {each[:40]!r}…; use a word"
            raise Misuse(msg)
    return tuple(each for each in tags if isinstance(each, str))


def tag(scope: Scope, name: str, tags: Sequence[str]) -> Op[None]:
    """Put tags on a thread; one that it has stays as it is.

    Raises:
        ThreadNotFound: no such thread, or another user's, or a deleted one.
    """
    row = yield from _own(scope, name)
    for each in tags:
        yield Step("tag_add", {**row.key, "tag": pack_name(each)})


def untag(scope: Scope, name: str, tags: Sequence[str]) -> Op[None]:
    """Take tags off a thread; one that it does not have is no error."""
    row = yield from _own(scope, name)
    for each in tags:
        yield Step("tag_drop", {**row.key, "tag": pack_name(each)})


def tags_of(row: ThreadRow) -> Op[frozenset[str]]:
    """Tags of a thread."""
    rows = yield Step("tags_of", row.key)
    return frozenset(unpack_name(each) for (each,) in rows)


def _own(scope: Scope, name: str) -> Op[ThreadRow]:
    """A thread's row under lock, whoever has its lease."""
    rows = yield Step("thread_lock", {"tenant": scope.tenant, "name": pack_name(name), "owner": scope.whose})
    row = row_of_thread(scope, name, rows)
    if row is None or row.deleted_at is not None:
        raise absent(name)
    yield from admit(scope, name, row.thread, row.owner, Right.DISPOSE)
    return row
