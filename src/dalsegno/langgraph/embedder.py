"""Any LangChain embeddings as an embedder, and what is done when one fails.

Rules of this module:

* An embedder's name is its class and its model, so that another model is noticed; `embedder_of` takes an object with a
  name of its own as it is.
* Whatever an embedder does wrong (an exception, NaN, too few vectors, vectors of several lengths) is a failure: it is
  logged with its cause, and the caller goes on without vectors. Cancelling is not a failure.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from langchain_core.embeddings import Embeddings

from dalsegno.contracts import Embedder
from dalsegno.core.vectors import written
from dalsegno.errors import Misuse
from dalsegno.services.memories import Embedded

__all__ = [
    "LangChainEmbedder",
    "aembedded",
    "aembedded_queries",
    "aembedded_query",
    "embedded",
    "embedded_queries",
    "embedded_query",
    "embedder_of",
]

_log = logging.getLogger("dalsegno.memory")
_BY_WORDS = "this search is by words alone"


class LangChainEmbedder:
    """A LangChain `Embeddings` as an embedder."""

    def __init__(self, embeddings: Embeddings, *, name: str | None = None) -> None:
        """Take the embeddings.

        Args:
            embeddings: the embeddings.
            name: which they are, for the record; their class and model when left out.
        """
        self._embeddings = embeddings
        self.name = name or _name_of(embeddings)

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """A vector for each text that is stored."""
        return self._embeddings.embed_documents(list(texts))

    def embed_query(self, text: str) -> list[float]:
        """The vector of a text that is looked for."""
        return self._embeddings.embed_query(text)

    async def aembed(self, texts: Sequence[str]) -> list[list[float]]:
        """Async face of `embed`."""
        return await self._embeddings.aembed_documents(list(texts))

    async def aembed_query(self, text: str) -> list[float]:
        """Async face of `embed_query`."""
        return await self._embeddings.aembed_query(text)


def embedder_of(value: Embedder | Embeddings | None) -> Embedder | None:
    """An embedder as it is; LangChain's embeddings as one.

    Raises:
        Misuse: it is neither.
    """
    if value is None:
        return None
    if isinstance(value, Embeddings):
        return LangChainEmbedder(value)
    if isinstance(getattr(value, "name", None), str) and hasattr(value, "aembed_query") and hasattr(value, "aembed"):
        return value
    raise Misuse(
        f"embedder={type(value).__name__}: give LangChain Embeddings, or an object with a name, embed, embed_query, "
        "aembed and aembed_query."
    )


def embedded(embedder: Embedder, texts: Sequence[str], *, strict: bool = False) -> Embedded | None:
    """The vectors of texts that are stored; None where the embedder failed, unless `strict` lets it raise."""
    try:
        return _made(embedder, embedder.embed(texts), len(texts))
    except Exception as error:  # an embedder is a program of someone else's
        if strict:
            raise
        _failed(embedder, error, "memories are kept without vectors; fill them in with ds.store.reindex()")
        return None


async def aembedded(embedder: Embedder, texts: Sequence[str], *, strict: bool = False) -> Embedded | None:
    """Async face of `embedded`."""
    try:
        return _made(embedder, await embedder.aembed(texts), len(texts))
    except Exception as error:  # an embedder is a program of someone else's
        if strict:
            raise
        _failed(embedder, error, "memories are kept without vectors; fill them in with ds.store.reindex()")
        return None


def embedded_query(
    embedder: Embedder, text: str, *, so: str = _BY_WORDS, log: logging.Logger = _log
) -> Embedded | None:
    """The vector of a text that is looked for; None where the embedder failed, with a warning of what follows."""
    try:
        return _made(embedder, [embedder.embed_query(text)], 1)
    except Exception as error:  # noqa: BLE001 - an embedder is a program of someone else's
        _failed(embedder, error, so, log)
        return None


async def aembedded_query(
    embedder: Embedder, text: str, *, so: str = _BY_WORDS, log: logging.Logger = _log
) -> Embedded | None:
    """Async face of `embedded_query`."""
    try:
        return _made(embedder, [await embedder.aembed_query(text)], 1)
    except Exception as error:  # noqa: BLE001 - an embedder is a program of someone else's
        _failed(embedder, error, so, log)
        return None


def embedded_queries(embedder: Embedder, texts: Sequence[str]) -> Embedded:
    """The vectors of texts as they are looked for, one by one; what the embedder raises is raised."""
    return _made(embedder, [embedder.embed_query(text) for text in texts], len(texts))


async def aembedded_queries(embedder: Embedder, texts: Sequence[str]) -> Embedded:
    """Async face of `embedded_queries`."""
    return _made(embedder, [await embedder.aembed_query(text) for text in texts], len(texts))


def _made(embedder: Embedder, vectors: Sequence[Sequence[float]], expected: int) -> Embedded:
    dims, texts = written(vectors, expected=expected)
    return Embedded(embedder=embedder.name, dims=dims, vectors=texts)


def _failed(embedder: Embedder, error: Exception, so: str, log: logging.Logger = _log) -> None:
    log.warning("embedder %r failed (%s: %s); %s", embedder.name, type(error).__name__, error, so)


def _name_of(embeddings: Embeddings) -> str:
    model = next(
        (
            found
            for field in ("model_name", "model", "model_id")
            if isinstance(found := getattr(embeddings, field, None), str)
        ),
        "",
    )
    return f"{type(embeddings).__name__}:{model}" if model else type(embeddings).__name__
