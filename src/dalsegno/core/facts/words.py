"""Lists of words, written as one would read them."""

from __future__ import annotations

__all__ = ["words"]


def words(listed: str) -> tuple[str, ...]:
    """The words of a text, in order."""
    return tuple(listed.split())
