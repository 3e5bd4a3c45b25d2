"""Claim: an answer is given again only to the same question, in its scope, from the same sources, and can be taken back."""

from __future__ import annotations

import asyncio
import logging
import math
import threading
import zlib
from datetime import timedelta

import pytest
from langchain_core.embeddings import Embeddings

import dalsegno
from dalsegno.errors import AnswerNotFound, EmbedderChanged, Misuse, Refused, StoreUnavailable

GOOD = {"scope": "reports", "sources": {"bhp": "v1"}, "quality": True, "finish_reason": "stop"}
SEEN = {"scope": "reports", "sources": {"bhp": "v1"}}
QUESTION, ANSWER = "What was BHP's revenue in FY2024?", "USD 55.7 billion."
BODY = '{"question": "q", "answer": "a", "sourced": true, "entities": [], "periods": [], "numbers": [], "units": []}'
SAME = "In FY24, what was BHP's revenue?"
OTHER = "What was BHP's revenue in FY2023?"


def _pairs() -> list[tuple[str, str, bool]]:
    return [
        *((f"What was the revenue of Firm{n}?", f"what is Firm{n}'s revenue in 2019", False) for n in range(25)),
        *((f"What was Firm{n}'s revenue in 2019?", f"In 2019, what was Firm{n}'s revenue?", True) for n in range(25)),
    ]


class Hashed(Embeddings):
    """Counts of three characters in a row, so that likeness is of letters alone."""

    def __init__(self, model: str = "three", dims: int = 64) -> None:
        self.model, self.dims, self.fail, self.asked = model, dims, False, 0

    def embed_documents(self, texts):
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text):
        self.asked += 1
        if self.fail:
            raise ConnectionError("no route to the model")
        found = [0.0] * self.dims
        for at in range(len(text)):
            found[zlib.crc32(text[at : at + 3].lower().encode()) % self.dims] += 1
        return [math.sqrt(number) for number in found]


@pytest.fixture
def local():
    with dalsegno.connect("memory://") as ds:
        yield ds


async def test_an_answer_is_given_to_the_same_question_and_to_no_other(ds, call):
    stored = await call(ds.cache, "store", QUESTION, ANSWER, **GOOD)
    assert stored
    assert (stored.reason, stored.question) == ("stored", QUESTION)
    hit = await call(ds.cache, "lookup", SAME, thread_id="t", coordinate="#3 user", **SEEN)
    assert (hit.band, hit.answer, hit.question, hit.reason, hit.score) == ("hit", ANSWER, QUESTION, "same", 1.0)
    assert (hit.sources, hit.asked, hit.id) == ({"bhp": "v1"}, SAME, stored.id)
    near = await call(ds.cache, "lookup", OTHER, thread_id="t-2", **SEEN)
    assert (near.band, near.reason, near.answer) == ("reference", "period", ANSWER)
    assert "'FY2023' is not 'FY2024'" in near.why
    assert 0.8 <= near.score < 0.95
    miss = await call(ds.cache, "lookup", "How many dogs live in Lyon?", **SEEN)
    assert (miss.band, miss.answer, miss.id) == ("miss", None, None)
    assert miss.score < 0.5
    (found,) = await call(ds.cache, "find", "revenue")
    assert [(use.thread_id, use.band, use.coordinate, use.asked) for use in found.uses] == [
        ("t-2", "reference", None, OTHER),
        ("t", "hit", "#3 user", SAME),
    ]
    assert (found.entities, found.periods, found.hits, found.references) == (("BHP",), ("FY2024",), 1, 1)
    stats = await call(ds.cache, "stats")
    assert (stats.answers, stats.hits, stats.references, stats.scopes) == (1, 1, 1, {"reports": 1})
    assert [each.id for each in await call(ds.cache, "list")] == [stored.id]
    assert ds.threads.check().findings == []


