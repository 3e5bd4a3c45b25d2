"""Reports as a searchable corpus: `ingest` puts documents into an index file, `Index` finds passages in it."""

from examples.annual_reports.corpus.index import Index
from examples.annual_reports.corpus.ingesting import Progress, ingest
from examples.annual_reports.corpus.passages import Document, Found, IndexMismatch, Ingested, Passage, Unreadable
from examples.annual_reports.corpus.reranking import Reranker, RuleReranker
from examples.annual_reports.corpus.vectors import HashedEmbeddings

__all__ = [
    "Document",
    "Found",
    "HashedEmbeddings",
    "Index",
    "IndexMismatch",
    "Ingested",
    "Passage",
    "Progress",
    "Reranker",
    "RuleReranker",
    "Unreadable",
    "ingest",
]
