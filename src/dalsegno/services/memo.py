"""What this process remembers of the states it wrote and read, so that unchanged values are not encoded again.

Rules of this module:

* A *print* of a value holds every leaf and container object of it alive. It still holds when the same walk meets the
  same objects: identity of all leaves means equality, since leaves are immutable. A mutation in place replaces a leaf
  or changes a length, and is seen. A value with parts that cannot be walked has no print and is always encoded.
* What is handed out is never what is kept: templates are private, every reader gets clones.
* Nothing here is believed without the database's word on which checkpoint is the parent and what its nodes are; a wrong
  or missing memory costs time, never correctness.
* Memory is bounded: the least recently used threads go first.
"""

from __future__ import annotations

import sys
import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, is_dataclass
from functools import lru_cache
from itertools import chain, repeat
from operator import attrgetter, eq, is_
from typing import Any, cast

from dalsegno.core.items import Place, Range

__all__ = ["MISSING", "Held", "ListPrint", "Memo", "ValuePrint", "print_of"]

_COUNTS = sys.implementation.name == "cpython"
_ATOMS = frozenset({str, int, float, bool, type(None), bytes, complex})
_dict_of = attrgetter("__dict__")
_extra_of = attrgetter("__pydantic_extra__")
# What getrefcount says of an object that only one list holds: the list, and the call's own view.
_ALONE = next(map(sys.getrefcount, [object()])) if _COUNTS else 0
_MADE_IN_PYTHON = 1 << 9
"""CPython's flag of a class that a class statement made."""
_MOST_ELEMENTS = 50_000
_MOST_STATES = 128


class _Missing:
    """Stands where there is no template."""


MISSING = _Missing()


class _Identities:
    """Lets `in` compare by identity alone: models compare field by field."""

    __slots__ = ("_part",)

    def __init__(self, part: list[Any]) -> None:
        self._part = part

    def __contains__(self, wanted: object) -> bool:
        return any(map(is_, self._part, repeat(wanted)))


def _holes(lane: int, first: int, part: list[Any]) -> list[Range]:
    holes: list[Range] = []
    for pos, template in enumerate(part, first):
        if template is MISSING:
            if holes and holes[-1][2] + 1 == pos:
                holes[-1][2] = pos
            else:
                holes.append([lane, pos, pos])
    return holes


class ValuePrint:
    """Print of any value made of plain containers, dataclasses and models."""

    __slots__ = ("_boxes", "_leaves", "_lengths")

    def __init__(self, leaves: list[Any], lengths: list[int]) -> None:
        """Take the objects met on a walk, the value itself first, and the lengths of its containers."""
        self._leaves = leaves
        self._lengths = lengths
        self._boxes = [leaf for leaf in leaves[1:] if type(leaf) not in _ATOMS]

    def kept(self, value: Any) -> bool:
        """Whether `value` is still exactly what was printed."""
        leaves: list[Any] = []
        lengths: list[int] = []
        return (
            _walk(value, leaves, lengths)
            and len(leaves) == len(self._leaves)
            and lengths == self._lengths
            and all(map(is_, leaves, self._leaves))
        )

    def is_sole_inside(self) -> bool:
        """Whether nobody else holds a container within the value: its place, this print's walk and list do."""
        return all(map(eq, map(sys.getrefcount, self._boxes), repeat(_ALONE + 2)))


