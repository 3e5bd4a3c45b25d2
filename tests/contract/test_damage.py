"""Claim: `check` finds a row that is gone or was changed by hand, names it, and never stumbles over it."""

from __future__ import annotations

import sqlite3
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from dalsegno.errors import DalsegnoError
from dalsegno.langgraph.config import config_of

DAMAGES = {
    "a form is gone": ("DELETE FROM ds_forms", "dangling"),
    "a form has names in other places": (
        """UPDATE ds_forms SET body = replace(replace(body, '"words"', '"wordz"'), '"numbers"', '"words"')""",
        "digest",
    ),
    "a form has too few names": ("UPDATE ds_forms SET body = '[[], [], [], [0]]'", "digest"),
    "an element is gone": ("DELETE FROM ds_items WHERE lane = 1 AND pos = 1", "dangling"),
    "a pooled value is gone": ("DELETE FROM ds_items WHERE lane = 0 AND digest IS NOT NULL", "dangling"),
    "metadata is gone": ("DELETE FROM ds_items WHERE lane = 0 AND digest IS NULL", "dangling"),
    "a pooled value has another digit": (
        "UPDATE ds_items SET body = CAST(replace(CAST(body AS text), 'word 7', 'word 8') AS {json}) WHERE lane = 0",
        "digest",
    ),
    "two pooled values changed places": (
        "UPDATE ds_items SET pos = pos + 1000 WHERE lane = 0 AND digest IS NOT NULL",
        "dangling",
    ),
    "a chunk is none": ("UPDATE ds_items SET body = '{{\"$ref\": 99999}}' WHERE lane > 0", "dangling"),
    "an item that nothing needs": (
        "INSERT INTO ds_items (tenant, thread, lane, pos, body) SELECT tenant, thread, 99, 1, '5' FROM ds_threads",
        "orphan",
    ),
    "a blob is gone": ("DELETE FROM ds_blobs", "dangling"),
    "a blob has another letter": ("UPDATE ds_blobs SET body = replace(body, 'blob', 'blub')", "digest"),
    "a blob is not referred to": ("DELETE FROM ds_blob_refs", "dangling"),
    "a namespace is gone": ("DELETE FROM ds_namespaces WHERE ns = 1", "dangling"),
    "a head is another": ("UPDATE ds_namespaces SET head = 1 WHERE ns = 0", "dangling"),
    "a branch is gone": ("DELETE FROM ds_branches", "dangling"),
    "a branch leaves from nowhere": ("UPDATE ds_branches SET forked_at = 10000", "dangling"),
    "a branch is its own parent": ("UPDATE ds_branches SET parent = branch", "dangling"),
    "a checkpoint is gone": ("DELETE FROM ds_checkpoints WHERE parent IS NULL AND ns = 0", "dangling"),
    "a checkpoint has another number": ("UPDATE ds_checkpoints SET ckpt = 500 WHERE ckpt = 1", "dangling"),
    "a counter fell back": ("UPDATE ds_threads SET checkpoints = 1, pool = 0, lanes = 0", "counter"),
    "a state has one node less": ("UPDATE ds_checkpoints SET state = '[]'", "json"),
    "a frame is another's": ("UPDATE ds_checkpoints SET frame = '[4, 1, [], [], null]'", "json"),
    "an id is not its text's": ("UPDATE ds_checkpoints SET id = {short} WHERE ckpt = 1", "digest"),
    "writes without a checkpoint": ("UPDATE ds_writes SET ckpt = 77", "dangling"),
    "writes of another task": ("UPDATE ds_writes SET task = {short}", "digest"),
    "writes that are none": ("UPDATE ds_writes SET body = '[[1, 2]]'", "json"),
    "an event is gone": ("DELETE FROM ds_events WHERE seq = 2", "gap"),
    "an event of no kind": ("UPDATE ds_events SET kind = 99", "kind"),
    "an event of another item": ("UPDATE ds_events SET lane = 0, pos = 1", "digest"),
    "an event of another branch": ("UPDATE ds_events SET branch = 1 WHERE seq = 1", "dangling"),
    "an event of no branch": ("UPDATE ds_events SET branch = 7", "dangling"),
    "an event of a later time": ("UPDATE ds_events SET ckpt = 10000", "dangling"),
}


@pytest.fixture
def scene(ds: Any, put: Any) -> None:
    """A thread with something of everything: a fork, a namespace, odd ids, writes, a blob, chunks, pooled values."""
    values: dict[str, Any] = {
        "messages": [HumanMessage("hello", id="1"), AIMessage("a long answer " * 20, id="2")],
        "words": [f"word {number}" for number in range(20)],
        "numbers": list(range(500)),
        "blob": "blob " * 8000,
    }
    told = {"source": "loop", "step": 1, "note": "of the first"}
    first = put(ds, "t", checkpoint_id="an odd id", metadata=told, **values)
    values["messages"] = [*values["messages"], HumanMessage("and?", id="3")]
    second = put(ds, "t", first, **values)
    put(ds, "t", ns="sub:1", a=1)
    ds.checkpointer.put_writes(second, [("numbers", list(range(600)))], "an odd task")
    put(ds, "t", config_of("t", "", "an odd id", forks=True), **{**values, "messages": []})
    assert ds.threads.check().clean


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("store_url", ["memory", "postgres"], indirect=True)
def test_damage_is_found(ds, scene, execute, store_url, damage):
    statement, kind = DAMAGES[damage]
    if store_url == "memory://":
        words = {"json": "text", "short": "zeroblob(16)"}
    else:
        words = {"json": "jsonb", "short": "decode(repeat('00', 16), 'hex')"}
    execute(statement.format(**words))
    found = ds.threads.check().findings
    assert kind in {finding.kind for finding in found}
    for read in (
        lambda: ds.threads.state("t"),
        lambda: ds.threads.checkpoints("t"),
        lambda: ds.journal.read("t"),
        lambda: list(ds.checkpointer.list({"configurable": {"thread_id": "t"}})),
        lambda: ds.checkpointer.prune(["t"]),
    ):
        try:
            read()
        except DalsegnoError as error:
            assert str(error)  # noqa: PT017 - whether it is refused depends on the damage; that it is no traceback does not


@pytest.mark.parametrize("store_url", ["memory"], indirect=True)
@pytest.mark.parametrize(
    "column",
    ["ds_items.digest", "ds_items.pos", "ds_checkpoints.id", "ds_writes.task", "ds_forms.digest", "ds_events.mark"],
)
@pytest.mark.parametrize("value", ["'text'", "1.5", "NULL", "x''"])
def test_a_column_of_another_type_is_found(ds, scene, execute, column, value):
    table, name = column.split(".")
    try:
        execute(
            f"UPDATE {table} SET {name} = {value} WHERE rowid = 1"
            if table == "ds_forms"
            else f"UPDATE {table} SET {name} = {value}"
        )
    except sqlite3.IntegrityError:
        pytest.skip("the database takes no such value")
    check = ds.threads.check()
    assert check.findings or column in ("ds_events.mark", "ds_items.digest")
