"""What all commands have in common: options, the store, and what an error becomes.

Rules of this module:

* The options for the store, the tenant, the user, JSON and debugging may stand before or after the command's name.
* The environment is read here and nowhere else in the package: `DALSEGNO_STORE`, `DALSEGNO_TENANT`, `DALSEGNO_USER`,
  `DALSEGNO_AUDIT_KEY`.
* A reading command never creates anything: a mistyped path is an error, not an empty database.
* A command that a note proposes is whole: it repeats the options that were given, so that it can be copied.
* An error of this package is one line on standard error and an exit code that names its family; so is a file that
  cannot be read. Anything else is a fault of this program and shows its traceback.
"""

from __future__ import annotations

import errno
import functools
import inspect
import os
import re
import shlex
import sys
import traceback
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Annotated, Any, Final, get_type_hints

import typer

from dalsegno.cli.output import Output
from dalsegno.cli.text import inline
from dalsegno.connect import connect
from dalsegno.errors import Conflict, DalsegnoError, Damaged, Missing, Misuse, Refused, StoreError, ThreadNotFound
from dalsegno.services.threads_row import NOBODY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import dalsegno

__all__ = [
    "BROKEN_PIPE",
    "EXIT_CODES",
    "Frame",
    "NoTenant",
    "command",
    "exit_code_of",
    "group",
    "options",
    "without_password",
]

EXIT_CODES: Final[dict[type[Exception], int]] = {
    Misuse: 2,
    Missing: 3,
    Conflict: 4,
    Refused: 5,
    Damaged: 6,
    StoreError: 7,
}
"""One code for each family of errors; 1 is a verdict (`check` found something, `demo` does not hold)."""

BROKEN_PIPE: Final = 141
"""What a shell reports for a program whose reader went away: 128 and SIGPIPE."""

_STORE = typer.Option(
    "--store", metavar="URL", help="The database: sqlite:///agents.db or postgresql://user@host/db (or DALSEGNO_STORE)."
)
_TENANT = typer.Option("--tenant", metavar="NAME", help="Whose threads (or DALSEGNO_TENANT).")
_USER = typer.Option("--user", metavar="NAME", help="Only this user's threads (or DALSEGNO_USER).")
_ADMIN = typer.Option("--admin", help="Come as an admin, who sees every user's threads; --user says who that is.")
_JSON = typer.Option("--json", help="One JSON document on standard output, for programs.")
_DEBUG = typer.Option("--debug", help="Show where an error was raised.")

_PASSWORD: Final = re.compile(r"(^postgres\w*://[^:@]*:).*(?=@)|(?<=[?&])(password=)[^&]*")

_OPTIONS: Final[dict[str, tuple[Any, Any]]] = {
    "store": (Annotated[str | None, _STORE], None),
    "tenant": (Annotated[str | None, _TENANT], None),
    "user": (Annotated[str | None, _USER], None),
    "admin": (Annotated[bool, _ADMIN], False),
    "as_json": (Annotated[bool, _JSON], False),
    "debug": (Annotated[bool, _DEBUG], False),
}


class NoTenant(Missing):
    """The database is there and knows no such tenant, and none is made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """What a command is run with.

    Attributes:
        named_store: URL of the database as an option named it; None where none did.
        store: the same, or else what the environment names.
        tenant: whose threads.
        user: whose threads among them; None for all.
        admin: whether the user comes as an admin; only the command line says so, no variable does.
        named: the options for store, tenant, user and admin as words, as far as the command line gave them.
        out: where results and notes go.
    """

    named_store: str | None
    store: str | None
    tenant: str | None
    user: str | None
    admin: bool
    named: tuple[str, ...]
    out: Output

    def proposal(self, *words: object) -> str:
        """A command to copy: `dalsegno`, these words and this run's options. A password in a URL is not repeated."""
        return " ".join(_quoted(str(word)) for word in ("dalsegno", *words, *self.named))

    @contextmanager
    def connect(self, *threads: str, create: bool = False) -> Iterator[dalsegno.Dalsegno]:
        """Open the store.

        Args:
            threads: those the command is about; where one is missing because it was deleted, the error says so.
            create: whether a database that is not there is made; only for commands that write.

        Raises:
            Misuse: no store was named, or one that dies with this process.
            Missing: the database knows no such tenant, and none is made.
        """
        if self.store is None:
            raise Misuse("no database named: give --store URL, such as sqlite:///agents.db, or set DALSEGNO_STORE.")
        if self.store.startswith("memory:"):
            raise Misuse(f"{self.store} lives and dies with one process; name a file or a server (--store).")
        key = os.environ.get("DALSEGNO_AUDIT_KEY")
        with connect(
            self.store,
            tenant="default" if self.tenant is None else self.tenant,
            user=self.user,
            role="admin" if self.admin else "user",
            create=create,
            audit_key=key or None,
        ) as ds:
            if ds.scope().tenant == NOBODY:
                msg = f"no tenant {ds.tenant!r} in this database"
                raise NoTenant(msg, step="check the name (--tenant, or DALSEGNO_TENANT).")
            try:
                yield ds
            except ThreadNotFound:
                if gone := {each.thread_id for each in ds.threads.list(deleted=True) if each.deleted} & {*threads}:
                    msg = f"thread {min(gone)!r} was deleted (`dalsegno threads --deleted` lists such threads)."
                    raise ThreadNotFound(msg) from None
                raise


