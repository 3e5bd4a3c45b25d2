"""A store for admins: what they read is written down, so even reading is a transaction that writes.

Rules of this module:

* Nothing else is changed; the operations themselves say what goes on record (`services/access.py`).
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TypeVar

from dalsegno.contracts import OpFactory, Store

__all__ = ["Recording"]

R = TypeVar("R")


class Recording:
    """A `dalsegno.contracts.Store` over another one."""

    def __init__(self, store: Store) -> None:
        """Take the store that keeps everything."""
        self.store = store

    @property
    def url(self) -> str:
        """The other store's URL."""
        return self.store.url

    def run(self, factory: OpFactory[R], *, write: bool, key: Hashable = None) -> R:  # noqa: ARG002 - it always writes
        """Run an operation; see `dalsegno.contracts.Store.run`."""
        return self.store.run(factory, write=True, key=key)

    async def arun(self, factory: OpFactory[R], *, write: bool, key: Hashable = None) -> R:  # noqa: ARG002 - it always writes
        """Run an operation; see `dalsegno.contracts.Store.arun`."""
        return await self.store.arun(factory, write=True, key=key)

    def confine(self, *, tenant: int | None, name: str) -> None:
        """Confine the other store to a tenant."""
        self.store.confine(tenant=tenant, name=name)

    def rewrite(self) -> None:
        """Let the other store rewrite its database."""
        self.store.rewrite()

    def close(self) -> None:
        """Close the other store."""
        self.store.close()

    async def aclose(self) -> None:
        """Close the other store."""
        await self.store.aclose()