async def test_chinese_is_looked_up_alike(local):
    assert local.cache.store("贵州茅台2021年度的营业收入是多少？", "1,061.9亿元。", **GOOD)
    assert local.cache.lookup("请问贵州茅台２０２１年度营收为多少", **SEEN).band == "hit"
    assert local.cache.lookup("贵州茅台2020年度的营业收入是多少？", **SEEN).reason == "period"
    assert local.cache.lookup("五粮液2021年度的营业收入是多少？", **SEEN).band != "hit"
    assert local.cache.lookup("贵州茅台2021年度的净利润是多少？", **SEEN).band != "hit"
    assert [each.answer for each in local.cache.find("茅台")] == ["1,061.9亿元。"]


def test_another_scope_user_or_tenant_sees_nothing(store_url, sqlite_url):
    url = sqlite_url if store_url == "memory://" else store_url
    with (
        dalsegno.connect(url) as everyone,
        dalsegno.connect(url, user="ann") as ann,
        dalsegno.connect(url, user="bo") as bo,
        dalsegno.connect(url, tenant="other") as other,
    ):
        assert everyone.cache.store(QUESTION, ANSWER, **GOOD)
        assert [each.cache.lookup(QUESTION, **SEEN).band for each in (everyone, ann, bo)] == ["hit"] * 3
        assert other.cache.lookup(QUESTION, **SEEN).reason == "nothing"
        assert everyone.cache.lookup(QUESTION, scope="role:board", sources={"bhp": "v1"}).reason == "nothing"
        own = ann.cache.store("What is my limit?", "USD 100.", **GOOD)
        assert own
        assert (
            ann.cache.lookup("what is my limit", **SEEN).answer,
            bo.cache.lookup("What is my limit?", **SEEN).band,
        ) == (
            "USD 100.",
            "miss",
        )
        assert everyone.cache.lookup("What is my limit?", **SEEN).band == "miss"
        refused = ann.cache.store("What is my limit?", "USD 100.", shared=True, **GOOD)
        assert (bool(refused), refused.reason) == (False, "personal")
        shared = ann.cache.store("What is BHP's ticker?", "BHP.", shared=True, **GOOD)
        hit = bo.cache.lookup("What's the ticker of BHP?", thread_id="bo-secret-thread", **SEEN)
        assert hit.id == shared.id
        seen_by_bo = next(each for each in bo.cache.list() if each.id == shared.id)
        assert (seen_by_bo.by, seen_by_bo.user, len(seen_by_bo.uses)) == (None, None, 1)
        assert next(each for each in ann.cache.list() if each.id == shared.id).uses == ()
        assert {each.question for each in bo.cache.list()} == {QUESTION, "What is BHP's ticker?"}
        with pytest.raises(AnswerNotFound):
            bo.cache.remove(own.id)
        with pytest.raises(Refused, match="shared"):
            bo.cache.remove(QUESTION)
        assert len(everyone.cache.remove(shared.id).uses) == 1
        assert ann.cache.remove("What is my limit?").answers[0].id == own.id


@pytest.mark.parametrize(
    ("sources", "band", "reason"),
    [
        ({"bhp": "v1"}, "hit", "same"),
        ({"bhp": "v1", "rio": "v9"}, "hit", "same"),
        ({"bhp": "v2"}, "miss", "sources"),
        ({"rio": "v1"}, "miss", "sources"),
        ({}, "miss", "sources"),
        (None, "miss", "sources"),
    ],
)
def test_an_answer_from_other_sources_is_not_even_a_reference(sources, band, reason):
    with dalsegno.connect("memory://") as ds:
        ds.cache.store(QUESTION, ANSWER, **GOOD)
        for asked in (QUESTION, OTHER):
            found = ds.cache.lookup(asked, scope="reports", sources=sources)
            if asked == QUESTION:
                assert (found.band, found.reason) == (band, reason)
            elif band == "miss":
                assert (found.band, found.answer) == ("miss", None)


def test_a_question_that_names_nobody_is_told_apart_by_its_sources():
    with dalsegno.connect("memory://") as ds:
        ds.cache.store("What was the company's revenue in 2019?", "55.", **GOOD)
        assert ds.cache.lookup("In 2019, what was the company's revenue?", **SEEN).band == "hit"
        both = ds.cache.lookup(
            "What was the company's revenue in 2019?", scope="reports", sources={"bhp": "v1", "rio": "v1"}
        )
        assert (both.band, both.reason) == ("miss", "sources")


