"""Claim: vectors of one embedder at a time rank a search beside its words; a failing one costs vectors, never a memory."""

from __future__ import annotations

import contextlib
import logging
import math
import sqlite3

import pytest
from langchain_core.embeddings import Embeddings

import dalsegno
from dalsegno.core.vectors import written
from dalsegno.errors import EmbedderChanged, Misuse
from dalsegno.stores.sqlite import vectors as sqlite_vectors

AXES = ("tea", "drink", "beverage"), ("car", "vehicle", "automobile"), ("茶", "饮料", "喝"), ("house", "home")


class Meanings(Embeddings):
    """Words of one meaning share an axis, so what is near is known."""

    def __init__(self, model: str = "axes", extra: int = 0) -> None:
        self.model, self.extra, self.fail = model, extra, False
        self.asked = 0

    def embed_documents(self, texts):
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text):
        self.asked += 1
        if self.fail:
            raise ConnectionError("no route to the model")
        found = [float(sum(word in text.lower() for word in axis)) for axis in AXES]
        return [*found, 0.01, *[0.0] * self.extra]


def fill(ds: dalsegno.Dalsegno) -> None:
    for key, text in [("tea", "green tea"), ("car", "a red car"), ("zh", "用户喝绿茶"), ("house", "a house")]:
        ds.store.put(("m",), key, {"text": text})


@pytest.fixture
def embedder() -> Meanings:
    return Meanings()


@pytest.fixture
def connection(store_url: str, embedder: Meanings):
    with dalsegno.connect(store_url, embedder=embedder) as ds:
        yield ds


async def keys(ds, face: str, query: str, **kwargs) -> list[str]:
    found = (
        ds.store.search(("m",), query=query, **kwargs)
        if face == "sync"
        else await ds.store.asearch(("m",), query=query, **kwargs)
    )
    return [item.key for item in found]


async def test_what_means_the_same_is_found_without_a_word_in_common(connection, face):
    fill(connection)
    connection.store.ranking = "vector"
    assert (await keys(connection, face, "beverage"))[0] == "tea"
    assert (await keys(connection, face, "automobile", limit=1)) == ["car"]
    assert (await keys(connection, face, "饮料"))[0] == "zh"
    (best, *_) = connection.store.search(("m",), query="vehicle")
    assert math.isclose(best.score, 1, abs_tol=1e-3)
    assert await keys(connection, face, "beverage", filter={"text": "a house"}) == ["house"]
    assert set(await keys(connection, face, "beverage", offset=1, limit=9)) == {"car", "zh", "house"}
    connection.store.delete(("m",), "tea")
    assert "tea" not in await keys(connection, face, "beverage")


async def test_words_and_vectors_together_rank_what_both_find_first(connection, face):
    fill(connection)
    connection.store.put(("m",), "named", {"text": "the automobile club"})
    assert (await keys(connection, face, "automobile"))[:2] == ["named", "car"]
    connection.store.ranking = "lexical"
    assert await keys(connection, face, "automobile") == ["named"]
    with pytest.raises(Misuse):
        connection.store.ranking = "magic"


async def test_each_path_of_an_item_has_a_vector_and_the_nearest_counts(connection, face):
    connection.store.ranking = "vector"
    connection.store.put(("m",), "two", {"parts": [{"t": "car"}, {"t": "house"}]}, index=["parts[*].t"])
    connection.store.put(("m",), "mixed", {"text": "car and house and tea"})
    connection.store.put(("m",), "none", {"text": "car"}, index=False)
    assert await keys(connection, face, "vehicle") == ["two", "mixed"]


async def test_a_failing_embedder_costs_the_vector_and_not_the_memory(connection, embedder, face, caplog, call):
    fill(connection)
    embedder.fail = True
    with caplog.at_level(logging.WARNING, "dalsegno.memory"):
        await call(connection.store, "put", ("m",), "late", {"text": "black tea"})
    assert "no route to the model" in caplog.text
    assert connection.store.get(("m",), "late").value == {"text": "black tea"}
    assert set(await keys(connection, face, "tea")) == {"tea", "late"}  # by words alone
    assert (await call(connection.memory, "remember", "user", "drink", "black tea", source="form")).value == "black tea"
    embedder.fail = False
    connection.store.ranking = "vector"
    assert "late" not in await keys(connection, face, "beverage")
    assert await call(connection.store, "reindex") == 2
    assert set((await keys(connection, face, "beverage"))[:2]) == {"tea", "late"}
    assert await call(connection.store, "reindex") == 0


