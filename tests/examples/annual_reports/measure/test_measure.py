"""The measurements count what they say they count, on a data folder made here."""

from __future__ import annotations

import argparse
import importlib.util
import json
from pathlib import Path

import pypdfium2
import pytest

from examples.annual_reports.measure import ingestion
from examples.annual_reports.measure.arithmetic import measure_arithmetic
from examples.annual_reports.measure.cli import add_to
from examples.annual_reports.measure.retrieval import Side, measure_retrieval, questions_of

_there = importlib.util.spec_from_file_location(
    "reports_made_there", Path(__file__).parent.parent / "corpus" / "conftest.py"
)
made = importlib.util.module_from_spec(_there)
_there.loader.exec_module(made)

TABLE = [["", "2019", "2018"], ["Revenue", "120", "100"], ["Cost", "$(7)", "(5)"]]


def arithmetic(question: str, derivation: str, answer: float, scale: str = "") -> dict:
    return {
        "question": question,
        "derivation": derivation,
        "answer": answer,
        "scale": scale,
        "answer_type": "arithmetic",
    }


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    for name in ("financebench/pdfs", "finqwen_zh", "tatqa"):
        (folder / name).mkdir(parents=True)
    made.english(folder / "financebench" / "pdfs" / "ALDER_2024_ANNUAL.pdf")
    asked = [
        {
            "doc_name": "ALDER_2024_ANNUAL",
            "question": "What was Alder Mining's revenue in 2024?",
            "evidence": [{"evidence_page_num": 2}],
        },
        {"doc_name": "ALDER_2024_ANNUAL", "question": "Alder Mining revenue", "evidence": [{"evidence_page_num": 40}]},
        {"doc_name": "NOT_HERE", "question": "?", "evidence": []},
    ]
    (folder / "financebench" / "financebench_open_source.jsonl").write_text("\n".join(map(json.dumps, asked)))
    questions = [
        arithmetic("What was the change in revenue from 2018 to 2019?", "120-100", 20),
        arithmetic("What was the percentage change in revenue from 2018 to 2019?", "(120-100)/100", 20, "percent"),
        arithmetic("What was the change in cost from 2018 to 2019?", "(7)-(5)", -2),
        arithmetic("What was the change in revenue from 2018 to 2019?", "120 - ", 99),
        arithmetic("How many?", "1+1", 2),
        {"question": "Which year?", "derivation": "", "answer": ["2019"], "answer_type": "span"},
    ]
    context = {"table": {"table": TABLE}, "paragraphs": [{"text": "All is well.", "order": 1}], "questions": questions}
    (folder / "tatqa" / "tatqa_dataset_dev.json").write_text(json.dumps([context]))
    return folder


def test_retrieval_counts_the_rank_of_the_right_page(data) -> None:
    questions = list(questions_of(data))
    assert [(each.set, sorted(each.pages)) for each in questions[:2]] == [("financebench", [3]), ("financebench", [41])]
    bench, tatqa = measure_retrieval(data)
    assert bench.sides[0].name == "plain BM25"
    assert bench.sides[-1].ranks == (1, None)
    assert bench.companies_recognised == 2
    assert len(tatqa.questions) == 6


def test_sides_say_what_was_found() -> None:
    side = Side(name="x", ranks=(1, None, 4))
    assert (side.found, side.within(1), side.within(3), round(side.mrr, 4)) == (2, 1, 1, 0.4167)


def test_the_labels_for_the_prospectus_need_all_that_an_answer_says(tmp_path) -> None:
    folder = tmp_path / "finqwen_zh"
    folder.mkdir()
    lines = [
        {"page": 5, "type": "text", "inside": "控股股东 232 亿元"},
        {"page": 6, "type": "text", "inside": "注册资本：18,089,620,455元"},
        {"page": 7, "type": "text", "inside": "注册资本"},
    ]
    (folder / "shenhua_coal_prospectus.txt").write_text("\n".join(map(json.dumps, lines)))
    pages = {each.text: sorted(each.pages) for each in questions_of(tmp_path)}
    assert pages["中国神华能源股份有限公司的控股股东神华集团注册资本是多少？"] == [5]
    assert pages["中国神华能源股份有限公司的注册资本是多少元？"] == [6]


def test_arithmetic_counts_right_wrong_and_unanswered(data) -> None:
    told = measure_arithmetic(data)
    assert told.questions == 5
    assert (told.derivations_right, told.derivations_refused) == (3, 1)  # (7)-(5) is 2 where -2 was meant
    assert (told.right, told.wrong, told.unanswered) == (3, 1, 1)
    assert told.by_operation["change"] == (2, 1, 0)


ROW = ingestion.Taken(source="a.pdf", pages=4, passages=5, tables=1, seconds=0.5, memory_kb=2048, index_bytes=3 << 20)


def pages_of(document: Path) -> int:
    with pypdfium2.PdfDocument(document) as opened:
        return len(opened)


@pytest.mark.slow
def test_ingestion_is_measured_in_a_process_of_its_own(data) -> None:
    (taken,) = ingestion.measure_ingestion(data, pages=0)
    assert (taken.pages, taken.passages, taken.tables) == (4, 5, 1)
    assert taken.seconds > 0
    assert 0 < taken.memory_kb < 1 << 20
    assert taken.index_bytes > 0


def command(*words: str) -> int:
    parser = argparse.ArgumentParser()
    add_to(parser.add_subparsers())
    asked = parser.parse_args(["measure", *words])
    return asked.run(asked)


def test_the_command_line_tells_each_apart(data, tmp_path, capsys, monkeypatch) -> None:
    taken = []
    monkeypatch.setattr(
        ingestion, "_taken", lambda document, _: taken.append((document.name, pages_of(document))) or ROW
    )
    assert command("retrieval", "arithmetic", "ingestion", "--each", "--data", str(data)) == 0
    said = capsys.readouterr().out
    assert "| financebench | both, fused, reranked | 1 of 2 | 1 | 1 | 0.50 |" in said
    assert "derivations: 3 of 5 give the answer, 1 refused" in said
    assert "| a.pdf | 4 | 5 | 1 | 0.5 | 125 | 2 MB | 3.0 MB |" in said
    assert taken == [("ALDER_2024_ANNUAL.pdf", 4), ("LONG_2024_300_PAGES.pdf", 300)]
    assert command("arithmetic", "--data", str(tmp_path)) == 2
    assert "say --data" in capsys.readouterr().err
    assert command("everything", "--data", str(data)) == 2