def test_an_answer_that_rests_on_nothing_says_so():
    with dalsegno.connect("memory://") as ds:
        assert (
            ds.cache.store("What is EBITDA?", "Earnings before interest.", **{**GOOD, "sources": {}}).reason
            == "no_source"
        )
        assert ds.cache.store("What is EBITDA?", "Earnings before interest.", **{**GOOD, "sources": None})
        assert ds.cache.lookup("What's EBITDA?", scope="reports").band == "hit"
        assert ds.cache.list()[0].sources is None


async def test_follow_ups_are_completed_or_neither_kept_nor_found(local, call):
    carried = {"entity": "BHP", "period": "FY2024"}
    for question, context in (("他们的分红呢?", None), ("how old is he", None)):
        assert (await call(local.cache, "store", question, "1.", context=context, **GOOD)).reason == "follow_up"
        assert (await call(local.cache, "lookup", question, context=context, **SEEN)).reason == "follow_up"
    stored = await call(local.cache, "store", "他们的分红呢?", "1.46美元。", context=carried, **GOOD)
    assert stored.question == "BHP FY2024的分红"
    assert (await call(local.cache, "lookup", "它的分红呢", context=carried, **SEEN)).band == "hit"
    assert (
        await call(local.cache, "lookup", "他们的分红呢?", context={"entity": "Rio", "period": "FY2024"}, **SEEN)
    ).band != "hit"
    assert (
        await call(local.cache, "lookup", "他们的分红呢?", context={"entity": "BHP", "period": "FY2023"}, **SEEN)
    ).band != "hit"
    assert (
        await call(local.cache, "store", "What were their dividends?", "1.", entities=["BHP"], **GOOD)
    ).question == ("What were BHP's dividends?")


def test_a_hit_prolongs_nothing_and_what_has_expired_is_gone(ds, execute):
    ds.cache.store(QUESTION, ANSWER, ttl=timedelta(hours=1), **GOOD)
    (before,) = ds.cache.list()
    assert ds.cache.lookup(QUESTION, **SEEN).band == "hit"
    (after,) = ds.cache.list()
    assert (after.expires_at, after.expires_at - after.stored_at) == (before.expires_at, timedelta(hours=1))
    execute("UPDATE ds_answers SET expires_at = expires_at - ?", 3_600_000_001)
    assert [ds.cache.lookup(asked, **SEEN).reason for asked in (QUESTION, OTHER)] == ["nothing", "nothing"]
    assert (ds.cache.stats().expired, ds.cache.stats().answers) == (1, 0)
    assert ds.cache.sweep() == 1
    assert ds.cache.list() == []
    assert ds.threads.check().findings == []


def test_a_later_answer_takes_the_place_of_the_earlier_one(local):
    first = local.cache.store(QUESTION, "USD 53.8 billion.", **GOOD)
    local.cache.lookup(QUESTION, thread_id="t", **SEEN)
    second = local.cache.store(SAME, ANSWER, **{**GOOD, "sources": {"bhp": "v2"}})
    assert (second.id, second.reason) == (first.id, "replaced")
    assert local.cache.lookup(QUESTION, scope="reports", sources={"bhp": "v2"}).answer == ANSWER
    assert local.cache.lookup(QUESTION, **SEEN).reason == "sources"
    (only,) = local.cache.list()
    assert [use.at < only.stored_at for use in only.uses] == [False, True]  # the earlier answer was handed out to `t`


def test_a_wrong_answer_goes_with_everything_that_used_it(ds):
    wrong = ds.cache.store(QUESTION, "USD 1.", **GOOD)
    near = ds.cache.lookup(OTHER, thread_id="t-1", **SEEN)
    assert near.band == "reference"
    derived = ds.cache.store(OTHER, "USD 2.", **GOOD)  # the cache knows that a reference was given for it
    told = ds.cache.store("What is BHP's growth in FY2024?", "Half.", derived_from=[derived.id], **GOOD)
    apart = ds.cache.store("Who leads Rio Tinto?", "Someone.", **GOOD)
    ds.cache.lookup(OTHER, thread_id="t-2", coordinate="#9 user", **SEEN)
    assert ds.cache.find("What is BHP's growth in FY2024?")[0].derived_from == (derived.id,)
    gone = ds.cache.remove(SAME)  # by its question, in other words
    assert {each.id for each in gone.answers} == {wrong.id, derived.id, told.id}
    assert gone.threads == ("t-2", "t-1")
    assert [(use.answer, use.coordinate) for use in gone.uses] == [(derived.id, "#9 user"), (wrong.id, None)]
    assert [each.id for each in ds.cache.list()] == [apart.id]
    with pytest.raises(AnswerNotFound):
        ds.cache.remove(wrong.id)
    late = ds.cache.store(OTHER, "USD 2.", derived_from=[near], **GOOD)
    assert (bool(late), late.reason) == (False, "derived")
    assert ds.threads.check().findings == []


