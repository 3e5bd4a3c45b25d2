"""The command line of the reopened topic."""

from __future__ import annotations

from examples.reopened_topic.cli import main
from examples.running import run

if __name__ == "__main__":
    run(main)
