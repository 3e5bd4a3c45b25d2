"""`dalsegno lint`: what is wrong with a graph's state before it runs.

Rules of this module:

* What is imported is what the command line names, as Python would import it from the working directory; nothing else.
* Exits with 0 when no error was found, with 1 when one was. `--strict` makes errors of warnings.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dalsegno.cli import targets
from dalsegno.cli.frame import Frame, command
from dalsegno.cli.text import counted, shown
from dalsegno.core.failures import wording
from dalsegno.core.lint_rules import lint as lint_graph
from dalsegno.core.sarif import sarif as sarif_log
from dalsegno.core.schema import StateSchema
from dalsegno.errors import Misuse
from dalsegno.langgraph.linting import builder_of, facts_of, schema_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dalsegno.core.lint import LintFinding

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "lint")(lint)


def lint(
    frame: Frame,
    *,
    target: Annotated[str, typer.Argument(metavar="MODULE:GRAPH", help="A graph, or a function that returns one.")],
    strict: Annotated[bool, typer.Option("--strict", help="Make errors of warnings.")] = False,
    sarif: Annotated[Path | None, typer.Option("--sarif", metavar="FILE", help="Write SARIF 2.1.0 there.")] = None,
    schema: Annotated[
        str | None, typer.Option("--schema", metavar="MODULE:NAME", help="The state's StateSchema, if it is elsewhere.")
    ] = None,
    example: Annotated[
        str | None,
        typer.Option("--example", metavar="MODULE:NAME", help="A state in use, or a function that returns one."),
    ] = None,
) -> None:
    """Look for what will fail, lose something or cost too much. Exits with 0 without an error, with 1 with one."""
    found = targets.target(target)
    made = _called(found, target)
    builder = builder_of(made)
    known = _schema(schema) if schema is not None else schema_of(made) or _beside(target)
    state = _example(example) if example is not None else None
    findings = [
        finding
        for facts in facts_of(builder, target.partition(":")[2], schema=known, example=state)
        for finding in lint_graph(facts, strict=strict)
    ]
    if sarif is not None:
        log = sarif_log(findings, version("dalsegno"))
        sarif.write_text(json.dumps(log, indent=2) + "\n", encoding="utf-8")
    _tell(frame, target, findings)
    if any(each.level == "error" for each in findings):
        raise typer.Exit(1)


def _tell(frame: Frame, target: str, findings: Sequence[LintFinding]) -> None:
    errors = sum(each.level == "error" for each in findings)
    if frame.out.as_json:
        frame.out.document({"target": target, "findings": list(findings), "errors": errors, "clean": not findings})
        return
    for each in findings:
        head = shown(f"{each.level}: ", "red" if each.level == "error" else "yellow")
        frame.out.lines(head + shown(f"{each.rule} ", "bold") + shown(each.subject) + shown(f"  {each.place}", "dim"))
        frame.out.lines(shown(f"  {each.why}."))
        frame.out.lines(shown(f"  → {each.fix}."))
    if findings:
        frame.out.note(f"{counted(errors, 'error')}, {counted(len(findings) - errors, 'warning')}")
    else:
        frame.out.lines(shown("clean", "green"))


def _called(found: Any, name: str) -> Any:
    """The graph itself, where what was named is a function that makes it."""
    if not callable(found) or hasattr(found, "builder") or hasattr(found, "compile"):
        return found
    if inspect.iscoroutinefunction(found):
        msg = f"{name} is a coroutine function; let a plain function make the graph"
        raise Misuse(msg)
    try:
        return found()
    except Exception as error:
        said = " ".join(wording(error).split()) or "no message"
        msg = f"{name}() failed: {type(error).__name__}: {said}; give a function that makes the graph without arguments"
        raise Misuse(msg) from error


def _schema(name: str) -> StateSchema:
    found = targets.target(name, "schema")
    if not isinstance(found, StateSchema):
        msg = f"--schema {name}: that is {type(found).__name__}; name a dalsegno.StateSchema"
        raise Misuse(msg)
    return found


def _beside(target: str) -> StateSchema | None:
    """The one schema in the graph's own module, where there is one."""
    module = sys.modules[target.partition(":")[0]]
    found = {id(value): value for value in vars(module).values() if isinstance(value, StateSchema)}
    return next(iter(found.values())) if len(found) == 1 else None


def _example(name: str) -> Mapping[str, Any]:
    found = _called(targets.target(name, "example"), name)
    if not isinstance(found, Mapping):
        msg = f"--example {name}: that is {type(found).__name__}; name a dictionary of the state's fields"
        raise Misuse(msg)
    return found