def test_a_source_is_not_relied_on_any_more(ds):
    for version, question in (("v1", QUESTION), ("v2", OTHER)):
        ds.cache.store(question, "USD 5.", **{**GOOD, "sources": {"bhp": version, "notes": "n"}})
    assert [each.question for each in (ds.cache.invalidate("bhp", "v1")).answers] == [QUESTION]
    assert (ds.cache.invalidate("bhp", "v1")).answers == ()
    assert ds.cache.stats().sources == {"bhp": 1, "notes": 1}
    assert len((ds.cache.invalidate("notes")).answers) == 1
    assert ds.cache.sweep() == 0


async def test_two_that_store_one_question_at_once_leave_one_answer(store_url, sqlite_url):
    url = sqlite_url if store_url == "memory://" else store_url
    with dalsegno.connect(url) as one, dalsegno.connect(url) as other:
        gate = threading.Barrier(4)

        def keep(ds: dalsegno.Dalsegno, at: int) -> str | None:
            gate.wait()
            return ds.cache.store(QUESTION, f"USD {at}.", **GOOD).id

        ids = await asyncio.gather(*(asyncio.to_thread(keep, ds, at) for at, ds in enumerate((one, other, one, other))))
        (only,) = one.cache.list()
        assert set(ids) == {only.id}
        assert one.threads.check().findings == []


# --- embedders ------------------------------------------------------------------------------------


@pytest.fixture
def embedder() -> Hashed:
    return Hashed()


@pytest.fixture
def measured(embedder):
    with dalsegno.connect("memory://", embedder=embedder) as ds:
        yield ds


def test_vectors_are_compared_alike_on_every_database(store_url, embedder):
    with dalsegno.connect(store_url, embedder=embedder) as ds:
        ds.cache.calibrate(_pairs())
        ds.cache.store(QUESTION, ANSWER, **GOOD)
        ds.cache.store("How tall is Mont Blanc?", "4,806 m.", **GOOD)
        hit = ds.cache.lookup(QUESTION, **SEEN)
        assert (hit.band, round(hit.score, 5)) == ("hit", 1.0)
        near = ds.cache.lookup("What were BHP's revenues in FY2024?", **SEEN)
        assert near.question in (QUESTION, None)
        assert near.band != "hit"
        ds.cache.calibrate(_pairs())
        assert ds.cache.lookup(QUESTION, **SEEN).reason == "older_calibration"
        assert (ds.cache.stats().outdated, ds.cache.reindex(), ds.cache.stats().outdated) == (2, 2, 0)
        assert ds.threads.check().findings == []


async def test_an_embedder_scores_once_it_is_calibrated(measured, embedder, call, caplog):
    with caplog.at_level(logging.WARNING, "dalsegno.cache"):
        measured.cache.store(QUESTION, ANSWER, **GOOD)
        measured.cache.lookup(QUESTION, **SEEN)
    assert caplog.text.count("not calibrated") == 1
    assert embedder.asked == 0
    found = await call(measured.cache, "calibrate", _pairs())
    assert (found.number, found.embedder, found.dims, found.false_hits) == (1, "Hashed:three", 64, 0)
    assert found.low == 0 < found.high < 0.3
    assert measured.cache.lookup(QUESTION, **SEEN).band == "hit"  # by its words
    measured.cache.store(OTHER, "USD 53.8 billion.", **GOOD)
    hit = await call(measured.cache, "lookup", OTHER, **SEEN)
    assert (hit.band, hit.answer, round(hit.score, 6)) == ("hit", "USD 53.8 billion.", 1.0)
    assert (await call(measured.cache, "lookup", "What was BHP's revenue in FY2022?", **SEEN)).band != "hit"
    assert [each.calibration for each in measured.cache.list()] == [None, 1]
    assert await call(measured.cache, "reindex") == 1
    assert [each.calibration for each in measured.cache.list()] == [1, 1]
    assert (await call(measured.cache, "calibrations"))[0] == found
    assert measured.threads.check().findings == []


