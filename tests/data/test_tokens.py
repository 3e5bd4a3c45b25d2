"""Estimates stay within 15 % of Qwen's and OpenAI's tokenizers, on texts that no weight was fitted to."""

from __future__ import annotations

import base64
import gzip
import importlib.util
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dalsegno.core.tokens import CL100K, MIDDLE, O200K, QWEN, Weights, conservative, estimate

pytestmark = pytest.mark.data

tiktoken = pytest.importorskip("tiktoken", reason="needs tiktoken, bpe-openai and dashscope for the vocabularies")

_O200K = (
    r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"""
    r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"""
    r"""\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"""
)
_CL100K = (
    r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]"""
    r"""|\s+(?!\S)|\s"""
)
_QWEN = (
    r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"""
    r"""|\s+(?!\S)|\s+"""
)


def _vocabulary(package: str, *path: str) -> bytes:
    """A file of an installed package, which is not imported."""
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        pytest.skip(f"{package} is not installed; it carries the vocabulary")
    raw = Path(found.submodule_search_locations[0]).joinpath(*path).read_bytes()
    return gzip.decompress(raw) if path[-1].endswith(".gz") else raw


def _tokenizer(name: str, pattern: str, raw: bytes) -> Callable[[str], int]:
    ranks = {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in raw.splitlines() if line)}
    encoding = tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    return lambda text: len(encoding.encode(text, disallowed_special=()))


@pytest.fixture(scope="module")
def tokenizers() -> dict[str, Callable[[str], int]]:
    return {
        "qwen": _tokenizer("qwen", _QWEN, _vocabulary("dashscope", "resources", "qwen.tiktoken")),
        "o200k": _tokenizer("o200k", _O200K, _vocabulary("bpe_openai", "data", "o200k_base.tiktoken.gz")),
        "cl100k": _tokenizer("cl100k", _CL100K, _vocabulary("bpe_openai", "data", "cl100k_base.tiktoken.gz")),
    }


def _grouped(texts: Iterable[str], size: int = 1500) -> Iterator[str]:
    held = ""
    for text in texts:
        held += text + "\n"
        if len(held) >= size:
            yield held
            held = ""


def _prospectus(root: Path, kind: str) -> Iterator[str]:
    with (root / "finqwen_zh" / "shenhua_coal_prospectus.txt").open(encoding="utf-8") as lines:
        rows: list[dict[str, Any]] = [json.loads(line) for line in lines if line.strip()]
    return _grouped(row["inside"] for row in rows if row["type"] == kind and len(row["inside"]) > 12)


def _team_chat(root: Path) -> Iterator[str]:
    record = json.loads((root / "evermem_zh" / "team_chat_zh.json").read_text(encoding="utf-8"))
    return _grouped(message["content"] for message in record["conversation_list"])


def _airline(root: Path, *roles: str) -> Iterator[str]:
    runs = json.loads((root / "tau_bench" / "airline.json").read_text(encoding="utf-8"))[:40]
    return _grouped(
        message["content"] for run in runs for message in run["traj"] if message["role"] in roles and message["content"]
    )


def _calls(root: Path) -> Iterator[str]:
    runs = json.loads((root / "tau_bench" / "airline.json").read_text(encoding="utf-8"))[:40]
    return _grouped(json.dumps(m["tool_calls"]) for run in runs for m in run["traj"] if m.get("tool_calls"))


KINDS: dict[str, Callable[[Path], Iterator[str]]] = {
    "Chinese prose, a prospectus": lambda root: _prospectus(root, "text"),
    "Chinese prose, a team chat": _team_chat,
    "Chinese table rows": lambda root: _prospectus(root, "excel"),
    "English prose": lambda root: _airline(root, "user", "assistant"),
    "tool results in JSON": lambda root: _airline(root, "tool"),
    "tool calls in JSON": _calls,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("weights", "against"),
    [(MIDDLE, "qwen"), (MIDDLE, "o200k"), (QWEN, "qwen"), (O200K, "o200k"), (CL100K, "cl100k")],
    ids=["default-qwen", "default-o200k", "qwen-qwen", "o200k-o200k", "cl100k-cl100k"],
)
def test_an_estimate_is_within_15_percent(
    kind: str, weights: Weights, against: str, transcripts: Path, tokenizers: dict[str, Callable[[str], int]]
) -> None:
    texts = list(KINDS[kind](transcripts))[:100]
    true = [tokenizers[against](text) for text in texts]
    guessed = [estimate(text, weights) for text in texts]
    assert sum(guessed) == pytest.approx(sum(true), rel=0.15)
    if weights is not MIDDLE:  # piece by piece, where the tokenizer is known
        near = sum(abs(guess - real) <= 0.15 * real for guess, real in zip(guessed, true, strict=True))
        assert near >= 0.9 * len(texts)


@pytest.mark.parametrize("kind", KINDS)
def test_a_character_a_token_is_never_too_few(
    kind: str, transcripts: Path, tokenizers: dict[str, Callable[[str], int]]
) -> None:
    for text in list(KINDS[kind](transcripts))[:30]:
        assert conservative(text) >= max(tokenizers[name](text) for name in ("qwen", "o200k"))
