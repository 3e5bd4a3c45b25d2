"""The one place that turns a URL into a store."""

from __future__ import annotations

import re
import threading
from collections.abc import Collection
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qsl, unquote, urlsplit

from langchain_core.embeddings import Embeddings
from langchain_core.runnables import Runnable

from dalsegno.contracts import Embedder, Op, Step, Store, Summarizer
from dalsegno.core.card.listening import DECIDERS
from dalsegno.core.schema import StateSchema
from dalsegno.errors import Misuse
from dalsegno.faces.actions import Actions
from dalsegno.faces.budgets import Budgets
from dalsegno.faces.cache import Cache
from dalsegno.faces.context import Contexts
from dalsegno.faces.erasure import Erasure
from dalsegno.faces.handover import Handover
from dalsegno.faces.journal import Journal
from dalsegno.faces.memory import Memories
from dalsegno.faces.retention import Retention
from dalsegno.faces.runs import Runs
from dalsegno.faces.summaries import Summaries
from dalsegno.faces.threads import Diagnosis, Threads
from dalsegno.langgraph.checkpointer import DalsegnoSaver, OnInput
from dalsegno.langgraph.embedder import embedder_of
from dalsegno.langgraph.opening import check_on_input
from dalsegno.langgraph.store import DalsegnoStore
from dalsegno.langgraph.summarizer import summarizer_of
from dalsegno.services.compaction import Writing
from dalsegno.services.threads_row import NOBODY, Scope

__all__ = ["Dalsegno", "connect", "open_store"]

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_KEY_BYTES = 16
_HALF_QUOTED = re.compile(r"%(?![0-9A-Fa-f]{2})")


def connect(
    url: str,
    *,
    tenant: str = "default",
    user: str | None = None,
    schema: StateSchema | None = None,
    summarizer: Summarizer | Runnable[Any, Any] | None = None,
    embedder: Embedder | Embeddings | None = None,
    on_input_over_unfinished: OnInput = "warn",
    create: bool = True,
    deciders: Collection[str] = DECIDERS,
    audit_key: str | bytes | None = None,
) -> Dalsegno:
    """Open a database, making its tables on first use.

    Args:
        url: `sqlite:///file.db` (three slashes and a relative path, four for an absolute one; `%23`, `%3F` and `%25`
            for `#`, `?` and `%` in the file's name), `memory://`, or `postgresql://user@host/db`. SQLite takes
            `?synchronous=NORMAL`; PostgreSQL takes `?min_size=`, `?max_size=` and `?prepare=off` besides the driver's
            own settings.
        tenant: who pays; nothing of another tenant can be seen or reached.
        user: whose threads may be seen and written; None sees the whole tenant.
        schema: version and migrations of the state; stamped on each checkpoint, applied on reading.
        summarizer: writes the digests of compaction, where a node, a middleware or `regenerate` is given this database
            and no summarizer of its own: a chat model, or a `Summarizer`. None: the messages' own words, no model.
        embedder: makes the vectors of long-term memory and of the answer cache: any LangChain `Embeddings`, or an
            `Embedder`. None: both go by words alone.
        on_input_over_unfinished: what to do when a new input would discard steps that still wait.
        create: False refuses a SQLite file that does not exist.
        deciders: whose word decides, for handover cards: roles (`user`, `assistant`) and names of authors.
        audit_key: a secret of 16 bytes or more that seals the audit, so that who has the database alone cannot add to
            it or shorten it unnoticed; the same in every process that writes to this tenant.

    Raises:
        Misuse: the URL or an argument is wrong.
        NotADatabase, SchemaNewer, StoreUnavailable: the database cannot be used.
    """
    if schema is not None and not _is_a(schema, StateSchema):
        msg = f"schema is a dalsegno.StateSchema, not {type(schema).__name__}"
        raise Misuse(msg)
    check_on_input(on_input_over_unfinished)
    if not _is_text(tenant):
        msg = "tenant is blank; name who pays, or leave it out"
        raise Misuse(msg)
    if user is not None and not _is_text(user):
        msg = "user is blank; name the owner, or leave it out"
        raise Misuse(msg)
    writing = Writing(summarizer=summarizer_of(summarizer))
    embedding = embedder_of(embedder)
    return Dalsegno(
        open_store(url, create=create),
        tenant=tenant,
        user=user,
        schema=schema,
        summarizer=writing.summarizer,
        embedder=embedding,
        on_input_over_unfinished=on_input_over_unfinished,
        create=create,
        deciders=_deciders(deciders),
        audit_key=_key(audit_key),
    )


