"""Small reports made here: two PDFs in two languages, one page-tagged text, and files that cannot be read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from reportlab.lib import pdfencrypt
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfgen.canvas import Canvas

from examples.annual_reports.corpus import ingest

TABLE = (
    ("", "2024", "2023"),
    ("Revenue", "5,560.5", "5,381.0"),
    ("Cost of sales", "(3,120.0)", "(2,998.4)"),
    ("Exceptional items", "—", "(41.5)"),
    ("Grant received", "", "12.0"),
    ("Profit for the year", "1,204.7", "1,101.2"),
)
TABLE_ZH = (
    ("项目", "2023年", "2022年"),
    ("营业收入", "8,120.40", "7,455.10"),
    ("研发费用", "312.00", "288.60"),
    ("归属于母公司股东的净利润", "640.25", "598.70"),
)
PROSE = (
    "Alder Mining digs copper and lithium on two continents.",
    "The board proposes a final dividend of 42 cents per share, after 38 cents in the year before.",
    "Wages rose because two hundred people were hired at the Corran pit during the second half.",
)
LEFT = [f"Left column line {n} tells of the northern pit and its" for n in range(20)]
RIGHT = [f"right column line {n} speaks of shipping from the port" for n in range(20)]


def table(page: Canvas, rows: Sequence[Sequence[str]], top: float, font: str) -> None:
    page.setFont(font, 10)
    for number, row in enumerate(rows):
        y = top - 16 * number
        page.drawString(60, y, row[0])
        for column, cell in enumerate(row[1:]):
            page.drawRightString(360 + 100 * column, y, cell)


def english(path: Path, *, revenue: str = "5,560.5") -> Path:
    page = Canvas(str(path), invariant=True)
    page.setFont("Helvetica", 16)
    page.drawString(60, 760, "Alder Mining plc")
    page.drawString(60, 730, "Annual Report 2024")
    page.setFont("Helvetica", 10)
    page.drawString(60, 700, "for the year ended 30 June 2024 (LSE: ALDR)")
    page.showPage()
    page.setFont("Helvetica", 10)
    for number, line in enumerate(PROSE):
        page.drawString(60, 760 - 40 * number, line)
    page.showPage()
    page.setFont("Helvetica", 10)
    page.drawString(60, 760, "Consolidated income statement")
    page.drawString(60, 744, "(in millions of dollars)")
    table(page, [[cell.replace("5,560.5", revenue) for cell in row] for row in TABLE], 728, "Helvetica")
    page.showPage()
    page.setFont("Helvetica", 9)
    for number, (left, right) in enumerate(zip(LEFT, RIGHT, strict=True)):
        page.drawString(60, 760 - 14 * number, left)
        page.drawString(320, 760 - 14 * number, right)
    page.save()
    return path


def chinese(path: Path) -> Path:
    pdfmetrics.registerFont(UnicodeCIDFont("STSong-Light"))
    page = Canvas(str(path), invariant=True)
    page.setFont("STSong-Light", 16)
    page.drawString(60, 760, "江河矿业股份有限公司")
    page.drawString(60, 730, "2023年年度报告")
    page.setFont("STSong-Light", 10)
    page.drawString(60, 700, "股票简称：江河矿业    股票代码：600000")
    page.drawString(60, 660, "公司的控股股东为江河集团，持有公司百分之五十一的股份。")
    page.showPage()
    page.setFont("STSong-Light", 10)
    page.drawString(60, 760, "主要会计数据")
    page.drawString(60, 744, "单位：万元")
    table(page, TABLE_ZH, 728, "STSong-Light")
    page.save()
    return path


def tagged(path: Path) -> Path:
    lines = [
        {"page": 1, "type": "页眉", "inside": "running head"},
        {"page": 1, "type": "text", "inside": "Birch Energy Inc."},
        {"page": 1, "type": "text", "inside": "Fiscal 2022 results"},
        {"page": 7, "type": "text", "inside": "Debt by maturity ($ in thousands)"},
        {"page": 7, "type": "excel", "inside": "['', '2022', '2021']"},
        {"page": 7, "type": "excel", "inside": "['Due within a year', '1,200', '900']"},
        {"page": 7, "type": "excel", "inside": "['Due later', '4,000', '']"},
        {"page": 7, "type": "页脚", "inside": "7"},
    ]
    path.write_text("\n".join(json.dumps(line, ensure_ascii=False) for line in lines), "utf-8")
    return path


def encrypted(path: Path) -> Path:
    page = Canvas(str(path), encrypt=pdfencrypt.StandardEncryption("owner", "secret"))
    page.drawString(60, 760, "nobody reads this")
    page.save()
    return path


@pytest.fixture(scope="session")
def reports(tmp_path_factory) -> Path:
    """A folder of three reports."""
    folder = tmp_path_factory.mktemp("reports")
    english(folder / "ALDER_2024_ANNUAL.pdf")
    chinese(folder / "江河矿业2023.pdf")
    (folder / "more").mkdir()
    tagged(folder / "more" / "birch.jsonl")
    return folder


@pytest.fixture(scope="session")
def index_path(reports, tmp_path_factory) -> Path:
    """An index of them, which nobody changes."""
    path = tmp_path_factory.mktemp("index") / "reports.index"
    ingest(reports, path)
    return path
