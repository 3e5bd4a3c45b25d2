"""What went into a call, at what fidelity, and what was left out and why.

Rules of this module:

* A manifest holds names, sources and numbers, never the text of a section: it may be kept longer than what it tells of.
* It is plain JSON, and comes back equal. What a newer version adds is passed over.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from types import MappingProxyType
from typing import Any

from dalsegno.errors import Damaged

__all__ = ["Entry", "Manifest"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What became of one section.

    Attributes:
        name, source, trust, place, priority: as it was declared.
        wanted: the fidelity that was declared.
        fidelity: the one it was shown at.
        tokens: what it costs as shown.
        whole_tokens: what it would cost whole.
        messages: how many messages are shown; 0 for a text.
        left_out_messages: how many are not.
        why: why less is shown than was wanted; "" where nothing is.
    """

    name: str
    source: str
    trust: str
    place: str
    priority: int
    wanted: str
    fidelity: str
    tokens: int
    whole_tokens: int
    messages: int = 0
    left_out_messages: int = 0
    why: str = ""

    @property
    def left_out_tokens(self) -> int:
        """About how much of it is not shown."""
        return max(0, self.whole_tokens - self.tokens)


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What went into a call.

    Attributes:
        budget_tokens: what it was allowed to cost.
        tokens: what it costs, tools included.
        tools_tokens: what the tools cost of it.
        prefix: digest of what stands at the very beginning, tools and head; equal digests, equal bytes.
        prefix_tokens: what that costs.
        sections: in the order in which they were declared.
        withheld: sections of the declared context that this call does not get, each with the reason.
    """

    budget_tokens: int
    tokens: int
    tools_tokens: int
    prefix: str
    prefix_tokens: int
    sections: tuple[Entry, ...] = ()
    withheld: Mapping[str, str] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Entry:
        """The entry of a section.

        Raises:
            KeyError: there is none of this name.
        """
        for entry in self.sections:
            if entry.name == name:
                return entry
        raise KeyError(name)

    def to_json(self) -> dict[str, Any]:
        """The manifest as plain JSON."""
        found = {each.name: getattr(self, each.name) for each in fields(self)}
        return {**found, "sections": [asdict(entry) for entry in self.sections], "withheld": dict(self.withheld)}

    @classmethod
    def from_json(cls, tree: Any) -> Manifest:
        """The manifest behind `to_json`.

        Raises:
            Damaged: it is none.
        """
        try:
            own = {each.name: tree[each.name] for each in fields(cls) if each.name in tree}
            entries = tuple(Entry(**{each.name: part[each.name] for each in fields(Entry)}) for part in own["sections"])
            return cls(**{**own, "sections": entries, "withheld": MappingProxyType(dict(own.get("withheld", {})))})
        except (KeyError, TypeError, ValueError) as error:
            raise Damaged("manifest", expected="what a call was given, as JSON", found=str(error)) from error

    def __str__(self) -> str:
        lines = [f"{self.tokens} of {self.budget_tokens} tokens; beginning {self.prefix} ({self.prefix_tokens} tokens)"]
        for one in self.sections:
            sign = "-" if one.fidelity == "left_out" else "+"
            lines.append(
                f"  {sign} {one.name} ({one.fidelity}): {one.tokens} tokens{f'; {one.why}' if one.why else ''}"
            )
        lines += [f"  - {name} (withheld): {why}" for name, why in self.withheld.items()]
        return "\n".join(lines)
