"""A search finds what its company's reports say, in both languages, and leaves the rest out."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from examples.annual_reports.corpus import Index, ingest
from examples.annual_reports.corpus.candidates import fused
from examples.annual_reports.corpus.metrics import asks_for_figure, asks_for_reason, metrics_of, years_of
from examples.annual_reports.corpus.passages import Passage
from examples.annual_reports.corpus.reranking import RuleReranker
from examples.annual_reports.corpus.vectors import HashedEmbeddings
from examples.annual_reports.corpus.words import asked, terms


@pytest.fixture
def index(index_path):
    with Index.open(index_path) as opened:
        yield opened


@pytest.mark.parametrize(
    ("company", "query", "page", "kind"),
    [
        ("Alder Mining", "What was revenue in 2024?", 3, "table"),
        ("Alder Mining", "dividends per share", 2, "text"),
        ("Alder Mining", "Why did wages rise?", 2, "text"),
        ("ALDR", "profit for the year", 3, "table"),
        ("Alder Mining plc", "营业收入是多少", 3, "table"),
        ("江河矿业", "研发费用是多少", 2, "table"),
        ("江河矿业股份有限公司", "控股股东是谁", 1, "text"),
        ("江河矿业", "net profit", 2, "table"),
        ("birch energy", "debt due within one year", 7, "table"),
    ],
)
def test_the_first_passage_answers(index, company, query, page, kind) -> None:
    found = index.search(company, query)
    assert (found[0].passage.page, found[0].passage.kind) == (page, kind)
    assert [each.rank for each in found] == list(range(1, len(found) + 1))
    assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)


def test_a_search_keeps_to_its_company_and_its_bounds(index) -> None:
    assert {each.passage.company for each in index.search("江河矿业", "revenue 2024 dividend", keep=50)} == {"江河矿业"}
    assert index.search("Nobody Ltd", "revenue") == []
    assert len(index.search("Alder Mining", "revenue dividend wages", keep=2)) == 2
    assert index.search("Alder Mining", "revenue", keep=0) == []
    assert index.search("Alder Mining", "revenue", lexical=0, vector=0) == []
    assert index.search("Alder Mining", "") == []


def test_a_passage_carries_its_place(index) -> None:
    passage = index.search("江河矿业", "研发费用")[0].passage
    assert passage.header == "江河矿业 FY2023, p.2 [table]"
    assert passage.source == "江河矿业2023.pdf"
    assert index.passage(passage.id) == passage
    with pytest.raises(KeyError):
        index.passage("no-such-id")
    with pytest.raises(KeyError):
        index.version("no such file")


def test_companies_are_known_by_their_names_in_the_order_of_a_text(index) -> None:
    assert dict(index.companies()) == {"Alder Mining": (2024,), "Birch Energy": (2022,), "江河矿业": (2023,)}
    assert index.company_of("Compare 江河矿业 with ALDER MINING and Birch Energy, Inc.") == [
        "江河矿业",
        "Alder Mining",
        "Birch Energy",
    ]
    assert index.company_of("江河矿业股份有限公司的营业收入") == ["江河矿业"]
    assert index.company_of("(LSE: ALDR) rose") == ["Alder Mining"]
    assert index.company_of("the aldrich report; Birchwood energy") == []


def test_of_names_inside_one_another_the_longest_counts(tmp_path) -> None:
    for name in ("Alder", "Alder Mining"):
        file = tmp_path / f"{name}.txt"
        file.write_text(f"Revenue of {name} was 5 million.")
        ingest(file, tmp_path / "i", company=name, fiscal_year=2024)
    with Index.open(tmp_path / "i") as index:
        assert index.company_of("Alder Mining's revenue") == ["Alder Mining"]
        assert index.company_of("Alder's revenue, then Alder Mining's") == ["Alder", "Alder Mining"]


def test_years_keep_to_their_documents_and_give_way_where_there_are_none(tmp_path) -> None:
    for year in (2022, 2023, None):
        file = tmp_path / f"report{year or ''}.txt"
        file.write_text(f"Revenue was {year or 7} million.\f Nothing else.")
        ingest(file, tmp_path / "i", company="Corran", fiscal_year=year)
    with Index.open(tmp_path / "i") as index:

        def sources(*years: int) -> set[str]:
            return {each.passage.source for each in index.search("Corran", "revenue", years=years)}

        assert sources(2023) == {"report2023.txt", "report.txt"}
        assert sources(2022, 2023) == sources() == {"report2022.txt", "report2023.txt", "report.txt"}
        assert sources(1999) == sources()


def test_a_year_by_which_readers_call_it_counts_too(tmp_path) -> None:
    file = tmp_path / "cedar.txt"
    file.write_text("Cedar Stores Inc.\nFourth Quarter Fiscal 2022 Results\nfor the year ended January 28, 2023\n")
    assert ingest(file, tmp_path / "i").documents[0].fiscal_year == 2022
    other = tmp_path / "later.txt"
    other.write_text("Cedar Stores Inc.\nFiscal 2024 Results\n")
    ingest(other, tmp_path / "i")
    with Index.open(tmp_path / "i") as index:
        assert {each.passage.source for each in index.search("Cedar Stores", "results", years=[2023])} == {"cedar.txt"}


def test_any_reranker_may_decide(index_path) -> None:
    class Backwards:
        def score(self, query, passages, *, fused, years):
            assert years == (2024,)
            assert list(fused) == sorted(fused, reverse=True)
            return [-share for share in fused]

    with Index.open(index_path) as plain, Index.open(index_path, reranker=Backwards()) as turned:
        ranked = turned.search("Alder Mining", "revenue dividend", years=[2024], keep=50)
        assert ranked[-1].passage == plain.by_words("Alder Mining", "revenue dividend")[0].passage


def test_threads_share_an_index(index) -> None:
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: index.search("Alder Mining", "revenue 2024")[0].passage.page, range(40)))
    assert set(found) == {3}


# --- the parts


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Revenues of $1,200.5 in FY2024", ["revenu", "of", "1200.5", "in", "fy2024", "fy", "2024"]),
        ("营业收入2024", ["营业", "业收", "收入", "2024"]),
        ("股", ["股"]),
        ("ＦＹ２４ companies repurchased", ["fy24", "fy", "24", "company", "repurchas"]),
    ],
)
def test_terms(text, found) -> None:
    assert list(terms(text)) == found


def test_words_that_only_ask_are_no_query() -> None:
    assert asked("What was the revenue in 2024?") == ["revenu", "2024"]
    assert asked("营业收入是多少？") == ["营业", "业收", "收入"]
    assert asked("what is it") == ["what", "is", "it"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("What were net sales?", {"revenue"}),
        ("营业利润", {"operating income"}),
        ("利润总额与净利润", {"profit before tax", "net income"}),
        ("SG&A and R&D", {"selling and administration", "research"}),
        ("presales", set()),
    ],
)
def test_metrics_by_their_names(text, found) -> None:
    assert metrics_of(text) == found


def test_what_a_question_wants() -> None:
    assert asks_for_figure("How much did net sales grow?")
    assert asks_for_figure("净利润是多少")
    assert not asks_for_figure("What drove the increase in inventories?")
    assert asks_for_reason("毛利率下降的原因是什么")
    assert years_of("FY24 against fiscal 2023, 1,999.5 and 2022年") == (2024, 2023, 2022)


def test_a_passage_with_the_words_close_together_ranks_first() -> None:
    far = (
        "gross "
        + "filler words about nothing at all " * 12
        + "margin "
        + "more filler again and again " * 12
        + "copper"
    )
    near = "some text " * 60 + "the gross margin of copper" + " other text" * 60

    def passage(text: str) -> Passage:
        return Passage(id=text[:4], company="c", fiscal_year=None, page=1, kind="text", text=text, source="s")

    scores = RuleReranker().score("gross margin copper", [passage(far), passage(near)], fused=[0.5, 0.5], years=())
    assert scores[1] > scores[0]


def test_fusion_prefers_what_both_ways_found() -> None:
    assert [number for number, _ in fused([[1, 2, 3], [2, 4]])] == [2, 1, 4, 3]
    assert fused([[7], [7]]) == [(7, 1.0)]


def test_offline_vectors_know_forms_and_metrics_not_more() -> None:
    embeddings = HashedEmbeddings()

    def near(one: str, two: str) -> float:
        a, b = embeddings.embed_query(one), embeddings.embed_documents([two])[0]
        return sum(x * y for x, y in zip(a, b, strict=True))

    assert near("stock repurchased", "repurchases of stock") > 0.6
    assert near("revenue", "营业收入") > 0.4
    assert abs(near("revenue", "weather")) < 0.2
    assert embeddings.embed_query("") == [0.0] * 1024
