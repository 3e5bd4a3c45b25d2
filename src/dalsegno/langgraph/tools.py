"""Tools whose calls are actions: for LangGraph's tool node and for LangChain's agents.

Rules of this module:

* Only tools that were named are actions; every other call passes through untouched.
* The step of a call is the tool call's id. Its arguments are what the model gave and the tool's own defaults; what the
  framework injects is no part of them.
* A result that a tool call gets from the ledger is addressed to that call, whichever call it was once for.
* An error that the node has turned into a message is a failure for the ledger, and goes to the model as it came.
* What a person decides against goes to the model as an error of the tool; it may go on without.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future, wait
from dataclasses import replace
from typing import Any, Protocol, TypeAlias

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from langgraph.prebuilt import ToolNode
from langgraph.prebuilt.tool_node import ToolCallRequest, msg_content_output
from langgraph.types import Command
from pydantic import BaseModel

from dalsegno.core.action_policy import ActionPolicy
from dalsegno.errors import ActionFailed, ActionRejected, Misuse
from dalsegno.langgraph.acting import Actor
from dalsegno.langgraph.injected import hints_of, injected
from dalsegno.langgraph.place import here
from dalsegno.services.performing import Job

__all__ = ["ActionToolNode", "HasActions", "ToolActions"]

Result: TypeAlias = ToolMessage | Command[Any]

_KEY = "idempotency_key"
_DONE = "This was done before; what it came back with is not known."


class HasActions(Protocol):
    """What an open database is here."""

    actions: Any


class ToolError(Exception):
    """A tool's error that its node has turned into a message."""

    def __init__(self, message: ToolMessage) -> None:
        super().__init__(str(message.text))
        self.message = message


class ToolActions:
    """Passes the calls of some tools through the ledger."""

    def __init__(self, ds: HasActions, actions: Mapping[str, ActionPolicy]) -> None:
        """Take the database and, by tool name, how calls are actions.

        Raises:
            Misuse: a policy is something else.
        """
        given: Mapping[str, Any] = actions
        for name, policy in given.items():
            if not isinstance(policy, ActionPolicy):
                msg = f"actions[{name!r}] is a dalsegno.ActionPolicy, not {type(policy).__name__}"
                raise Misuse(msg)
        self._actor: Actor = ds.actions.actor
        self._policies = dict(actions)
        self._lock = threading.Lock()
        self._going: dict[bytes, Future[None]] = {}
        for name, policy in actions.items():
            ds.actions.know(name, policy)

    @property
    def names(self) -> frozenset[str]:
        """The tools whose calls are actions."""
        return frozenset(self._policies)

    def wrap(self, request: ToolCallRequest, execute: Callable[[ToolCallRequest], Any]) -> Any:
        """A tool node's `wrap_tool_call`."""
        job = self._job(request)
        if job is None:
            return execute(request)
        full = _with_key(request, job)
        mine = self._line(job.key)
        try:
            return _addressed(self._actor.perform(job, lambda: _checked(execute(full))), request)
        except (ActionRejected, ActionFailed) as error:
            return _refusal(error, request)
        except ToolError as error:
            return error.message
        finally:
            self._leave(job.key, mine)

    async def awrap(self, request: ToolCallRequest, execute: Callable[[ToolCallRequest], Awaitable[Any]]) -> Any:
        """A tool node's `awrap_tool_call`."""
        job = self._job(request)
        if job is None:
            return await execute(request)
        full = _with_key(request, job)

        async def effect() -> Any:
            return _checked(await execute(full))

        mine = await self._aline(job.key)
        try:
            return _addressed(await self._actor.aperform(job, effect), request)
        except (ActionRejected, ActionFailed) as error:
            return _refusal(error, request)
        except ToolError as error:
            return error.message
        finally:
            self._leave(job.key, mine)

    # Equal calls of one process queue: of two in one message the second gets the first one's result, and a run that
    # was interrupted for one call finds another that it left in the middle.

    def _line(self, key: bytes) -> Future[None]:
        """Wait until nobody here does this very action, and be the one who does."""
        while True:
            with self._lock:
                before = self._going.get(key)
                if before is None:
                    mine = self._going[key] = Future()
                    return mine
            wait([before])

    async def _aline(self, key: bytes) -> Future[None]:
        """Async face of `_line`."""
        while True:
            with self._lock:
                before = self._going.get(key)
                if before is None:
                    mine = self._going[key] = Future()
                    return mine
            await asyncio.wait([asyncio.wrap_future(before)])

    def _leave(self, key: bytes, mine: Future[None]) -> None:
        with self._lock:
            del self._going[key]
        mine.set_result(None)

    def _job(self, request: ToolCallRequest) -> Job | None:
        call = request.tool_call
        policy = self._policies.get(call["name"])
        if policy is None:
            return None
        return self._actor.job(policy, call["name"], _arguments(request.tool, call["args"]), here(call["id"]))


