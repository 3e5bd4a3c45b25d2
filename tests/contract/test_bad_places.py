"""A database that cannot be used is one clear error of the right family, with nothing half-written and no secret told."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from langchain_core.messages import HumanMessage
from langgraph.graph import START, MessagesState, StateGraph

import dalsegno
from dalsegno.errors import (
    DalsegnoError,
    Damaged,
    Misuse,
    NotADatabase,
    SchemaNewer,
    StoreError,
    StoreFull,
    StoreUnavailable,
)

CONFIG: dict[str, Any] = {"configurable": {"thread_id": "t"}}


def refusal(url: str, kind: type[DalsegnoError], **settings: Any) -> str:
    """The one line that connecting raises."""
    with pytest.raises(kind) as told:
        dalsegno.connect(url, **settings)
    text = str(told.value)
    assert "\n" not in text
    assert len(text) < 500
    return text


# --- URLs


@pytest.mark.parametrize(
    "url",
    [
        "",
        "agents.db",
        "/tmp/agents.db",
        "mysql://host/db",
        "redis://host",
        "sqlite://agents.db",
        "sqlite:agents.db",
        "sqlite:///",
        "sqlite://host/agents.db",
        "sqlite:///agents.db?mode=ro",
        "sqlite:///agents.db?synchronous=OFF",
        "postgresql://u@h/db?min_size=some",
        "postgresql://u@h/db?max_size=-1",
    ],
)
def test_a_url_of_no_known_form_is_misuse(url, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refusal(url, Misuse)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("url", "hint"),
    [
        ("sqlite:///agents#1.db", "%23"),
        ("sqlite:///agents.db#", "%23"),
        ("sqlite:///agents.db?synchronous=FULL#x", "%23"),
        ("sqlite:///agents?.db", "%3F"),
        ("sqlite:///agents.db?", "%3F"),
        ("sqlite:///what?.db", "%3F"),
        ("sqlite:///agents.db?synchronous", "%3F"),
        ("sqlite:///agents.db?synchronous=FULL&synchronous=NORMAL", "settings"),
        ("sqlite:///a?b=c.db", "%3F"),
        ("sqlite:///100%.db", "%25"),
        ("sqlite:///a%b.db", "%25"),
        ("sqlite:///a%2.db", "%25"),
        ("sqlite:///a%00b.db", "%25"),
        ("sqlite:///a\nb.db", "%0A"),
        ("sqlite:///a\tb.db", "quote"),
        ("sqlite:///%FF.db", "UTF-8"),
        ("memory://shared", "takes nothing more"),
        ("memory://?x=1", "takes nothing more"),
        ("memory:", "takes nothing more"),
    ],
)
def test_a_url_that_could_mean_two_files_says_how_to_write_it(url, hint, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert hint in refusal(url, Misuse)
    assert list(tmp_path.iterdir()) == []


NAMES = {
    "agents%231.db": "agents#1.db",
    "what%3F.db": "what?.db",
    "what%3f.db": "what?.db",
    "100%25.db": "100%.db",
    "a%2525.db": "a%25.db",
    "a b.db": "a b.db",
    "a%20b.db": "a b.db",
    "a+b&c=d;e.db": "a+b&c=d;e.db",
    "会话.db": "会话.db",
    "%E4%BC%9A.db": "会.db",
    "a%0Ab.db": "a\nb.db",
    "a:b.db": "a:b.db",
    "a@b.db": "a@b.db",
}


@pytest.mark.parametrize("written", NAMES)
def test_a_file_of_any_name_has_a_url_that_opens_it_again(written, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with dalsegno.connect(f"sqlite:///{written}?synchronous=NORMAL") as ds:
        ds.journal.append("t", "note", "me", "hello")
        shown = ds.store_backend.url
    assert [file.name for file in tmp_path.iterdir()] == [NAMES[written]]
    assert shown.isprintable()
    with dalsegno.connect(shown, create=False) as ds:
        assert [event.text for event in ds.journal.read("t")] == ["hello"]


def test_a_relative_path_stays_where_it_was_opened(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with dalsegno.connect("sqlite:///agents.db") as ds:
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
        ds.journal.append("t", "note", "me", "hello")
        assert [event.text for event in ds.journal.read("t")] == ["hello"]
    assert not list((tmp_path / "elsewhere").iterdir())


@pytest.mark.parametrize("url", [None, 7, b"sqlite:///a.db", Path("a.db")])
def test_a_url_that_is_no_text_is_misuse(url):
    assert "named by a URL" in refusal(url, Misuse)


@pytest.mark.parametrize(
    "rest",
    [
        "h:port/db",
        "h/db?min_size=x",
        "h/db?no_such_setting=1",
        "h/db?password=secret-word&foo=1",
        "%zz/db",
    ],
)
def test_a_url_the_driver_cannot_read_is_misuse_and_keeps_the_password(rest):
    assert "secret-word" not in refusal(f"postgresql://me:secret-word@{rest}", Misuse)
    assert "secret-word" not in refusal(f"postgresql://me:secret-word%zz@{rest}", Misuse)


@pytest.mark.parametrize(
    ("argument", "value"), [("tenant", ""), ("tenant", " "), ("tenant", None), ("user", ""), ("user", 7)]
)
def test_a_blank_tenant_or_user_is_misuse(argument, value):
    with pytest.raises(Misuse, match=argument):
        dalsegno.connect("memory://", **{argument: value})


# --- SQLite files


def test_a_folder_is_no_database(tmp_path):
    assert "is a folder" in refusal(f"sqlite:///{tmp_path}", NotADatabase)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_folder_is_not_made(tmp_path):
    assert "create the folder" in refusal(f"sqlite:///{tmp_path / 'no' / 'agents.db'}", NotADatabase)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_file_is_not_made_where_it_must_be_there(tmp_path):
    assert "does not exist" in refusal(f"sqlite:///{tmp_path / 'agents.db'}", NotADatabase, create=False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "content", [b"just text", b"\x00" * 5000, b"SQLite format 2\x00" * 10, b"PK\x03\x04" + b"x" * 9000, b"{}"]
)
def test_a_file_that_is_no_sqlite_stays_as_it_is(tmp_path, content):
    file = tmp_path / "agents.db"
    file.write_bytes(content)
    assert "is not an SQLite database" in refusal(f"sqlite:///{file}", NotADatabase)
    assert file.read_bytes() == content
    assert [each.name for each in tmp_path.iterdir()] == ["agents.db"]


def test_a_file_that_only_begins_like_sqlite_is_no_database(tmp_path):
    file = tmp_path / "agents.db"
    content = b"SQLite format 3\x00" + b"garbage " * 1000
    file.write_bytes(content)
    refusal(f"sqlite:///{file}", (NotADatabase, Damaged))  # type: ignore[arg-type]
    assert file.read_bytes() == content


def test_an_empty_file_becomes_a_database(tmp_path):
    file = tmp_path / "agents.db"
    file.touch()
    with dalsegno.connect(f"sqlite:///{file}") as ds:
        assert ds.journal.append("t", "note", "someone", "x").seq == 1


def test_other_peoples_tables_are_left_alone(tmp_path):
    file = tmp_path / "theirs.db"
    with sqlite3.connect(file) as theirs:
        theirs.execute("CREATE TABLE checkpoints (x)")
        theirs.execute("INSERT INTO checkpoints VALUES (1)")
    theirs.close()
    with dalsegno.connect(f"sqlite:///{file}") as ds:
        ds.journal.append("t", "note", "someone", "x")
    with sqlite3.connect(file) as theirs:
        assert theirs.execute("SELECT x FROM checkpoints").fetchall() == [(1,)]
    theirs.close()


def test_a_torn_file_is_damage_or_reported_by_check(tmp_path):
    file = tmp_path / "agents.db"
    with dalsegno.connect(f"sqlite:///{file}") as ds:
        for n in range(50):
            ds.journal.append("t", "note", "someone", f"{n} " + "long " * 200)
    whole = file.read_bytes()
    for torn in (whole[: len(whole) // 2], whole[:8192] + b"\xff" * 8192 * 3 + whole[8192 * 4 :]):
        file.write_bytes(torn)
        with pytest.raises((Damaged, NotADatabase, StoreError)):
            everything(f"sqlite:///{file}")


def everything(url: str) -> None:
    """Read a database from end to end."""
    with dalsegno.connect(url) as ds:
        ds.journal.read("t")
        assert not ds.threads.check().clean
        pytest.fail("half a file was read as a whole one")


def test_a_file_of_a_newer_format_is_left_alone(tmp_path):
    file = tmp_path / "agents.db"
    with dalsegno.connect(f"sqlite:///{file}") as ds:
        ds.journal.append("t", "note", "someone", "x")
    for newer in ("2", "999"):
        with sqlite3.connect(file) as direct:
            direct.execute("UPDATE ds_meta SET value = ? WHERE name = 'format'", (newer,))
        direct.close()
        before = file.read_bytes()
        assert "Upgrade dalsegno" in refusal(f"sqlite:///{file}", SchemaNewer)
        assert file.read_bytes() == before


@pytest.mark.parametrize("format_", ["", "one", "-1", None])
def test_a_format_that_is_no_number_is_told(tmp_path, format_):
    file = tmp_path / "agents.db"
    dalsegno.connect(f"sqlite:///{file}").close()
    with sqlite3.connect(file) as direct:
        if format_ is None:
            direct.execute("DELETE FROM ds_meta")
        else:
            direct.execute("UPDATE ds_meta SET value = ?", (format_,))
    direct.close()
    refusal(f"sqlite:///{file}", (Damaged, NotADatabase, StoreError))  # type: ignore[arg-type]


AS_SOMEBODY = """
import os, sys
import dalsegno.connect, dalsegno.stores.sqlite, dalsegno.stores.statements
os.setgid(65534)
os.setuid(65534)
for url in sys.argv[1:]:
    try:
        ds = dalsegno.connect(url)
        ds.journal.append("t", "note", "someone", "x")
    except dalsegno.errors.DalsegnoError as error:
        print(type(error).__name__, str(error))
    else:
        print("worked")
