"""`python -m examples.annual_reports.measure measure [retrieval] [arithmetic] [ingestion]`."""

from __future__ import annotations

import argparse

from examples.annual_reports.measure.cli import add_to
from examples.running import run

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m examples.annual_reports.measure", description=__doc__)
    add_to(parser.add_subparsers(required=True))
    asked = parser.parse_args()
    run(lambda: asked.run(asked))