async def test_answers_of_an_older_calibration_are_misses_until_they_are_measured_anew(measured, call):
    measured.cache.calibrate(_pairs())
    measured.cache.store(QUESTION, ANSWER, **GOOD)
    worded = measured.cache.lookup(SAME, **SEEN)
    assert (worded.band, worded.reason) == ("reference", "score")  # the same question, and the vector has its doubts
    await call(measured.cache, "calibrate", _pairs()[:-1])
    stale = await call(measured.cache, "lookup", QUESTION, **SEEN)
    assert (stale.band, stale.reason) == ("miss", "older_calibration")
    assert "reindex" in stale.why
    assert measured.cache.stats().outdated == 1
    assert await call(measured.cache, "reindex") == 1
    assert (await call(measured.cache, "lookup", QUESTION, **SEEN)).band == "hit"


async def test_another_embedder_is_a_clear_error(sqlite_url, call):
    with dalsegno.connect(sqlite_url, embedder=Hashed()) as ds:
        ds.cache.calibrate(_pairs())
        ds.cache.store(QUESTION, ANSWER, **GOOD)
    for other in (Hashed("four"), Hashed(dims=32)):
        with dalsegno.connect(sqlite_url, embedder=other) as ds:
            for refused in (("lookup", (QUESTION,), SEEN), ("store", (QUESTION, ANSWER), GOOD)):
                with pytest.raises(EmbedderChanged, match="calibrate") as caught:
                    await call(ds.cache, refused[0], *refused[1], **refused[2])
                assert caught.value.stored == ("Hashed:three", 64)
    with dalsegno.connect(sqlite_url) as ds:  # without one, words decide
        assert ds.cache.lookup(SAME, **SEEN).band == "hit"


async def test_a_failing_embedder_is_a_miss_and_costs_no_answer(measured, embedder, call, caplog):
    measured.cache.calibrate(_pairs())
    measured.cache.store(QUESTION, ANSWER, **GOOD)
    embedder.fail = True
    with caplog.at_level(logging.WARNING, "dalsegno.cache"):
        missed = await call(measured.cache, "lookup", QUESTION, **SEEN)
        kept = await call(measured.cache, "store", OTHER, "USD 53.8 billion.", **GOOD)
    assert (missed.band, missed.reason) == ("miss", "embedder_failed")
    assert caplog.text.count("no route to the model") == 2
    assert kept
    embedder.fail = False
    assert (await call(measured.cache, "lookup", OTHER, **SEEN)).band == "hit"
    assert await call(measured.cache, "reindex") == 1


@pytest.mark.parametrize("error", [StoreUnavailable("gone"), dalsegno.errors.Damaged("x", expected="a", found="b")])
async def test_a_failing_store_is_a_miss_with_a_warning(call, caplog, monkeypatch, error):
    with dalsegno.connect("memory://") as ds:
        ds.cache.store(QUESTION, ANSWER, **GOOD)

        def fails(*args, **kwargs):
            raise error

        monkeypatch.setattr(ds.store_backend, "run", fails)
        monkeypatch.setattr(ds.store_backend, "arun", fails)
        with caplog.at_level(logging.WARNING, "dalsegno.cache"):
            found = await call(ds.cache, "lookup", QUESTION, **SEEN)
            stored = await call(ds.cache, "store", QUESTION, ANSWER, **GOOD)
        assert (found.band, found.reason, found.answer) == ("miss", "cache_failed", None)
        assert (bool(stored), stored.reason) == (False, "cache_failed")
        assert caplog.text.count(type(error).__name__) == 2
        monkeypatch.undo()