class ActionToolNode(ToolNode):
    """LangGraph's `ToolNode`, whose calls of some tools are actions."""

    def __init__(
        self,
        tools: Sequence[BaseTool | Callable[..., Any]],
        *,
        ds: HasActions,
        actions: Mapping[str, ActionPolicy],
        **settings: Any,
    ) -> None:
        """Take the tools, and by name how calls of some of them are actions.

        Args:
            tools: as `ToolNode` takes them.
            ds: the open database with the ledger.
            actions: by tool name; a tool that is not named is none.
            settings: what else `ToolNode` takes. Wrappers of its own stand around the ledger.

        Raises:
            Misuse: a name is no tool's, a policy is something else, or names a parameter that its tool does not have.
        """
        ledger = ToolActions(ds, actions)
        self.action_names = frozenset(actions)
        outer, aouter = settings.pop("wrap_tool_call", None), settings.pop("awrap_tool_call", None)

        def wrap(request: ToolCallRequest, execute: Callable[[ToolCallRequest], Any]) -> Any:
            if outer is None:
                return ledger.wrap(request, execute)
            return outer(request, lambda inner: ledger.wrap(inner, execute))

        async def awrap(request: ToolCallRequest, execute: Callable[[ToolCallRequest], Awaitable[Any]]) -> Any:
            if aouter is None:
                return await ledger.awrap(request, execute)
            return await aouter(request, lambda inner: ledger.awrap(inner, execute))

        if outer is not None and aouter is None:
            msg = "give awrap_tool_call beside wrap_tool_call, so that async runs go through it too"
            raise Misuse(msg)
        super().__init__(tools, wrap_tool_call=wrap, awrap_tool_call=awrap, **settings)
        unknown = sorted(set(actions) - set(self.tools_by_name))
        if unknown:
            msg = f"actions names {unknown[0]!r}, and no tool has that name; it has {', '.join(self.tools_by_name)}"
            raise Misuse(msg)
        for name, policy in actions.items():
            policy.check(name, _parameters(self.tools_by_name[name]))


def _checked(result: Any) -> Any:
    """A tool's result; an error that became a message is one again."""
    if isinstance(result, ToolMessage) and result.status == "error":
        raise ToolError(result)
    return result


def _refusal(error: Exception, request: ToolCallRequest) -> ToolMessage:
    call = request.tool_call
    return ToolMessage(content=str(error), name=call["name"], tool_call_id=call["id"] or "", status="error")


def _addressed(result: Any, request: ToolCallRequest) -> Any:
    """A result as an answer to this very call."""
    wanted = request.tool_call["id"] or ""
    if isinstance(result, ToolMessage):
        if result.tool_call_id == wanted:
            return result
        return result.model_copy(update={"tool_call_id": wanted, "id": None})
    if isinstance(result, Command):
        return _command(result, request)
    if isinstance(result, list) and result and all(isinstance(each, ToolMessage | Command) for each in result):
        return [_addressed(each, request) for each in result]
    content: Any = _DONE if result is None else msg_content_output(result)
    return ToolMessage(content=content, name=request.tool_call["name"], tool_call_id=wanted)


def _command(result: Command[Any], request: ToolCallRequest) -> Command[Any]:
    """A command whose tool messages answer this very call."""
    if not isinstance(result.update, dict):
        return result

    def part(value: Any) -> Any:
        return _addressed(value, request) if isinstance(value, ToolMessage) else value

    update = {
        name: [part(each) for each in value] if isinstance(value, list) else value
        for name, value in result.update.items()
    }
    return replace(result, update=update)


def _function(tool: BaseTool | None) -> Callable[..., Any] | None:
    found: Any = getattr(tool, "func", None) or getattr(tool, "coroutine", None)
    return found if callable(found) else None


def _fields(tool: BaseTool | None) -> Mapping[str, Any]:
    schema = getattr(tool, "args_schema", None)
    return schema.model_fields if isinstance(schema, type) and issubclass(schema, BaseModel) else {}


def _parameters(tool: BaseTool) -> list[str]:
    """What a model can give to a tool, and what the tool takes besides."""
    function = _function(tool)
    hidden = {_KEY, *(injected(function) if function is not None else ())}
    own = [] if function is None else list(inspect.signature(function).parameters)
    return [name for name in dict.fromkeys([*tool.args, *own]) if name not in hidden]


def _arguments(tool: BaseTool | None, given: Mapping[str, Any]) -> dict[str, Any]:
    """What the model gave, and the tool's defaults for the rest."""
    function = _function(tool)
    hidden = {_KEY, *(injected(function) if function is not None else ())}
    found: dict[str, Any] = {}
    for name, field in _fields(tool).items():
        if not field.is_required():
            found[name] = field.get_default(call_default_factory=True)
    if function is not None:
        for name, parameter in inspect.signature(function).parameters.items():
            if parameter.default is not inspect.Parameter.empty:
                found.setdefault(name, parameter.default)
    found.update(given)
    return {name: value for name, value in found.items() if name not in hidden}


def _with_key(request: ToolCallRequest, job: Job) -> ToolCallRequest:
    """The request with the idempotency key for a tool that takes one.

    A node takes injected arguments out of a call, so that a model cannot forge them; the key goes past it with the
    function itself.
    """
    tool = request.tool
    function = _function(tool)
    if tool is None or function is None or _KEY not in hints_of(function):
        return request
    key = job.key.hex()
    update = {name: _keyed(getattr(tool, name), key) for name in ("func", "coroutine") if getattr(tool, name, None)}
    return request.override(tool=tool.model_copy(update=update))


def _keyed(function: Callable[..., Any], key: str) -> Callable[..., Any]:
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def coroutine(*args: Any, **kwargs: Any) -> Any:
            return await function(*args, **{**kwargs, _KEY: key})

        return coroutine

    @functools.wraps(function)
    def plain(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **{**kwargs, _KEY: key})

    return plain
