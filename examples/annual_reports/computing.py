"""The calculator as a call: what the agent, or its rules, make of the figures that were found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from examples.annual_reports.jobs import Calculated, Calculating

__all__ = ["by_agent", "by_rules"]


def by_rules() -> Callable[[Calculating], Calculated]:
    """Arithmetic without a model."""
    return lambda given: Calculated(text="")


def by_agent(model: Any) -> Callable[[Calculating], Calculated]:
    """Arithmetic by the agent."""
    return lambda given: Calculated(text="")
