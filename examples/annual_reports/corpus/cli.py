"""`ingest` and `search` on a command line; `add_to` mounts them beside other commands.

Rules of this module:

* What failed is said in a line of its own, and the exit code is 1. What was ingested before it stays.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from examples.annual_reports.corpus.index import Index
from examples.annual_reports.corpus.ingesting import ingest
from examples.annual_reports.corpus.passages import Document, IndexMismatch

__all__ = ["add_to", "run"]

DEFAULT_INDEX = Path("annual_reports.index")


def add_to(commands: Any) -> None:
    """Add both commands to the subparsers of a program; each sets `run`, called with what was parsed.

    Args:
        commands: what `ArgumentParser.add_subparsers` gives.
    """
    taking = commands.add_parser("ingest", help="take reports into an index: PDFs, page-tagged text, folders of them")
    taking.add_argument("path", type=Path, metavar="DIR", help="a folder or a file")
    taking.add_argument("--company", help="whose they are, instead of what they say")
    taking.add_argument("--fiscal-year", type=int, help="which year they are of, instead of what they say")
    finding = commands.add_parser("search", help="what the index gives for a question")
    finding.add_argument("question")
    finding.add_argument("--company", help="whose reports; by the names in the question if left out")
    finding.add_argument("--year", type=int, action="append", help="a fiscal year to keep to; may be said again")
    for command, does in ((taking, _ingest), (finding, _search)):
        command.add_argument("--index", type=Path, default=DEFAULT_INDEX, help="the index file")
        command.set_defaults(run=does)


def run(asked: argparse.Namespace) -> int:
    """Run what was parsed; the exit code is its verdict."""
    does: Callable[[argparse.Namespace], int] = asked.run
    try:
        return does(asked)
    except (IndexMismatch, FileNotFoundError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def _ingest(asked: argparse.Namespace) -> int:
    began = time.perf_counter()
    told = ingest(
        asked.path,
        asked.index,
        company=asked.company,
        fiscal_year=asked.fiscal_year,
        progress=_progress if sys.stderr.isatty() else None,
    )
    for document in told.documents:
        print(_line(document))
    if not told.documents:
        print(f"{asked.path}: no .pdf, .txt or .jsonl in it")
    pages = sum(document.pages for document in told.documents if document.status != "unchanged")
    print(f"{len(told.documents)} documents, {pages} pages read in {time.perf_counter() - began:.1f} s: {asked.index}")
    return int(bool(told.failed) or not told.documents)


def _line(document: Document) -> str:
    if document.status == "failed":
        return f"failed     {document.source}: {document.problem}"
    year = f"FY{document.fiscal_year}" if document.fiscal_year is not None else "year unknown"
    return (
        f"{document.status:<10} {document.source}: {document.company}, {year}, {document.pages} pages, "
        f"{document.passages} passages, {document.tables} of them tables"
    )


def _progress(source: str, page: int, pages: int) -> None:
    print(f"\r{source}: page {page} of {pages}", end="\n" if page == pages else "", file=sys.stderr, flush=True)


def _search(asked: argparse.Namespace) -> int:
    with Index.open(asked.index) as index:
        companies = [asked.company] if asked.company else index.company_of(asked.question)
        if not companies:
            print(f"whose? The index has {', '.join(index.companies())}: name one, or say --company")
            return 1
        for company in companies:
            for found in index.search(company, asked.question, years=asked.year):
                print(f"[{found.rank}] {found.passage.header}  {found.passage.source}  ({found.score:.2f})")
                print("    " + " / ".join(found.passage.text.splitlines())[:200])
    return 0