"""


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that everybody may enter; pytest closes its own to others, whenever one of its processes starts."""
    with tempfile.TemporaryDirectory(prefix="dalsegno-open-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become somebody else, who may not read everything")
def test_a_file_that_may_not_be_read_or_written_says_so(open_folder):
    files = {name: open_folder / name / "agents.db" for name in ("secret", "frozen", "hidden")}
    for file in files.values():
        file.parent.mkdir()
        with dalsegno.connect(f"sqlite:///{file}") as ds:
            ds.journal.append("t", "note", "someone", "first")
    before = {name: file.read_bytes() for name, file in files.items()}
    for name, mode in (("secret", 0o755), ("frozen", 0o755), ("hidden", 0o700)):
        files[name].parent.chmod(mode)
    files["secret"].chmod(0o600)
    files["frozen"].chmod(0o644)
    done = subprocess.run(
        [sys.executable, "-c", AS_SOMEBODY, *(f"sqlite:///{file}" for file in files.values())],
        capture_output=True, text=True, timeout=60, check=False, cwd="/",
    )  # fmt: skip
    assert done.stderr == ""
    secret, frozen, hidden = done.stdout.splitlines()
    for line in (secret, hidden):
        assert line.startswith("NotADatabase ")
        assert "cannot be read (Permission denied); check the owner and mode" in line
    assert frozen.startswith(("StoreError ", "StoreUnavailable "))
    assert "owner and mode" in frozen or "folder's mode" in frozen
    assert {name: file.read_bytes() for name, file in files.items()} == before


