"""Documents into an index.

Rules of this module:

* A document goes in whole or not at all: it is read, cut and embedded first, then one transaction puts it in the place
  of what was there under its name. A process killed before that leaves the index as it was.
* The same content under any name is taken in once; ingesting it again changes nothing.
* A document that cannot be read is reported, and the others go on. What stood in the index under its name stays.
* A document's name is its file name, with the folders below the one that was ingested. Content that the index has under
  another name leaves nothing older standing under this one.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sqlite3
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from langchain_core.embeddings import Embeddings

from examples.annual_reports.corpus.candidates import postings_of
from examples.annual_reports.corpus.cutting import pieces
from examples.annual_reports.corpus.file import FORMAT, embedded_by, writing
from examples.annual_reports.corpus.layout import blocks_of
from examples.annual_reports.corpus.naming import Identity, aliases_of, company_key, identity_of
from examples.annual_reports.corpus.passages import Document, Ingested, Kind, Page, Unreadable, plain
from examples.annual_reports.corpus.pdf import read_pdf
from examples.annual_reports.corpus.tagged import read_tagged
from examples.annual_reports.corpus.vectors import name_of
from examples.annual_reports.corpus.words import folded, terms

__all__ = ["Progress", "ingest"]

Progress = Callable[[str, int, int], None]
"""Called with a document's name, the page just read and how many there are."""

_SUFFIXES = frozenset({".pdf", ".txt", ".jsonl"})
_MAX_BYTES = 512 << 20
_BATCH = 256
_DIGEST = 12
_YEARS = range(1900, 2100)
_PDF = b"%PDF-"
_UNPRINTED = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def ingest(
    path: Path,
    index: Path,
    *,
    company: str | None = None,
    fiscal_year: int | None = None,
    embeddings: Embeddings | None = None,
    progress: Progress | None = None,
) -> Ingested:
    """Take a document, or every document of a folder and its folders, into an index.

    Args:
        path: a PDF, a page-tagged text (`.txt`, `.jsonl`), or a folder.
        index: the index file; begun where there is none.
        company: whose it is, instead of what the document says.
        fiscal_year: which year it is of, instead of what the document says.
        embeddings: who makes the vectors; the offline counterpart if left out. One for the whole index.
        progress: told page by page.

    Returns:
        What became of each document. Failures are in it, not raised.

    Raises:
        FileNotFoundError: no such file or folder.
        ValueError: the company has no letters, or the fiscal year is none.
        IndexMismatch: the index file is something else, or has another's vectors.
    """
    if company is not None and not company_key(company := plain(company).strip()):
        raise ValueError("a company needs a name with letters; leave it out to take what the documents say")
    if fiscal_year is not None and fiscal_year not in _YEARS:
        raise ValueError(f"{fiscal_year} is no fiscal year from {_YEARS[0]} to {_YEARS[-1]}")
    if not path.exists():
        raise FileNotFoundError(f"{path}: no such file or folder")
    found = _found(path)
    with writing(index) as connection:
        embedder = embedded_by(connection, embeddings)
        taking = _Taking(connection, embedder, company, fiscal_year, progress)
        return Ingested(documents=tuple(taking.take(file, source) for source, file in found))


def _found(path: Path) -> list[tuple[str, Path]]:
    if path.is_file():
        return [(_shown(path.name), path)]
    files = (file for file in path.rglob("*") if file.suffix.lower() in _SUFFIXES and file.is_file())
    return sorted((_shown(file.relative_to(path).as_posix()), file) for file in files if not file.name.startswith("."))


def _shown(name: str) -> str:
    """A file's name as a text of one line: what is no text in it is written out."""
    text = os.fsencode(name).decode("utf-8", "backslashreplace")
    return _UNPRINTED.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def _cut(pages: list[Page]) -> list[tuple[int, Kind, str]]:
    cut = list(pieces(pages))
    if not cut:
        raise Unreadable("no text in it: a scan? Run it through OCR, and ingest that")
    return cut


