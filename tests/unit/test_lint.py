"""Each rule finds its fault in a description, says why and what to write, and is silent where nothing is wrong."""

from __future__ import annotations

from typing import Any

import pytest

from dalsegno.core.effects import is_effect, is_send, names_recipient, words_of
from dalsegno.core.lint import FieldFacts, GraphFacts, NodeFacts, SendFacts, ToolFacts
from dalsegno.core.lint_rules import IDS, lint
from dalsegno.core.ownership import Field
from dalsegno.core.sarif import sarif
from dalsegno.core.schema import StateSchema
from dalsegno.core.topology import Edge

FORK = [Edge(sources=["__start__"], targets=["a", "b"])]
CHAIN = [Edge(sources=["__start__"], targets=["a"]), Edge(sources=["a"], targets=["b"])]


def graph(*fields: FieldFacts, edges: Any = CHAIN, writes: Any = (), schema: Any = None, **more: Any) -> GraphFacts:
    nodes = {
        name: NodeFacts(name=name, writes=frozenset(writes), place=f"app.py:{at}") for at, name in enumerate("ab", 1)
    }
    return GraphFacts(
        name="graph",
        fields={each.name: each for each in fields},
        nodes=nodes,
        edges=edges,
        schema=schema or StateSchema(),
        place="app.py",
        **more,
    )


def found(facts: GraphFacts, **how: Any) -> list[tuple[str, str, str]]:
    return [(each.level, each.rule, each.subject) for each in lint(facts, **how)]


CLEAN = graph(
    FieldFacts(name="messages", is_list=True, reduced=True, shrinks=True),
    FieldFacts(name="file_ids", is_list=True),
    FieldFacts(name="question"),
    edges=FORK,
    tools=[ToolFacts(name="get_order", node="a", parameters=["id"])],
)


def test_nothing_is_found_where_nothing_is_wrong():
    assert lint(CLEAN) == []
    assert lint(CLEAN, strict=True) == []


FAULTS = {
    "a list": (
        graph(FieldFacts(name="found", is_list=True), edges=FORK, writes=["found"]),
        "error",
        "unreduced-list",
        "found",
    ),
    "a field": (graph(FieldFacts(name="step"), edges=FORK, writes=["step"]), "error", "unreduced-field", "step"),
    "a reducer that drops": (
        graph(FieldFacts(name="found", is_list=True, reduced=True, drops=True), edges=FORK, writes=["found"]),
        "error",
        "dropping-reducer",
        "found",
    ),
    "owners by schema": (
        graph(
            FieldFacts(name="found", is_list=True),
            edges=FORK,
            schema=StateSchema(fields=[Field("found", owner=("a", "b"))]),
        ),
        "error",
        "unreduced-list",
        "found",
    ),
    "several owners": (graph(FieldFacts(name="step"), writes=["step"]), "warning", "several-owners", "step"),
    "not the owner": (
        graph(FieldFacts(name="step"), writes=["step"], schema=StateSchema(fields=[Field("step", owner="a")])),
        "error",
        "not-the-owner",
        "step",
    ),
    "an owner that is not there": (
        graph(FieldFacts(name="step"), schema=StateSchema(fields=[Field("step", owner="c")])),
        "error",
        "unknown-owner",
        "step",
    ),
    "a field that is not there": (
        graph(schema=StateSchema(fields=[Field("step")])),
        "error",
        "unknown-field",
        "step",
    ),
    "append only": (
        graph(FieldFacts(name="messages", is_list=True, reduced=True, shrinks=False)),
        "error",
        "append-only",
        "messages",
    ),
    "a body by name": (graph(FieldFacts(name="invoice_pdf")), "warning", "body-in-state", "invoice_pdf"),
    "a body by type": (graph(FieldFacts(name="scan", holds_bytes=True)), "warning", "body-in-state", "scan"),
    "a body in the example": (
        graph(FieldFacts(name="notes", bodies=[("notes[0]", 9000, True)])),
        "error",
        "body-in-state",
        "notes",
    ),
    "a count": (
        graph(FieldFacts(name="messages"), FieldFacts(name="message_count")),
        "warning",
        "recomputable",
        "message_count",
    ),
    "the last of a list": (
        graph(FieldFacts(name="replies"), FieldFacts(name="last_reply")),
        "warning",
        "recomputable",
        "last_reply",
    ),
    "a prompt": (graph(FieldFacts(name="system_prompt")), "warning", "recomputable", "system_prompt"),
    "a socket": (
        graph(FieldFacts(name="sender", unserializable=[("sender", "socket.socket", "keep an id")])),
        "error",
        "unserializable",
        "sender",
    ),
    "a send": (
        graph(sends=[SendFacts(node="a", where="`f`", type_name="a function", hint="send a name")]),
        "error",
        "send-argument",
        "a",
    ),
    "an effect": (
        graph(tools=[ToolFacts(name="refund_order", node="a", parameters=["order"])]),
        "warning",
        "action-without-key",
        "refund_order",
    ),
    "a send to nobody": (
        graph(tools=[ToolFacts(name="send_mail", node="a", parameters=["subject"], is_action=True)]),
        "warning",
        "send-without-recipient",
        "send_mail",
    ),
    "a field of one run": (
        graph(FieldFacts(name="model"), schema=StateSchema(fields=[Field("model", scope="run")])),
        "warning",
        "run-field-in-state",
        "model",
    ),
}


