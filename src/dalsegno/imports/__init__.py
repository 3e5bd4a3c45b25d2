"""Readers for what others recorded: transcripts, and LangGraph's own checkpoint databases.

Readers return values and write nothing. What they do not understand is a `TranscriptError` with file and place.
"""

from dalsegno.imports.transcript import Transcript, read_transcript

__all__ = ["Transcript", "read_transcript"]
