"""The command line of the analyst."""

from __future__ import annotations

import sys

from examples.annual_reports.cli import main

if __name__ == "__main__":
    sys.exit(main())