# --- a full disk


def put_on_diet(ds: Any) -> None:
    """Let the database grow by a page at most: what a full disk does."""
    (pages,) = ds.store_backend._writer.execute("PRAGMA page_count").fetchone()
    ds.store_backend._writer.execute(f"PRAGMA max_page_count = {pages + 1}")


def eating_again(ds: Any) -> None:
    ds.store_backend._writer.execute("PRAGMA max_page_count = 1000000")


@pytest.mark.parametrize("store_url", ["memory", "sqlite"], indirect=True)
async def test_a_full_disk_keeps_nothing_of_the_write_and_everything_before_it(ads, call, put, checkpoint):
    ds = ads
    config = put(ds, "t", text="first", messages=[HumanMessage("one", id="1")])
    put_on_diet(ds)
    big = {"text": "x" * 20_000, "more": ["y" * 20_000, "z" * 20_000], "messages": [HumanMessage("m" * 20_000, id="2")]}
    made = checkpoint(**big)
    writes = [
        ("put", [config, made, {}, made["channel_versions"]]),
        ("put_writes", [config, [("text", "w" * 90_000)], "task"]),
        ("copy_thread", ["t", "u"]),
    ]
    for method, arguments in writes[:2]:
        with pytest.raises(StoreFull, match="Free space"):
            await call(ds.checkpointer, method, *arguments)
    with pytest.raises(StoreFull):
        await call(ds.journal, "append", "t", "note", "someone", "n" * 90_000)
    assert [found.checkpoint["channel_values"]["text"] for found in ds.checkpointer.list(CONFIG)] == ["first"]
    assert ds.checkpointer.get_tuple(CONFIG).pending_writes == []
    assert [event.text for event in ds.journal.read("t")] == ["one"]
    assert ds.threads.check().clean
    eating_again(ds)
    await call(ds.checkpointer, "put", config, made, {}, made["channel_versions"])
    assert ds.threads.state("t")["text"] == "x" * 20_000
    assert ds.threads.check().clean


