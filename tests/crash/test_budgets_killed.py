"""A run whose process is killed in the middle of its model calls, again and again, never makes more calls than its budget has."""

from __future__ import annotations

from typing import Any

LIMIT = 5
THREAD = "spends"


def test_crashing_gives_no_fresh_budget(nursery: Any, scene: Any, tmp_path: Any) -> None:
    log = tmp_path / "calls"
    for _ in range(2):
        assert nursery.run("spending", url=scene.url, log=str(log), dies_at=2).killed
    with scene.after() as ds:
        (run,) = ds.budgets.runs(THREAD)
        assert run.spent.calls == 4
    ended = nursery.run("spending", url=scene.url, log=str(log), dies_at=0)
    assert not ended.killed
    (said,) = ended.report
    assert len(log.read_text().splitlines()) == LIMIT
    assert said["end"] == "spent"
    # Two calls died before their node's checkpoint: the state has not heard of them, the account has.
    assert said["budget"]["spent"]["calls"] == LIMIT - 2
    with scene.after() as ds:
        (run,) = ds.budgets.runs(THREAD)
        assert run.spent.calls == LIMIT
        assert ds.budgets.spent(THREAD) == run.spent
        assert ds.threads.check().clean
