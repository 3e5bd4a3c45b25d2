"""Arithmetic for questions about reports: exact, from figures that stand in the material, by rules or by a model.

`calculate` computes an expression. `RuleCalculator` and `AgentCalculator` make a `Worked` of a question and what it is
about.
"""

from examples.annual_reports.calculator.agent import AgentCalculator
from examples.annual_reports.calculator.expressions import CalculationError, calculate
from examples.annual_reports.calculator.rules import RuleCalculator
from examples.annual_reports.calculator.working import Calculator, Worked

__all__ = ["AgentCalculator", "CalculationError", "Calculator", "RuleCalculator", "Worked", "calculate"]
