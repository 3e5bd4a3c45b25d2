"""What an item of long-term memory is searched by.

Rules of this module:

* Without paths: every text and number in the value, names of fields left out, in the order in which they stand; one
  text. With paths, in LangGraph's spelling (`title`, `context[*].text`, `authors[0].name`): a text for each value they
  lead to; `$` is the whole.
* A path that leads nowhere gives nothing. No text is no memory's text: what has none is found by name and filter only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import orjson
from langgraph.store.base.embed import get_text_at_path, tokenize_path

from dalsegno.errors import Misuse
from dalsegno.langgraph.said import text_of_value

__all__ = ["fields_column", "texts_of"]


def fields_column(index: Literal[False] | Sequence[str] | None) -> str | None:
    """An op's `index` as it is stored: null for the whole value, a JSON array of paths, `[]` for nothing.

    Raises:
        Misuse: it is neither.
    """
    if index is None:
        return None
    if index is False:
        return "[]"
    if isinstance(index, str) or not all(isinstance(path, str) for path in index):
        raise Misuse(f"index={index!r:.80}: give a list of paths, such as ['title', 'notes[*].text'], False or None.")
    return orjson.dumps(list(index)).decode()


def texts_of(value: Mapping[str, Any], fields: str | None) -> list[str]:
    """The texts a value is searched by, given its stored paths; blank ones are left out."""
    if fields is None:
        found = ["\n".join(_leaves(value))]
    else:
        found = []
        for path in orjson.loads(fields):
            if path in ("", "$"):
                found.append("\n".join(_leaves(value)))
            else:
                found += get_text_at_path(dict(value), tokenize_path(path))
    return [text for text in found if text.strip()]


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for each in value.values():
            yield from _leaves(each)
    elif isinstance(value, list | tuple | set | frozenset):
        for each in value:
            yield from _leaves(each)
    elif not isinstance(value, bool | bytes) and value is not None:
        yield text_of_value(value)
