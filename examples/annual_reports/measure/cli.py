"""`measure`: retrieval, arithmetic, ingestion; each on its own, so that one is not read off another.

Rules of this module:

* Numbers come with what they are beside. Nothing is downloaded: the data folder is named by `--data`, or by
  `DALSEGNO_TEST_DATA`.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from examples.annual_reports.measure import routes
from examples.annual_reports.measure.arithmetic import measure_arithmetic
from examples.annual_reports.measure.caching import measure_cache
from examples.annual_reports.measure.ingestion import measure_ingestion
from examples.annual_reports.measure.retrieval import Retrieved, measure_retrieval

__all__ = ["add_to", "measure"]


def add_to(commands: Any) -> None:
    """Add `measure` to the subparsers of a program; it sets `run`, called with what was parsed."""
    command = commands.add_parser("measure", help="retrieval, arithmetic and ingestion on real documents")
    command.add_argument("what", nargs="*", metavar="WHAT", help=f"of {', '.join(_ALL)}; all if left out")
    command.add_argument(
        "--data",
        type=Path,
        default=Path(os.environ.get("DALSEGNO_TEST_DATA", "data")),
        help="the folder with financebench, finqwen_zh and tatqa (default: DALSEGNO_TEST_DATA)",
    )
    command.add_argument("--each", action="store_true", help="of retrieval, every question with its rank")
    command.set_defaults(run=measure)


def measure(asked: argparse.Namespace) -> int:
    """Measure what was asked for; the exit code is 2 where the data is not there."""
    if unknown := [what for what in asked.what if what not in _ALL]:
        print(f"error: no measurement {', '.join(unknown)}; there are {', '.join(_ALL)}", file=sys.stderr)
        return 2
    try:
        for what in asked.what or _ALL:
            _ALL[what](asked)
    except FileNotFoundError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _retrieval(asked: argparse.Namespace) -> None:
    print("| questions | way | among 8 | first | first three | MRR |\n|---|---|---|---|---|---|")
    measured = measure_retrieval(asked.data)
    for of in measured:
        count = len(of.questions)
        for side in of.sides:
            cells = (of.set, side.name, f"{side.found} of {count}", f"{side.within(1)}", f"{side.within(3)}")
            print(f"| {' | '.join(cells)} | {side.mrr:.2f} |")
    for of in measured:
        if of.set == "TAT-QA":
            continue  # its pages are of many companies
        print(f"{of.set}: company recognised in {of.companies_recognised} of {len(of.questions)} questions")
        if asked.each:
            _each(of)


def _each(of: Retrieved) -> None:
    for number, question in enumerate(of.questions):
        ranks = ", ".join(f"{side.name} {side.ranks[number] or '-'}" for side in of.sides)
        print(f"  {question.text}  [p. {', '.join(map(str, sorted(question.pages)))}]  {ranks}")


def _arithmetic(asked: argparse.Namespace) -> None:
    of = measure_arithmetic(asked.data)
    print(f"derivations: {of.derivations_right} of {of.questions} give the answer, {of.derivations_refused} refused")
    print(f"by rules: {of.right} of {of.questions} right, {of.wrong} wrong, {of.unanswered} not answered")
    print("| operation | right | wrong | not answered |\n|---|---|---|---|")
    for operation, counts in of.by_operation.items():
        print(f"| {operation} | {' | '.join(map(str, counts))} |")


def _ingestion(asked: argparse.Namespace) -> None:
    print("| document | pages | passages | tables | CPU seconds | ms a page | memory | index |")
    print("|---|---|---|---|---|---|---|---|")
    for of in measure_ingestion(asked.data):
        cells = (
            of.source,
            str(of.pages),
            str(of.passages),
            str(of.tables),
            f"{of.seconds:.1f}",
            f"{1000 * of.seconds / of.pages:.0f}",
            f"{of.memory_kb / 1024:.0f} MB",
            f"{of.index_bytes / (1 << 20):.1f} MB",
        )
        print(f"| {' | '.join(cells)} |")


def _cache(asked: argparse.Namespace) -> None:  # noqa: ARG001 - as every measurement
    of = measure_cache()
    print(f"answer cache: {of.questions} questions stored, {3 * of.questions} looked up")
    print(f"same words: {of.again} of {of.questions} are hits; other words: {of.reworded} of {of.questions}")
    print(f"false hits: {of.false}; hits for a year that was never asked about: {of.swapped} of {of.questions}")


def _routing(asked: argparse.Namespace) -> None:  # noqa: ARG001 - as every measurement
    covered, all_ways = routes.taken(), routes.wanted()
    functions = len({name for name, _ in all_ways})
    ways = f"{len(covered & all_ways)} of {len(all_ways)} ways"
    print(f"routing: {len(routes.TABLE)} cases take {ways} of {functions} functions")


_ALL: dict[str, Callable[[argparse.Namespace], None]] = {
    "retrieval": _retrieval,
    "arithmetic": _arithmetic,
    "ingestion": _ingestion,
    "cache": _cache,
    "routing": _routing,
}
