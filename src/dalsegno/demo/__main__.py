"""`python -m dalsegno.demo`: do one job of the demo, as its own process.

Rules of this module:

* The job comes as one JSON document on standard input, never as an argument: a URL may hold a password, and arguments
  can be read by anyone on the machine.
* Reports go out as one JSON line each, written whole and at once, so that nothing is lost with the process.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from typing import Any

from dalsegno.demo.child import Job, perform
from dalsegno.demo.process import family_of
from dalsegno.errors import DalsegnoError


def _main() -> int:
    lock = threading.Lock()

    def tell(report: dict[str, Any]) -> None:
        line = json.dumps(report).encode() + b"\n"
        with lock:
            while line:
                line = line[os.write(1, line) :]

    try:
        perform(Job.from_json(sys.stdin.read()), tell)
    except DalsegnoError as error:
        tell({"event": "failed", "family": family_of(error), "message": str(error)})
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(_main())
