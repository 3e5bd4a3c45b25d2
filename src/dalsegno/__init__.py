"""The continuity layer for LLM agents: journal, state, resume and fork under LangGraph.

```python
import dalsegno

ds = dalsegno.connect("sqlite:///agents.db")
graph = builder.compile(checkpointer=ds.checkpointer)
dalsegno.resume(graph, "thread-1")
```
"""

from dalsegno import errors
from dalsegno.connect import Dalsegno, connect
from dalsegno.core.action_policy import ActionPolicy, Approval, Happened, NotHappened
from dalsegno.core.budgets import Limits, Price, Spent
from dalsegno.core.codec import register, register_module, register_types
from dalsegno.core.compaction import CompactionPolicy
from dalsegno.core.context import Manifest, Section
from dalsegno.core.journal import Event, Kind, Undecoded
from dalsegno.core.ownership import Field
from dalsegno.core.retention import RetentionPolicy, Thin
from dalsegno.core.schema import Default, Drop, Migration, Rename, StateSchema
from dalsegno.core.summary import Summary
from dalsegno.langgraph.budgets import Budget, Spending
from dalsegno.langgraph.calls import call
from dalsegno.langgraph.compaction import acompact, compact, compaction_node, render_summary
from dalsegno.langgraph.compiling import check_graph, compile  # noqa: A004 - what LangGraph calls it
from dalsegno.langgraph.context import Context
from dalsegno.langgraph.resume import afork, aresume, fork, resume
from dalsegno.langgraph.sources import (
    from_documents,
    from_function,
    from_handover,
    from_messages,
    from_state,
)
from dalsegno.langgraph.worker import Told, Upkeep, Worker

__all__ = [
    "ActionPolicy",
    "Approval",
    "Budget",
    "CompactionPolicy",
    "Context",
    "Dalsegno",
    "Default",
    "Drop",
    "Event",
    "Field",
    "Happened",
    "Kind",
    "Limits",
    "Manifest",
    "Migration",
    "NotHappened",
    "Price",
    "Rename",
    "RetentionPolicy",
    "Section",
    "Spending",
    "Spent",
    "StateSchema",
    "Summary",
    "Thin",
    "Told",
    "Undecoded",
    "Upkeep",
    "Worker",
    "acompact",
    "afork",
    "aresume",
    "call",
    "check_graph",
    "compact",
    "compaction_node",
    "compile",
    "connect",
    "errors",
    "fork",
    "from_documents",
    "from_function",
    "from_handover",
    "from_messages",
    "from_state",
    "register",
    "register_module",
    "register_types",
    "render_summary",
    "resume",
]
