"""`dalsegno actions`: what was done to the world, what nobody knows, and what waits for someone.

Rules of this module:

* A decision counts for the action as it stands when the command runs, and says who made it: `--by`, else the user.
* A reconciler is code, so it is named by whoever runs the command, never by what a database holds.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from dalsegno.cli.frame import Frame, command
from dalsegno.cli.output import as_json, plain
from dalsegno.cli.text import clip, shown, time
from dalsegno.core.action_policy import ActionPolicy
from dalsegno.errors import Misuse

if TYPE_CHECKING:
    from dalsegno.services.action_rows import Action

__all__ = ["register"]

_SHORT: Final = 12
_STYLES: Final = {"unknown": "red", "failed": "red", "awaiting_approval": "yellow", "running": "green"}

Id = Annotated[str, typer.Argument(metavar="ACTION", help="The action's id, or enough of its beginning.")]
By = Annotated[str | None, typer.Option(metavar="NAME", help="Who decides; --user if left out.")]
Why = Annotated[str | None, typer.Option(metavar="TEXT", help="How that is known, or a reason.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    room = typer.Typer(help="Effects on the world: list, show, approve, resolve, reconcile.", no_args_is_help=True)
    command(room, "list")(list_actions)
    command(room, "show")(show)
    command(room, "approve")(approve)
    command(room, "resolve")(resolve)
    command(room, "reconcile")(reconcile)
    app.add_typer(room, name="actions")


def list_actions(
    frame: Frame,
    *,
    thread: Annotated[str | None, typer.Option(metavar="THREAD", help="Those of this thread only.")] = None,
    state: Annotated[str | None, typer.Option(metavar="STATE", help="Those in this state only.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="How many at most.")] = 50,
) -> None:
    """List actions, the oldest first."""
    with frame.connect() as ds:
        found = ds.actions.list(thread, state=state, limit=limit)
    if frame.out.as_json:
        frame.out.document([plain(each) for each in found])
        return
    if not found:
        frame.out.note("no actions")
        return
    table = frame.out.table("action", "thread", "name", "state", "tries#", "changed", "arguments")
    for each in found:
        table.add_row(
            shown(each.action_id[:_SHORT]),
            shown(each.thread_id),
            shown(each.name),
            shown(each.state, _STYLES.get(each.state, "")),
            shown(str(each.attempts)),
            shown(time(each.updated_at)),
            shown(clip(as_json(each.arguments), 60)),
        )
    frame.out.show(table)


def show(frame: Frame, *, action: Id) -> None:
    """Show one action with all that is known about it."""
    with frame.connect() as ds:
        _tell(frame, ds.actions.get(action))


def approve(
    frame: Frame,
    *,
    action: Id,
    by: By = None,
    why: Why = None,
    reject: Annotated[bool, typer.Option("--reject", help="Decide that it is not to be done.")] = False,
) -> None:
    """Approve an action that waits for it, with exactly the arguments that `show` shows."""
    with frame.connect() as ds:
        _tell(frame, ds.actions.approve(action, by=by, why=why, reject=reject))


def resolve(
    frame: Frame,
    *,
    action: Id,
    outcome: Annotated[str, typer.Argument(metavar="OUTCOME", help="`succeeded`, `failed` or `retry`.")],
    by: By = None,
    why: Why = None,
) -> None:
    """Say what became of an action whose end is unknown; `failed` and `retry` let it be done."""
    if outcome not in ("succeeded", "failed", "retry"):
        msg = f"{outcome!r} is no outcome; use succeeded, failed or retry"
        raise Misuse(msg)
    with frame.connect() as ds:
        _tell(frame, ds.actions.resolve(action, outcome, by=by, why=why))


def reconcile(
    frame: Frame,
    *,
    action: Id,
    using: Annotated[str, typer.Option("--using", metavar="MODULE:FUNCTION", help="The reconciler.")],
) -> None:
    """Let a reconciler look at an action whose end is unknown. Nothing is run."""
    function = _loaded(using)
    with frame.connect() as ds:
        found = ds.actions.get(action)
        ds.actions.know(found.name, ActionPolicy(kind=found.kind, recipient=lambda arguments: None, reconcile=function))
        _tell(frame, ds.actions.reconcile(found.action_id))


def _loaded(name: str) -> Any:
    """The function that `module:function` names, as the caller wrote it."""
    module, _, function = name.partition(":")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        found = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        msg = f"--using {name}: {error}; write it as module:function, as Python would import it"
        raise Misuse(msg) from error
    if not callable(found):
        msg = f"--using {name}: that is no function"
        raise Misuse(msg)
    return found


def _tell(frame: Frame, action: Action) -> None:
    if frame.out.as_json:
        frame.out.document({**plain(action), "ticket": action.ticket})
        return
    table = frame.out.pairs()
    for name, value in plain(action).items():
        if value is not None:
            told = value if isinstance(value, str) else as_json(value)
            table.add_row(shown(name, "dim"), shown(clip(told), _STYLES.get(told, "")))
    frame.out.show(table)
