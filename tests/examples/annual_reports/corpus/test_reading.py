"""Lines become tables and paragraphs, pages become passages, title pages become names and years."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples.annual_reports.corpus.cutting import TABLE_WEIGHT, TEXT_WEIGHT, pieces
from examples.annual_reports.corpus.layout import blocks_of, is_figure
from examples.annual_reports.corpus.naming import aliases_of, company_key, identity_of
from examples.annual_reports.corpus.paragraphs import paragraphs, weight
from examples.annual_reports.corpus.passages import Block, Page, Unreadable
from examples.annual_reports.corpus.pdf import Word
from examples.annual_reports.corpus.tagged import read_tagged


def words(*lines: list[tuple[float, str]]) -> list[Word]:
    """Lines from the top, each with its words' left edges; a letter is five points wide and ten high."""
    return [
        Word(text, left, 700 - 14 * number, left + 5 * len(text), 710 - 14 * number)
        for number, line in enumerate(lines)
        for left, text in line
    ]


def test_signs_belong_to_their_figures_and_dashes_keep_their_column() -> None:
    blocks = blocks_of(
        words(
            [(50, "Stores"), (200, "Opened"), (300, "Closed")],
            [(50, "Canada"), (210, "$"), (218, "12"), (320, "-")],
            [(50, "Total"), (80, "stores"), (210, "1"), (310, "(2)")],
        )
    )
    assert [block.kind for block in blocks] == ["table"]
    assert blocks[0].lines == ("Stores | Opened | Closed", "Canada | $ 12 | -", "Total stores | 1 | (2)")
    assert blocks[0].head == 1


def test_a_bullet_is_no_table() -> None:
    long = "net sales rose by a fifth because prices and volumes were higher in all"
    blocks = blocks_of(words(*[[(50, "•"), (70, long)] for _ in range(4)]))
    assert [block.kind for block in blocks] == ["text"]


@pytest.mark.parametrize("text", ["1,234", "(1,234.5)", "$ 12", "-", "—", "12.5%", "(7.1)%", "n/a", "2,018.0x", "¥1.2"])
def test_figures(text) -> None:
    assert is_figure(text)


@pytest.mark.parametrize("text", ["", "Q2 rose", "Total 12", "(a)", "12 stores"])
def test_no_figures(text) -> None:
    assert not is_figure(text)


def test_a_line_that_fills_its_column_goes_on() -> None:
    assert paragraphs(
        ["本公司向神华集团支付的代理费分别为一亿元和二亿元，占同期营", "业成本的比例很低。", "下一段"]
    ) == [
        "本公司向神华集团支付的代理费分别为一亿元和二亿元，占同期营业成本的比例很低。",
        "下一段",
    ]
    assert paragraphs(["a line that is long enough to fill", "its column.", "Heading"])[0].endswith("fill its column.")


LINES = st.lists(st.text(alphabet="abc 收入。.", min_size=1, max_size=900).filter(str.strip), min_size=1, max_size=8)


@given(LINES)
def test_cutting_loses_no_letter_and_stays_within_its_bounds(lines) -> None:
    page = Page(number=3, blocks=(Block(kind="text", lines=tuple(lines)),))
    cut = list(pieces([page]))
    assert "".join("".join(text.split()) for _, _, text in cut) == "".join("".join(line.split()) for line in lines)
    assert all(weight(text) <= 2 * TEXT_WEIGHT + 300 for _, _, text in cut)
    assert {number for number, _, _ in cut} == {3}


def test_a_long_table_is_cut_between_rows_under_the_same_heads() -> None:
    rows = tuple(f"Row number {number} of the table | {number},000 | {number}" for number in range(400))
    head = ("Revenue by mine", "(in millions)", " | 2024 | 2023")
    cut = [text for _, _, text in pieces([Page(number=1, blocks=(Block(kind="table", lines=head + rows, head=3),))])]
    assert len(cut) > 1
    assert all(text.startswith("Revenue by mine\n(in millions)\n | 2024 | 2023\nRow") for text in cut)
    assert [line for text in cut for line in text.splitlines()[3:]] == list(rows)
    assert all(weight(text) <= TABLE_WEIGHT + 100 for text in cut)