async def test_another_embedder_is_refused_until_reindexed_and_never_mixed(sqlite_url, postgres_url, call):
    for url in (sqlite_url, postgres_url):
        with dalsegno.connect(url, embedder=Meanings()) as ds:
            fill(ds)
        for other in (Meanings("other"), Meanings(extra=3)):
            with dalsegno.connect(url, embedder=other) as ds:
                for refused in (
                    lambda ds=ds: ds.store.search(("m",), query="tea"),
                    lambda ds=ds: ds.store.put(("m",), "new", {"text": "tea"}),
                    lambda ds=ds: ds.memory.remember("user", "drink", "tea", source="form"),
                    lambda ds=ds: ds.memory.recall("tea"),
                ):
                    with pytest.raises(EmbedderChanged, match="reindex") as caught:
                        refused()
                    assert caught.value.stored == ("Meanings:axes", 5)
                assert ds.store.get(("m",), "new") is None
                assert len(ds.store.search(("m",))) == 4
        with dalsegno.connect(url, embedder=Meanings(extra=3)) as ds:
            assert await call(ds.store, "reindex") == 4
            ds.store.ranking = "vector"
            assert ds.store.search(("m",), query="beverage")[0].key == "tea"
        with dalsegno.connect(url, embedder=Meanings()) as ds, pytest.raises(EmbedderChanged):
            ds.store.search(("m",), query="tea")
        with dalsegno.connect(url) as ds:  # words need no embedder
            assert [item.key for item in ds.store.search(("m",), query="tea")] == ["tea"]


def test_reindexing_is_the_tenants_and_needs_an_embedder(sqlite_url):
    with dalsegno.connect(sqlite_url) as ds, pytest.raises(Misuse, match="embedder"):
        ds.store.reindex()
    with dalsegno.connect(sqlite_url, user="ann", embedder=Meanings()) as ds, pytest.raises(Misuse, match="tenant"):
        ds.store.reindex()
    with pytest.raises(Misuse, match="embedder"):
        dalsegno.connect(sqlite_url, embedder=print)


def test_vectors_stay_within_their_owner(postgres_url, sqlite_url):
    for url in (sqlite_url, postgres_url):
        with (
            dalsegno.connect(url, user="ann", embedder=Meanings()) as ann,
            dalsegno.connect(url, user="bob", embedder=Meanings()) as bob,
        ):
            fill(ann)
            bob.store.ranking = "vector"
            assert bob.store.search((), query="tea") == []


def test_a_server_without_the_extension_compares_as_well(postgres_url, postgres_admin):
    import psycopg

    if not postgres_admin.execute("SELECT 1 FROM pg_available_extensions WHERE name = 'vector'").fetchone():
        pytest.skip("this server has no pgvector")
    with dalsegno.connect(postgres_url, embedder=Meanings()) as ds:
        fill(ds)
        ds.store.ranking = "vector"
        plain = [(item.key, round(item.score, 5)) for item in ds.store.search((), query="beverage car")]
        with psycopg.connect(postgres_url, autocommit=True) as shell:
            shell.execute("CREATE EXTENSION vector")
        indexed = [(item.key, round(item.score, 5)) for item in ds.store.search((), query="beverage car")]
    assert dict(plain) == dict(indexed)
    assert [score for _, score in plain] == [score for _, score in indexed]


def test_comparing_without_numpy_gives_the_same(monkeypatch):
    _, (text,) = written([[3.0, 4.0, 1.0]], expected=1)
    blob = sqlite_vectors.floats(text)
    assert math.isclose(sqlite_vectors.nearness(blob, text), 1, rel_tol=1e-6)
    monkeypatch.setattr(sqlite_vectors, "_numpy", lambda: None)
    assert math.isclose(sqlite_vectors.nearness(blob, text), 1, rel_tol=1e-6)


@pytest.mark.parametrize("vectors", [[], [[1.0], [1.0]], [[]], [[math.nan]], [[math.inf]], [["x"]]])
def test_what_is_no_vector_is_refused(vectors):
    with pytest.raises(ValueError):
        written(vectors, expected=1)


def test_a_text_without_direction_has_no_vector():
    assert written([[0.0, 0.0]], expected=1) == (2, ("",))


def test_check_finds_vectors_that_belong_to_nothing(sqlite_url, postgres_url, embedder):
    import psycopg

    for url in (sqlite_url, postgres_url):
        with dalsegno.connect(url, embedder=embedder) as ds:
            fill(ds)
            ds.store.delete(("m",), "tea")
            assert ds.threads.check().clean
            shell = sqlite3.connect(url.removeprefix("sqlite:///")) if url == sqlite_url else psycopg.connect(url)
            with contextlib.closing(shell):
                shell.execute("DELETE FROM ds_memories WHERE key = 'car'")
                shell.execute("UPDATE ds_embedders SET dims = 7")
                shell.commit()
            kinds = [finding.kind for finding in ds.threads.check().findings]
            assert (kinds.count("orphan"), kinds.count("digest")) == (1, 2)