class ListPrint:
    """Print of a list of models (messages), checked in bulk: a few C loops for thousands of messages."""

    __slots__ = ("_boxes", "_deep", "_fields", "_holders", "_lengths", "objects")

    def __init__(self, objects: Sequence[Any]) -> None:
        """Walk the objects.

        Raises:
            TypeError: a part of one cannot be walked.
        """
        self.objects = list(objects)
        if not all(map(_is_plain_model, set(map(type, self.objects)))):
            raise TypeError
        self._fields = _fields_of(self.objects)
        boxes = [value for value in self._fields if type(value) not in _ATOMS]
        if not set(map(type, boxes)) <= {list, dict}:
            raise TypeError
        extras = [extra for extra in map(_extra_of, self.objects) if extra is not None]
        self._boxes: list[Any] = boxes + extras
        self._lengths = list(map(len, self._boxes))
        self._holders = [_ALONE + 2] * len(boxes) + [_ALONE + 1] * len(extras)
        self._deep: list[tuple[Any, ValuePrint]] = []
        for place, box in enumerate(self._boxes):
            if box:
                found = print_of(box)
                if found is None:
                    raise TypeError
                self._deep.append((box, found))
                self._holders[place] += 2

    def __len__(self) -> int:
        """How many objects were printed."""
        return len(self.objects)

    def kept(self, objects: Sequence[Any]) -> bool:
        """Whether `objects` begin with exactly the printed ones, all unchanged."""
        count = len(self.objects)
        if len(objects) < count:
            return False
        first = objects[:count] if len(objects) > count else objects
        if not all(map(is_, first, self.objects)):
            return False
        fields = _fields_of(self.objects)
        return (
            len(fields) == len(self._fields)
            and all(map(is_, fields, self._fields))
            and list(map(len, self._boxes)) == self._lengths
            and all(found.kept(box) for box, found in self._deep)
        )

    def is_sole(self) -> bool:
        """Whether nobody else holds any of the printed objects or their containers, by CPython's reference counts.

        Such objects may be handed to a reader as they are: nobody else can see or change them. Other Pythons answer
        False, and readers get clones.
        """
        if not _COUNTS:
            return False
        counts = set(map(sys.getrefcount, self.objects))
        if not counts <= {_ALONE}:
            return False
        # A container is held by its object, by this print's list of containers and, as a field, by its list of fields;
        # one that is not empty also by its own print, twice.
        counts_of_boxes = list(map(sys.getrefcount, self._boxes))
        return all(map(eq, counts_of_boxes, self._holders)) and all(found.is_sole_inside() for _, found in self._deep)

    def extended(self, tail: Sequence[Any]) -> ListPrint:
        """Print of the printed objects (known to be unchanged) with some more at the end."""
        more = ListPrint(tail)
        grown = object.__new__(ListPrint)
        grown.objects = self.objects + more.objects
        grown._fields = self._fields + more._fields
        grown._boxes = self._boxes + more._boxes
        grown._holders = self._holders + more._holders
        grown._lengths = self._lengths + more._lengths
        grown._deep = self._deep + more._deep
        return grown


@lru_cache(maxsize=1024)
def _is_plain_model(kind: type) -> bool:
    """Whether fields and extra values are all there is to a model; private attributes are not looked at in bulk."""
    return (
        hasattr(kind, "__pydantic_fields__")
        and hasattr(kind, "__pydantic_extra__")
        and not getattr(kind, "__private_attributes__", None)
        and _is_plain_class(kind)
    )


@lru_cache(maxsize=1024)
def _is_plain_class(kind: type) -> bool:
    """Whether an object's attributes are all there is to it: it is no list, dict or error with some besides."""
    return all(base.__flags__ & _MADE_IN_PYTHON for base in kind.__mro__[:-1])


def _fields_of(objects: Sequence[Any]) -> list[Any]:
    return list(chain.from_iterable(map(dict.values, map(_dict_of, objects))))


def print_of(value: Any) -> ValuePrint | None:
    """A print of a value, or None when a part of it cannot be walked."""
    leaves: list[Any] = []
    lengths: list[int] = []
    return ValuePrint(leaves, lengths) if _walk(value, leaves, lengths) else None


def _walk(value: Any, leaves: list[Any], lengths: list[int]) -> bool:
    kind = type(value)
    leaves.append(value)
    if kind in _ATOMS:
        return True
    if kind is dict:
        lengths.append(len(value))
        leaves.extend(value)
        return all(type(key) in _ATOMS for key in value) and _walk_all(value.values(), leaves, lengths)
    if kind is list or kind is tuple:
        lengths.append(len(value))
        return _walk_all(value, leaves, lengths)
    if hasattr(kind, "__pydantic_fields__") or (is_dataclass(kind) and not hasattr(kind, "__slots__")):
        if not _is_plain_class(cast("type", kind)):
            return False
        inner = vars(value)
        lengths.append(len(inner))
        extra = getattr(value, "__pydantic_extra__", None)
        private = getattr(value, "__pydantic_private__", None)
        return _walk_all(inner.values(), leaves, lengths) and all(
            _walk(part, leaves, lengths) for part in (extra, private)
        )
    return False


