"""The OpenAI Agents SDK over dalsegno's journal and card: `pip install 'dalsegno[openai-agents]'`.

```python
from agents import Agent, Runner
from dalsegno.openai_agents import Session, with_card

session = Session(ds, "thread-1")
agent = Agent(name="planner", instructions=with_card(ds, "thread-1", "You plan launches."))
await Runner.run(agent, "Go on as agreed.", session=session)
```
"""

from dalsegno.core.extras import require

require("agents", "openai-agents")

from dalsegno.openai_agents.instructions import with_card  # noqa: E402 - after the check that the SDK is here
from dalsegno.openai_agents.session import KEEPER, Session  # noqa: E402 - as above

__all__ = ["KEEPER", "Session", "with_card"]
