"""`python -m examples.annual_reports.corpus ingest DIR` and `search QUESTION`."""

from __future__ import annotations

import argparse

from examples import running
from examples.annual_reports.corpus.cli import add_to, run

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m examples.annual_reports.corpus", description=__doc__)
    add_to(parser.add_subparsers(required=True))
    asked = parser.parse_args()
    running.run(lambda: run(asked))