def command(app: typer.Typer, name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a command: a function that takes a `Frame` and options of its own.

    The common options are added to its signature, and its errors become one line and an exit code.
    """

    def register(function: Callable[..., None]) -> Callable[..., None]:
        app.command(name)(_wrapped(function))
        return function

    return register


def group(app: typer.Typer) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register what a group of commands does when none of them is named; otherwise like `command`."""

    def register(function: Callable[..., None]) -> Callable[..., None]:
        app.callback(invoke_without_command=True)(_wrapped(function))
        return function

    return register


def _wrapped(function: Callable[..., None]) -> Callable[..., None]:
    hints = get_type_hints(function, include_extras=True)
    own = [parameter for key, parameter in inspect.signature(function).parameters.items() if key != "frame"]

    @functools.wraps(function)
    def run(context: typer.Context, **values: Any) -> None:
        given = {key: values.pop(key) for key in _OPTIONS}
        if context.invoked_subcommand is not None:  # a group's own options, given before the command's name
            context.obj = {key: _given(context, given, key) for key in _OPTIONS}
            return
        with _guarded(debug=_given(context, given, "debug")):
            named = _given(context, given, "store")
            given_words = {key: _given(context, given, key) for key in ("store", "tenant", "user")}
            frame = Frame(
                named_store=named,
                store=named or os.environ.get("DALSEGNO_STORE"),
                tenant=_or_variable(_given(context, given, "tenant"), "DALSEGNO_TENANT"),
                user=_or_variable(_given(context, given, "user"), "DALSEGNO_USER"),
                admin=bool(_given(context, given, "admin")),
                named=(
                    *(
                        word
                        for key, value in given_words.items()
                        if value
                        for word in (f"--{key}", without_password(value))
                    ),
                    *(["--admin"] if _given(context, given, "admin") else []),
                ),
                out=Output(as_json=_given(context, given, "as_json")),
            )
            function(frame, **values)
            sys.stdout.flush()

    keyword = inspect.Parameter.KEYWORD_ONLY
    signature = [inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)]
    signature += [each.replace(kind=keyword, annotation=hints[each.name]) for each in own]
    signature += [
        inspect.Parameter(key, keyword, annotation=annotation, default=default)
        for key, (annotation, default) in _OPTIONS.items()
    ]
    run.__signature__ = inspect.Signature(signature)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in signature}
    del run.__wrapped__
    return run


def options(
    context: typer.Context,
    store: Annotated[str | None, _STORE] = None,
    tenant: Annotated[str | None, _TENANT] = None,
    user: Annotated[str | None, _USER] = None,
    admin: Annotated[bool, _ADMIN] = False,  # noqa: FBT002 - a switch of the command line
    as_json: Annotated[bool, _JSON] = False,  # noqa: FBT002 - a switch of the command line
    debug: Annotated[bool, _DEBUG] = False,  # noqa: FBT002 - a switch of the command line
    show_version: Annotated[bool, typer.Option("--version", help="Say which version this is.")] = False,  # noqa: FBT002
) -> None:
    """The continuity layer for LLM agents: what was said and done, and where a run goes on."""
    context.obj = {
        "store": store, "tenant": tenant, "user": user, "admin": admin, "as_json": as_json, "debug": debug,
    }  # fmt: skip
    if show_version:
        typer.echo(f"dalsegno {version('dalsegno')}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def _quoted(word: str) -> str:
    """A word as a shell takes it, on one line and with nothing in it that acts on a terminal."""
    if inline(word) == word:
        return shlex.quote(word)
    escaped = inline(word.replace("\\", "\\\\").replace("'", "\\'"))
    return f"$'{escaped}'"


def without_password(text: str) -> str:
    """A database's URL with its password blotted out; any other text as it is."""
    return _PASSWORD.sub(r"\1\2***", text)


def exit_code_of(error: Exception) -> int:
    """The exit code of an error's family; 1 for one that belongs to none."""
    return next((code for family, code in EXIT_CODES.items() if isinstance(error, family)), 1)


def _given(context: typer.Context, own: dict[str, Any], key: str) -> Any:
    """The value given after the command's name, else the one before it. An empty text is given: it names nobody."""
    return (context.obj or {}).get(key) if own[key] in (None, False) else own[key]


def _or_variable(given: str | None, name: str) -> str | None:
    """What was given, else what the environment says; an empty name is not a missing one."""
    return os.environ.get(name) if given is None else given


@contextmanager
def _guarded(*, debug: bool) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        _let_go_of_stdout()
        raise typer.Exit(BROKEN_PIPE) from None
    except DalsegnoError as error:
        _complain(error.for_a_shell, debug=debug)
        raise typer.Exit(exit_code_of(error)) from None
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        _complain(f"{where}{error.strerror or error}; nothing was changed.", debug=debug)
        raise typer.Exit(EXIT_CODES[StoreError if error.errno == errno.ENOSPC else Misuse]) from None


def _complain(text: str, *, debug: bool) -> None:
    if debug:
        traceback.print_exc()
    Output(as_json=False).error(text)


def _let_go_of_stdout() -> None:
    """Keep the interpreter from trying once more, at its end, to write what nobody reads."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError:  # a standard output without a file, as in tests
        sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115 - lives until the process ends
