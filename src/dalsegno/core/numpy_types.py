"""Envelopes of numpy arrays and scalars.

Rules of this module:

* numpy is imported when the first numpy value is written or read, not before.
* An array is written as dtype, shape and its bytes; memory order is kept for Fortran arrays.
* An array of objects is written element by element. Arrays whose memory holds references otherwise are refused,
  and so are subclasses of `ndarray` such as masked arrays.
* A dtype is read by numpy's own parser of array headers, from its own notation.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import TYPE_CHECKING, Any

from dalsegno.core.tree import Json
from dalsegno.core.containers import items
from dalsegno.core.walk import CLONERS, DECODERS, ENCODERS, RESOLVERS, Refusal, damaged, dec, enc, listed, only

if TYPE_CHECKING:
    from types import ModuleType

__all__: list[str] = []


def _numpy() -> ModuleType:
    import numpy as np  # noqa: PLC0415 - an optional library, loaded with its first value

    if np.ndarray not in ENCODERS:
        ENCODERS[np.ndarray] = _array
        CLONERS[np.ndarray] = _clone
        for kind in set(np.sctypeDict.values()):
            ENCODERS[kind] = _scalar
            CLONERS[kind] = lambda value: value
        ENCODERS[np.void] = _void
        CLONERS[np.void] = lambda value: value.copy()
        ENCODERS.pop(np.object_, None)
    return np


def _resolve(cls: type) -> bool:
    if cls.__module__ != "numpy":
        return False
    _numpy()
    return cls in ENCODERS


RESOLVERS.insert(0, _resolve)


# --- dtypes ---------------------------------------------------------------------------------------


def _written_dtype(dtype: Any, value: object) -> Json:
    np = _numpy()
    if dtype.hasobject or dtype.kind == "T" or dtype.metadata:
        raise Refusal(value, f"dtype {dtype} does not hold plain data: convert the array first")
    description = np.lib.format.dtype_to_descr(dtype)
    return description if type(description) is str else enc(description, 3)


def _read_dtype(tree: Json) -> Any:
    np = _numpy()
    description = dec(tree)
    if type(description) not in (str, list, tuple):
        raise damaged("$array", "a dtype", tree)
    dtype = np.lib.format.descr_to_dtype(description)
    if dtype.hasobject:
        raise damaged("$array", "a dtype of plain data", tree)
    return dtype


# --- arrays ---------------------------------------------------------------------------------------


def _array(value: Any, depth: int) -> Json:
    shape = list(value.shape)
    order = "F" if value.flags.f_contiguous and not value.flags.c_contiguous else "C"
    if value.dtype == object and value.dtype.metadata is None:
        flat = [value[place] for place in _numpy().ndindex(value.shape)]
        tree: dict[str, Json] = {"$objects": items(flat, depth + 1), "shape": shape}
    else:
        data = b64encode(value.tobytes(order)).decode()
        tree = {"$array": data, "dtype": _written_dtype(value.dtype, value), "shape": shape}
    if order == "F":
        tree["order"] = "F"
    return tree


def _shape(tree: dict[str, Json], tag: str) -> tuple[int, ...]:
    shape = tree["shape"]
    if type(shape) is not list or any(type(side) is not int or side < 0 for side in shape):  # type: ignore[operator]
        raise damaged(tag, "a shape", shape)
    return tuple(shape)  # type: ignore[arg-type]


def _filled(tree: dict[str, Json]) -> object:
    np = _numpy()
    data = b64decode(only(tree, "$array", "dtype", "shape", "order"), validate=True)
    dtype, shape, order = _read_dtype(tree["dtype"]), _shape(tree, "$array"), tree.get("order", "C")
    if order not in ("C", "F"):
        raise damaged("$array", "order C or F", order)
    if dtype.itemsize == 0:
        return np.zeros(shape, dtype, order=order)
    return np.frombuffer(bytearray(data), dtype).reshape(shape, order=order)


def _objects(tree: dict[str, Json]) -> object:
    np = _numpy()
    found = listed(tree, "$objects", "shape", "order")
    shape = _shape(tree, "$objects")
    if np.prod(shape, dtype=object) != len(found):
        raise damaged("$objects", f"{len(found)} elements", shape)
    array = np.empty(shape, object, order="F" if tree.get("order") == "F" else "C")
    for place, element in zip(np.ndindex(shape), found, strict=True):
        array[place] = dec(element)
    return array


def _clone(value: Any) -> object:
    if value.dtype.hasobject or value.dtype.metadata:
        return dec(_array(value, 1))
    return value.copy("F" if value.flags.f_contiguous and not value.flags.c_contiguous else "C")


DECODERS["$array"] = _filled
DECODERS["$objects"] = _objects


# --- scalars --------------------------------------------------------------------------------------


def _scalar(value: Any, depth: int) -> Json:
    kind = value.dtype.kind
    content: Any
    if kind in "mM":
        content = int(value.view("i8"))
    elif kind in "biufcSU" and type(value.item()).__module__ == "builtins":
        content = value.item()
    else:
        content = value.tobytes()
    return {"$number": enc(content, depth + 1), "dtype": _written_dtype(value.dtype, value)}


def _scaled(tree: dict[str, Json]) -> object:
    np = _numpy()
    content = dec(only(tree, "$number", "dtype"))
    dtype = _read_dtype(tree["dtype"])
    if dtype.kind in "mM":
        return np.int64(content).view(dtype)
    if type(content) is bytes and dtype.kind != "S":
        (value,) = np.frombuffer(content, dtype)
        return value
    if dtype.kind in "SU":
        return dtype.type(content)
    value = dtype.type(content)
    if value != content and content == content:  # noqa: PLR0124 - not NaN
        raise damaged("$number", f"a number of dtype {dtype}", content)
    return value


def _void(value: Any, depth: int) -> Json:
    if type(value.dtype).__name__ != "VoidDType" or value.dtype.type.__name__ != "void":
        raise Refusal(value, "only plain structured scalars are stored: convert it first")
    tree = _array(_numpy().array(value), depth + 1)
    return {"$void": tree}


def _voided(tree: dict[str, Json]) -> object:
    array: Any = dec(only(tree, "$void"))
    return array[()]


DECODERS["$number"] = _scaled
DECODERS["$void"] = _voided
