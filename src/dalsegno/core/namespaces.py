r"""Namespaces of long-term memory: paths of labels, and the text they are stored as.

Rules of this module:

* A namespace is a tuple of labels, stored as a JSON array in one canonical spelling: `["users","u-7"]`. A label with a
  lone surrogate is written in escapes, any other in plain UTF-8, so that a path's text always begins with its
  parent's, the closing bracket aside.
* What stands under a path is therefore one text and one range of texts in code-point order: never `["users2"]` for
  `["users"]`, and `["a,b"]` is not `["a","b"]`.
* A pattern matches a namespace at its start or its end, label by label; `*` stands for exactly one label.
* Namespaces are listed in the order of their labels, each once, after they were cut to a depth.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from dalsegno.core.tree import is_utf8
from dalsegno.errors import Damaged, Misuse

__all__ = ["MAX_NAMESPACE_BYTES", "Namespace", "Pattern", "Range", "listed", "pack", "range_of", "unpack"]

Namespace: TypeAlias = tuple[str, ...]

MAX_NAMESPACE_BYTES = 1000
"""As much as fits into an index of every store, beside a key and an owner."""

_ALL_LOW, _ALL_HIGH = "[", "\\"
"""Every stored namespace begins with `[`; the backslash is the next character."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """Everything at a path and under it, as texts.

    Attributes:
        exact: the text of the path itself; "" for the empty path, which no namespace has.
        low, high: texts from `low` up to below `high` are those of what stands under it.
    """

    exact: str
    low: str
    high: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """A condition on namespaces.

    Attributes:
        where: `prefix` or `suffix`.
        path: labels; `*` is any one label.
    """

    where: Literal["prefix", "suffix"]
    path: Sequence[str]

    def matches(self, namespace: Namespace) -> bool:
        """Whether a namespace begins or ends like this."""
        if len(namespace) < len(self.path):
            return False
        part = namespace[: len(self.path)] if self.where == "prefix" else namespace[len(namespace) - len(self.path) :]
        return all(wanted in ("*", label) for label, wanted in zip(part, self.path, strict=True))


def pack(namespace: Namespace) -> str:
    """A namespace as its column's text.

    Raises:
        Misuse: it is longer than `MAX_NAMESPACE_BYTES`.
    """
    text = f"[{','.join(map(_label, namespace))}]"
    size = len(text.encode())
    if size > MAX_NAMESPACE_BYTES:
        msg = (
            f"a namespace of {size} bytes is too long (at most {MAX_NAMESPACE_BYTES}); use shorter labels: {text:.60}…"
        )
        raise Misuse(msg)
    return text


def unpack(text: str) -> Namespace:
    """The namespace behind a column's text.

    Raises:
        Damaged: no namespace is written like this.
    """
    try:
        labels = json.loads(text)
    except ValueError:
        labels = None
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        raise Damaged("a namespace of a memory", expected="a JSON array of labels", found=text[:80])
    return tuple(labels)


def range_of(prefix: Namespace) -> Range:
    """The texts of a path and of everything under it; of all namespaces for the empty path."""
    if not prefix:
        return Range(exact="", low=_ALL_LOW, high=_ALL_HIGH)
    text = pack(prefix)
    return Range(exact=text, low=f"{text[:-1]},", high=f"{text[:-1]}-")  # "-" follows "," in code-point order


def listed(namespaces: Iterable[Namespace], patterns: Sequence[Pattern], max_depth: int | None) -> list[Namespace]:
    """Those that match every pattern, cut to a depth, each once, in order."""
    found = {
        namespace[:max_depth] for namespace in namespaces if all(pattern.matches(namespace) for pattern in patterns)
    }
    return sorted(found)


def _label(label: str) -> str:
    return json.dumps(label, ensure_ascii=not is_utf8(label))
