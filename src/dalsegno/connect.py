"""The one place that turns a URL into a store."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Collection
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Literal, Self
from urllib.parse import parse_qsl, unquote, urlsplit

from langchain_core.embeddings import Embeddings
from langchain_core.runnables import Runnable

from dalsegno.contracts import CardExtractor, Embedder, Op, Step, Store, Summarizer
from dalsegno.core.card.listening import DECIDERS
from dalsegno.core.schema import StateSchema
from dalsegno.core.tree import is_blank, is_plain_text
from dalsegno.errors import Misuse
from dalsegno.faces.actions import Actions
from dalsegno.faces.budgets import Budgets
from dalsegno.faces.cache import Cache
from dalsegno.faces.context import Contexts
from dalsegno.faces.erasure import Erasure
from dalsegno.faces.handover import Handover
from dalsegno.faces.histories import Histories
from dalsegno.faces.journal import Journal
from dalsegno.faces.memory import Memories
from dalsegno.faces.retention import Retention
from dalsegno.faces.runs import Runs
from dalsegno.faces.summaries import Summaries
from dalsegno.faces.threads import Diagnosis, Threads
from dalsegno.langgraph.checkpointer import DalsegnoSaver, OnInput
from dalsegno.langgraph.embedder import embedder_of
from dalsegno.langgraph.extractor import extractor_of
from dalsegno.langgraph.opening import check_on_input
from dalsegno.langgraph.store import DalsegnoStore
from dalsegno.langgraph.summarizer import summarizer_of
from dalsegno.services.access import on_record
from dalsegno.services.compaction import Writing
from dalsegno.services.ids import MAX_NAME_BYTES
from dalsegno.services.recording import Recording
from dalsegno.services.shares import check_member
from dalsegno.services.threads_row import NOBODY, Scope

__all__ = ["Dalsegno", "connect", "open_store"]

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_KEY_BYTES = 16
_PLAYED = {"play": "perform"}
"""What is behind `perform` and `action`, and so on record under their name."""
_HALF_QUOTED = re.compile(r"%(?![0-9A-Fa-f]{2})")


def connect(
    url: str,
    *,
    tenant: str = "default",
    user: str | None = None,
    schema: StateSchema | None = None,
    summarizer: Summarizer | Runnable[Any, Any] | None = None,
    extractor: CardExtractor | Runnable[Any, Any] | None = None,
    embedder: Embedder | Embeddings | None = None,
    on_input_over_unfinished: OnInput = "warn",
    create: bool = True,
    deciders: Collection[str] = DECIDERS,
    audit_key: str | bytes | None = None,
    role: Literal["user", "admin"] = "user",
) -> Dalsegno:
    """Open a database, making its tables on first use.

    Args:
        url: `sqlite:///file.db` (three slashes and a relative path, four for an absolute one; `%23`, `%3F` and `%25`
            for `#`, `?` and `%` in the file's name), `memory://`, or `postgresql://user@host/db`. SQLite takes
            `?synchronous=NORMAL`; PostgreSQL takes `?min_size=`, `?max_size=` and `?prepare=off` besides the driver's
            own settings.
        tenant: who pays; nothing of another tenant can be seen or reached.
        user: on whose behalf: his own threads may be seen and written, and those that are shared with him. None is the
            program itself, which sees the whole tenant and may do anything in it; threads made so have no owner.
        schema: version and migrations of the state; stamped on each checkpoint, applied on reading.
        summarizer: writes the digests of compaction, where a node, a middleware or `regenerate` is given this database
            and no summarizer of its own: a chat model, or a `Summarizer`. None: the messages' own words, no model.
        extractor: looks for what the rules have missed in handover cards, where `ds.handover.refresh` or a worker asks
            it to: a chat model, or a `CardExtractor`. None: the rules alone.
        embedder: makes the vectors of long-term memory and of the answer cache: any LangChain `Embeddings`, or an
            `Embedder`. None: both go by words alone.
        on_input_over_unfinished: what to do when a new input would discard steps that still wait.
        create: False refuses a SQLite file that does not exist.
        deciders: whose word decides, for handover cards: roles (`user`, `assistant`) and names of authors.
        audit_key: a secret of 16 bytes or more that seals the audit, so that who has the database alone cannot add to
            it or shorten it unnoticed; the same in every process that writes to this tenant.
        role: `admin` lets the user see and do anything in the tenant's threads, and puts on record what he does with
            those of others. It is taken from here alone, never from data; give it only for whom you have checked.

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
    if not is_plain_text(tenant) or len(tenant.encode()) > MAX_NAME_BYTES:
        msg = f"a tenant is named by plain text of at most {MAX_NAME_BYTES} bytes, not by {tenant[:40]!r}…"
        raise Misuse(msg)
    if user is not None and not _is_text(user):
        msg = "user is blank; name the owner, or leave it out"
        raise Misuse(msg)
    if user is not None:
        check_member(user)
    if role not in ("user", "admin"):
        msg = f"role={role!r}: use 'user' or 'admin'"
        raise Misuse(msg)
    if role == "admin" and user is None:
        msg = "an admin is somebody: say user=…, which goes on record; without a user the whole tenant is seen anyway"
        raise Misuse(msg)
    writing = Writing(summarizer=summarizer_of(summarizer))
    extracting = extractor_of(extractor)
    embedding = embedder_of(embedder)
    return Dalsegno(
        open_store(url, create=create),
        tenant=tenant,
        user=user,
        schema=schema,
        summarizer=writing.summarizer,
        extractor=extracting,
        embedder=embedding,
        on_input_over_unfinished=on_input_over_unfinished,
        create=create,
        deciders=_deciders(deciders),
        audit_key=_key(audit_key),
        role=role,
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
        msg = f"the audit's key is a secret of {_KEY_BYTES} bytes or more"
        raise Misuse(
            msg,
            step="give another audit_key, such as one of secrets.token_hex(32)",
            command="put another into DALSEGNO_AUDIT_KEY, such as one of `openssl rand -hex 32`",
        )
    return key


def _is_a(value: object, kind: type) -> bool:
    """What the annotation promises, checked for callers without a type checker."""
    return isinstance(value, kind)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and not is_blank(value)


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
        extractor: CardExtractor | None = None,
        embedder: Embedder | None = None,
        on_input_over_unfinished: OnInput,
        create: bool = True,
        deciders: Collection[str] = DECIDERS,
        audit_key: bytes | None = None,
        role: Literal["user", "admin"] = "user",
    ) -> None:
        """Take an open store; callers use `connect`."""
        if role == "admin":
            store = Recording(store)
        self.store_backend = store
        self.tenant = tenant
        self.user = user
        self.role = role
        self._services: dict[int, str] = {}
        self.schema = schema
        self.summarizer = summarizer
        self.extractor = extractor
        self._create = create
        self._audit_key = audit_key
        self._lock = threading.Lock()
        self._number: int = NOBODY
        store.confine(tenant=None, name=tenant)
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
        self.handover = Handover(store, self.scope, deciders, self.journal, extractor)
        self.histories = Histories(store, self.scope, deciders)
        self.store = DalsegnoStore(store, self.scope, embedder=embedder)
        self.memory = Memories(store, self.scope, embedder=embedder)
        self.cache = Cache(store, self.scope, embedder=embedder)
        self.context = Contexts(store, self.scope)
        self.budgets = Budgets(store, self.scope)
        self.retention = Retention(store, self.scope, self.checkpointer)
        self.erasure = Erasure(store, self.scope, self.checkpointer)
        self._services = {id(service): name for name, service in vars(self).items() if name[0] != "_"}
        self._services[id(self.actions.actor)] = "actions"

    def doctor(self, thread_id: str) -> Diagnosis:
        """What is wrong with how a thread is used: `ds.threads.doctor`."""
        return self.threads.doctor(thread_id)

    def scope(self) -> Scope:
        """On whose behalf this object works."""
        with self._lock:
            if self._number == NOBODY:
                self._number = self._tenant()
                if self._number != NOBODY:
                    self.store_backend.confine(tenant=self._number, name=self.tenant)
            scope = Scope(self._number, self.user, self._audit_key, admin=self.role == "admin")
        return on_record(scope, self._act()) if scope.admin else scope

    def _act(self) -> str:
        """What is being done, for the record: the innermost public operation that led here, such as `journal.read`."""
        frame: FrameType | None = sys._getframe(2)  # noqa: SLF001 - no other way to tell without naming each one twice
        nearest = ""
        while frame is not None:
            word, room = frame.f_code.co_name, frame.f_globals.get("__name__", "")
            if not word.startswith(("_", "<")) and room.startswith("dalsegno."):
                there = frame.f_locals.get("self")
                plain = word[1:] if word.startswith("a") and hasattr(there, word[1:]) else word
                if there is not None and id(there) in self._services:
                    return f"{self._services[id(there)]}.{_PLAYED.get(plain, plain)}"
                nearest = nearest or f"{room.rpartition('.')[2]}.{plain}"
            frame = frame.f_back
        return nearest

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