async def test_an_answer_whose_use_cannot_be_recorded_is_not_given(call, monkeypatch):
    with dalsegno.connect("memory://") as ds:
        ds.cache.store(QUESTION, ANSWER, **GOOD)
        run, arun = ds.store_backend.run, ds.store_backend.arun

        def only_reads(factory, *, write, key=None):
            if write:
                raise StoreUnavailable("read-only")
            return run(factory, write=write, key=key)

        async def aonly_reads(factory, *, write, key=None):
            if write:
                raise StoreUnavailable("read-only")
            return await arun(factory, write=write, key=key)

        monkeypatch.setattr(ds.store_backend, "run", only_reads)
        monkeypatch.setattr(ds.store_backend, "arun", aonly_reads)
        assert (await call(ds.cache, "lookup", QUESTION, **SEEN)).reason == "cache_failed"
        monkeypatch.undo()


@pytest.mark.parametrize("between", ["removed", "replaced"])
def test_an_answer_that_goes_or_changes_in_between_is_not_given(local, monkeypatch, between):
    from dalsegno.services import answers

    local.cache.store(QUESTION, ANSWER, **GOOD)
    record = answers.record

    def moved_before(whom, found, **kwargs):
        if between == "removed":
            yield from answers.remove(whom, QUESTION, cache_scope=None)
        else:
            kept = {"entities": (), "thread_id": None, "derived_from": (), "ttl": None, "standing": answers.Standing()}
            yield from answers.put(
                whom,
                answers.Kept(
                    question=QUESTION, answer="USD 1.", scope="reports", sources={"bhp": "v1"}, shared=True, **kept
                ),
            )
        return (yield from record(whom, found, **kwargs))

    monkeypatch.setattr(answers, "record", moved_before)
    assert local.cache.lookup(QUESTION, **SEEN).reason == "moved"


# --- erasure and damage ---------------------------------------------------------------------------


def _bytes(url: str) -> bytes:
    from pathlib import Path

    file = Path(url.removeprefix("sqlite:///"))
    return b"".join(path.read_bytes() for path in file.parent.glob(f"{file.name}*"))


def test_what_older_rules_kept_is_no_hit_and_no_damage(ds, monkeypatch):
    ds.cache.store(QUESTION, ANSWER, **GOOD)
    for module in ("dalsegno.core.answers.forms", "dalsegno.services.answers", "dalsegno.services.answer_check"):
        monkeypatch.setattr(f"{module}.RULES", 2)
    found = ds.cache.lookup(QUESTION, **SEEN)
    assert (found.band, found.reason) == ("reference", "older_rules")
    assert ds.threads.check().clean
    assert ds.cache.find(QUESTION)[0].answer == ANSWER
    ds.cache.store(QUESTION, "USD 55.66 billion.", **GOOD)
    assert ds.cache.lookup(SAME, **SEEN).answer == "USD 55.66 billion."
    assert ds.threads.check().clean


def test_erasing_a_thread_or_a_user_takes_their_answers_along(sqlite_url):
    with dalsegno.connect(sqlite_url) as ds:
        ds.journal.append("t", "message", "user", "hello")
        ds.cache.store("What does Quorvex cost?", "Zirbel 5.", thread_id="t", **GOOD)
        ds.cache.store("Who runs Plimsoll?", "Marbok.", **GOOD)
        ds.cache.lookup("who runs Plimsoll", thread_id="t", coordinate="#77 trace", **SEEN)
        assert ds.erasure.thread("t", dry_run=True).threads[0].rows["ds_answers"] == 1
        ds.erasure.thread("t")
        assert [each.question for each in ds.cache.list()] == ["Who runs Plimsoll?"]
        assert ds.cache.list()[0].uses == ()
    with dalsegno.connect(sqlite_url, user="ann-secret") as ann:
        ann.cache.store("What is my Vantrel?", "Sevenfold.", **GOOD)
        ann.cache.store("What is Gostyn?", "Krellish.", shared=True, **GOOD)
        ann.cache.lookup("Who runs Plimsoll?", thread_id="annas", **SEEN)
        report = ann.erasure.user(dry_run=True)
        assert (report.answers, len(ann.cache.list())) == (2, 3)
        assert ann.erasure.user().answers == 2
    with dalsegno.connect(sqlite_url) as ds:
        (left,) = ds.cache.list()
        assert (left.question, left.uses) == ("Who runs Plimsoll?", ())
        assert ds.threads.check().findings == []
    held = _bytes(sqlite_url)
    gone = ("Quorvex", "Zirbel", "#77 trace", "ann-secret", "Vantrel", "Sevenfold", "Gostyn", "Krellish", "annas")
    assert [word for word in gone if word.encode() in held] == []
    assert b"Marbok" in held


