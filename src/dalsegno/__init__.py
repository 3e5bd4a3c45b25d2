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
from dalsegno.core.codec import register, register_module, register_types
from dalsegno.core.compaction import CompactionPolicy
from dalsegno.core.journal import Event, Kind, Undecoded
from dalsegno.core.retention import RetentionPolicy, Thin
from dalsegno.core.schema import Default, Drop, Migration, Rename, StateSchema
from dalsegno.core.summary import Summary
from dalsegno.langgraph.compaction import acompact, compact, compaction_node, render_summary
from dalsegno.langgraph.resume import afork, aresume, fork, resume
from dalsegno.langgraph.worker import Told, Upkeep, Worker

__all__ = [
    "ActionPolicy",
    "Approval",
    "CompactionPolicy",
    "Dalsegno",
    "Default",
    "Drop",
    "Event",
    "Happened",
    "Kind",
    "Migration",
    "NotHappened",
    "Rename",
    "RetentionPolicy",
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
    "compact",
    "compaction_node",
    "connect",
    "errors",
    "fork",
    "register",
    "register_module",
    "register_types",
    "render_summary",
    "resume",
]
