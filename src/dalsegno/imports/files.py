"""From a file to JSON values, with places that a person can find.

Rules of this module:

* JSON, or JSON lines: by the suffix `.jsonl` or `.ndjson`, else where the first line is JSON and the text is not.
* Text is UTF-8, or UTF-16 or UTF-32 with a byte order mark. An encoding is never guessed: a guess turns names and
  amounts into other ones without a word.
* Every way in which a file can be wrong is a `TranscriptError` with file, place, and what was expected there.
* A place is written as a path from the top of the file (`[3].traj[5].role`), or from a line (`line 6.role`).
"""

from __future__ import annotations

import codecs
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dalsegno.errors import TranscriptError

if TYPE_CHECKING:
    from os import PathLike

__all__ = ["MAX_BYTES", "Document", "load", "unexpected"]

MAX_BYTES: Final = 512 * 1024 * 1024
"""The largest file that is read: the whole of it becomes objects in memory, several times its size."""

_LINES: Final = {".jsonl", ".ndjson"}
_MARKS: Final = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_FOREIGN: Final = (
    (b"SQLite format 3\0", "a SQLite database", "read it as a LangGraph checkpoint database"),
    (b"\x1f\x8b", "compressed with gzip", "unpack it first"),
    (b"PK\x03\x04", "a zip archive", "unpack it first"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd", "unpack it first"),
    (b"%PDF", "a PDF document", "export the conversation as JSON"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """What a file holds.

    Attributes:
        source: the file, for messages.
        value: its JSON value; for JSON lines the list of the lines' values.
        lines: for JSON lines the number of each value's line, else None.
    """

    source: str
    value: Any
    lines: tuple[int, ...] | None = None

    def place(self, at: int) -> str:
        """Where element `at` of the top list stands."""
        return f"[{at}]" if self.lines is None else f"line {self.lines[at]}"


def load(path: str | PathLike[str]) -> Document:
    """Read a file of JSON or JSON lines.

    Raises:
        TranscriptError: it cannot be read, is too large, is something else, is in another encoding, or is not JSON.
    """
    file = Path(path)
    source = str(file)
    text = _decoded(source, _bytes(file))
    if file.suffix.lower() in _LINES:
        return _json_lines(source, text)
    try:
        return Document(source=source, value=json.loads(text))
    except json.JSONDecodeError as error:
        if _is_json(text.lstrip().partition("\n")[0]):
            return _json_lines(source, text)
        raise _not_json(source, f"line {error.lineno} column {error.colno}", error) from error
    except (ValueError, RecursionError) as error:  # a number of too many digits, or lists in lists without end
        raise _not_json(source, "the file", error) from error


def unexpected(source: str, place: str, expected: str, found: Any) -> TranscriptError:
    """The error for a value that is not what belongs there; `found` is described, not quoted at length."""
    return TranscriptError(
        f"{source}: {place or 'the file'}: expected {expected}, found {_described(found)}; "
        f"correct the file or name another one, nothing was written."
    )


def _bytes(file: Path) -> bytes:
    try:
        if (size := file.stat().st_size) > MAX_BYTES:
            raise TranscriptError(
                f"{file}: {size:,} bytes, and at most {MAX_BYTES:,} are read at once; split it into a file for each "
                f"conversation."
            )
        data = file.read_bytes()
    except OSError as error:
        raise TranscriptError(f"{file}: cannot be read ({error.strerror}); check the path and its rights.") from error
    for mark, what, step in _FOREIGN:
        if data.startswith(mark):
            raise TranscriptError(f"{file}: is {what}, not JSON; {step}.")
    return data


def _decoded(source: str, data: bytes) -> str:
    encoding = next((name for mark, name in _MARKS if data.startswith(mark)), "utf-8")
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise TranscriptError(
            f"{source}: line {line}, byte {error.start}: not {encoding.upper()} text; save the file as UTF-8."
        ) from error


def _json_lines(source: str, text: str) -> Document:
    values, lines = [], []
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                values.append(json.loads(line))
            except (ValueError, RecursionError) as error:
                raise _not_json(source, f"line {number}", error) from error
            lines.append(number)
    return Document(source=source, value=values, lines=tuple(lines))


def _is_json(line: str) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _not_json(source: str, place: str, error: Exception) -> TranscriptError:
    why = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
    return TranscriptError(f"{source}: {place}: not JSON ({why}); export the conversation again, nothing was written.")


def _described(value: Any) -> str:
    if isinstance(value, dict):
        keys = ", ".join(repr(key) for key in list(value)[:6])
        return f"an object with {keys}{', …' if len(value) > 6 else ''}" if value else "an empty object"  # noqa: PLR2004
    if isinstance(value, list):
        return f"a list of {len(value)}"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:60]}…"  # noqa: PLR2004 - the width of a glance
