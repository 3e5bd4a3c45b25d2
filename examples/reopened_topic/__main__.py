"""The command line of the reopened topic."""

from __future__ import annotations

import sys

from examples.reopened_topic.cli import main

if __name__ == "__main__":
    sys.exit(main())
