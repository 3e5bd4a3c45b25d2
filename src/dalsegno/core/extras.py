"""Packages that only some programs need.

Rules of this module:

* An optional package is imported by the module that is made for it and by no other; without it, the error names the
  extra that brings it.
"""

from __future__ import annotations

from importlib.util import find_spec

from dalsegno.errors import Misuse

__all__ = ["require"]


def require(package: str, extra: str) -> None:
    """Check that a package is here, without importing it.

    Args:
        package: its name as an import has it.
        extra: the extra of this distribution that brings it.

    Raises:
        Misuse: it is not.
    """
    if find_spec(package) is None:
        raise Misuse(f"{package!r} is not installed here; pip install 'dalsegno[{extra}]' brings it.")
