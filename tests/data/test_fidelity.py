"""On real conversations every protected fact stays in reach, every message is covered, nothing is invented; and the bench would say if not."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

pytest.importorskip("langchain.agents", reason="needs langchain, whose middleware is measured beside")

from bench import fidelity
from bench.fidelity_plot import plot
from bench.recordings import SOURCES
from dalsegno.core.facts import FactTable
from dalsegno.core.messages import text_of

pytestmark = pytest.mark.data


@pytest.mark.parametrize("source", ["evermem_zh", "crosswoz", "qmsum"])
def test_the_bounds_hold(source: str, transcripts: Path) -> None:
    tallies = fidelity.measure("dalsegno", list(SOURCES[source](transcripts)))
    assert len(tallies) == 10
    for tally in tallies:
        assert tally.reachable == tally.facts
        assert tally.covered == tally.gone
        assert tally.invented == 0
    assert tallies[-1].facts > 100
    assert tallies[-1].kept < 0.4 * tallies[-1].tokens


def test_what_is_lost_is_seen(
    transcripts: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A table that forgets every other saying once it is there breaks the first bound and no other."""
    real = FactTable.history
    monkeypatch.setattr(FactTable, "history", lambda self: real(self)[::2])
    monkeypatch.setattr("dalsegno.core.verification.Report.holds", True)
    assert fidelity.main(["--sources", "evermem_zh", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    broken = {bound["claim"] for bound in told["bounds"] if not bound["kept"]}
    assert broken == {"evermem_zh: protected facts out of reach"}


def test_every_recording_is_read(transcripts: Path) -> None:
    for read in SOURCES.values():
        for messages in read(transcripts):
            assert len(messages) > 50
            assert len({message.id for message in messages}) == len(messages)
            assert sum(bool(text_of(message.model_dump())) for message in messages) > 0.9 * len(messages)


def test_the_plot_has_a_line_for_each() -> None:
    shares = [1 - at / 10 for at in range(10)]
    drawn = plot({"a<b": {"ours": [1.0] * 10, "theirs": shares}, "c": {"ours": shares, "theirs": shares}})
    lines: list[Any] = ET.fromstring(drawn).findall("{http://www.w3.org/2000/svg}polyline")
    assert len(lines) == 4
    assert all(len(line.get("points", "").split()) == 10 for line in lines)
    assert re.search(r"a&lt;b</text>", drawn)
