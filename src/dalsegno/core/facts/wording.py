"""Quoted wording and commands.

Rules of this module:

* Quoted: between “…”, ‘…’, 「…」, 『…』, 《…》 (titles), "…", and `…` that is no command. The value is the wording
  within, each stretch of white space one blank; the style of the quotes does not count.
* Straight quotes pair within a line. Those of JSON (keys, values, elements) quote nothing: their contents are read as
  text. A straight single quote opens only after a blank or a bracket, so apostrophes do not.
* A command is a line after `$ `, a line of a fenced block marked as a shell's, a value under a key `command` or
  `cmd`, or wording between backticks that begins with a known program or has an option.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dalsegno.core.facts.kinds import Kind
from dalsegno.core.facts.reading import back
from dalsegno.core.facts.words import words

__all__ = ["commands", "quotes"]

_Found = tuple[int, int, Kind, str]

_MAX_QUOTE = 600
_PAIRED = re.compile(
    "“([^“”]{1,600}+)”|「([^「」]{1,600}+)」|『([^『』]{1,600}+)』|《([^《》]{1,200}+)》|‘([^‘’\n]{2,300}+)’"
)
_STRAIGHT = re.compile(r'"(?<![A-Za-z0-9.!?,]")([^"\n]{1,4000}+)"')
_SINGLE = re.compile(r"'(?<![^\s(\[{=:,]')([^'\n]{2,200}+(?:'[a-z][^'\n]{0,200}+){0,3})'(?![A-Za-z0-9])")
_TICKED = re.compile("`(?<!``)([^`\n]{1,400}+)`(?!`)")
_PROMPT = re.compile(r"\$ (?![ (]{0,2}[0-9][0-9,.]*\)?(?:\s|\Z))(?P<c>[^\n]{1,1000})")
_FENCE = re.compile(
    r"```(?:bash|sh|shell|console|zsh|powershell|cmd|bat)[ \t]*\n(?P<b>(?:(?![ \t]*```)[^\n]*\n){1,400})"
)
_KEYED = re.compile(r'"(?:command|cmd|bash|shell)"\s{0,2}:\s{0,2}"(?P<c>(?:[^"\\\n]|\\.){2,2000})"')
_PROGRAMS = frozenset(
    words(
        "git pip pip3 pipx uv poetry npm npx yarn pnpm node python python3 pytest ruff mypy cd ls cat cp mv rm "
        "mkdir touch chmod chown ln find grep sed awk curl wget ssh scp rsync tar zip unzip gzip make cmake cargo "
        "go rustc javac java mvn gradle docker docker-compose kubectl helm terraform ansible aws gcloud az brew "
        "apt apt-get yum dnf apk systemctl service journalctl sudo su export source echo ps kill top df du head "
        "tail sort uniq wc xargs tee diff patch vim nano psql mysql sqlite3 redis-cli mongo ping nslookup dig "
        "netstat ss ip ifconfig crontab screen tmux nohup bash sh zsh powershell dalsegno conda jupyter flask "
        "django-admin uvicorn gunicorn celery composer php ruby gem bundle rails dotnet swift xcodebuild adb "
        "ffmpeg"
    )
)
_SCRIPT = re.compile(r"\.(?:sh|bash|py|pl|rb|js|ps1|bat)\Z|/[a-z_-]+\Z")
_OPTION = re.compile(r"\s--?[A-Za-z][A-Za-z0-9-]*|\s\|\s|\s&&\s")
_BLANKS = re.compile(r"\s+")


def quotes(text: str) -> Iterator[_Found]:
    """Quoted wording of a folded text, as start, end, kind and value; readings do not overlap per style."""
    for found in _PAIRED.finditer(text):
        yield from _quote(found, next(group for group in found.groups() if group is not None))
    if '"' in text:
        for found in _prose(text, _STRAIGHT):
            yield from _quote(found, found[1])
    if "'" in text:
        for found in _prose(text, _SINGLE):
            yield from _quote(found, found[1])
    if "`" in text:
        for found in _TICKED.finditer(text):
            if not _is_command(found[1]):
                yield from _quote(found, found[1])


def _quote(found: re.Match[str], inner: str) -> Iterator[_Found]:
    inner = _BLANKS.sub(" ", inner).strip()
    if len(inner) <= _MAX_QUOTE and any(map(str.isalnum, inner)):
        yield *found.span(), Kind.QUOTE, inner


def _prose(text: str, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
    """Quotations that are no strings of JSON or of a program's record."""
    in_record = False
    last = -1
    for found in pattern.finditer(text):
        before = text[max(0, found.start() - 4) : found.start()].rstrip(" \n\t")
        after = text[found.end() : found.end() + 3].lstrip(" ")
        previous, earlier = before[-1:], before[-2:-1]
        in_record = (
            (after[:1] == ":" and (previous in "{," or not previous or in_record))
            or previous in ("{", "[")
            or (previous in (":", "=") and (earlier in ('"', "'") or previous == "="))
            or (previous == "," and ((in_record and last >= 0 and found.start() - last < 4) or earlier in ("}", "]")))  # noqa: PLR2004
            or (previous == "," and in_record)
            or after[:1] in ("}", "]")
        )
        last = found.end()
        if not in_record:
            yield found


def commands(text: str) -> Iterator[_Found]:
    """Commands of a folded text, as start, end, kind and value; readings may overlap."""
    for found in _PROMPT.finditer(text):
        start = back(text, found.start(), " \t>", 8)
        if start == 0 or text[start - 1] == "\n":
            yield from _command(text, *found.span("c"))
    for found in _TICKED.finditer(text):
        if _is_command(found[1]):
            yield from _command(text, *found.span(1))
    for found in _FENCE.finditer(text):
        yield from _block(text, *found.span("b"))
    for found in _KEYED.finditer(text):
        yield from _command(text, *found.span("c"))


def _block(text: str, start: int, end: int) -> Iterator[_Found]:
    for line in text[start:end].splitlines(keepends=True):
        if line.strip() and not line.lstrip().startswith("#"):
            yield from _command(text, start, start + len(line))
        start += len(line)


def _command(text: str, start: int, end: int) -> Iterator[_Found]:
    while start < end and (text[start].isspace() or text.startswith("$ ", start)):
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    if start < end:
        yield start, end, Kind.COMMAND, _BLANKS.sub(" ", text[start:end])


def _is_command(wording: str) -> bool:
    first, _, rest = wording.strip().partition(" ")
    name = first.removeprefix("$").rsplit("/", 1)[-1]
    if name in _PROGRAMS:
        return bool(rest) or first.startswith("./")
    if first.startswith("./"):
        return bool(rest) or _SCRIPT.search(first) is not None
    return bool(rest) and first.isascii() and bool(_OPTION.search(wording))
