"""Claim: every snippet of the documentation runs as it is printed, in order, one page after another.

How a page is read:

* The ```` ```python ```` blocks of a page share one namespace and one empty directory; top-level `await` is allowed.
* In a ```` ```console ```` block each line that starts with `$ dalsegno` is run in that same directory and must
  exit with 0, or with N where the line after it is `exit code N`. A line that starts with `$ ` and names another
  program is set-up, which `.ci/run` does for real. Other lines show output to the reader and are not compared.
* `postgresql://localhost/agents` stands for an empty database of the test's own.
* Anything else a reader could copy (`sh`, `sql`, `text`) is not run, so a page cannot hide Python under it:
  a block without a language is refused.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dalsegno.cli import app

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md"), *ROOT.glob("bench/*.md")]
)
PLACEHOLDER = "postgresql://localhost/agents"
FENCE = re.compile(r"^(?P<indent> *)```(?P<language>[^\n`]*)\n(?P<body>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One fenced block of a page, with the line its body starts on."""

    language: str
    body: str
    line: int

    @property
    def commands(self) -> list[tuple[str, int]]:
        """Each `$ dalsegno …` line of the block, and the exit code the page says it has."""
        lines = [line.strip() for line in self.body.splitlines()]
        following = [*lines[1:], ""]
        return [
            (line[2:], int(after.removeprefix("exit code ")) if re.fullmatch(r"exit code \d+", after) else 0)
            for line, after in zip(lines, following, strict=True)
            if line.startswith("$ dalsegno")
        ]


def blocks(text: str) -> list[Block]:
    """The fenced blocks of a page, top to bottom."""
    return [
        Block(
            language=found["language"].strip(),
            body=inspect.cleandoc(found["body"]) if found["indent"] else found["body"],
            line=text.count("\n", 0, found.start()) + 2,
        )
        for found in FENCE.finditer(text)
    ]


def run_python(block: Block, page: Path, namespace: dict[str, object]) -> None:
    """Run one block in the page's namespace; a traceback shows the page's own line numbers."""
    source = "\n" * (block.line - 1) + block.body
    # Not with this module's own __future__: a reader's annotations are evaluated where they stand.
    code = compile(source, str(page), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    outcome = eval(code, namespace)
    if inspect.iscoroutine(outcome):
        asyncio.run(outcome)


def run_command(command: str, exit_code: int) -> None:
    """Run one command line, as the program would but without a new interpreter for each of them."""
    _, *words = shlex.split(command)
    done = CliRunner().invoke(app, words)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == exit_code, f"{command}\n{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_snippet_of_the_page_runs(
    page: Path, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    if PLACEHOLDER in text:
        url: str = request.getfixturevalue("postgres_url")  # it may bring settings of its own
        text = text.replace(f"{PLACEHOLDER}?", f"{url}{'&' if '?' in url else '?'}").replace(PLACEHOLDER, url)
    namespace: dict[str, object] = {"__name__": "__main__"}
    for block in blocks(text):
        assert block.language, f"{page}:{block.line - 1}: name the block's language"
        if block.language == "python":
            run_python(block, page, namespace)
        elif block.language == "console":
            for command, exit_code in block.commands:
                run_command(command, exit_code)


def test_the_readme_may_be_run_again_where_it_was_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    page = ROOT / "README.md"
    for _ in range(2):
        namespace: dict[str, object] = {"__name__": "__main__"}
        for block in blocks(page.read_text(encoding="utf-8")):
            if block.language == "python":
                run_python(block, page, namespace)


def test_blocks_are_found_with_their_lines_and_commands():
    text = "# T\n\n```python\nx = 1\n```\n\n1. item\n\n   ```console\n   $ dalsegno check sqlite:///a.db\n   exit code 3\n   $ ls\n   ```\n"
    python, console = blocks(text)
    assert (python.language, python.body, python.line) == ("python", "x = 1\n", 4)
    assert console.commands == [("dalsegno check sqlite:///a.db", 3)]


def test_a_wrong_snippet_is_caught(tmp_path: Path):
    (block,) = blocks("```python\nimport asyncio\nawait asyncio.sleep(0)\nassert 1 == 2\n```\n")
    with pytest.raises(AssertionError) as caught:
        run_python(block, tmp_path / "page.md", {})
    assert caught.traceback[-1].lineno == 3  # zero-based: the page's own fourth line


def test_a_class_of_a_page_is_annotated_with_types(tmp_path: Path):
    (block,) = blocks(
        "```python\nclass State:\n    log: list[int]\nassert State.__annotations__ == {'log': list[int]}\n```\n"
    )
    run_python(block, tmp_path / "page.md", {"__name__": "__main__"})


def test_a_wrong_exit_code_is_caught():
    with pytest.raises(AssertionError):
        run_command("dalsegno check --store sqlite:///there-is-none.db", 0)
