"""Known shapes: dicts with usual keys in a usual order, written without a note of their order.

Rules of this module:

* A dict fits a shape when it has just its keys, in that order, and its fixed values.
* A fitting dict is written as an object of the keys that are not fixed; a reader knows it by that set of keys.
* A dict that does not fit but would read as if it did is written with its order stated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from dalsegno.core.mappings import mapping
from dalsegno.core.tree import Json
from dalsegno.core.walk import Encoder, Refusal, dec, enc, part

__all__ = ["Form", "Shape", "one_of", "sequence_of"]

Form = tuple[Encoder, Callable[[Json], object]]
"""A way to write and a way to read what stands in one field."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """Keys of a dict in their usual order; `fixed` values are the same in every such dict."""

    keys: tuple[str, ...]
    fixed: Mapping[str, str] = field(default_factory=dict)

    def fits(self, value: dict[object, object]) -> bool:
        """Whether the fixed values and the types of the keys are as expected; the keys themselves are."""
        return all(type(key) is str for key in value) and all(
            type(value[key]) is str and value[key] == text for key, text in self.fixed.items()
        )

    def write(self, value: dict[str, object], depth: int) -> Json:
        """The object of a dict that fits."""
        return {key: part(key, item, value, depth + 1) for key, item in value.items() if key not in self.fixed}

    def read(self, tree: dict[str, Json]) -> dict[str, object]:
        """The dict of such an object."""
        return {key: self.fixed[key] if key in self.fixed else dec(tree[key]) for key in self.keys}


def one_of(*shapes: Shape) -> Form:
    """The form of a dict that has one of these shapes, or any other value."""
    written = {shape.keys: shape for shape in shapes}
    stored = {frozenset(shape.keys).difference(shape.fixed): shape for shape in shapes}

    def encode(value: object, depth: int) -> Json:
        if type(value) is not dict:
            return enc(value, depth)
        shape = written.get(tuple(value))
        if shape is not None and shape.fits(value):
            return shape.write(value, depth)
        tree = mapping(value, depth)
        if isinstance(tree, dict) and frozenset(tree) in stored:
            tree = {"$keys": "0123456789"[: len(tree)], **tree}
        return tree

    def decode(tree: Json) -> object:
        if type(tree) is dict:
            shape = stored.get(frozenset(tree))
            if shape is not None:
                return shape.read(tree)
        return dec(tree)

    return encode, decode


def sequence_of(form: Form) -> Form:
    """The form of a list whose elements have a form, or of any other value."""
    write, read = form

    def encode(value: object, depth: int) -> Json:
        if type(value) is not list:
            return enc(value, depth)
        out: list[Json] = []
        try:
            for item in value:
                out.append(write(item, depth + 1))  # noqa: PERF401 - a failing element is found by len(out)
        except Refusal as refusal:
            refusal.within(len(out), value)
            raise
        return out

    def decode(tree: Json) -> object:
        return [read(item) for item in tree] if type(tree) is list else dec(tree)

    return encode, decode