def _deciders(given: Any) -> frozenset[str]:
    if isinstance(given, str) or not all(_is_text(one) for one in given):
        msg = f"deciders={given!r}: give a list of roles or names, such as ['user']"
        raise Misuse(msg)
    return frozenset(given)


def open_store(url: str, *, create: bool = True) -> Store:
    """Open the store behind a URL; see `connect`."""
    if not _is_text(url):
        msg = f"a database is named by a URL, not by {type(url).__name__}; such as sqlite:///agents.db"
        raise Misuse(msg)
    try:
        parts = urlsplit(url)
    except ValueError:
        parts = None  # its message may hold the password
    if parts is None:
        msg = f"{_shown(url)}: not a URL; quote special characters in user and password (%5B for [, %5D for ])"
        raise Misuse(msg)
    if parts.scheme == "memory":
        if url != "memory://":
            msg = f"{_shown(url)}: write memory://, which takes nothing more; each is a database of its own"
            raise Misuse(msg)
        from dalsegno.stores.sqlite import SqliteStore  # noqa: PLC0415 - a store is loaded when it is asked for

        return SqliteStore(None)
    if parts.scheme == "sqlite":
        from dalsegno.stores.sqlite import SqliteStore  # noqa: PLC0415 - a store is loaded when it is asked for

        path, settings = _file(url)
        return SqliteStore(path, create=create, synchronous=settings.get("synchronous", "FULL").upper())
    if parts.scheme in ("postgresql", "postgres"):
        if "@" in f"{parts.path}#{parts.fragment}" or ("@" in parts.query and "@" not in parts.netloc):
            msg = f"{_shown(url)}: quote special characters in user and password (%2F for /, %23 for #, %3F for ?)"
            raise Misuse(msg)
        from dalsegno.stores.postgres import PostgresStore  # noqa: PLC0415 - a store is loaded when it is asked for

        return PostgresStore(url, create=create)
    msg = f"{_shown(url)}: unknown kind of database; use sqlite:///file.db, postgresql://user@host/db or memory://"
    raise Misuse(msg)


def _key(given: object) -> bytes | None:
    key = given.encode() if isinstance(given, str) else given
    if key is not None and (not isinstance(key, bytes) or len(key) < _KEY_BYTES):
        msg = f"audit_key is a secret of {_KEY_BYTES} bytes or more; make one with secrets.token_hex(32)"
        raise Misuse(msg)
    return key


def _is_a(value: object, kind: type) -> bool:
    """What the annotation promises, checked for callers without a type checker."""
    return isinstance(value, kind)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _shown(url: str) -> str:
    """A URL for messages: no user, no password, no settings (which may hold either)."""
    scheme, mark, rest = url.rpartition("@")[2].partition("?")[0].partition("://")
    return repr(f"{url.partition('://')[0]}://{scheme}" if "@" in url and not mark else f"{scheme}{mark}{rest}")


def _file(url: str) -> tuple[Path, dict[str, str]]:
    """The file and the settings that a SQLite URL names; what could mean two files is refused."""
    place, mark, query = url.partition("://")[2].partition("?")
    path = place.removeprefix("/")
    if not place.startswith("/") or not path:
        msg = f"{_shown(url)}: write sqlite:///agents.db (relative) or sqlite:////var/lib/agents.db (absolute)"
    elif "#" in url or _CONTROL.search(url):
        msg = f"{_shown(url)}: quote special characters in the file's name (%23 for #, %3F for ?, %0A for a line break)"
    elif _HALF_QUOTED.search(path) or "%00" in path:
        msg = f"{_shown(url)}: a % in the file's name is written %25; two hexadecimal digits after it name a character"
    elif not (settings := _settings(query)) and mark:
        msg = f"{_shown(url)}: after ? stand settings, such as ?synchronous=NORMAL; in the file's name write %3F"
    elif unknown := settings.keys() - {"synchronous"}:
        msg = (
            f"{_shown(url)}: unknown setting {min(unknown)!r}; SQLite takes synchronous. A ? in the file's name is %3F"
        )
    elif "\ufffd" in unquote(path):
        msg = f"{_shown(url)}: a file's name is text in UTF-8, which {path!r} is not"
    elif (found := Path(unquote(path))).name == ":memory:":
        msg = f"{_shown(url)}: for a database in memory use memory://"
    else:
        return found, settings
    raise Misuse(msg)


