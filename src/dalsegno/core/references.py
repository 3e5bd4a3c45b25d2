"""References to blobs: `blob://` and the digest, in place of a very long text.

Rules of this module:

* A reference stands where the text would: the string itself, or the value whose one long text it is (bytes, an array).
* What a program put into a state is never taken for a reference: only stored parts become one, on the way out.
"""

from __future__ import annotations

import re
from typing import Any

from dalsegno.core.tree import Json
from dalsegno.errors import Misuse

__all__ = ["digest_in", "laid_open", "reference_to"]

_SCHEME = "blob://"
_REFERENCE = re.compile("blob://([0-9a-f]{64})")


class _Reference(str):
    """A reference that stands for a stored part, told apart from a text of the program's that reads like one."""

    __slots__ = ()


def reference_to(digest: bytes) -> str:
    """The reference to a blob; `laid_open` makes plain text of it."""
    return _Reference(_SCHEME + digest.hex())


def digest_in(reference: str) -> bytes:
    """The digest that a reference names.

    Raises:
        Misuse: it is no reference.
    """
    found = _REFERENCE.fullmatch(str(reference))
    if found is None:
        msg = f"{str(reference)[:100]!r} is no reference to a blob; one reads blob:// and 64 hexadecimal digits"
        raise Misuse(msg)
    return bytes.fromhex(found[1])


def laid_open(tree: Any) -> Json:
    """A tree in which a value that is nothing but a blob (bytes, an array) has become the reference to it."""
    if type(tree) is _Reference:
        return str(tree)
    if isinstance(tree, list):
        return [laid_open(part) for part in tree]
    if not isinstance(tree, dict):
        return tree  # type: ignore[no-any-return]
    for key, part in tree.items():
        if key[:1] == "$" and type(part) is _Reference:
            return str(part)
    return {key: laid_open(part) for key, part in tree.items()}
