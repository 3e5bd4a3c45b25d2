"""Readers for what others recorded: transcripts, and LangGraph's own checkpoint databases.

Readers return values and write nothing. What they do not understand is a `TranscriptError` with file and place.
"""

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
    "StockCheckpoint",
    "StockThread",
    "StockWrite",
    "Transcript",
    "is_sqlite",
    "read_postgres",
    "read_sqlite",
    "read_transcript",
]
