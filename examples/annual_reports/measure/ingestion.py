"""What ingestion costs: a processor's seconds and memory, a document at a time, each in a process of its own.

Rules of this module:

* Memory is the process's peak above what it held with everything imported.
* The long PDF is made of the real ones, their pages again and again up to 300, so that a 300-page report is measured
  where none is at hand.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Taken", "measure_ingestion"]

LONG = 300
_CHILD = """
import json, resource, sys, time
from pathlib import Path
from examples.annual_reports.corpus import ingest
import pypdfium2
def peak():
    status = Path("/proc/self/status")  # rusage keeps the parent's peak over an exec
    if status.exists():
        return int(status.read_text().split("VmHWM:")[1].split()[0])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
held, began = peak(), time.process_time()
told = ingest(Path(sys.argv[1]), Path(sys.argv[2])).documents[0]
seconds = time.process_time() - began
print(json.dumps([told.pages, told.passages, told.tables, seconds, peak() - held, told.problem]))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What one document cost; a processor's seconds, memory in kilobytes above the start, the index file in bytes."""

    source: str
    pages: int
    passages: int
    tables: int
    seconds: float
    memory_kb: int
    index_bytes: int


def measure_ingestion(data: Path, *, pages: int = LONG) -> list[Taken]:
    """Ingest every document of the data folder, and a long one made of its PDFs, each into a new index.

    Args:
        data: the folder with `financebench` and `finqwen_zh`.
        pages: of the long one; none for 0.

    Raises:
        FileNotFoundError: there are no documents in it.
    """
    documents = [
        *sorted((data / "financebench" / "pdfs").glob("*.pdf")),
        *sorted((data / "finqwen_zh").glob("*_prospectus.txt")),
    ]
    if not documents:
        raise FileNotFoundError(f"{data}: no documents in it; say --data")
    with tempfile.TemporaryDirectory() as folder:
        pdfs = [document for document in documents if document.suffix == ".pdf"]
        if pdfs and pages:
            documents.append(_long(pdfs, pages, Path(folder) / f"LONG_2024_{pages}_PAGES.pdf"))
        return [_taken(document, Path(folder) / f"{number}.index") for number, document in enumerate(documents)]


def _long(documents: list[Path], pages: int, target: Path) -> Path:
    import pypdfium2  # noqa: PLC0415 - only where PDFs are measured

    made = pypdfium2.PdfDocument.new()
    while len(made) < pages:
        for document in documents:
            with pypdfium2.PdfDocument(document) as source:
                made.import_pages(source, list(range(min(len(source), pages - len(made)))))
    made.save(target)
    made.close()
    return target


def _taken(document: Path, index: Path) -> Taken:
    told = subprocess.run(  # noqa: S603 - this interpreter, a program written above
        [sys.executable, "-c", _CHILD, str(document), str(index)], check=True, capture_output=True, text=True
    )
    pages, passages, tables, seconds, memory, problem = json.loads(told.stdout)
    if problem:
        raise RuntimeError(f"{document.name}: {problem}")
    return Taken(
        source=document.name,
        pages=pages,
        passages=passages,
        tables=tables,
        seconds=seconds,
        memory_kb=memory,
        index_bytes=index.stat().st_size,
    )
