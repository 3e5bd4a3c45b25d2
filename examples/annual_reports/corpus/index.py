"""What was ingested, to be searched.

Rules of this module:

* A search belongs to one company. It takes the best 20 by words and the best 20 by vector, fuses both, and lets a
  reranker that reads the texts keep 8.
* `years` keeps to the documents that cover one of them, and to those whose year nobody knows. Where the company has
  none of that year nothing is left out: a later report tells earlier years too.
* Readers see the last whole state, whatever is being ingested meanwhile. An `Index` may be used by several threads.
* Every statement is fixed text.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from langchain_core.embeddings import Embeddings

from examples.annual_reports.corpus.candidates import Matrix, by_vector, by_words, fused
from examples.annual_reports.corpus.file import embedded_by, reading
from examples.annual_reports.corpus.naming import company_key
from examples.annual_reports.corpus.passages import Found, IndexMismatch, Passage
from examples.annual_reports.corpus.reranking import Reranker, RuleReranker
from examples.annual_reports.corpus.words import folded

__all__ = ["Index"]

_CACHED_COMPANIES = 32


class Index:
    """An index file, open for reading; a context manager."""

    def __init__(self, path: Path, embeddings: Embeddings | None, reranker: Reranker | None) -> None:
        """Use `Index.open`."""
        self._connection = reading(path)
        try:
            self._embeddings = embedded_by(self._connection, embeddings)
        except IndexMismatch:
            self._connection.close()
            raise
        self._reranker = reranker or RuleReranker()
        self._lock = threading.RLock()
        self._state: Any = None
        self._matrices: dict[int, Matrix] = {}

    @classmethod
    def open(cls, path: Path, *, embeddings: Embeddings | None = None, reranker: Reranker | None = None) -> Self:
        """Open an index that `ingest` made.

        Args:
            path: the file.
            embeddings: who made its vectors; the offline counterpart if left out.
            reranker: who keeps the best of what was found; rules if left out.

        Raises:
            FileNotFoundError: there is no such file.
            IndexMismatch: it is no index of this format, or its vectors are another's.
        """
        return cls(path, embeddings, reranker)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    # --- what is there

    def companies(self) -> Mapping[str, tuple[int, ...]]:
        """Each company with the fiscal years of its documents, oldest first; none where no document says its year."""
        found: dict[str, list[int]] = {}
        for name, year in self._rows(
            "SELECT DISTINCT c.name, d.fiscal_year FROM companies c JOIN documents d ON d.company = c.id ORDER BY 1, 2"
        ):
            found.setdefault(name, []).extend([year] if year is not None else [])
        return {name: tuple(years) for name, years in found.items()}

    def company_of(self, text: str) -> list[str]:
        """The companies that a text names, in the order in which it names them.

        Known are legal names, names without their form, short names and tickers; English ones without regard to case,
        as whole words. Of names that lie inside one another the longest counts.
        """
        said = folded(text)
        places: list[tuple[int, int, str]] = []
        for alias, name in self._rows("SELECT a.alias, c.name FROM aliases a JOIN companies c ON c.id = a.company"):
            at = said.find(alias)
            while at >= 0:
                end = at + len(alias)
                if not (_inside_word(said, at) or _inside_word(said, end)):
                    places.append((at, end, name))
                at = said.find(alias, at + 1)
        kept = [
            (at, name)
            for at, end, name in places
            if not any(first <= at and end <= last and last - first > end - at for first, last, _ in places)
        ]
        return list(dict.fromkeys(name for _, name in sorted(kept)))

    def sources(self, company: str) -> Mapping[str, str]:
        """The documents of a company with their versions."""
        return dict(
            self._rows(
                "SELECT d.source, d.digest FROM documents d JOIN companies c ON c.id = d.company "
                "WHERE c.name = ? OR c.key = ? ORDER BY 1",
                (company, company_key(company)),
            )
        )

    def version(self, source: str) -> str:
        """The digest of a document's content; another one after it was replaced.

        Raises:
            KeyError: no such document.
        """
        for (digest,) in self._rows("SELECT digest FROM documents WHERE source = ?", (source,)):
            return str(digest)
        raise KeyError(source)

    def passage(self, id: str) -> Passage:  # noqa: A002 - a passage's own word for it
        """A passage by its id.

        Raises:
            KeyError: there is none, or its document was replaced.
        """
        for row in self._rows(
            "SELECT p.id, c.name, d.fiscal_year, p.page, p.kind, p.text, d.source FROM passages p "
            "JOIN documents d ON d.id = p.document JOIN companies c ON c.id = d.company WHERE p.id = ?",
            (id,),
        ):
            return _passage(row)
        raise KeyError(id)

    # --- searching

    def search(
        self,
        company: str,
        query: str,
        *,
        years: Sequence[int] | None = None,
        lexical: int = 20,
        vector: int = 20,
        keep: int = 8,
    ) -> list[Found]:
        """The passages of one company that answer best.

        Args:
            company: its name, or any name by which `company_of` knows it.
            query: a question or search words, Chinese or English.
            years: fiscal years to keep to, where there are documents of them.
            lexical: how many candidates the search by words gives.
            vector: how many the search by vector gives.
            keep: how many are kept.

        Returns:
            At most `keep`, best first; none for a company that is not there.
        """
        with self._lock:
            number = self._company(company)
            if number is None:
                return []
            query = self._without_name(number, query)
        asked_for = self._embeddings.embed_query(query) if vector > 0 else []
        with self._snapshot():
            allowed = self._documents(number, years)
            words = by_words(self._connection, number, query, allowed)[: max(lexical, 0)]
            near = by_vector(self._matrix(number), asked_for, allowed)[: max(vector, 0)]
            ranked = fused((words, near))
            candidates = [self._numbered(passage) for passage, _ in ranked]
        scores = self._reranker.score(query, candidates, fused=[share for _, share in ranked], years=tuple(years or ()))
        order = sorted(range(len(candidates)), key=lambda at: -scores[at])[: max(keep, 0)]
        return [Found(passage=candidates[at], rank=rank, score=scores[at]) for rank, at in enumerate(order, 1)]

    def by_words(self, company: str, query: str, *, keep: int = 8) -> list[Found]:
        """Plain BM25 without vectors and reranker, which `search` is measured against."""
        with self._snapshot():
            number = self._company(company)
            if number is None:
                return []
            ranked = by_words(self._connection, number, query, self._documents(number, None))[:keep]
            return [
                Found(passage=self._numbered(passage), rank=rank, score=1 / rank)
                for rank, passage in enumerate(ranked, 1)
            ]

    # --- rows

    @contextmanager
    def _snapshot(self) -> Iterator[None]:
        """One state of the file for several statements, and one thread at a time."""
        with self._lock:
            self._connection.execute("BEGIN")
            try:
                yield
            finally:
                self._connection.execute("COMMIT")

    def _company(self, name: str) -> int | None:
        for (number,) in self._rows("SELECT id FROM companies WHERE name = ? OR key = ?", (name, company_key(name))):
            return int(number)
        named = self.company_of(name)
        return self._company(named[0]) if named and named[0] != name else None

    def _without_name(self, company: int, query: str) -> str:
        """A query without the company's own names, which every page of its reports has; as it is if nothing is left."""
        rest = folded(query)
        for (alias,) in self._rows(
            "SELECT alias FROM aliases WHERE company = ? ORDER BY length(alias) DESC", (company,)
        ):
            at = rest.find(alias)
            while at >= 0:
                if _inside_word(rest, at) or _inside_word(rest, at + len(alias)):
                    at += 1
                else:
                    rest = f"{rest[:at]} {rest[at + len(alias) :]}"
                at = rest.find(alias, at)
        return rest if rest.strip(" ?？。.,，的'’") else query

    def _documents(self, company: int, years: Sequence[int] | None) -> set[int]:
        covers = {
            number: set(json.loads(told))
            for number, told in self._rows("SELECT id, covers FROM documents WHERE company = ?", (company,))
        }
        wanted = set(years or ())
        if not any(told & wanted for told in covers.values()):
            return set(covers)
        return {number for number, told in covers.items() if told & wanted or not told}

    def _matrix(self, company: int) -> Matrix:
        """The company's vectors, read once for each state of the file."""
        state = self._rows("PRAGMA data_version")
        if state != self._state or len(self._matrices) >= _CACHED_COMPANIES:
            self._matrices.clear()
            self._state = state
        if company not in self._matrices:
            self._matrices[company] = Matrix.read(self._connection, company)
        return self._matrices[company]

    def _numbered(self, number: int) -> Passage:
        return _passage(
            self._rows(
                "SELECT p.id, c.name, d.fiscal_year, p.page, p.kind, p.text, d.source FROM passages p "
                "JOIN documents d ON d.id = p.document JOIN companies c ON c.id = d.company WHERE p.number = ?",
                (number,),
            )[0]
        )

    def _rows(self, statement: str, parameters: Sequence[object] = ()) -> list[Any]:
        with self._lock:
            return self._connection.execute(statement, parameters).fetchall()


def _inside_word(text: str, at: int) -> bool:
    """Whether a place parts a Latin word."""
    before, after = text[max(at - 1, 0) : at], text[at : at + 1]
    return all(char.isalnum() and char < "\u2e80" for char in (before, after)) if before and after else False


def _passage(row: Any) -> Passage:
    id_, company, year, page, kind, text, source = row
    return Passage(id=id_, company=company, fiscal_year=year, page=page, kind=kind, text=text, source=source)
