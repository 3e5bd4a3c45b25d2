"""No statement on the path of a turn reads more of a thread than it needs, however long the thread is."""

from __future__ import annotations

import re

import pytest

from dalsegno.stores.sqlite import SqliteStore
from dalsegno.stores.statements import load_statements

HOT = {
    "action_find": "ds_actions_key (tenant=? AND key=?)",
    "actions_named": "ds_actions_key (tenant=? AND key>? AND key<?)",
    "checkpoint_branch": "ds_checkpoints_id (tenant=? AND thread=? AND id=? AND ns=?)",
    "checkpoint_by_id": "ds_checkpoints_id (tenant=? AND thread=? AND id=? AND ns=?)",
    "checkpoint_head": "PRIMARY KEY (tenant=? AND thread=? AND ckpt=?)",
    "checkpoints_named": "ds_checkpoints_id (tenant=? AND thread=? AND id=? AND ns=?)",
    "events_marked": "ds_events_mark (tenant=? AND thread=? AND mark=?)",
    "head_branch": "PRIMARY KEY (tenant=? AND thread=? AND ckpt=?)",
    "items_in": "(tenant=? AND thread=? AND lane=? AND pos>? AND pos<?)",
    "lane_tails": "(tenant=? AND thread=? AND lane=?)",
    "namespace_find": "(tenant=? AND thread=? AND name=?)",
    "pool_find": "ds_items_digest (tenant=? AND thread=? AND digest=?)",
    "thread_lock": "(tenant=? AND name=?)",
    "write_find": "PRIMARY KEY (tenant=? AND thread=? AND ckpt=? AND task=?)",
    "writes_of": "PRIMARY KEY (tenant=? AND thread=? AND ckpt=?)",
}


@pytest.mark.parametrize("name", sorted(HOT))
def test_a_statement_of_a_turn_goes_straight_to_its_rows(name):
    store = SqliteStore(None)
    sql = load_statements("dalsegno.stores.sqlite")[name]
    plan = [
        row[3]
        for row in store._main().execute("EXPLAIN QUERY PLAN " + sql, dict.fromkeys(re.findall(r":([a-z_0-9]+)", sql)))
    ]
    store.close()
    assert any(HOT[name] in line for line in plan), plan
    whole = [
        line
        for line in plan
        if re.search(r"(SCAN (?!d |m |r |l |json_each|CONSTANT))|\(tenant=\? AND thread=\?\)", line)
    ]
    assert not whole, plan
