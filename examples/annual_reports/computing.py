"""The calculator as a call of the graph: its rules, and its agent with each round a declared call.

Rules of this module:

* The agent keeps its loop, its tool and its bounds (`calculator/agent.py`). What its model is shown is the declared
  request: the material in fences, the question, and the agent's own growing record of calls.
* By rules, a company's statements are one material: a growth is never made of two companies' figures.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.runnables import RunnableLambda

from examples.annual_reports.calculator import AgentCalculator, RuleCalculator, Worked
from examples.annual_reports.jobs import Calculated, Calculating
from examples.annual_reports.words import bare

__all__ = ["by_agent", "by_rules", "materials"]

_OPENING = 2
"""The agent's messages before its record: instructions, and material with the question."""
_ROW = re.compile(r"^(?P<label>[^:：]{1,120}): (?P<told>FY\d{4} = .+?)(?: \((?P<unit>[^()]*)\))? (?:\[\d+\])+$")


def by_rules(given: Calculating) -> Calculated:
    """What the calculator's rules make of each company's statements."""
    found = [
        (company, RuleCalculator().work(bare(given.question), [text])) for company, text in materials(given.report)
    ]
    return _calculated([(company, worked) for company, worked in found if worked.result is not None])


def by_agent(given: Calculating, think: Callable[[Calculating], Any]) -> Calculated:
    """What the agent makes of the material; each of its rounds goes through `think`."""
    agent = AgentCalculator(_Thinking(given, think))  # type: ignore[arg-type] # it asks for tools and messages only
    return _calculated([("", agent.work(given.question, [given.report]))])


class _Thinking:
    """Stands where the agent's model does, and shows it the declared request."""

    def __init__(self, given: Calculating, think: Callable[[Calculating], Any]) -> None:
        self._given, self._think = given, think

    def bind_tools(self, tools: Sequence[Any]) -> Any:
        def reason(messages: Sequence[Any]) -> Any:
            more = {"record": tuple(messages[_OPENING:]), "tools": tuple(tools)}
            return self._think(self._given.model_copy(update=more))

        return RunnableLambda(reason)


def _calculated(found: Sequence[tuple[str, Worked]]) -> Calculated:
    lines = [f"{company}: {worked.text}" if company else worked.text for company, worked in found if worked.text]
    return Calculated(text="\n".join(lines), steps=[step for _, worked in found for step in worked.steps])


def materials(report: str) -> list[tuple[str, str]]:
    """A report's statements by company, those with years as a table again; one company's stand under no name."""
    blocks = [block.splitlines() for block in report.split("\n\n") if block.strip()]
    named = len(blocks) > 1
    return [
        (lines[0] if named else "", "\n".join(_table(line) for line in (lines[1:] if named else lines)))
        for lines in blocks
    ]


def _table(line: str) -> str:
    """A statement of several years as the table that it was taken from."""
    found = _ROW.match(line)
    if found is None:
        return re.sub(r" ?\[\d+\]", "", line)
    pairs = re.findall(r"FY(\d{4}) = ([^;]+)", found["told"])
    head = " | ".join(year for year, _ in pairs)
    return f"({found['unit'] or ''})\n | {head}\n{found['label']} | {' | '.join(value.strip() for _, value in pairs)}"
