"""Claim: every link from one page to another leads to a file, and to a heading where it names one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("bench/*.md"), *ROOT.glob("examples/**/*.md")]
)
FENCED = re.compile(r"^( *)```.*?^\1```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def links(text: str) -> list[str]:
    """Targets of the links of a page, those to other places of the web left out."""
    return [target for target in LINK.findall(FENCED.sub("", text)) if not target.startswith("https://")]


def anchors(text: str) -> set[str]:
    """The names by which a page's headings are linked to."""
    headings = re.findall(r"^#+ +(.+)$", FENCED.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_the_page_leads_somewhere(page: Path):
    text = page.read_text(encoding="utf-8")
    for target in links(text):
        name, _, heading = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        assert file.exists(), f"{page.relative_to(ROOT)}: {target}"
        if heading:
            assert heading in anchors(file.read_text(encoding="utf-8")), f"{page.relative_to(ROOT)}: {target}"


def test_links_and_headings_are_told_from_code():
    text = "# A *page*, 1.0\n[one](a.md) ```x``` [two](b/c.md#an-end)\n```python\n# no heading\nx[0](y)\n```\n"
    assert links(text) == ["a.md", "b/c.md#an-end"]
    assert anchors(text) == {"a-page-10"}


def test_every_page_is_reached_from_the_readme():
    reached, waiting = set(), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in reached or not page.exists():
            continue
        reached.add(page)
        if page.is_dir():
            waiting.extend(page.glob("*.md"))
        elif page.suffix == ".md":
            waiting.extend(
                (page.parent / target.partition("#")[0]).resolve() for target in links(page.read_text("utf-8"))
            )
    assert set(PAGES) <= reached
