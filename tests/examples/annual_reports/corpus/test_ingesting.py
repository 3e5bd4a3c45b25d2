"""Documents go into an index whole or not at all, once, under the company and year that they say."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
import sqlite3
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from reportlab.pdfgen.canvas import Canvas

from examples.annual_reports.cli import main
from examples.annual_reports.corpus import HashedEmbeddings, Index, IndexMismatch, ingest, ingesting
from examples.annual_reports.corpus.cli import add_to, run

_here = importlib.util.spec_from_file_location("reports_made_here", Path(__file__).with_name("conftest.py"))
made = importlib.util.module_from_spec(_here)
_here.loader.exec_module(made)


def content(path: Path) -> list[tuple]:
    with contextlib.closing(sqlite3.connect(path)) as database:
        tables = ("companies", "aliases", "documents", "passages", "words", "facts")
        return [row for name in tables for row in database.execute(f"SELECT * FROM {name} ORDER BY 1, 2")]


def passages(path: Path, source: str) -> list[tuple[int, str, str]]:
    with contextlib.closing(sqlite3.connect(path)) as database:
        return database.execute(
            "SELECT p.page, p.kind, p.text FROM passages p JOIN documents d ON d.id = p.document WHERE d.source = ? ORDER BY p.number",
            (source,),
        ).fetchall()


def test_documents_say_whose_and_of_which_year_they_are(reports, tmp_path) -> None:
    told = ingest(reports, tmp_path / "i").documents
    assert [(each.source, each.status, each.company, each.fiscal_year, each.pages) for each in told] == [
        ("ALDER_2024_ANNUAL.pdf", "added", "Alder Mining", 2024, 4),
        ("more/birch.jsonl", "added", "Birch Energy", 2022, 2),
        ("江河矿业2023.pdf", "added", "江河矿业", 2023, 2),
    ]


def test_a_callers_word_goes_before_the_documents(reports, tmp_path) -> None:
    told = ingest(reports / "ALDER_2024_ANNUAL.pdf", tmp_path / "i", company="Corran", fiscal_year=1999)
    with Index.open(tmp_path / "i") as index:
        assert index.companies() == {"Corran": (1999,)}
        assert index.company_of("what did Corran earn") == ["Corran"]
        assert index.company_of("Alder Mining") == []
    assert told.documents[0].fiscal_year == 1999


def test_a_table_is_one_passage_with_its_title_units_heads_and_columns(index_path) -> None:
    found = [each for each in passages(index_path, "ALDER_2024_ANNUAL.pdf") if each[1] == "table"]
    english = """Consolidated income statement
(in millions of dollars)
 | 2024 | 2023
Revenue | 5,560.5 | 5,381.0
Cost of sales | (3,120.0) | (2,998.4)
Exceptional items | — | (41.5)
Grant received |  | 12.0
Profit for the year | 1,204.7 | 1,101.2"""
    assert found == [(3, "table", english)]
    chinese = """主要会计数据
