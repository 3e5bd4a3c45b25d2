"""A conversation is played by a real LangGraph agent, killed in mid-step, and picked up by a new process.

The room reads no environment and prints nothing: `perform` returns an `Outcome`, and the command line shows it.
"""

from __future__ import annotations

from dalsegno.demo.outcome import Outcome
from dalsegno.demo.performance import perform
from dalsegno.demo.script import BUILT_IN, Moment, Script

__all__ = ["BUILT_IN", "Moment", "Outcome", "Script", "perform"]