def _settings(query: str) -> dict[str, str]:
    """The settings in a URL's query; none when it cannot be read, or says one of them twice."""
    try:
        pairs = parse_qsl(query, strict_parsing=True)
    except ValueError:
        return {}
    return dict(pairs) if len(dict(pairs)) == len(pairs) else {}


class Dalsegno:
    """An open database: the checkpointer and the services, for one tenant and user.

    Use it with or without `with`; `async with` does the same. Everything in it may be used from several threads and
    event loops at once.
    """

    def __init__(
        self,
        store: Store,
        *,
        tenant: str,
        user: str | None,
        schema: StateSchema | None,
        summarizer: Summarizer | None = None,
        embedder: Embedder | None = None,
        on_input_over_unfinished: OnInput,
        create: bool = True,
        deciders: Collection[str] = DECIDERS,
        audit_key: bytes | None = None,
    ) -> None:
        """Take an open store; callers use `connect`."""
        self.store_backend = store
        self.tenant = tenant
        self.user = user
        self.schema = schema
        self.summarizer = summarizer
        self._create = create
        self._audit_key = audit_key
        self._lock = threading.Lock()
        self._number: int = NOBODY
        self.checkpointer = DalsegnoSaver(
            store, self.scope, schema=schema, on_input_over_unfinished=on_input_over_unfinished, deciders=deciders
        )
        try:
            self.scope()
        except BaseException:
            store.close()
            raise
        self.journal = Journal(store, self.scope, deciders)
        self.threads = Threads(store, self.scope, self.checkpointer)
        self.runs = Runs(store, self.scope)
        self.actions = Actions(store, self.scope, tenant=tenant, user=user)
        self.action = self.actions.action
        """The decorator that makes a function's calls actions."""
        self.summaries = Summaries(store, self.scope)
        self.handover = Handover(store, self.scope, deciders, self.journal)
        self.store = DalsegnoStore(store, self.scope, embedder=embedder)
        self.memory = Memories(store, self.scope, embedder=embedder)
        self.cache = Cache(store, self.scope, embedder=embedder)
        self.context = Contexts(store, self.scope)
        self.budgets = Budgets(store, self.scope)
        self.retention = Retention(store, self.scope, self.checkpointer)
        self.erasure = Erasure(store, self.scope, self.checkpointer)

    def doctor(self, thread_id: str) -> Diagnosis:
        """What is wrong with how a thread is used: `ds.threads.doctor`."""
        return self.threads.doctor(thread_id)

    def scope(self) -> Scope:
        """On whose behalf this object works."""
        with self._lock:
            if self._number == NOBODY:
                self._number = self._tenant()
            return Scope(self._number, self.user, self._audit_key)

    def _tenant(self) -> int:
        found = self.store_backend.run(self._find_tenant, write=False)
        if found is None and not self._create:
            return NOBODY
        return found if found is not None else self.store_backend.run(self._make_tenant, write=True)

    def _find_tenant(self) -> Op[int | None]:
        rows = yield Step("tenant_find", {"name": self.tenant})
        return rows[0][0] if rows else None

    def _make_tenant(self) -> Op[int]:
        rows = yield Step("tenant_find", {"name": self.tenant})
        if not rows:
            yield Step("tenant_add", {"name": self.tenant})
            rows = yield Step("tenant_find", {"name": self.tenant})
        number: int = rows[0][0]
        return number

    def close(self) -> None:
        """Let go of the database. Closing twice is fine."""
        self.store_backend.close()

    async def aclose(self) -> None:
        """Let go of the database, inside an event loop."""
        await self.store_backend.aclose()

    def __enter__(self) -> Self:
        """Nothing is opened here: the object is open already."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        self.close()

    async def __aenter__(self) -> Self:
        """Nothing is opened here: the object is open already."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        await self.aclose()
