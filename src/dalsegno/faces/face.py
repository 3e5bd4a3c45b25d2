"""What all faces share: a store, a scope, and two ways to run an operation."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from dalsegno.contracts import Op, Store
from dalsegno.services.threads_row import Scope

__all__ = ["Face"]

R = TypeVar("R")


class Face:
    """A service for one tenant and user."""

    def __init__(self, store: Store, scope: Callable[[], Scope]) -> None:
        """Take the store and on whose behalf to work."""
        self._store = store
        self._scope = scope

    def _run(self, make: Callable[[Scope], Op[R]], *, write: bool = False, key: str | None = None) -> R:
        scope = self._scope()
        line = None if key is None else (scope.tenant, key)
        return self._store.run(lambda: make(scope), write=write, key=line)

    async def _arun(self, make: Callable[[Scope], Op[R]], *, write: bool = False, key: str | None = None) -> R:
        scope = self._scope()
        return await self._store.arun(
            lambda: make(scope), write=write, key=None if key is None else (scope.tenant, key)
        )
