"""A check of everything finds what a deleted thread left behind, and texts that nobody needs."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

import dalsegno
from dalsegno.contracts import Step
from dalsegno.testing import prepare
from dalsegno.testing.operations import GONE, SONG


def plant(ds: Any, statement: str, **params: Any) -> None:
    """Write rows past the services."""
    scope = ds.scope()

    def op() -> Any:
        found = yield Step("thread_find", {"tenant": scope.tenant, "name": GONE, "owner": None})
        yield Step(statement, {"tenant": scope.tenant, "thread": found[0][0], **params})

    ds.store_backend.run(op, write=True)


@pytest.mark.parametrize(
    ("statement", "params"),
    [
        ("item_add", {"lane": 1, "pos": 1, "digest": None, "body": '"left"'}),
        ("write_save", {"ckpt": 1, "task": b"t" * 16, "path": "", "body": '{"writes":[]}'}),
        (
            "summary_add",
            {
                "branch": 0,
                "ckpt": None,
                "from_seq": 1,
                "to_seq": 2,
                "at": 1,
                "writer": "extract",
                "policy": "{}",
                "lines": "[]",
                "facts": "{}",
            },
        ),
        ("namespace_add", {"ns": 0, "name": ""}),
        ("branch_add", {"branch": 1, "parent": 0, "forked_at": 1}),
        ("blob_ref_add", {"digest": b"d" * 32}),
    ],
)
def test_rows_of_a_deleted_thread_are_found(statement, params, ds):
    prepare(ds)
    assert ds.threads.check().findings == []
    plant(ds, statement, **params)
    (finding,) = ds.threads.check().findings
    assert (finding.thread_id, finding.kind, finding.found) == (GONE, "orphan", "1 rows")
    assert ds.threads.check(SONG).findings == []


def test_a_text_that_no_thread_needs_is_found(ds):
    prepare(ds)
    text = "x" * 40_000
    plant(ds, "blob_add", digest=hashlib.sha256(text.encode()).digest(), body=text)
    (finding,) = ds.threads.check().findings
    assert (finding.thread_id, finding.kind) == ("", "orphan")
    assert finding.place.startswith("blob ")


def test_what_is_another_tenants_is_not_told(store_url):
    if store_url == "memory://":
        pytest.skip("every connection to memory is a database of its own")
    with dalsegno.connect(store_url, tenant="theirs") as theirs, dalsegno.connect(store_url, tenant="mine") as mine:
        prepare(theirs)
        plant(theirs, "blob_ref_add", digest=b"d" * 32)
        assert not theirs.threads.check().clean
        assert mine.threads.check().clean
