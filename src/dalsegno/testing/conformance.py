"""What every store must do, as a suite that runs on yours.

Rules of this module:

* All cases (see `cases`) run, whatever fails; a verdict keeps the error with its traceback. An error of the store's own
  that is no `DalsegnoError` is a failure by itself.
* Whoever writes a store runs `check_store` in a test and asserts `report.passed`; LangGraph's own conformance suite
  goes on top, over `connect_over(store).checkpointer`.

```python
from dalsegno.testing import check_store

report = check_store(lambda: MyStore(new_empty_database()))
assert report.passed, report
```
"""

from __future__ import annotations

import traceback
from dataclasses import dataclass

from dalsegno.errors import Misuse
from dalsegno.testing.cases import CASES, Case, OpenStore

__all__ = ["Conformance", "Verdict", "check_store"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What became of a case.

    Attributes:
        case: the case.
        problem: why it does not hold, with the traceback; "" when it does.
    """

    case: Case
    problem: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Conformance:
    """What became of all cases."""

    verdicts: tuple[Verdict, ...]

    @property
    def passed(self) -> bool:
        """Whether every claim holds."""
        return not any(verdict.problem for verdict in self.verdicts)

    def __str__(self) -> str:
        """The claims that do not hold, each with its reason; one line when all do."""
        failed = [verdict for verdict in self.verdicts if verdict.problem]
        if not failed:
            return f"all {len(self.verdicts)} claims hold"
        return "\n\n".join(f"{one.case.name}: {one.case.claim}\n{one.problem}" for one in failed)


def check_store(open_empty: OpenStore, *, only: str | None = None) -> Conformance:
    """Run the suite.

    Args:
        open_empty: opens a new store on an empty database; called several times, each result is closed again.
        only: the name of a single case.

    Raises:
        Misuse: there is no case of that name.
    """
    cases = [case for case in CASES if only is None or case.name == only]
    if not cases:
        msg = f"only={only!r}: no such case; there are {', '.join(case.name for case in CASES)}"
        raise Misuse(msg)
    return Conformance(verdicts=tuple(_tried(case, open_empty) for case in cases))


def _tried(case: Case, open_empty: OpenStore) -> Verdict:
    try:
        case.run(open_empty)
    except Exception:  # noqa: BLE001 - whatever a foreign store raises is its verdict
        return Verdict(case=case, problem=traceback.format_exc())
    return Verdict(case=case, problem="")
