"""Envelopes of numpy arrays and scalars.

Rules of this module:

* numpy is imported when the first numpy value is written or read, not before.
* An array is written as dtype, shape and its bytes; whether rows or columns follow one another is kept.
* An array of objects is written element by element. Arrays whose memory holds references otherwise are refused,
  and so are subclasses of `ndarray`, such as masked arrays.
* A dtype is read by numpy's own reader of array headers and must be what numpy writes for it.
"""

from __future__ import annotations

from base64 import b64encode
from math import prod
from typing import TYPE_CHECKING, Any, Final

from dalsegno.core.containers import items
from dalsegno.core.scalars import base64_of
from dalsegno.core.tree import Json
from dalsegno.core.walk import CLONERS, DECODERS, ENCODERS, RESOLVERS, Refusal, damaged, dec, enc, listed, only, part

if TYPE_CHECKING:
    from types import ModuleType

__all__: list[str] = []

_LONG: Final = ("q", "Q")
"""C's `long long`, where numpy holds it apart from the 64-bit integer it equals."""


def _numpy() -> ModuleType:
    import numpy as np  # noqa: PLC0415 - an optional library, loaded with its first value

    if np.ndarray not in ENCODERS:
        kinds = set(np.sctypeDict.values()) - {np.object_, np.void}
        ENCODERS.update(dict.fromkeys(kinds, _scalar))
        CLONERS.update(dict.fromkeys(kinds, lambda value: value))
        ENCODERS[np.void] = _void
        CLONERS[np.void] = lambda value: dec(_void(value, 1))
        CLONERS[np.ndarray] = _clone
        ENCODERS[np.ndarray] = _array
    return np


def _resolve(cls: type) -> bool:
    if cls.__module__ != "numpy":
        return False
    _numpy()
    return cls in ENCODERS


RESOLVERS.insert(0, _resolve)

# --- dtypes ---------------------------------------------------------------------------------------


def _write_dtype(dtype: Any, owner: object) -> Json:
    np = _numpy()
    if dtype.hasobject or dtype.metadata:
        raise Refusal(owner, f"dtype {dtype} is not plain data: convert the array first")
    if dtype.char in _LONG:
        return str(dtype.char)
    description = np.lib.format.dtype_to_descr(dtype)
    if np.lib.format.descr_to_dtype(description) != dtype:
        raise Refusal(owner, f"dtype {dtype} cannot be written down: convert the array first")
    return enc(description, 1)


def _read_dtype(tree: Json) -> Any:
    np = _numpy()
    description = dec(tree)
    if type(description) not in (str, list, tuple):
        raise damaged("$array", "a dtype", tree)
    dtype = np.dtype(description) if description in _LONG else np.lib.format.descr_to_dtype(description)
    if dtype.hasobject or _write_dtype(dtype, None) != tree:
        raise damaged("$array", "a dtype of plain data", tree)
    return dtype


# --- arrays ---------------------------------------------------------------------------------------


def _order(value: Any) -> str:
    return "F" if value.flags.f_contiguous and not value.flags.c_contiguous else "C"


def _even(value: Any) -> Any:
    """The array with zeros between its fields, where otherwise anything may lie."""
    if value.dtype.fields is None:
        return value
    even = _numpy().zeros(value.shape, value.dtype, _order(value))
    _copy(value, even)
    return even


def _copy(source: Any, target: Any) -> None:
    """Copy the fields alone: assigned whole, some versions of numpy copy what lies between them, too."""
    if source.dtype.names is None:
        target[...] = source
        return
    for name in source.dtype.names:
        _copy(source[name], target[name])


def _array(value: Any, depth: int) -> Json:
    tree: dict[str, Json]
    if value.dtype.char == "O" and not value.dtype.metadata:
        tree = {"$objects": items(value.ravel().tolist(), depth + 1)}
    else:
        data = b64encode(_even(value).tobytes(_order(value))).decode()
        tree = {"$array": data, "dtype": _write_dtype(value.dtype, value)}
    tree["shape"] = list(value.shape)
    if _order(value) == "F":
        tree["order"] = "F"
    return tree


def _layout(tree: dict[str, Json], tag: str) -> tuple[Any, Any]:
    """Shape and order."""
    shape, order = tree["shape"], tree.get("order", "C")
    if type(shape) is not list or any(type(side) is not int or side < 0 for side in shape):
        raise damaged(tag, "a shape", shape)
    if order not in ("C", "F"):
        raise damaged(tag, "order C or F", order)
    return tuple(shape), order


def _read_array(tree: dict[str, Json]) -> Any:
    np = _numpy()
    data = base64_of(tree, "$array", "dtype", "shape", "order")
    (shape, order), dtype = _layout(tree, "$array"), _read_dtype(tree["dtype"])
    if len(data) != prod(shape) * dtype.itemsize:
        raise damaged("$array", f"the bytes of {shape} times {dtype}", f"{len(data)} bytes")
    array = np.empty(shape, dtype, order)
    if data:
        array.reshape(-1, order=order).view(np.uint8)[:] = np.frombuffer(data, np.uint8)
    return array


def _read_objects(tree: dict[str, Json]) -> Any:
    np = _numpy()
    found = listed(tree, "$objects", "shape", "order")
    shape, order = _layout(tree, "$objects")
    flat = np.empty(len(found), object)
    for place, element in enumerate(found):
        flat[place] = dec(element)
    return flat.reshape(shape).copy(order)


def _clone(value: Any) -> Any:
    if value.dtype.hasobject or value.dtype.metadata:
        return dec(_array(value, 1))
    return value.copy(_order(value))


DECODERS["$array"] = _read_array
DECODERS["$objects"] = _read_objects

# --- scalars --------------------------------------------------------------------------------------


def _content(value: Any) -> Any:
    """The scalar as a built-in value; as its bytes where there is none of equal precision."""
    kind = value.dtype.kind
    if kind in "mM":
        return int(value.view("i8"))
    if kind == "U":
        return str.__str__(value)
    if kind == "S":
        return bytes(value)
    plain = value.item()
    return plain if type(plain) in (bool, int, float, complex) else value.tobytes()


def _scalar(value: Any, depth: int) -> Json:
    dtype = value.dtype
    written = dtype.kind if dtype.kind in "SU" else _write_dtype(dtype, value)
    return {"$number": enc(_content(value), depth + 1), "dtype": written}


def _read_scalar(tree: dict[str, Json]) -> Any:
    np = _numpy()
    content = dec(only(tree, "$number", "dtype"))
    written = tree["dtype"]
    if written in ("S", "U"):
        value = (np.bytes_ if written == "S" else np.str_)(content)
    elif type(content) is bytes:
        (value,) = np.frombuffer(content, _read_dtype(written))
    else:
        dtype = _read_dtype(written)
        value = np.int64(content).view(dtype) if dtype.kind in "mM" else dtype.type(content)
    if type(_content(value)) is not type(content):
        raise damaged("$number", f"a scalar of dtype {written}", content)
    return value


def _void(value: Any, depth: int) -> Json:
    array = _numpy().zeros((), value.dtype)
    array[()] = value
    return {"$void": part("value", array, value, depth + 1)}


def _read_void(tree: dict[str, Json]) -> Any:
    array = dec(only(tree, "$void"))
    if type(array) is not _numpy().ndarray or array.shape != ():
        raise damaged("$void", "an array without dimensions", tree["$void"])
    return array[()]


DECODERS["$number"] = _read_scalar
DECODERS["$void"] = _read_void
