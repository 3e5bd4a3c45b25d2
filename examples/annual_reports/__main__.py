"""The command line of the analyst."""

from __future__ import annotations

import sys

from examples.running import run

try:
    from examples.annual_reports.cli import main
except ModuleNotFoundError as missing:
    if str(missing.name).startswith("examples"):
        raise
    sys.exit(f"error: {missing.name} is not installed; from the repository's root: pip install '.[examples]'")

if __name__ == "__main__":
    run(main)
