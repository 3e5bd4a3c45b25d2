"""Claim: names of channels and nodes are stored once per tenant, and a form that is gone or changed is told as damage."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph

import dalsegno
from dalsegno.contracts import Step
from dalsegno.errors import Damaged
from dalsegno.services.forms import digest_of_form
from dalsegno.services.memo import Memo


def talk(ds: dalsegno.Dalsegno, threads: range) -> None:
    builder = StateGraph(MessagesState).add_node("model", lambda _: {"messages": [AIMessage("yes")]})
    graph = builder.add_edge(START, "model").compile(checkpointer=ds.checkpointer)
    for number in threads:
        graph.invoke({"messages": [("user", "well?")]}, {"configurable": {"thread_id": f"t{number}"}})


def counted(execute: Any) -> int:
    return int(execute("SELECT count(*) FROM ds_forms")[0][0])


def test_threads_of_one_graph_share_their_names(ds, execute):
    talk(ds, range(1))
    one = counted(execute)
    talk(ds, range(1, 6))
    assert counted(execute) == one
    ds.threads.copy("t1", "t1-copy")
    ds.threads.delete("t1")
    assert counted(execute) == one
    assert len(ds.threads.state("t1-copy")["messages"]) == 2
    assert ds.threads.check().clean


def test_another_process_finds_them(ds, execute, monkeypatch):
    talk(ds, range(1))
    one = counted(execute)
    memo = Memo()
    for place in (ds.checkpointer, ds.checkpointer._rebuilder, ds.checkpointer._requests, ds.checkpointer._opening):
        monkeypatch.setattr(place, "_memo", memo)
    talk(ds, range(1, 2))
    assert counted(execute) == one


def test_a_tenant_has_its_own(store_url):
    if store_url == "memory://":
        pytest.skip("another connection is another database")
    found = {}
    for tenant in ("acme", "other"):
        with dalsegno.connect(store_url, tenant=tenant) as ds:
            talk(ds, range(1))
            assert ds.threads.list()[0].checkpoints == 3
            scope = ds.scope()

            def owned(scope: Any = scope) -> Any:
                return (yield Step("forms_of", {"tenant": scope.tenant, "thread": 1 + len(found)}))

            found[tenant] = {number for number, _, _ in ds.store_backend.run(owned, write=False)}
    assert found["acme"]
    assert found["other"]
    assert not found["acme"] & found["other"]


def test_two_that_say_the_same_do_no_harm(ds, execute):
    talk(ds, range(1))
    bodies = [body for (body,) in execute("SELECT body FROM ds_forms")]
    scope = ds.scope()

    def add() -> Any:
        for body in bodies:
            digest = digest_of_form(body.encode())
            yield Step("form_add", {"tenant": scope.tenant, "digest": digest, "body": body})

    ds.store_backend.run(add, write=True)
    talk(ds, range(1, 2))
    assert counted(execute) == 2 * len(bodies)
    assert ds.threads.check().clean


def test_a_number_that_this_process_remembers_is_not_believed(ds, execute, put):
    """A database that was restored, or has failed over, may have given it to another form."""
    put(ds, "before", a=1)
    for table in ("ds_forms", "ds_checkpoints", "ds_namespaces"):
        execute(f"DELETE FROM {table}")
    put(ds, "other", b=2)
    put(ds, "after", a=3)
    assert ds.threads.state("other") == {"b": 2}
    assert ds.threads.state("after") == {"a": 3}


def test_names_that_changed_places_are_damage(ds, execute, put):
    put(ds, "t", a=1, b=2)
    execute(
        "UPDATE ds_forms SET body = replace(replace(replace(body, '\"a\"', '\"c\"'), '\"b\"', '\"a\"'), '\"c\"', '\"b\"')"
    )
    for read in (ds.threads.state, ds.threads.tree, lambda thread: ds.checkpointer.prune([thread])):
        with pytest.raises(Damaged):
            read("t")
    assert {finding.kind for finding in ds.threads.check("t").findings} >= {"digest"}


@pytest.mark.parametrize(
    ("damage", "kind"),
    [
        ("DELETE FROM ds_forms", "dangling"),
        ("UPDATE ds_forms SET body = '[[], [], [], []]'", "digest"),
        ("UPDATE ds_forms SET body = 'null'", "digest"),
        ("UPDATE ds_forms SET body = '['", "digest"),
    ],
)
def test_a_form_that_is_gone_or_changed_is_damage(ds, execute, damage, kind):
    talk(ds, range(1))
    execute(damage)
    for read in (
        lambda: ds.threads.state("t0"),
        lambda: ds.threads.tree("t0"),
        lambda: ds.threads.checkpoints("t0"),
        lambda: list(ds.checkpointer.list({"configurable": {"thread_id": "t0"}})),
        lambda: ds.checkpointer.prune(["t0"]),
    ):
        with pytest.raises(Damaged):
            read()
    assert kind in {finding.kind for finding in ds.threads.check("t0").findings}
