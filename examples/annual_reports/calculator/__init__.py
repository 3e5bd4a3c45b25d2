"""Arithmetic for questions about reports: exact, from figures that stand in the material, by rules or by a model.

`calculate` computes an expression. `RuleCalculator` and `AgentCalculator` take a question and its material to a `Worked`.
"""

from examples.annual_reports.calculator.agent import AgentCalculator
from examples.annual_reports.calculator.expressions import CalculationError, calculate
from examples.annual_reports.calculator.rules import RuleCalculator
from examples.annual_reports.calculator.working import Calculator, Worked

__all__ = ["AgentCalculator", "CalculationError", "Calculator", "RuleCalculator", "Worked", "calculate"]
