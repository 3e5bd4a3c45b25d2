"""Who gives way when a call is over its budget.

Rules of this module, in this order:

1. Every section begins at the fidelity it was declared with.
2. While the whole is over the budget, the section with the lowest priority (of equals the one declared last) goes down
   its levels, one by one, until the whole fits or it has none left; then the next one. What declares no levels never
   gives way.
3. Then those that gave way are asked again, the highest priority first: each goes back up to the highest level for
   which there is room now. So no room lies idle because a large section went after a small one.
4. What is over the budget with every section at its least is an error that names what that least consists of.
"""

from __future__ import annotations

from collections.abc import Sequence

from dalsegno.core.context.sections import Fidelity
from dalsegno.core.context.showing import Part, Shown
from dalsegno.errors import BudgetTooSmall

__all__ = ["fit"]

_ENOUGH = 1 << 40


def fit(parts: Sequence[Part], budget_tokens: int, fixed_tokens: int) -> list[Shown]:
    """Decide how each section is shown.

    Args:
        parts: the sections, as declared.
        budget_tokens: what the call may cost.
        fixed_tokens: what it costs beside its sections: tools, and the words around them.

    Returns:
        One for each section; together within the budget.

    Raises:
        BudgetTooSmall: the least of all does not fit.
    """
    shown = [_first(part) for part in parts]
    steps = [1] * len(parts)

    def room_for(at: int) -> int:
        return budget_tokens - fixed_tokens - sum(each.tokens for place, each in enumerate(shown) if place != at)

    order = sorted(range(len(parts)), key=lambda at: (parts[at].section.priority, -at))
    for at in order:
        levels = parts[at].section.levels
        while shown[at].tokens > room_for(at) and steps[at] < len(levels):
            found = parts[at].at(levels[steps[at]], room_for(at))
            steps[at] += 1
            if found is None and steps[at] == len(levels):
                found = parts[at].at(levels[-1], _ENOUGH)  # its least, for the error to name
            if found is not None and found.tokens <= shown[at].tokens:
                shown[at] = found
    over = fixed_tokens + sum(each.tokens for each in shown) - budget_tokens
    if over > 0:
        raise _error(parts, shown, budget_tokens, fixed_tokens, over)
    for at in reversed(order):
        if steps[at] > 1:
            shown[at] = _best(parts[at], shown[at], room_for(at))
    return shown


def _first(part: Part) -> Shown:
    found = part.at(part.section.levels[0], _ENOUGH)
    return found if found is not None else Shown(fidelity=Fidelity.LEFT_OUT, tokens=0)


def _best(part: Part, now: Shown, room: int) -> Shown:
    for level in part.section.levels:
        found = part.at(level, room)
        if found is not None and found.tokens <= room:
            return found if found.tokens >= now.tokens else now
    return now


def _error(
    parts: Sequence[Part], shown: Sequence[Shown], budget_tokens: int, fixed_tokens: int, over: int
) -> BudgetTooSmall:
    least = {part.section.name: each.tokens for part, each in zip(parts, shown, strict=True) if each.tokens}
    if fixed_tokens:
        least["tools and marks"] = fixed_tokens
    return BudgetTooSmall(budget_tokens=budget_tokens, minimum=budget_tokens + over, least=least)