def test_a_table_that_goes_on_overleaf_keeps_its_heads() -> None:
    first = Block(kind="table", lines=("单位：万元", "项目 | 2023年", "收入 | 5"), head=2)
    second = Block(kind="table", lines=("利润 | 1", "税 | 2"), head=0)
    other = Block(kind="table", lines=("利润 | 1 | 2",), head=0)
    cut = [text for _, _, text in pieces([Page(number=1, blocks=(first,)), Page(number=2, blocks=(second,))])]
    assert cut[1] == "单位：万元\n项目 | 2023年\n利润 | 1\n税 | 2"
    cut = [text for _, _, text in pieces([Page(number=1, blocks=(first,)), Page(number=2, blocks=(other,))])]
    assert cut[1] == "利润 | 1 | 2"


# --- page-tagged text


def test_plain_text_has_pages_by_form_feeds_and_by_marks(tmp_path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("one\f two\fthree")
    assert [page.number for page in read_tagged(file)] == [1, 2, 3]
    file.write_text("[page 4]\nfour\n--- Page 9 ---\nnine\n第12页\n十二\n")
    assert [(page.number, page.blocks[0].lines) for page in read_tagged(file)] == [
        (4, ("four",)),
        (9, ("nine",)),
        (12, ("十二",)),
    ]


def test_rows_of_plain_text_are_a_table(tmp_path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("Sales\n | 2024 | 2023\nCopper | 12 | 10\nZinc\t3\t\nAnd so it ends.")
    (page,) = read_tagged(file)
    assert page.blocks[0] == Block(
        kind="table", lines=("Sales", " | 2024 | 2023", "Copper | 12 | 10", "Zinc | 3 |"), head=1
    )


def test_rows_are_read_and_never_run(tmp_path) -> None:
    file = tmp_path / "a.jsonl"
    hostile = "['a', __import__('os').system('touch run')]"
    file.write_text(
        '{"page": 1, "type": "excel", "inside": "'
        + hostile
        + '"}\n{"page": 1, "type": "excel", "inside": "'
        + "[" * 5000
        + '"}'
    )
    (page,) = read_tagged(file)
    assert page.blocks[0].lines[0] == hostile
    assert not (tmp_path / "run").exists()


def test_text_of_the_mainland_is_read_in_its_own_encoding(tmp_path) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes("营业收入".encode("gb18030"))
    assert read_tagged(file)[0].blocks[0].lines == ("营业收入",)
    file.write_bytes(b"\xff\xff\xff")
    with pytest.raises(Unreadable):
        read_tagged(file)


# --- whose, and of which year


def identity(*lines: str, source: str = "report.pdf"):
    return identity_of([Page(number=1, blocks=(Block(kind="text", lines=lines),))], source)


@pytest.mark.parametrize(
    ("lines", "source", "company", "year"),
    [
        (("Fourth Quarter Fiscal 2022 Results", "Cedar, Inc. (NASDAQ: CDR)"), "CEDAR_2023Q4.pdf", "Cedar", 2022),
        (
            ("ELM CORPORATION", "(Exact name of registrant as specified in its charter)", "Big Bank Inc."),
            "x.pdf",
            "ELM",
            None,
        ),
        (("For the fiscal year ended December 31, 2021", "OAK & SONS CO., INC."), "x.pdf", "Oak & Sons", 2021),
        (("江河矿业股份有限公司", "二〇二三年年度报告"), "x.pdf", "江河矿业", 2023),
        (("中信证券股份有限公司", "江河矿业股份有限公司招股说明书"), "x.txt", "江河矿业", None),
        (("We dig.",), "FMG_FY24_report.pdf", "FMG", 2024),
        (("Fmg digs, and Fmg ships.",), "FMG_2019.pdf", "Fmg", 2019),
        (("Nothing is said",), "report.pdf", "report", None),
    ],
)
def test_whose_and_of_which_year(lines, source, company, year) -> None:
    found = identity(*lines, source=source)
    assert (found.company, found.fiscal_year) == (company, year)


def test_names_are_compared_without_their_form() -> None:
    assert company_key("BEST BUY CO., INC.") == company_key("Best Buy") == company_key("best-buy")
    assert company_key("江河矿业股份有限公司") == company_key("江河矿业")
    assert "江河" in list(aliases_of("江河矿业"))
    assert "神华能源" in list(aliases_of("中国神华能源股份有限公司"))
