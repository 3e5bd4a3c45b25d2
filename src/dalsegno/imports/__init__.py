"""What others recorded: transcripts, and LangGraph's own checkpoint databases.

Readers return values and write nothing. What they do not understand is a `TranscriptError` with file and place.
`import_file` writes what they read into a new thread, all or nothing.
"""

from dalsegno.imports.into import Imported, import_file, import_stock, import_transcript
from dalsegno.imports.langgraph_db import (
    StockCheckpoint,
    StockThread,
    StockWrite,
    is_sqlite,
    read_postgres,
    read_sqlite,
)
from dalsegno.imports.transcript import Transcript, read_transcript

__all__ = [
    "Imported",
    "StockCheckpoint",
    "StockThread",
    "StockWrite",
    "Transcript",
    "import_file",
    "import_stock",
    "import_transcript",
    "is_sqlite",
    "read_postgres",
    "read_sqlite",
    "read_transcript",
]
