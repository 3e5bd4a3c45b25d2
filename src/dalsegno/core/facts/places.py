r"""Addresses: URLs, e-mail addresses, and paths of files.

Rules of this module:

* A URL has a scheme, `www.`, or a host under a well-known top-level domain. It ends before closing punctuation;
  Chinese characters belong to it only right after `/`, `=` or `-`, so that `见https://a.com/b。` and
  `https://a.com/b查看` end well.
* A path is absolute (`/etc/hosts`, `~/x`, `./x`, `C:\\x`, `\\\\host\\x`), or relative with a file's ending
  (`src/app.py`), or relative with two slashes and a part no word of a language has (`src/dalsegno/core_v2`).
  `and/or`, `24/7`, `km/h` are none.
* A bare file name counts when its ending is a known one (`report_final.pdf`, `合同.docx`).
* Values: scheme and host of a URL in lower case, its closing slash dropped; e-mail addresses in lower case; paths as
  they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from dalsegno.core.facts.kinds import Kind
from dalsegno.core.facts.reading import back
from dalsegno.core.facts.words import words

__all__ = ["places"]

_Found = tuple[int, int, Kind, str]

_HAN = "\u3400-\u4dbf\u4e00-\u9fff"
_TLD = (
    "com|org|net|edu|gov|cn|io|dev|ai|app|info|biz|me|uk|us|de|fr|jp|hk|tw|co|eu|ru|in|au|ca|kr|sg|nl|ch|it|es|se|tv|cc|top|xyz"
    "|site|online|shop|cloud|tech"
)
_IN_URL = r"A-Za-z0-9._~:/?#@!$&'*+,;=%()\[\]-"
_SCHEMES = words("http https ftp ws wss s3 gs file git ssh postgres postgresql mysql redis mongodb sqlite amqp")
_URL = re.compile(rf"(?:[{_IN_URL}]|(?<=[/=-])[{_HAN}]{{1,64}}+){{1,2048}}+")
_WWW = re.compile(r"www\.(?=[A-Za-z0-9])", re.IGNORECASE)
_TOP = re.compile(rf"\.(?:{_TLD})(?![A-Za-z0-9_-]|\.[A-Za-z0-9]|@)")
_AFTER_HOST = re.compile(rf"(?::[0-9]{{2,5}}(?![0-9]))?(?:/[{_IN_URL}]{{0,1024}}+)?")
_DOMAIN = re.compile(r"@(?:[A-Za-z0-9-]{1,63}+\.){1,6}[A-Za-z]{2,24}(?![A-Za-z0-9_-])")
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_WORD = _LETTERS + "0123456789"
_CLOSING = ".,;:!?'*"
_PAIRS = {")": "(", "]": "["}

_PART = rf"[A-Za-z0-9_{_HAN}.@%+=~#$-]"
_ENDINGS = words(
    "txt md rst pdf docx? xlsx? pptx? csv tsv json[lc]? ya?ml toml ini cfg conf env log xml html? css scss less "
    "jsx? tsx? mjs cjs vue py[iwc]? ipynb java kt class jar war go rs c cc cpp h hpp cs rb php pl lua swift scala "
    "r jl sh bash zsh bat ps1 cmd sql db sqlite3? parquet feather npy npz pkl pt pth onnx gguf safetensors zip "
    "tar gz tgz bz2 xz 7z rar zst iso dmg exe msi deb rpm apk whl png jpe?g gif svg webp bmp tiff? ico heic "
    "mp[34] wav flac ogg mov avi mkv webm psd ai fig sketch key pages numbers pem crt cer p12 lock proto graphql "
    "tf hcl dockerfile diff patch bak tmp traj eml msg ics vcf epub mobi odt ods odp rtf tex bib dat bin so dll"
)
_ENDING = rf"\.(?:{'|'.join(_ENDINGS)})"
_STEPS = re.compile(rf"(?:/{_PART}{{1,255}}+){{1,64}}+/?")
_SEGMENT = re.compile(rf"(?<![A-Za-z0-9_.{_HAN}~-])[A-Za-z0-9_.{_HAN}~-]*+\Z")
_DRIVE = re.compile(rf":[\\/](?![\\/])(?:{_PART}|[\\/()](?={_PART})|\s(?=[A-Za-z0-9_()&-]{{1,40}}\\)){{1,1024}}+\\?")
_SHARE = re.compile(rf"\\\\{_PART}{{1,64}}+(?:\\{_PART}{{1,128}}+){{1,32}}+")
_FILE = re.compile(rf"\.(?:{'|'.join(_ENDINGS)})(?![A-Za-z0-9_@/-]|\.[A-Za-z0-9])", re.IGNORECASE)
_NAME = re.compile(rf"(?<![A-Za-z0-9_{_HAN}()（）+.-])[A-Za-z0-9_{_HAN}()（）+.-]++\Z")
_HAS_ENDING = re.compile(rf"{_ENDING}\Z", re.IGNORECASE)
_ENDS_EARLY = re.compile(rf"({_ENDING})[{_HAN}]", re.IGNORECASE)
_LATIN_THEN_HAN = re.compile(rf"[A-Za-z0-9_-][{_HAN}]+\Z")
_ODD_PART = re.compile(r"[0-9_.-]")
_ROOTS = frozenset(
    words(
        "src test tests docs doc lib libs bin etc usr home var tmp opt data app apps config conf build dist "
        "node_modules root mnt media srv dev proc sys users scripts examples packages modules assets public "
        "static templates models services core utils api work workspace"
    )
)
_NO_FILES = frozenset(
    ("node.js", "vue.js", "next.js", "react.js", "express.js", "d3.js", "three.js", "nuxt.js", "angular.js")
)
_LEADING = re.compile(
    rf"^(?:请?(?:查看|打开|参考|下载|上传|附件|见|看|文件|保存为|保存到|导出|把|将|在|到|从|是|为|和|与|及))+(?=[A-Za-z0-9_{_HAN}])"
)


def places(text: str) -> Iterator[_Found]:
    """Addresses in a folded text, as start, end, kind and value; readings may overlap."""
    for start, end in chain(_with_scheme(text), _with_host(text)):
        closed = _closed(text, start, end)
        yield start, closed, Kind.URL, _url(text[start:closed])
    for at in _all(text, "@"):
        start = back(text, at, _WORD + "._%+-", 64)
        found = _DOMAIN.match(text, at) if start < at and text[start].isalnum() else None
        if found:
            yield start, found.end(), Kind.EMAIL, text[start : found.end()].lower()
    for start, end in chain(_steps(text), _windows(text), _files(text)):
        yield start, end, Kind.PATH, text[start:end]


def _all(text: str, sign: str) -> Iterator[int]:
    at = text.find(sign)
    while at >= 0:
        yield at
        at = text.find(sign, at + len(sign))


def _with_scheme(text: str) -> Iterator[tuple[int, int]]:
    reach = 0
    for at in _all(text, "://"):
        start = back(text, at, _WORD + "+", 12)
        if start >= reach and text[start:at].lower().endswith(_SCHEMES) and (found := _URL.match(text, at + 3)):
            reach = found.end()
            yield start, reach
    for found in _WWW.finditer(text):
        before = text[found.start() - 1 : found.start()]
        if found.start() >= reach and not (before.isascii() and (before.isalnum() or before in "@._/-") and before):
            body = _URL.match(text, found.start())
            reach = body.end() if body else found.end()
            yield found.start(), reach


def _with_host(text: str) -> Iterator[tuple[int, int]]:
    reach = 0
    for found in _TOP.finditer(text):
        start = back(text, found.start(), _WORD + ".-", 100)
        before = text[start - 1 : start]
        if start < reach or start == found.start() or not text[start].isalnum() or (before and before in "@_/\\"):
            continue
        tail = _AFTER_HOST.match(text, found.end())
        reach = tail.end() if tail else found.end()
        yield start, reach


def _closed(text: str, start: int, end: int) -> int:
    """The end without punctuation that belongs to the sentence, and without a bracket that was opened before."""
    while end > start:
        last = text[end - 1]
        opener = _PAIRS.get(last)
        if last in _CLOSING or (opener and text.count(opener, start, end) < text.count(last, start, end)):
            end -= 1
        else:
            break
    return end


def _url(url: str) -> str:
    scheme, separator, rest = url.rpartition("://") if "://" in url else ("", "", url)
    host, slash, path = rest.partition("/")
    return (scheme.lower() + separator + host.lower() + slash + path).removesuffix("/")


def _steps(text: str) -> Iterator[tuple[int, int]]:
    """Paths with slashes."""
    reach = 0
    for at in _all(text, "/"):
        found = _STEPS.match(text, at) if at >= reach else None
        if found is None:
            continue
        reach = found.end()
        start = at - len(_head(text, at))
        before = text[start - 1 : start]
        if not before or before not in ":\\@%)]}<~/-":
            end = _cut(text, start, reach)
            start = _start(text, start, at, end)
            if start >= 0:
                yield start, end


def _head(text: str, at: int) -> str:
    """The first part of a relative path, before its first slash at `at`; Latin letters end where Chinese ones begin."""
    if text[at - 1 : at] in _OPENERS:
        return ""
    found = _SEGMENT.search(text, max(0, at - 64), at)
    head = found[0] if found else ""
    return _TO_LATIN.sub("", head) if head and head[-1].isascii() else head


def _start(text: str, start: int, at: int, end: int) -> int:
    """Where a path begins, or -1 when what looked like one is none."""
    head = text[start:at]
    if head in _DOTS:
        return start if _is_absolute(text, start, end) else -1
    root = text[at + 1 : end].partition("/")[0] in _ROOTS
    if not head.isascii() and (root or not _HAS_ENDING.search(text, start, end)):
        return at if _is_absolute(text, at, end) else -1
    return start if _is_relative(text[start:end]) else -1


_TO_LATIN = re.compile(rf"^.*[{_HAN}]")
_OPENERS = frozenset(" \"'`(\n")
_DOTS = frozenset(("", ".", "..", "~"))


def _windows(text: str) -> Iterator[tuple[int, int]]:
    for found in _DRIVE.finditer(text):
        start = found.start() - 1
        if (
            start >= 0
            and text[start] in _LETTERS
            and not (start and text[start - 1].isascii() and text[start - 1].isalnum())
        ):
            yield start, _cut(text, start, found.end())
    for found in _SHARE.finditer(text):
        yield found.start(), _cut(text, found.start(), found.end())


def _files(text: str) -> Iterator[tuple[int, int]]:
    for found in _FILE.finditer(text):
        name = _NAME.search(text, max(0, found.start() - 64), found.start())
        if name is None:
            continue
        leading = _LEADING.match(name[0])
        start = name.start() + (leading.end() if leading else 0)
        if text[start] in ".-+)）" or (start and text[start - 1] in "/\\@"):
            continue
        if text[start : found.end()].lower() not in _NO_FILES:
            yield start, found.end()


def _cut(text: str, start: int, end: int) -> int:
    """The end of a path without the sentence that goes on after it."""
    early = _ENDS_EARLY.search(text, start, end)
    if early:
        return early.end(1)
    while end > start and text[end - 1] in ".,;:!?~=#$%":
        end -= 1
    if not _HAS_ENDING.search(text, start, end):
        tail = _LATIN_THEN_HAN.search(text, max(start, end - 64), end)
        if tail:
            return tail.start() + 1
    return end


def _is_absolute(text: str, start: int, end: int) -> bool:
    path = text[start:end]
    parts = [part for part in path.split("/") if part]
    if not parts or (len(parts) == 1 and path[0] not in "~."):
        return bool(parts) and path[0] == "/" and (parts[0].lower() in _ROOTS or bool(_HAS_ENDING.search(path)))
    if path[0] in "~.":
        return True
    before = text[start - 1] if start else " "
    first_is_latin = parts[0][0].isascii()
    if not before.isascii():
        return first_is_latin and (parts[0].lower() in _ROOTS or bool(_HAS_ENDING.search(path)))
    return first_is_latin or bool(_HAS_ENDING.search(path))


def _is_relative(path: str) -> bool:
    parts = [part for part in path.split("/") if part]
    if _HAS_ENDING.search(path):
        return True
    if len(parts) < 3 or not all(part.isascii() for part in parts):  # noqa: PLR2004 - and/or
        return (
            len(parts) > 1
            and parts[0] in {"src", "tests", "docs", "lib", "bin", "etc", "usr", "node_modules"}
            and path.isascii()
        )
    return (parts[0].lower() in _ROOTS or any(_ODD_PART.search(part) for part in parts)) and not all(
        part.replace(".", "").isdigit() for part in parts
    )
