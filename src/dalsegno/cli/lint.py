"""`dalsegno lint`: what is wrong with a graph's state before it runs.

Rules of this module:

* What is imported is what the command line names, as Python would import it from the working directory; nothing else.
* Exits with 0 when no error was found, with 1 when one was. `--strict` makes errors of warnings.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dalsegno.cli.frame import Frame, command
from dalsegno.cli.text import counted, shown
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
    found = _target(target)
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


def _target(name: str) -> Any:
    """What `module:name` names, as Python would import it.

    Raises:
        Misuse: it cannot be imported, or is not there.
    """
    module, colon, path = name.partition(":")
    if not module or not colon or not path:
        msg = f"{name}: write MODULE:GRAPH, such as app.agent:graph"
        raise Misuse(msg)
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        found: Any = importlib.import_module(module)
    except Exception as error:
        said = " ".join(str(error).split()) or "no message"
        msg = f"{module} cannot be imported: {type(error).__name__}: {said}; import it in Python to see where"
        raise Misuse(msg) from error
    try:
        for part in path.split("."):
            found = getattr(found, part)
    except AttributeError as error:
        msg = f"{module} has no {path!r}; name the graph, or a function that returns one"
        raise Misuse(msg) from error
    return found


def _called(found: Any, name: str) -> Any:
    """The graph itself, where what was named is a function that makes it."""
    if not callable(found) or hasattr(found, "builder") or hasattr(found, "compile"):
        return found
    try:
        return found()
    except Exception as error:
        said = " ".join(str(error).split()) or "no message"
        msg = f"{name}() failed: {type(error).__name__}: {said}; give a function that makes the graph without arguments"
        raise Misuse(msg) from error


def _schema(name: str) -> StateSchema:
    found = _target(name)
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
    found = _called(_target(name), name)
    if not isinstance(found, Mapping):
        msg = f"--example {name}: that is {type(found).__name__}; name a dictionary of the state's fields"
        raise Misuse(msg)
    return found
