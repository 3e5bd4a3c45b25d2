"""Plans for pydantic's addresses, such as `HttpUrl`.

Rules of this module:

* An address is written as its text and read by its own class, which must give back that text.
* pydantic is not imported here; an address brings it along.
"""

from __future__ import annotations

import sys
from typing import Any

from dalsegno.core.registry import Plan
from dalsegno.core.times import written
from dalsegno.core.tree import Json
from dalsegno.core.walk import only

__all__ = ["address"]


def address(cls: Any, name: str, *, by_hand: bool) -> Plan | None:  # noqa: ARG001 - a Kind
    """The plan for a class of pydantic's addresses."""
    pydantic = sys.modules.get("pydantic")
    if pydantic is None or not issubclass(cls, pydantic.AnyUrl) or not cls.__module__.startswith("pydantic"):
        return None

    def decode(tree: dict[str, Json]) -> object:
        only(tree, "$type", "$value")
        return written(tree["$value"], "$type", cls)

    return Plan(
        tag="$type",
        encode=lambda value, depth: {"$type": name, "$value": str(value)},
        decode=decode,
        clone=lambda value: value,
    )
