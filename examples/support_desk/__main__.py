"""The command line of the support desk."""

from __future__ import annotations

import sys

from examples.support_desk.cli import main

if __name__ == "__main__":
    sys.exit(main())
