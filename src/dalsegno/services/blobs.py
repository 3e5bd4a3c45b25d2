"""Very long texts: reading one by its reference."""

from __future__ import annotations

from dalsegno.contracts import Op, Step
from dalsegno.core.references import digest_in
from dalsegno.errors import BlobNotFound
from dalsegno.services.loading import Loaded, load
from dalsegno.services.sound import sound
from dalsegno.services.threads_row import Scope, find_thread

__all__ = ["blob_of"]


@sound
def blob_of(scope: Scope, name: str, reference: str) -> Op[str]:
    """The text of a blob that a thread points to.

    Raises:
        ThreadNotFound: no such thread, or another user's.
        BlobNotFound: the thread points to no such blob; whether another one does is not told.
        Misuse: it is no reference.
    """
    digest = digest_in(reference)
    row = yield from find_thread(scope, name)
    rows = yield Step("blob_refs_of", row.key)
    if digest not in {bytes(held) for held, _ in rows}:
        msg = f"thread {name!r} has no {reference}; it may have gone with the checkpoints that held it"
        raise BlobNotFound(msg)
    loaded: Loaded = yield from load(row.tenant, row.thread, [{"$blob": digest.hex()}])
    return loaded.blobs[digest]
