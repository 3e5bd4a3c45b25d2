"""The command line: `dalsegno COMMAND`."""

from __future__ import annotations

from dalsegno.cli.app import app, main

__all__ = ["app", "main"]
