"""Whether memory finds what was remembered, asked in other words, beside plain BM25.

Each question has one fact that answers it, so nothing is labelled by hand, and everything else that is remembered is in
the way.

* *answers*: companies' answers to investors (Chinese) are facts in `ds.memory`; each is looked for by the question it
  answered. The labels of the source say which answers are about their question: those that are, are asked for.
* *paraphrases*: a question (English) is an item in `ds.store`; it is looked for by another wording of it.

The peer is `bm25s` over the same texts with the settings its authors recommend: English words without stop words,
Chinese cut into words by `jieba`. *recall@k* is the share of questions whose fact is among the first k; a fact that the
gate refused is a miss. *ms* is a search, in the same process, the median.
"""

from __future__ import annotations

import argparse
import csv
import json
import statistics
import sys
import tarfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import dalsegno
from bench.harness import Bound, Report, database
from bench.recordings import folder
from dalsegno.errors import MemoryRefused

AT = (1, 5, 10)
LEAST = 0.95
"""Of the peer's recall@10."""

Search = Callable[[str], Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A text that is remembered, and a question that it answers."""

    key: str
    text: str
    question: str


def answers(most: int) -> list[Pair]:
    """Answers that are about their question, and the questions."""
    pairs: dict[str, Pair] = {}
    with (folder() / "fintruthqa_zh" / "FinTruthQA.csv").open(encoding="utf-8-sig", newline="") as rows:
        for at, row in enumerate(csv.DictReader(rows)):
            text = row["ANS"].strip()[:1000]
            if int(row["ANS_RELEVANCE"]) > 1 and text:
                pairs.setdefault(text, Pair(key=str(at), text=text, question=row["QUES"].strip()))
    return list(pairs.values())[:most]


def paraphrases(most: int) -> list[Pair]:
    """Questions, and another wording of each."""
    with tarfile.open(folder() / "pairs_en" / "similiar_qqp.json.tar.gz") as archive:
        packed = archive.extractfile("similiar_qqp.json")
        assert packed is not None
        found = json.load(packed)
    pairs: dict[str, Pair] = {}
    for at, pair in enumerate(found):
        pairs.setdefault(pair["origin"], Pair(key=str(at), text=pair["origin"], question=pair["similar"]))
    return list(pairs.values())[:most]


# --- what is measured


@contextmanager
def in_memory(url: str, pairs: Sequence[Pair]) -> Iterator[tuple[Search, int]]:
    """Facts in `ds.memory`; how many the gate refused."""
    refused = 0
    with dalsegno.connect(url) as ds:
        for pair in pairs:
            try:
                ds.memory.remember(f"company {pair.key}", "statement", pair.text, source="investor questions")
            except MemoryRefused:
                refused += 1
        yield (
            lambda words: [one.subject.removeprefix("company ") for one in ds.memory.recall(words, limit=AT[-1])],
            refused,
        )


@contextmanager
def in_store(url: str, pairs: Sequence[Pair]) -> Iterator[tuple[Search, int]]:
    """Items in `ds.store`."""
    with dalsegno.connect(url) as ds:
        for pair in pairs:
            ds.store.put(("questions",), pair.key, {"text": pair.text})
        yield lambda words: [one.key for one in ds.store.search(("questions",), query=words, limit=AT[-1])], 0


def by_bm25(pairs: Sequence[Pair], *, chinese: bool) -> Search:
    """The peer."""
    import bm25s  # type: ignore[import-untyped]  # noqa: PLC0415 - in the `test` extra
    import jieba  # type: ignore[import-untyped]  # noqa: PLC0415

    jieba.setLogLevel("WARNING")

    def cut(texts: Sequence[str]) -> list[list[str]]:
        if chinese:
            return [[word for word in jieba.lcut(text.lower()) if word.strip()] for text in texts]
        return bm25s.tokenize(list(texts), stopwords="en", return_ids=False, show_progress=False)  # type: ignore[no-any-return]

    index = bm25s.BM25()
    index.index(cut([pair.text for pair in pairs]), show_progress=False)

    def search(words: str) -> list[str]:
        found, _ = index.retrieve(cut([words]), k=AT[-1], show_progress=False)
        return [pairs[int(place)].key for place in found[0]]

    return search


def measure(name: str, corpus: str, pairs: Sequence[Pair], search: Search, refused: int) -> dict[str, object]:
    """Recall and time of one way to search."""
    ranks, spent = [], []
    for pair in pairs:
        before = time.perf_counter()
        found = list(search(pair.question))
        spent.append((time.perf_counter() - before) * 1000)
        ranks.append(found.index(pair.key) + 1 if pair.key in found else 0)
    return {
        "search": name,
        "corpus": corpus,
        "facts": len(pairs),
        "refused": refused,
        **{f"recall@{k}": sum(0 < rank <= k for rank in ranks) / len(ranks) for k in AT},
        "MRR": sum(1 / rank for rank in ranks if rank) / len(ranks),
        "ms": statistics.median(spent),
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Run the measurement; exit code 1 when a bound is broken, 0 with a note where the recordings are not."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--facts", type=int, default=1000, help="facts of each corpus")
    parser.add_argument("--postgres", action="store_true", help="measure on PostgreSQL too")
    parser.add_argument("--json", action="store_true", help="one object")
    asked = parser.parse_args(argv)
    if not folder().is_dir():
        sys.stderr.write(f"not measured: no recordings in {folder()}\n")
        return 0
    report = Report(title="Memory recall")
    for corpus, pairs, keep, chinese in (
        ("answers, Chinese", answers(asked.facts), in_memory, True),
        ("paraphrases, English", paraphrases(asked.facts), in_store, False),
    ):
        peer = measure("bm25s", corpus, pairs, by_bm25(pairs, chinese=chinese), 0)
        with keep("memory://", pairs) as (search, refused):
            ours = [measure("dalsegno, SQLite", corpus, pairs, search, refused)]
        if asked.postgres:
            with database() as url, keep(url, pairs) as (search, refused):
                ours.append(measure("dalsegno, PostgreSQL", corpus, pairs, search, refused))
        report.rows += [*ours, peer]
        for row in ours:
            share = float(str(row["recall@10"])) / float(str(peer["recall@10"]))
            claim = f"{row['search']}, {corpus}: recall@10 less than the peer's by"
            report.bounds.append(Bound(claim=claim, limit=1 - LEAST, found=1 - share))
    return report.close(as_json=asked.json)


if __name__ == "__main__":
    sys.exit(main())
