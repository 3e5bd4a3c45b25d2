"""The doctor leaves real conversations alone, and what it says of some of them is so."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import dalsegno
from dalsegno.imports import import_file

pytestmark = pytest.mark.data


def test_of_a_hundred_conversations_few_have_a_symptom_and_those_have_it(transcripts: Path) -> None:
    with dalsegno.connect("memory://") as ds:
        for number in range(100):
            import_file(ds, transcripts / "tau_bench" / "airline.json", f"c-{number}", index=number)
        found = {f"c-{number}": ds.doctor(f"c-{number}").findings for number in range(100)}
        rules = Counter(each.rule for findings in found.values() for each in findings)
        assert rules == {"growing-history": 4, "same-effect-twice": 1, "thread-id-changed": 2}
        for thread, findings in found.items():
            for each in findings:
                if each.rule == "growing-history":
                    assert len(ds.threads.state(thread)["messages"]) > 60
                elif each.rule == "thread-id-changed":
                    (other,) = (at.split("'")[1] for at in each.evidence if at.startswith("thread "))
                    assert ds.journal.read(other)[0].text == ds.journal.read(thread)[0].text
                else:
                    numbers = [int(at[1:].split()[0]) for at in each.evidence if at.startswith("#")]
                    events = {event.seq: event for event in ds.journal.read(thread)}
                    calls = [events[number].payload.tool_calls[0] for number in numbers]
                    assert all(call["args"] == calls[0]["args"] for call in calls)
                    assert all("reservation_id" in events[number + 1].text for number in numbers)
