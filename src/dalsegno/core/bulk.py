"""Making many objects at once.

Rules of this module:

* CPython's cycle collector counts allocations: building thousands of messages that all stay alive makes it walk the
  whole heap again and again and find nothing, which costs twenty times the building. While a state is built, the
  collector is paused; it runs as usual right after.
* The pause is the process's, so it is kept short and nests: whoever finds the collector off leaves it off.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["collector_paused"]


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pause the cycle collector for the length of a block."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
