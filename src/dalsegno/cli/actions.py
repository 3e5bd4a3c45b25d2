"""`dalsegno actions`: what was done to the world, what nobody knows, and what waits for someone.

Rules of this module:

* A decision counts for the action as it stands when the command runs, and says who made it: `--by`, else the user.
* After a decision the next step is said: a worker goes on with the run that waited, or which call goes on.
* A reconciler is code, so it is named by whoever runs the command, never by what a database holds.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from dalsegno.cli.frame import Frame, command
from dalsegno.cli.output import as_json, plain
from dalsegno.cli.targets import target
from dalsegno.cli.text import clip, shown, time
from dalsegno.core.action_policy import ActionPolicy
from dalsegno.core.actions import State
from dalsegno.core.standing import RunStatus
from dalsegno.errors import Misuse

if TYPE_CHECKING:
    from collections.abc import Mapping

    import dalsegno
    from dalsegno.services.action_rows import Action

__all__ = ["register"]

_SHORT: Final = 12
_STYLES: Final = {"unknown": "red", "failed": "red", "awaiting_approval": "yellow", "running": "green"}

Id = Annotated[str, typer.Argument(metavar="ACTION", help="The action's id, or enough of its beginning.")]
By = Annotated[str | None, typer.Option(metavar="NAME", help="Who decides; --user if left out.")]
Why = Annotated[str | None, typer.Option(metavar="TEXT", help="How that is known, or a reason.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    room = typer.Typer(
        help="Effects on the world: list, show, approve, reject, resolve, reconcile.", no_args_is_help=True
    )
    command(room, "list")(list_actions)
    command(room, "show")(show)
    command(room, "approve")(approve)
    command(room, "reject")(reject)
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
    if state is not None and state not in {*State}:
        msg = f"--state {state}: an action is {', '.join(State)}"
        raise Misuse(msg)
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
    _decide(frame, action, "reject" if reject else "approve", by=by, why=why)


def reject(frame: Frame, *, action: Id, by: By = None, why: Why = None) -> None:
    """Decide that an action that waits for approval is not to be done; the run that asked is told so."""
    _decide(frame, action, "reject", by=by, why=why)


def resolve(
    frame: Frame,
    *,
    action: Id,
    outcome: Annotated[str, typer.Argument(metavar="OUTCOME", help="`succeeded`, `failed` or `retry`.")],
    by: By = None,
    why: Why = None,
    result: Annotated[
        str | None, typer.Option(metavar="JSON", help="With `succeeded`: what the call came back with.")
    ] = None,
) -> None:
    """Say what became of an action whose end is unknown. `retry` lets it be done; `failed` is told to who asked."""
    if outcome not in ("succeeded", "failed", "retry"):
        msg = f"{outcome!r} is no outcome; use succeeded, failed or retry"
        raise Misuse(msg)
    if result is not None and outcome != "succeeded":
        msg = f"--result with {outcome}: only an action that succeeded came back with something; nothing was changed"
        raise Misuse(msg, step="leave it out, or put it into --why")
    _decide(frame, action, outcome, by=by, why=why, result=None if result is None else _json(result))


def reconcile(
    frame: Frame,
    *,
    action: Id,
    using: Annotated[str, typer.Option("--using", metavar="MODULE:FUNCTION", help="The reconciler.")],
) -> None:
    """Let a reconciler look at an action whose end is unknown. Nothing is run."""
    function = target(using, "function")
    if not callable(function):
        msg = f"--using {using}: that is {type(function).__name__}, no function"
        raise Misuse(msg)
    with frame.connect() as ds:
        seen = ds.actions.get(action)
        ds.actions.know(seen.name, ActionPolicy(kind=seen.kind, recipient=lambda arguments: None, reconcile=function))
        found = ds.actions.reconcile(seen.action_id)
        _tell(frame, found)
        if found.state is State.UNKNOWN:
            who = frame.proposal("actions", "resolve", found.action_id[:_SHORT], "OUTCOME", "--by", "NAME")
            frame.out.note(f"the reconciler cannot tell; say what you found: {who}")
        elif found.version != seen.version:
            _next(frame, ds, found)


def _decide(frame: Frame, action: str, decision: str, *, by: str | None, why: str | None, result: Any = None) -> None:
    with frame.connect() as ds:
        found = ds.actions.resolve(action, decision, by=by, why=why, result=result)
        _tell(frame, found)
        _next(frame, ds, found)


def _next(frame: Frame, ds: dalsegno.Dalsegno, action: Action) -> None:
    """Say how it goes on after a decision."""
    thread = action.thread_id
    run = ds.runs.get(thread)
    if run.status is RunStatus.ORPHANED or (run.status is RunStatus.RUNNING and run.note is not None):
        when = " when its lease has ended" if run.status is RunStatus.RUNNING else ""
        worker = frame.proposal("worker", "MODULE:GRAPH")
        frame.out.note(
            f"thread {thread} goes on with this answer{when}: a running worker does it, or {worker}, or in a program "
            f"dalsegno.resume(graph, {thread!r})"
        )
    elif run.status is RunStatus.PARKED:
        frame.out.note(f"the run of thread {thread} is parked; let it go on: {frame.proposal('runs', 'retry', thread)}")
    else:
        frame.out.note(_WHAT_CALLS_DO[action.state])


_WHAT_CALLS_DO: Final[Mapping[State, str]] = {
    State.PENDING: "no run waits for this; the same call, made again, does it",
    State.SUCCEEDED: "no run waits for this; the same call, made again, gets the result, and nothing is done twice",
    State.FAILED: "no run waits for this; the same call, made again, begins anew",
}
"""What happens after a decision on an action that no run waits for."""


def _json(text: str) -> Any:
    """The value of `--result`."""
    try:
        return json.loads(text, parse_constant=_no_constant, parse_float=_finite, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        msg = f"--result {clip(text, 60)}: no JSON ({error}); nothing was changed"
        raise Misuse(
            msg, step="""write a text in its own quotes, such as --result '"r-7"', or --result '{"id": 7}'"""
        ) from None


def _no_constant(word: str) -> Any:
    msg = f"{word} is none of its values"
    raise ValueError(msg)


def _finite(word: str) -> float:
    value = float(word)
    return value if math.isfinite(value) else _no_constant(clip(word, 20))


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object, unless it says two things of one name: which of them is meant nobody can tell."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(name for place, (name, _) in enumerate(pairs) if name in dict(pairs[:place]))
        msg = f"{clip(twice, 20)!r} stands in it twice"
        raise ValueError(msg)
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