@pytest.mark.parametrize("store_url", ["memory", "sqlite"], indirect=True)
def test_a_run_on_a_full_disk_ends_with_the_reason_and_goes_on_later(ds):
    builder = StateGraph(MessagesState)
    builder.add_node("talk", lambda state: {"messages": [HumanMessage("long " * 10_000 + str(len(state["messages"])))]})
    builder.add_edge(START, "talk")
    graph = builder.compile(checkpointer=ds.checkpointer)
    graph.invoke({"messages": [HumanMessage("one")]}, CONFIG)
    put_on_diet(ds)
    with pytest.raises(StoreFull):
        graph.invoke({"messages": [HumanMessage("on")]}, CONFIG, durability="sync")
    assert ds.threads.check().clean
    eating_again(ds)
    dalsegno.resume(graph, "t")
    assert graph.get_state(CONFIG).next == ()
    assert ds.threads.check().clean


def test_a_real_full_disk_too(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(disk)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("this place does not let tests mount a small disk")
    try:
        with dalsegno.connect(f"sqlite:///{disk / 'agents.db'}") as ds:
            written = 0

            def fill() -> None:
                nonlocal written
                for _ in range(200):
                    ds.journal.append("t", "note", "someone", f"{written} " + "x" * 20_000)
                    written += 1

            with pytest.raises(StoreFull):
                fill()
            assert written > 5
            texts = [event.text.split(" ")[0] for event in ds.journal.read("t")]
            assert texts == [str(n) for n in range(written)]
            assert ds.threads.check().clean
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_file_that_another_process_keeps_locked_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr("dalsegno.stores.sqlite.store._BUSY_SECONDS", 0.3)
    file = tmp_path / "agents.db"
    with dalsegno.connect(f"sqlite:///{file}") as ds:
        ds.journal.append("t", "note", "someone", "first")
        other = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable, match="write lock"):
            ds.journal.append("t", "note", "someone", "second")
        assert [event.text for event in ds.journal.read("t")] == ["first"]  # readers are not kept waiting
        let_go = threading.Timer(0.1, lambda: other.execute("ROLLBACK"))
        let_go.start()
        assert ds.journal.append("t", "note", "someone", "second").seq == 2
        let_go.join()
        other.close()


# --- PostgreSQL


def with_parts(url: str, **parts: Any) -> str:
    split = urlsplit(url)
    return urlunsplit(split._replace(**parts))


def test_a_server_that_is_not_there_is_told_soon():
    text = refusal("postgresql://someone:secret-word@127.0.0.1:1/db", StoreUnavailable)
    assert "secret-word" not in text
    assert "127.0.0.1:1/db" in text
    text = refusal("postgresql://someone:secret-word@no-such-host.invalid/db", StoreUnavailable)
    assert "secret-word" not in text