@pytest.mark.parametrize(("facts", "level", "rule", "subject"), FAULTS.values(), ids=FAULTS)
def test_the_fault_is_found(facts, level, rule, subject):
    assert found(facts) == [(level, rule, subject)]
    (finding,) = lint(facts)
    assert finding.why
    assert finding.fix
    assert not finding.why.endswith(".")
    assert found(facts, strict=True) == [("error", rule, subject)]


def test_no_version():
    assert found(GraphFacts(name="graph")) == [("warning", "no-version", "graph")]


def test_every_id_is_covered_by_a_fault():
    assert {rule for _, _, rule, _ in FAULTS.values()} | {"no-version"} == set(IDS)


@pytest.mark.parametrize(
    "facts",
    [
        graph(FieldFacts(name="found", is_list=True, reduced=True), edges=FORK, writes=["found"]),
        graph(FieldFacts(name="found", is_list=True, reduced=True, drops=True), writes=["found"]),
        graph(FieldFacts(name="step"), writes=["step"], schema=StateSchema(fields=[Field("step", owner=("a", "b"))])),
        graph(FieldFacts(name="pdf", holds_bytes=True), schema=StateSchema(fields=[Field("pdf", keep="reference")])),
        graph(FieldFacts(name="pdf", holds_bytes=True, stored=False)),
        graph(FieldFacts(name="image_url"), FieldFacts(name="pdf_path"), FieldFacts(name="screenshot_ids")),
        graph(FieldFacts(name="message_count")),
        graph(FieldFacts(name="lock", unserializable=[("lock", "a lock", "…")], stored=False)),
        graph(tools=[ToolFacts(name="refund_order", node="a", is_action=True)]),
        graph(tools=[ToolFacts(name="send_mail", node="a", parameters=["to", "text"], is_action=True)]),
        graph(tools=[ToolFacts(name="get_send_history", node="a")]),
    ],
)
def test_what_is_declared_or_harmless_is_not_blamed(facts):
    assert lint(facts) == []


def test_errors_come_first():
    facts = graph(FieldFacts(name="invoice_pdf"), FieldFacts(name="found", is_list=True), edges=FORK, writes=["found"])
    assert [each.level for each in lint(facts)] == ["error", "warning"]


# --- SARIF ----------------------------------------------------------------------------------------


def test_sarif_has_what_the_standard_asks_for():
    facts = graph(FieldFacts(name="found", is_list=True), edges=FORK, writes=["found"])
    findings = [*lint(facts), *lint(GraphFacts(name="graph"))]
    log = sarif(findings, "1.2.3")
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert (driver["name"], driver["semanticVersion"]) == ("dalsegno lint", "1.2.3")
    assert len({rule["id"] for rule in driver["rules"]}) == len(driver["rules"]) == len(IDS)
    for result, finding in zip(run["results"], findings, strict=True):
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == finding.rule
        assert result["level"] in {"error", "warning"}
        assert finding.subject in result["message"]["text"]
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "app.py"}, "region": {"startLine": 1}}
    assert "physicalLocation" not in run["results"][1]["locations"][0]


# --- names ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["send_email", "sendEmail", "send-email", "SendEmail", "please_send_email"])
def test_names_are_read_as_words(name):
    assert words_of(name)[-2:] == ["send", "email"]
    assert is_effect(name)
    assert is_send(name)


@pytest.mark.parametrize(
    ("name", "effect", "send"),
    [
        ("refund", True, False),
        ("delete_user", True, False),
        ("get_refund_status", False, False),
        ("search_mail", False, False),
        ("list_posts", False, False),
        ("notify_customer", True, True),
        ("weather", False, False),
        ("update_order", True, False),
        ("HTTPPost", True, True),
    ],
)
def test_the_first_verb_counts(name, effect, send):
    assert (is_effect(name), is_send(name)) == (effect, send)


def test_who_gets_something_is_known_by_the_parameters_name():
    assert all(map(names_recipient, ["to", "recipient", "email_address", "channelId", "user_id", "phone"]))
    assert not any(map(names_recipient, ["subject", "text", "body", "amount"]))