def test_a_check_finds_what_should_not_be_there(ds, execute):
    for statement, kind in (
        ("UPDATE ds_answers SET body = '[1]'", "json"),
        ("UPDATE ds_answers SET key = ?", "digest"),
        ("UPDATE ds_answers SET terms = ?", "digest"),
        ("UPDATE ds_answers SET calibration = 9", "orphan"),
        ("DELETE FROM ds_answers", "orphan"),
    ):
        stored = ds.cache.store(QUESTION, ANSWER, **GOOD)
        ds.cache.lookup(QUESTION, **SEEN)
        execute(statement, *([b"\x01\x02"] * statement.count("?")))
        assert {finding.kind for finding in ds.threads.check().findings} == {kind}, statement
        if kind == "json":
            assert ds.cache.lookup(QUESTION, **SEEN).reason == "cache_failed"
            execute("UPDATE ds_answers SET body = ?", BODY)
        if kind != "orphan" or "UPDATE" in statement:
            assert ds.cache.remove(stored.id).answers
        assert ds.threads.check().findings == [] or "DELETE" in statement


@pytest.mark.parametrize(
    "wrong",
    [
        lambda cache: cache.store(QUESTION, ANSWER, **{**GOOD, "sources": ["bhp"]}),
        lambda cache: cache.store(QUESTION, ANSWER, **{**GOOD, "sources": {"bhp": None}}),
        lambda cache: cache.store(QUESTION, ANSWER, **{**GOOD, "quality": "good"}),
        lambda cache: cache.store(QUESTION, ANSWER, **{**GOOD, "quality": 7}),
        lambda cache: cache.store(QUESTION, ANSWER, ttl=5, **GOOD),
        lambda cache: cache.store(QUESTION, ANSWER, ttl=timedelta(0), **GOOD),
        lambda cache: cache.store(QUESTION, ANSWER, entities="BHP", **GOOD),
        lambda cache: cache.store(QUESTION, ANSWER, complete="yes", **GOOD),
        lambda cache: cache.store(QUESTION, None, **GOOD),
        lambda cache: cache.store(QUESTION, ANSWER, derived_from=[7], **GOOD),
        lambda cache: cache.lookup(None),
        lambda cache: cache.lookup(QUESTION, scope=7),
        lambda cache: cache.lookup(QUESTION, thread_id=" "),
        lambda cache: cache.lookup(QUESTION, context=7),
        lambda cache: cache.find("x", limit=-1),
        lambda cache: cache.invalidate(7),
        lambda cache: cache.calibrate([("a", "b", "same")]),
        lambda cache: cache.calibrate([("a", "b", True)]),
        lambda cache: cache.reindex(),
        lambda cache: cache.calibrate(_pairs(), embedder=7),
    ],
)
def test_a_wrong_call_is_misuse(wrong):
    with dalsegno.connect("memory://") as ds, pytest.raises(Misuse):
        wrong(ds.cache)


def test_any_text_can_be_asked_and_kept(ds):
    for question in ("What is \x00 A?", "What is \ud800 B?", "What is 😀 C?", "' OR 1=1; --", "What is \ue000 D?"):
        stored = ds.cache.store(question, f"Answer to {question}.", **{**GOOD, "scope": "odd \x00 \ud800"})
        assert stored, stored
        found = ds.cache.lookup(question, scope="odd \x00 \ud800", sources={"bhp": "v1"})
        assert (found.band, found.question) == ("hit", question)
    assert ds.cache.lookup("", **SEEN).reason == "blank"
    assert ds.cache.lookup("?!", **SEEN).band == "miss"
    assert ds.cache.lookup("word " * 1000, **SEEN).reason == "too_long"
    assert ds.threads.check().findings == []