def test_a_database_that_is_not_there_is_told(postgres_url):
    text = refusal(with_parts(postgres_url, path="/no_such_database"), NotADatabase)
    assert "no_such_database" in text


def test_a_wrong_user_or_password_is_told_without_the_password(postgres_url, postgres_admin):
    host = urlsplit(postgres_url)
    query = "&".join(filter(None, [host.query, "application_name=x"]))
    text = refusal(
        f"postgresql://nobody_here:secret-word@{host.netloc.rpartition('@')[2]}{host.path}?{query}",
        (NotADatabase, StoreError),
    )  # type: ignore[arg-type]
    assert "secret-word" not in text
    assert "nobody_here" in text or "role" in text


def test_secrets_stay_out_of_every_message(postgres_url, put):
    split = urlsplit(postgres_url)
    url = with_parts(postgres_url, netloc=f"postgres:secret-word@{split.netloc.rpartition('@')[2]}")
    with dalsegno.connect(url) as ds:
        put(ds, "t", x=1)
        assert "secret-word" not in ds.store_backend.url
        assert "secret-word" not in repr(ds)
        assert "secret-word" not in repr(ds.store_backend)
        with psycopg.connect(postgres_url, autocommit=True) as admin:
            admin.execute("DROP TABLE ds_items")
        with pytest.raises(StoreError) as told:
            put(ds, "t", x=[1] * 1000)
        assert "secret-word" not in str(told.value)


def test_a_role_without_rights_is_told_and_makes_nothing(postgres_url, postgres_admin):
    postgres_admin.execute("CREATE ROLE poor LOGIN PASSWORD 'secret-word'")
    split = urlsplit(postgres_url)
    url = with_parts(postgres_url, netloc=f"poor:secret-word@{split.netloc.rpartition('@')[2]}")
    try:
        text = refusal(url, StoreError)
        assert "right" in text
        assert "secret-word" not in text
        dalsegno.connect(postgres_url).close()
        text = refusal(url, StoreError)
        assert "secret-word" not in text
    finally:
        with psycopg.connect(postgres_url, autocommit=True) as admin:
            admin.execute("DROP OWNED BY poor")
        postgres_admin.execute("DROP ROLE poor")


def test_a_server_of_a_newer_format_is_left_alone(postgres_url):
    dalsegno.connect(postgres_url).close()
    with psycopg.connect(postgres_url, autocommit=True) as admin:
        for newer, kind in (("2", SchemaNewer), ("x", (Damaged, NotADatabase, StoreError))):
            admin.execute("UPDATE ds_meta SET value = %s WHERE name = 'format'", [newer])
            refusal(postgres_url, kind)  # type: ignore[arg-type]
            assert admin.execute("SELECT value FROM ds_meta WHERE name = 'format'").fetchone() == (newer,)


def test_an_empty_server_is_not_filled_where_it_must_be_there(postgres_url):
    assert "no dalsegno tables" in refusal(postgres_url, NotADatabase, create=False)
    with psycopg.connect(postgres_url) as admin:
        assert admin.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone() == (0,)


def test_a_read_only_server_is_told_and_read(postgres_url, put):
    with dalsegno.connect(postgres_url) as ds:
        put(ds, "t", x=1)
    with psycopg.connect(postgres_url, autocommit=True) as admin:
        name = urlsplit(postgres_url).path.removeprefix("/")
        admin.execute(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on')
    with dalsegno.connect(postgres_url) as ds:
        assert ds.threads.state("t") == {"x": 1}
        with pytest.raises(StoreError, match="nothing was written"):
            put(ds, "t", x=2)


def test_a_table_that_is_gone_is_told(ds, put, store_url):
    put(ds, "t", x=1)
    if store_url.startswith("postgres"):
        with psycopg.connect(store_url, autocommit=True) as admin:
            admin.execute("DROP TABLE ds_writes")
    else:
        ds.store_backend._writer.execute("DROP TABLE ds_writes")
    with pytest.raises(StoreError, match="dalsegno check"):
        ds.checkpointer.get_tuple(CONFIG)
    with pytest.raises(StoreError):
        put(ds, "u", x=1) and ds.checkpointer.delete_thread("u")
