"""The command line of the support desk."""

from __future__ import annotations

from examples.running import run
from examples.support_desk.cli import main

if __name__ == "__main__":
    run(main)
