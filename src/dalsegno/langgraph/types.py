"""LangChain's and LangGraph's own types, told to the codec.

Rules of this module:

* Importing it registers messages, documents and the values LangGraph puts into checkpoints and writes.
* Messages have a short form: `{"$m": "human", "content": ..., "id": ...}`. What was not set and holds its
  default is left out, and so is what every tool call has.
* A node may fail with anything. What cannot be stored of its error is told by `RecordedError`, so that the failure
  itself is.
* `register_schema` registers the classes a schema's annotations name: live classes, never names out of data.
"""

from __future__ import annotations

from typing import Any, Final

from langchain_core import documents, messages
from langgraph import errors, types
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from pydantic import networks

from dalsegno.core import codec
from dalsegno.core.codec import register
from dalsegno.core.failures import wording
from dalsegno.core.models import Model
from dalsegno.core.registry import add, default_name
from dalsegno.core.shapes import Form, Shape, one_of, sequence_of
from dalsegno.core.walk import type_name
from dalsegno.errors import NotSerializable
from dalsegno.langgraph.schemas import Classes, register_allowlist, register_channels, register_graph, register_schema

__all__ = [
    "Classes",
    "RecordedError",
    "register_allowlist",
    "register_channels",
    "register_graph",
    "register_schema",
    "storable",
]

# --- messages -------------------------------------------------------------------------------------

_COUNTS: Final = ("input_tokens", "output_tokens", "total_tokens")
_DETAILS: Final = ("input_token_details", "output_token_details")
_FORMS: Final[dict[str, Form]] = {
    "content": sequence_of(one_of(Shape(keys=("type", "text")))),
    "tool_calls": sequence_of(one_of(Shape(keys=("name", "args", "id", "type"), fixed={"type": "tool_call"}))),
    "invalid_tool_calls": sequence_of(
        one_of(Shape(keys=("name", "args", "id", "error", "type"), fixed={"type": "invalid_tool_call"}))
    ),
    "tool_call_chunks": sequence_of(
        one_of(Shape(keys=("name", "args", "id", "index", "type"), fixed={"type": "tool_call_chunk"}))
    ),
    "usage_metadata": one_of(Shape(keys=_COUNTS), Shape(keys=_COUNTS + _DETAILS)),
}
_SHORT: Final[dict[str, Any]] = {
    "human": messages.HumanMessage,
    "ai": messages.AIMessage,
    "system": messages.SystemMessage,
    "tool": messages.ToolMessage,
    "function": messages.FunctionMessage,
    "chat": messages.ChatMessage,
    "remove": messages.RemoveMessage,
    "human+": messages.HumanMessageChunk,
    "ai+": messages.AIMessageChunk,
    "system+": messages.SystemMessageChunk,
    "tool+": messages.ToolMessageChunk,
    "function+": messages.FunctionMessageChunk,
    "chat+": messages.ChatMessageChunk,
    "document": documents.Document,
}
"""Names in the short form; a plus marks a chunk."""

for _name, _cls in _SHORT.items():
    _forms = {field: form for field, form in _FORMS.items() if field in _cls.model_fields}
    _plan = Model(_cls, "$m", _name, short=True, forms=_forms).plan()
    register(_cls)  # values written before this module was imported
    add(_cls, _name, _plan, by_hand=True)
for _cls in (messages.BaseMessage, messages.BaseMessageChunk):
    register(_cls, f"langchain:{_cls.__name__}")

# --- addresses in models --------------------------------------------------------------------------

for _cls in vars(networks).values():
    if isinstance(_cls, type) and issubclass(_cls, networks.AnyUrl):
        register(_cls)

# --- LangGraph ------------------------------------------------------------------------------------

for _cls in (
    types.Send,
    types.Command,
    types.Interrupt,
    types.Overwrite,
    types.TimeoutPolicy,
    types.StateUpdate,
    types.StateSnapshot,
    types.PregelTask,
    types.GraphOutput,
    types.CacheKey,
    errors.ErrorCode,
    errors.NodeError,
    *(each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, Exception)),
):
    register(_cls, f"langgraph:{_cls.__name__}", aliases=(default_name(_cls),))
register(_DeltaSnapshot, "langgraph:DeltaSnapshot", aliases=(default_name(_DeltaSnapshot),))


# --- errors of nodes ------------------------------------------------------------------------------


@register
class RecordedError(Exception):
    """Stands for an error that cannot be stored itself, such as a driver's that holds on to its connection.

    Attributes:
        type_name: the error's type, such as `psycopg.OperationalError`.
        message: its text.
    """

    def __init__(self, type_name: str, message: str) -> None:
        super().__init__(type_name, message)
        self.type_name = type_name
        self.message = message

    def __str__(self) -> str:
        return f"{self.type_name}: {self.message}"


def storable(error: BaseException) -> BaseException:
    """The error itself if it can be stored exactly, else a `RecordedError` that tells of it."""
    try:
        codec.encode(error, "error")
    except NotSerializable:
        return RecordedError(type_name(type(error)), wording(error))
    return error