单位：万元
项目 | 2023年 | 2022年
营业收入 | 8,120.40 | 7,455.10
研发费用 | 312.00 | 288.60
归属于母公司股东的净利润 | 640.25 | 598.70"""
    assert [text for _, kind, text in passages(index_path, "江河矿业2023.pdf") if kind == "table"] == [chinese]
    assert passages(index_path, "more/birch.jsonl")[-1] == (
        7,
        "table",
        "Debt by maturity ($ in thousands)\n | 2022 | 2021\nDue within a year | 1,200 | 900\nDue later | 4,000 |",
    )


@pytest.mark.parametrize("turn", [90, 180, 270])
@pytest.mark.parametrize("shown_level", [True, False])
def test_a_table_that_lies_on_its_side_is_read_as_it_is_meant(tmp_path, turn, shown_level) -> None:
    file = tmp_path / "wide.pdf"
    page = Canvas(str(file))
    if shown_level:
        page.setPageRotation(turn)
    page.translate(300, 400)
    page.rotate(turn)
    page.translate(-250, -750)
    made.table(page, made.TABLE, 780, "Helvetica")
    page.save()
    ingest(file, tmp_path / "i")
    (found,) = passages(tmp_path / "i", "wide.pdf")
    assert found[2].splitlines()[1:4] == [
        "Revenue | 5,560.5 | 5,381.0",
        "Cost of sales | (3,120.0) | (2,998.4)",
        "Exceptional items | — | (41.5)",
    ]


def test_two_columns_of_prose_are_read_one_after_the_other(index_path) -> None:
    text = " ".join(text for page, _, text in passages(index_path, "ALDER_2024_ANNUAL.pdf") if page == 4)
    assert text.index(made.LEFT[-1]) < text.index(made.RIGHT[0])


def test_ingesting_again_changes_nothing(reports, tmp_path) -> None:
    ingest(reports, tmp_path / "i")
    before = content(tmp_path / "i")
    told = ingest(reports, tmp_path / "i")
    assert {each.status for each in told.documents} == {"unchanged"}
    assert content(tmp_path / "i") == before


def test_the_same_content_under_another_name_is_taken_in_once(reports, tmp_path) -> None:
    copy = tmp_path / "copy.pdf"
    copy.write_bytes((reports / "ALDER_2024_ANNUAL.pdf").read_bytes())
    ingest(reports, tmp_path / "i")
    before = content(tmp_path / "i")
    assert ingest(copy, tmp_path / "i").documents[0].status == "unchanged"
    assert content(tmp_path / "i") == before


def test_a_changed_file_takes_the_place_of_the_old_one_while_readers_go_on(tmp_path) -> None:
    file = made.english(tmp_path / "ALDER_2024_ANNUAL.pdf")
    ingest(file, tmp_path / "i")
    with Index.open(tmp_path / "i") as index:
        version = index.version(file.name)
        old = index.search("Alder Mining", "revenue 2024")[0].passage
        made.english(file, revenue="7,777.7")
        assert ingest(file, tmp_path / "i").documents[0].status == "replaced"
        new = index.search("Alder Mining", "revenue 2024")[0].passage
        assert "7,777.7" in new.text
        assert new.id != old.id
        assert index.version(file.name) != version
        assert index.passage(new.id) == new
        with pytest.raises(KeyError):
            index.passage(old.id)
        assert all("5,560.5" not in each.passage.text for each in index.search("Alder Mining", "revenue", keep=50))


def test_a_reader_sees_what_came_after_it_was_opened_and_writes_nothing(tmp_path) -> None:
    ingest(made.english(tmp_path / "a.pdf"), tmp_path / "i")
    with Index.open(tmp_path / "i") as index:
        assert index.search("Alder Mining", "lithium brine", lexical=0)[0].passage.source == "a.pdf"
        (tmp_path / "b.txt").write_text("Brine is pumped from the lithium lake.")
        ingest(tmp_path / "b.txt", tmp_path / "i", company="Alder Mining")
        assert index.search("Alder Mining", "lithium brine", lexical=0)[0].passage.source == "b.txt"
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            index._connection.execute("DELETE FROM passages")


def test_a_search_reads_one_state_of_the_file(tmp_path, monkeypatch) -> None:
    ingest(made.english(tmp_path / "a.pdf"), tmp_path / "i")
    with Index.open(tmp_path / "i") as index:
        documents = index._documents

        def slow(*arguments):
            allowed = documents(*arguments)
            ingest(made.english(tmp_path / "a.pdf", revenue="7,777.7"), tmp_path / "i")
            return allowed

        monkeypatch.setattr(index, "_documents", slow)
        assert "5,560.5" in index.search("Alder Mining", "revenue 2024")[0].passage.text
        monkeypatch.undo()
        assert "7,777.7" in index.search("Alder Mining", "revenue 2024")[0].passage.text


def test_a_document_that_changes_its_company_leaves_none_behind(tmp_path) -> None:
    file = made.english(tmp_path / "a.pdf")
    ingest(file, tmp_path / "i")
    ingest(file, tmp_path / "i", company="Corran")
    with Index.open(tmp_path / "i") as index:
        assert list(index.companies()) == ["Corran"]
    assert not [row for row in content(tmp_path / "i") if "alder mining" in row]


def test_what_cannot_be_read_is_told_and_the_others_go_on(reports, tmp_path) -> None:
    folder = tmp_path / "f"
    folder.mkdir()
    (folder / "a_damaged.pdf").write_bytes((reports / "ALDER_2024_ANNUAL.pdf").read_bytes()[:700])
    made.encrypted(folder / "b_locked.pdf")
    page = Canvas(str(folder / "c_scan.pdf"))
    page.rect(100, 100, 200, 200)
    page.save()
    (folder / "d_empty.pdf").write_bytes(b"")
    (folder / "e.jsonl").write_text('{"page": 1}\n')
    (folder / "f.txt").write_bytes(b"\xff\xfe\x00\x00")
    (folder / "g.txt").write_text("\n \n")
    made.tagged(folder / "h.jsonl")
    told = ingest(folder, tmp_path / "i")
    problems = {each.source: each.problem for each in told.failed}
    assert {name: problem.split(":")[0] for name, problem in problems.items()} == {
        "a_damaged.pdf": "damaged, or no PDF",
        "b_locked.pdf": "encrypted",
        "c_scan.pdf": "no text in it",
        "d_empty.pdf": "damaged, or no PDF",
        "e.jsonl": "line 1 is no JSON object with page, type and inside",
        "f.txt": "neither UTF-8 nor GB 18030 text",
        "g.txt": "no text in it",
    }
    assert [each.source for each in told.documents if each.status == "added"] == ["h.jsonl"]


HARMLESS = "Cedar Lines Ltd annual report 2024, revenue 5"


def lines_of(**changes: object) -> str:
    return json.dumps({"page": 1, "type": "text", "inside": HARMLESS, **changes})


@pytest.mark.parametrize(
    ("name", "body", "problem"),
    [
        ("a.jsonl", '{"page": 1, "type": "text", "inside": ' + "[" * 100_000, "line 1 is no JSON object"),
        ("a.jsonl", lines_of(page=10**30), "page is a number, at most 1,000,000"),
        ("a.jsonl", lines_of(page=-1), "page is a number"),
        ("a.jsonl", lines_of(page=True), "page is a number"),
        ("a.jsonl", lines_of(type=["text"]), "type and inside are texts"),
        ("a.jsonl", lines_of(inside=["x"]), "type and inside are texts"),
        ("a.jsonl", lines_of(inside="Cedar \ud800 Lines Ltd\x00, revenue 5"), ""),
        ("a.jsonl", lines_of(type="excel", inside="['Revenue \\ud800\\x1b', '5']"), ""),
        ("a.txt", f"[page {10**30}]\n{HARMLESS}\n", ""),
        ("a.txt", f"\x1b[2J{HARMLESS}\x00".replace("\x00", "\x07"), ""),
        (b"a\xff.txt", HARMLESS, ""),
        ("a\n\x1b[2J\u2028.txt", HARMLESS, ""),
        ("a" * 200 + ".txt", "revenue 5", ""),
    ],
)
def test_a_hostile_file_stops_no_other_and_leaves_text(name, body: str, problem: str, tmp_path) -> None:
    folder = tmp_path / "f"
    folder.mkdir()
    with open(os.path.join(os.fsencode(folder), os.fsencode(name)), "w", encoding="utf-8") as file:  # noqa: PTH118, PTH123 - a name that is no text
        file.write(body)
    (folder / "z.txt").write_text("Zinc Works Ltd annual report 2024, revenue 6")
    hostile, other = ingest(folder, tmp_path / "i").documents
    assert other.status == "added"
    assert problem in hostile.problem
    assert hostile.status == ("failed" if problem else "added")
    told = json.dumps([hostile.source, hostile.company, content(tmp_path / "i")], ensure_ascii=False, default=repr)
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\u2028\ud800-\udfff]", told)
    assert len(hostile.company or "") <= 80


@pytest.mark.parametrize(
    ("name", "company"),
    [
        ("[3] FMG FY2024, p.39 [table].txt", "3"),
        ("[].txt", "unnamed"),
        ("***.txt", "unnamed"),
        ("[2][3]x.txt", "2 3 x"),
    ],
)
def test_a_name_is_no_mark_of_a_source(name: str, company: str, tmp_path) -> None:
    (tmp_path / name).write_text("revenue 5")
    (document,) = ingest(tmp_path / name, tmp_path / "i").documents
    assert document.company == company


def test_a_pdf_is_known_by_its_beginning(tmp_path) -> None:
    file = made.english(tmp_path / "a.txt")
    (document,) = ingest(file, tmp_path / "i").documents
    assert (document.company, document.pages) == ("Alder Mining", 4)


@pytest.mark.parametrize("said", [{"company": " "}, {"company": "\x1b"}, {"company": "..."}, {"fiscal_year": 10**20}])
def test_a_callers_word_has_a_meaning(said: dict[str, Any], tmp_path, capsys) -> None:
    file = made.tagged(tmp_path / "a.jsonl")
    with pytest.raises(ValueError, match=r"name with letters|no fiscal year"):
        ingest(file, tmp_path / "i", **said)
    words = [f"--{name.replace('_', '-')}={value}" for name, value in said.items()]
    assert main(["ingest", str(file), "--index", str(tmp_path / "i"), *words]) == 2
    assert capsys.readouterr().out.startswith("error: ")


def test_a_file_that_became_another_leaves_nothing_of_the_old_one(tmp_path) -> None:
    folder = tmp_path / "f"
    folder.mkdir()
    (folder / "a.txt").write_text("Cedar Lines Ltd annual report 2024, revenue 5")
    (folder / "b.txt").write_text("Zinc Works Ltd annual report 2024, revenue 6")
    ingest(folder, tmp_path / "i")
    (folder / "b.txt").write_text("Cedar Lines Ltd annual report 2024, revenue 5")
    assert {each.status for each in ingest(folder, tmp_path / "i").documents} == {"unchanged"}
    with Index.open(tmp_path / "i") as index:
        assert list(index.companies()) == ["Cedar Lines"]


def test_two_processes_that_take_in_the_same_put_it_in_once(tmp_path, monkeypatch) -> None:
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    for file in (first, second):
        made.tagged(file)
    embedded = HashedEmbeddings.embed_documents

    def slowly(self: Any, texts: list[str]) -> list[list[float]]:
        monkeypatch.undo()  # the other process is faster, with the same content under another name
        assert ingest(first, tmp_path / "i").documents[0].status == "added"
        return embedded(self, texts)

    monkeypatch.setattr(HashedEmbeddings, "embed_documents", slowly)
    before = ingest(second, tmp_path / "i").documents[0]
    assert before.status == "unchanged"
    assert ingest(second, tmp_path / "i").documents[0] == before


def test_a_file_that_became_unreadable_leaves_what_was_read_of_it(tmp_path) -> None:
    file = made.english(tmp_path / "a.pdf")
    ingest(file, tmp_path / "i")
    before = content(tmp_path / "i")
    file.write_bytes(b"%PDF-1.7 torn")
    assert ingest(file, tmp_path / "i").documents[0].status == "failed"
    assert content(tmp_path / "i") == before


def test_killed_in_the_middle_of_a_document_the_index_is_as_it_was(tmp_path) -> None:
    file = made.english(tmp_path / "a.pdf")
    ingest(file, tmp_path / "i")
    before = content(tmp_path / "i")
    made.english(file, revenue="7,777.7")
    program = """
        import os, sys
        from pathlib import Path
        from examples.annual_reports.corpus import ingesting
        left = iter(range(20))
        def dying(postings, made=ingesting.postings_of):
            return made(postings) if next(left, None) is not None else os._exit(9)
        ingesting.postings_of = dying
        ingesting.ingest(Path(sys.argv[1]), Path(sys.argv[2]))
    """
    died = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), file, tmp_path / "i"],
        check=False,
        cwd=Path(__file__).parents[4],
    )
    assert died.returncode == 9
    assert content(tmp_path / "i") == before
    assert ingest(file, tmp_path / "i").documents[0].status == "replaced"


def test_a_failure_within_the_transaction_is_undone(tmp_path, monkeypatch) -> None:
    file = made.tagged(tmp_path / "a.jsonl")
    ingest(made.english(tmp_path / "b.pdf"), tmp_path / "i")
    before = content(tmp_path / "i")
    monkeypatch.setattr(ingesting, "postings_of", lambda postings: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        ingest(file, tmp_path / "i")
    assert content(tmp_path / "i") == before


class Counting(HashedEmbeddings):
    model = "counting-1"

    def __init__(self) -> None:
        self.texts = 0

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.texts += len(texts)
        return super().embed_documents(texts)


def test_any_embedding_model_makes_the_vectors_and_then_only_that_one_searches(reports, tmp_path) -> None:
    mine = Counting()
    told = ingest(reports, tmp_path / "i", embeddings=mine)
    assert mine.texts == sum(each.passages for each in told.documents)
    with Index.open(tmp_path / "i", embeddings=mine) as index:
        assert index.search("Alder Mining", "dividend", lexical=0)[0].passage.page == 2
    with pytest.raises(IndexMismatch, match="has vectors of Counting:counting-1, not of HashedEmbeddings"):
        Index.open(tmp_path / "i")
    with pytest.raises(IndexMismatch, match="Counting"):
        ingest(reports, tmp_path / "i")


def test_a_model_that_gives_no_vectors_fails_the_document(reports, tmp_path) -> None:
    class Broken(HashedEmbeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [[float("nan")]] * len(texts)

    told = ingest(reports / "ALDER_2024_ANNUAL.pdf", tmp_path / "i", embeddings=Broken())
    assert "no vectors" in told.failed[0].problem


def test_what_is_no_index_is_refused(tmp_path, reports) -> None:
    with pytest.raises(FileNotFoundError, match="ingest DIR"):
        Index.open(tmp_path / "none")
    (tmp_path / "text").write_text("something else " * 100)
    for open_it in (Index.open, lambda path: ingest(reports, path)):
        with pytest.raises(IndexMismatch):
            open_it(tmp_path / "text")
    ingest(reports / "more", tmp_path / "i")
    with contextlib.closing(sqlite3.connect(tmp_path / "i")) as database, database:
        database.execute("UPDATE facts SET value = '0' WHERE name = 'format'")
    with pytest.raises(IndexMismatch, match="format 0"):
        Index.open(tmp_path / "i")
    with pytest.raises(FileNotFoundError):
        ingest(tmp_path / "nowhere", tmp_path / "i")


def test_an_index_that_cannot_be_used_is_one_line(tmp_path, capsys) -> None:
    file, index = made.tagged(tmp_path / "a.jsonl"), tmp_path / "i"
    ingest(file, index)
    damaged = bytearray(index.read_bytes())
    damaged[4096:] = bytes(len(damaged) - 4096)
    (tmp_path / "damaged").write_bytes(damaged)
    (tmp_path / "text").write_text("something else " * 100)
    for place in (tmp_path, tmp_path / "none" / "i", tmp_path / "text", tmp_path / "damaged"):
        for command in (["ingest", str(file)], ["search", "revenue"], ["ask", "revenue?", "--store", "memory://"]):
            assert main([*command, "--index", str(place)]) == 2
            assert capsys.readouterr().out.startswith("error: ")


def test_an_index_that_another_holds_is_one_line(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setattr("examples.annual_reports.corpus.file._TIMEOUT", 0.1)
    file = made.tagged(tmp_path / "a.jsonl")
    ingest(made.english(tmp_path / "b.pdf"), tmp_path / "i")
    with contextlib.closing(sqlite3.connect(tmp_path / "i", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert main(["ingest", str(file), "--index", str(tmp_path / "i")]) == 2
    assert "database is locked" in capsys.readouterr().out
    assert main(["ingest", str(file), "--index", str(tmp_path / "i")]) == 0


def test_without_the_pdf_library_text_still_goes_in(reports, tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "pypdfium2", None)
    told = ingest(reports, tmp_path / "i")
    assert [each.status for each in told.documents] == ["failed", "added", "failed"]
    assert "dalsegno[examples]" in told.failed[0].problem


def test_the_command_line_says_what_became_of_each(reports, tmp_path, capsys) -> None:
    def command(*words: str) -> int:
        import argparse

        parser = argparse.ArgumentParser()
        add_to(parser.add_subparsers())
        return run(parser.parse_args([*words, "--index", str(tmp_path / "i")]))

    assert command("search", "dividend") == 2
    assert "no index" in capsys.readouterr().err
    assert command("ingest", str(reports)) == 0
    assert "added      ALDER_2024_ANNUAL.pdf: Alder Mining, FY2024, 4 pages" in capsys.readouterr().out
    assert command("search", "江河矿业的营业收入是多少？") == 0
    assert "[1] 江河矿业 FY2023, p.2 [table]" in capsys.readouterr().out
    assert command("search", "revenue") == 1
    assert "--company" in capsys.readouterr().out
    (tmp_path / "torn.pdf").write_bytes(b"%PDF-")
    assert command("ingest", str(tmp_path / "torn.pdf")) == 1
    assert "failed     torn.pdf: damaged" in capsys.readouterr().out