class _Taking:
    """One call of `ingest`."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        embeddings: Embeddings,
        company: str | None,
        fiscal_year: int | None,
        progress: Progress | None,
    ) -> None:
        self._connection = connection
        self._embeddings = embeddings
        self._said = (company, fiscal_year)
        self._progress = progress

    def take(self, file: Path, source: str) -> Document:
        try:
            digest = self._digest(file)
            if (known := self._known(source, digest)) is not None:
                self._let_go(source, digest)
                return known
            pages = list(self._pages(file, source))
            cut = _cut(pages)
            company, fiscal_year = self._said
            identity = identity_of(pages, source, company=company, fiscal_year=fiscal_year)
            vectors = self._embedded([text for _, _, text in cut])
        except (Unreadable, OSError) as error:
            return Document(source=source, status="failed", problem=str(error))
        return self._put(source, digest, identity, len(pages), cut, vectors)

    def _digest(self, file: Path) -> str:
        if file.stat().st_size > _MAX_BYTES:
            raise Unreadable(f"larger than {_MAX_BYTES >> 20} MB: split it")
        said = json.dumps([FORMAT, *self._said])
        with file.open("rb") as body:
            content = hashlib.file_digest(body, "sha256").hexdigest()
        return hashlib.sha256(f"{said} {content}".encode()).hexdigest()

    def _known(self, source: str, digest: str) -> Document | None:
        row = self._connection.execute(
            "SELECT c.name, d.fiscal_year, d.pages, d.passages, d.tables FROM documents d "
            "JOIN companies c ON c.id = d.company WHERE d.digest = ? ORDER BY d.source = ? DESC",
            (digest, source),
        ).fetchone()
        if row is None:
            return None
        name, year, pages, passages, tables = row
        return Document(
            source=source,
            status="unchanged",
            company=name,
            fiscal_year=year,
            pages=pages,
            passages=passages,
            tables=tables,
        )

    def _let_go(self, source: str, digest: str) -> None:
        """Take out what stands under a name whose content is another one now, which the index has elsewhere."""
        connection = self._connection
        other = connection.execute(
            "SELECT 1 FROM documents WHERE source = ? AND digest != ?", (source, digest)
        ).fetchone()
        if other:
            with _transaction(connection):
                connection.execute("DELETE FROM documents WHERE source = ? AND digest != ?", (source, digest))
                connection.execute("DELETE FROM companies WHERE id NOT IN (SELECT company FROM documents)")

    def _pages(self, file: Path, source: str) -> Iterator[Page]:
        with file.open("rb") as body:
            is_pdf = file.suffix.lower() == ".pdf" or body.read(len(_PDF)) == _PDF
        if is_pdf:
            for number, count, words in read_pdf(file):
                yield Page(number=number, blocks=blocks_of(words))
                if self._progress is not None:
                    self._progress(source, number, count)
            return
        pages = read_tagged(file)
        yield from pages
        if self._progress is not None:
            self._progress(source, len(pages), len(pages))

    def _embedded(self, texts: list[str]) -> list[bytes | None]:
        found: list[bytes | None] = []
        for at in range(0, len(texts), _BATCH):
            batch = texts[at : at + _BATCH]
            vectors = np.asarray(self._embeddings.embed_documents(batch), dtype=np.float32)
            lengths = np.linalg.norm(vectors, axis=1) if vectors.ndim == 2 else np.zeros(0)  # noqa: PLR2004 - a table of numbers
            if len(lengths) != len(batch) or not np.isfinite(lengths).all():
                raise Unreadable("the embedding model gave no vectors for its text: ingest it again")
            found += [
                (vector / length).astype("<f2").tobytes() if length else None
                for vector, length in zip(vectors, lengths, strict=True)
            ]
        return found

    # --- the one transaction

    def _put(
        self,
        source: str,
        digest: str,
        identity: Identity,
        pages: int,
        cut: list[tuple[int, Kind, str]],
        vectors: list[bytes | None],
    ) -> Document:
        connection = self._connection
        tables = sum(kind == "table" for _, kind, _ in cut)
        with _transaction(connection):
            if (known := self._known(source, digest)) is not None:  # another process was faster
                return known
            replaced = connection.execute("DELETE FROM documents WHERE source = ?", (source,)).rowcount
            company, name = self._company(identity)
            document = connection.execute(
                "INSERT INTO documents (source, digest, company, fiscal_year, covers, pages, passages, tables) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (source, digest, company, identity.fiscal_year, json.dumps(identity.covers), pages, len(cut), tables),
            ).lastrowid
            postings: defaultdict[str, array[int]] = defaultdict(lambda: array("I"))
            for at, ((page, kind, text), vector) in enumerate(zip(cut, vectors, strict=True)):
                counts = Counter(terms(text))
                size = counts.total()
                number = connection.execute(
                    "INSERT INTO passages (id, document, page, kind, text, size, vector) VALUES (?, ?, ?, ?, ?, ?, ?)",
                    (f"{digest[:_DIGEST]}-{at + 1}", document, page, kind, text, size, vector),
                ).lastrowid
                for term, count in counts.items():
                    postings[term].extend((number or 0, count, size))
            connection.executemany(
                "INSERT INTO words VALUES (?, ?, ?, ?)",
                ((company, term, document, postings_of(postings[term])) for term in sorted(postings)),
            )
            connection.execute("DELETE FROM companies WHERE id NOT IN (SELECT company FROM documents)")
            connection.execute("INSERT OR IGNORE INTO facts VALUES ('embeddings', ?)", (name_of(self._embeddings),))
        return Document(
            source=source,
            status="replaced" if replaced else "added",
            company=name,
            fiscal_year=identity.fiscal_year,
            pages=pages,
            passages=len(cut),
            tables=tables,
        )

    def _company(self, identity: Identity) -> tuple[int, str]:
        """The company in the index, known by any of its names; a new one where there is none."""
        connection = self._connection
        names = list(dict.fromkeys((identity.company, *identity.aliases)))
        row = None
        for name in names:
            row = (
                row
                or connection.execute(
                    "SELECT id, name FROM companies WHERE key = ? UNION ALL SELECT c.id, c.name FROM companies c "
                    "JOIN aliases a ON a.company = c.id WHERE a.alias = ?",
                    (company_key(name), folded(name)),
                ).fetchone()
            )
        if row is None:
            row = connection.execute(
                "INSERT INTO companies (key, name) VALUES (?, ?) RETURNING id, name",
                (company_key(identity.company), identity.company),
            ).fetchone()
        connection.executemany(
            "INSERT OR IGNORE INTO aliases VALUES (?, ?)",
            {(folded(alias), row[0]) for name in names for alias in aliases_of(name) if len(alias) > 1},
        )
        return int(row[0]), str(row[1])


class _transaction:  # noqa: N801 - reads as a statement
    """All or nothing."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._connection.execute("COMMIT" if kind is None else "ROLLBACK")
