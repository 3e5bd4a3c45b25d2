"""Is the page that answers among the eight, and at which rank: beside plain BM25, on the same index, in the same run.

Rules of this module:

* Labels are not made by searching. financebench names an evidence page for each question. The prospectus questions
  have the forms of FinQwen's, asked of the prospectus that is there, since FinQwen's own ask about others and carry
  no pages; a page counts when it says all that the answer needs (`says`, compared without blanks). TAT-QA's contexts,
  a table and its paragraphs each, are the pages of one document, and the page of a question is its own; many
  questions would fit several pages, so the ways compare there and the height says little.
* A question counts as found at the rank of the first kept passage of any of its pages. MRR takes 0 for one not found.
* The company is told to both sides; whether the program would have found it in the question is counted beside.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from langchain_core.embeddings import Embeddings

from examples.annual_reports.corpus import Found, Index, ingest
from examples.annual_reports.corpus.passages import Page, Passage
from examples.annual_reports.corpus.tagged import read_tagged

__all__ = ["Question", "Retrieved", "Side", "measure_retrieval", "questions_of"]

KEPT = 8
TATQA = "tatqa.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question and where it is answered.

    Attributes:
        text: as it is asked.
        set: which questions it belongs to.
        source: the document's file name.
        pages: pages of the file that answer, from 1.
    """

    text: str
    set: str
    source: str
    pages: frozenset[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """How one way of searching did: for each question the rank of the first right passage, None for none of eight."""

    name: str
    ranks: tuple[int | None, ...]

    @property
    def found(self) -> int:
        """Questions with a right page among the eight."""
        return sum(rank is not None for rank in self.ranks)

    def within(self, rank: int) -> int:
        """Questions with a right page at this rank or before."""
        return sum(each is not None and each <= rank for each in self.ranks)

    @property
    def mrr(self) -> float:
        """The mean of 1 / rank."""
        return sum(1 / rank for rank in self.ranks if rank is not None) / max(len(self.ranks), 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieved:
    """What was measured on one set of questions."""

    set: str
    questions: tuple[Question, ...]
    sides: tuple[Side, ...]
    companies_recognised: int


def questions_of(data: Path) -> Iterator[Question]:
    """The questions whose document lies in the data folder."""
    bench = data / "financebench"
    if (bench / "financebench_open_source.jsonl").is_file():
        present = {file.stem: file.name for file in (bench / "pdfs").glob("*.pdf")}
        for line in (bench / "financebench_open_source.jsonl").read_text("utf-8").splitlines():
            asked = json.loads(line)
            if asked["doc_name"] in present:
                pages = frozenset(int(each["evidence_page_num"]) + 1 for each in asked["evidence"])  # theirs begin at 0
                yield Question(
                    text=asked["question"], set="financebench", source=present[asked["doc_name"]], pages=pages
                )
    prospectus = data / "finqwen_zh" / "shenhua_coal_prospectus.txt"
    if prospectus.is_file():
        labels = (files(__package__) / "prospectus_questions.jsonl").read_text("utf-8").splitlines()
        said = {page.number: _bare(page) for page in read_tagged(prospectus)}
        for asked in map(json.loads, labels):
            pages = frozenset(
                number for number, text in said.items() if all(each.replace(" ", "") in text for each in asked["says"])
            )
            yield Question(text=asked["question"], set="prospectus (Chinese)", source=prospectus.name, pages=pages)
    for number, context in enumerate(_contexts(data), 1):
        for asked in context["questions"]:
            yield Question(text=asked["question"], set="TAT-QA", source=TATQA, pages=frozenset({number}))


def _contexts(data: Path) -> Iterator[Any]:
    for name in sorted((data / "tatqa").glob("tatqa_dataset_*.json")):
        yield from json.loads(name.read_text("utf-8"))


def _tatqa_document(data: Path, folder: Path) -> Path | None:
    """TAT-QA's contexts as page-tagged text; None where there are none."""
    lines = []
    for number, context in enumerate(_contexts(data), 1):
        paragraphs = sorted(context["paragraphs"], key=lambda paragraph: paragraph["order"])
        lines += [{"page": number, "type": "text", "inside": paragraph["text"]} for paragraph in paragraphs]
        lines += [{"page": number, "type": "excel", "inside": str(row)} for row in context["table"]["table"]]
    if not lines:
        return None
    file = folder / TATQA
    file.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    return file


def _bare(page: Page) -> str:
    return "".join("".join(line.split()) for block in page.blocks for line in block.lines)


def measure_retrieval(data: Path, *, embeddings: Embeddings | None = None) -> list[Retrieved]:
    """Ingest the documents into a new index and ask the questions of it.

    Args:
        data: the folder with `financebench` and `finqwen_zh`.
        embeddings: who makes the vectors; the offline counterpart if left out.

    Raises:
        FileNotFoundError: there are no questions in it.
    """
    questions = list(questions_of(data))
    if not questions:
        raise FileNotFoundError(f"{data}: no financebench and no finqwen_zh in it; say --data")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "measured.index"
        places = (
            data / "financebench" / "pdfs",
            data / "finqwen_zh" / "shenhua_coal_prospectus.txt",
            _tatqa_document(data, Path(folder)),
        )
        owners = {
            document.source: document.company or ""
            for place in places
            if place is not None and place.exists()
            for document in ingest(place, path, embeddings=embeddings).documents
        }
        with (
            Index.open(path, embeddings=embeddings) as index,
            Index.open(path, embeddings=embeddings, reranker=_Fused()) as fused,
        ):
            ways: dict[str, _Way] = {
                "plain BM25": lambda whose, asked: index.by_words(whose, asked, keep=KEPT),
                "BM25 without the company's name": lambda whose, asked: fused.search(whose, asked, vector=0),
                "vectors": lambda whose, asked: fused.search(whose, asked, lexical=0),
                "both, fused": fused.search,
                "both, fused, reranked": index.search,
            }
            return [
                _asked(index, ways, name, [each for each in questions if each.set == name], owners)
                for name in dict.fromkeys(question.set for question in questions)
            ]


_Way = Callable[[str, str], Sequence[Found]]


class _Fused:
    """No reranker: the order of the two searches."""

    def score(
        self,
        query: str,  # noqa: ARG002 - the shape of a reranker
        passages: Sequence[Passage],  # noqa: ARG002 - as above
        *,
        fused: Sequence[float],
        years: Sequence[int],  # noqa: ARG002 - as above
    ) -> Sequence[float]:
        """What the two searches gave."""
        return fused


def _asked(
    index: Index, ways: dict[str, _Way], name: str, questions: Sequence[Question], owners: dict[str, str]
) -> Retrieved:
    return Retrieved(
        set=name,
        questions=tuple(questions),
        sides=tuple(
            Side(name=way, ranks=tuple(_rank(find(owners[each.source], each.text), each) for each in questions))
            for way, find in ways.items()
        ),
        companies_recognised=sum(index.company_of(each.text) == [owners[each.source]] for each in questions),
    )


def _rank(found: Sequence[Found], question: Question) -> int | None:
    return next(
        (each.rank for each in found if each.passage.source == question.source and each.passage.page in question.pages),
        None,
    )