def _walk_all(values: Iterable[Any], leaves: list[Any], lengths: list[int]) -> bool:
    return all(_walk(value, leaves, lengths) for value in values)


@dataclass(slots=True)
class Held:
    """A state this process wrote or handed out: which checkpoint, the prints of its channels, and its nodes then.

    Another process may have put the checkpoint anew since; what is remembered holds where the node is still the same.
    """

    checkpoint_id: str
    prints: dict[str, ListPrint | ValuePrint]
    nodes: dict[str, Any]


@dataclass(slots=True)
class _Templates:
    lanes: dict[int, dict[int, Any]] = field(default_factory=dict)
    count: int = 0


class Memo:
    """The process's memory, shared by threads; see the module's rules."""

    def __init__(self, *, most_elements: int = _MOST_ELEMENTS) -> None:
        """Args: most_elements: templates kept over all threads; a thread with more is kept while it is the newest."""
        self._lock = threading.Lock()
        self._held: OrderedDict[tuple[str, str], Held] = OrderedDict()
        self._templates: OrderedDict[int, _Templates] = OrderedDict()
        self._most = most_elements
        self._total = 0

    def held(self, thread: str, ns: str, checkpoint_id: str | None) -> Held | None:
        """The remembered state of a namespace, if it is of that checkpoint."""
        with self._lock:
            found = self._held.get((thread, ns))
            if found is None or found.checkpoint_id != checkpoint_id:
                return None
            self._held.move_to_end((thread, ns))
            return found

    def take(self, thread: str, ns: str, checkpoint_id: str) -> Held | None:
        """The remembered state, if it is of that checkpoint; it is forgotten, so that only one caller has it."""
        with self._lock:
            found = self._held.get((thread, ns))
            if found is None or found.checkpoint_id != checkpoint_id:
                return None
            return self._held.pop((thread, ns))

    def hold(self, thread: str, ns: str, state: Held) -> None:
        """Remember a state in place of what was there."""
        with self._lock:
            self._held[thread, ns] = state
            self._held.move_to_end((thread, ns))
            while len(self._held) > _MOST_STATES:
                self._held.popitem(last=False)

    def known(self, thread: int, ranges: Sequence[Range]) -> tuple[list[Any], list[Range]]:
        """Templates of the elements that ranges name.

        Returns:
            One entry for each element in order, `MISSING` where there is no template, and the ranges of those.
        """
        with self._lock:
            kept = self._templates.get(thread)
            lanes = kept.lanes if kept is not None else {}
            out: list[Any] = []
            holes: list[Range] = []
            for lane, first, last in ranges:
                by_pos = lanes.get(lane)
                if by_pos is None:
                    out.extend([MISSING] * (last - first + 1))
                    holes.append([lane, first, last])
                    continue
                part = list(map(by_pos.get, range(first, last + 1), repeat(MISSING)))
                if MISSING in _Identities(part):
                    holes.extend(_holes(lane, first, part))
                out.extend(part)
            if kept is not None:
                self._templates.move_to_end(thread)
            return out, holes

    def learn(self, thread: int, templates: Iterable[tuple[Place, Any]]) -> None:
        """Keep templates; the caller gives objects nobody else holds."""
        with self._lock:
            kept = self._templates.setdefault(thread, _Templates())
            self._templates.move_to_end(thread)
            for (lane, pos), template in templates:
                by_pos = kept.lanes.setdefault(lane, {})
                if pos not in by_pos:
                    kept.count += 1
                    self._total += 1
                by_pos[pos] = template
            while self._total > self._most and len(self._templates) > 1:
                _, oldest = self._templates.popitem(last=False)
                self._total -= oldest.count

    def forget(self, thread: str) -> None:
        """Drop the prints of a thread (its templates belong to a number that is never given again)."""
        with self._lock:
            for key in [key for key in self._held if key[0] == thread]:
                del self._held[key]
