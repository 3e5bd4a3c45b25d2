"""Pydantic AI over dalsegno's journal and card: `pip install 'dalsegno[pydantic-ai]'`.

```python
from pydantic_ai import Agent
from dalsegno.pydantic_ai import History, with_card

history = History(ds, "thread-1")
agent = Agent("openai:gpt-5", instructions=with_card(ds, "thread-1", "You plan launches."))
result = agent.run_sync("Go on as agreed.", message_history=history.load())
history.save(result.all_messages())
```
"""

from dalsegno.core.extras import require

require("pydantic_ai", "pydantic-ai")

from dalsegno.pydantic_ai.history import KEEPER, History  # noqa: E402 - after the check that the framework is here
from dalsegno.pydantic_ai.instructions import with_card  # noqa: E402 - as above

__all__ = ["KEEPER", "History", "with_card"]
