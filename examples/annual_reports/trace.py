"""The fourteen steps of one request, with what was sent in each call.

Rules of this module:

* It reads what is stored and runs nothing: the state says what came of each step, manifests what each call was given.
* A request begins at the checkpoint of its input. Where it was asked back, what came after the reply belongs to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dalsegno import Dalsegno, Manifest
from examples.annual_reports.routing import after_aggregate, after_decision, after_guardrails, after_memory
from examples.annual_reports.words import bare

__all__ = ["Sent", "Step", "told", "trace"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """One call: its node, the company where it is one company's, and its manifest."""

    node: str
    about: str
    manifest: Manifest


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One of the fourteen.

    Attributes:
        number, name: of it.
        lines: what came of it; none where the request did not come by.
        sent: the calls that were made in it.
    """

    number: int
    name: str
    lines: list[str]
    sent: list[Sent] = field(default_factory=list)


def trace(ds: Dalsegno, thread_id: str) -> list[Step]:
    """The steps of a thread's newest request.

    Raises:
        ThreadNotFound: nothing is stored of it.
    """
    state = ds.threads.state(thread_id)
    sent = list(_sent(ds, thread_id))
    return list(_steps(state, sent))


def _sent(ds: Dalsegno, thread_id: str) -> Iterator[Sent]:
    """The calls since the newest input, oldest first, each under its company."""
    own: set[str] = set()
    for info in ds.threads.checkpoints(thread_id, ns=""):
        own.add(info.checkpoint_id)
        if info.source == "input":
            break
    rows = [row for row in ds.context.manifests(thread_id) if row.call.checkpoint_id in own]
    branches = {}
    for row in rows:
        about = next((entry.source for entry in row.manifest.sections if entry.name == "company"), None)
        if about is not None:
            branches[row.call.ns.partition("|")[0]] = about
    for row in rows:
        yield Sent(node=row.call.node, about=branches.get(row.call.ns.partition("|")[0], ""), manifest=row.manifest)


def _steps(state: Mapping[str, Any], sent: Sequence[Sent]) -> Iterator[Step]:
    order = {company: at for at, company in enumerate(state.get("companies") or [])}

    def calls(node: str) -> list[Sent]:
        return sorted((each for each in sent if each.node == node), key=lambda each: order.get(each.about, -1))

    question, cached = state["question"], state.get("cached") or {}
    decision, report = state.get("decision"), state.get("report")
    findings: Mapping[str, Any] = state.get("findings") or {}
    guard, outcome = state.get("guard") or {}, state.get("outcome") or {}
    kept = f"{len(state['messages'])} messages{', and a summary of older ones' if state.get('summary') else ''}"
    yield Step(number=1, name="compress_context", lines=[kept], sent=calls("compress_context"))
    added = question[len(bare(question)) :].strip()
    who = ", ".join(state.get("companies") or []) or "no company"
    years = ", ".join(f"FY{year}" for year in state.get("years") or []) or "no year"
    asked = [f"asked back: {reply}" for reply in state.get("replies") or []]
    yield Step(
        number=2, name="memory", lines=[f"{question}", f"completed with {added or 'nothing'}: {who}, {years}", *asked]
    )
    looked = (
        f"{cached['band']} at {cached['score']:.2f}: {cached['why']}" if cached else "not looked at: news does not keep"
    )
    yield Step(number=3, name="memory (answer cache)", lines=[looked])
    yield Step(number=4, name="route", lines=[f"→ {after_memory(state)}"])
    judged = [", ".join(name for name, true in decision.items() if true) or "none of the four"] if decision else []
    yield Step(number=5, name="retrieve_decision", lines=judged, sent=calls("retrieve_decision"))
    yield Step(number=6, name="route (fan-out)", lines=[f"→ {_way(after_decision(state))}"] if decision else [])
    yield Step(
        number=7,
        name="query_rewrite",
        lines=[f"{company}: {query}" for company, finding in findings.items() for query in finding["queries"]],
        sent=calls("query_rewrite"),
    )
    graded = calls("grade_docs")
    found = [f"{each.about}: {', '.join(_candidates(each.manifest)) or 'nothing'}" for each in graded]
    yield Step(number=8, name="retrieve_company", lines=found)
    relevant = [f"{company}: {len(finding['documents'])} kept" for company, finding in findings.items()]
    yield Step(number=9, name="grade_docs", lines=relevant, sent=graded)
    drafts = [f"{company}: {_short(finding['draft'])}" for company, finding in findings.items()]
    yield Step(number=10, name="synthesize", lines=drafts, sent=calls("synthesize"))
    checked = [
        f"{company}: grounded {finding['grounded'] or '-'}, confidence {finding['confidence']}, "
        f"{len(finding['unsupported'])} claims without support"
        for company, finding in findings.items()
    ]
    yield Step(number=11, name="grade_answer", lines=checked, sent=calls("grade_answer"))
    merged = []
    if report:
        merged.append(
            f"{len(report['documents'])} sources, arithmetic {'' if report['needs_calculation'] else 'not '}called for"
        )
    if state.get("calculation"):
        merged += ["calculator: " + (_short(state["calculation"]["text"]) or "nothing to compute")]
    if state.get("news") is not None:
        merged.append(f"news: {len(state['news'])} pieces")
    if report and not state.get("calculation"):
        merged.append(f"→ {after_aggregate(state)}" if not state.get("news") else "→ guardrails")
    yield Step(number=12, name="aggregate", lines=merged, sent=[*calls("aggregate"), *calls("calculator")])
    passed = "passed" if guard.get("passed") else guard.get("problem", "")
    lines = [f"{passed} → {after_guardrails(state)}"] if guard else []
    yield Step(number=13, name="guardrails → answer", lines=lines, sent=calls("answer"))
    if outcome:
        put = "put into the answer cache" if outcome["stored"] else f"not put into the answer cache: {outcome['why']}"
        warned = ["a warning was added afterwards"] if outcome["warning"] else []
        lines = [
            f"{outcome['kind']}, confidence {outcome['confidence']}, {len(outcome['sources'])} sources cited",
            put,
            *warned,
        ]
    yield Step(number=14, name="save", lines=lines if outcome else [])


def _way(way: Any) -> str:
    if isinstance(way, str):
        return way
    return ", ".join(f"{send.node}({send.arg['company']})" for send in way)


def _candidates(manifest: Manifest) -> list[str]:
    return [entry.name for entry in manifest.sections if entry.name.startswith("[")]


def _short(text: str) -> str:
    line = " / ".join(text.split("\n"))
    return line if len(line) <= 160 else f"{line[:159]}…"  # noqa: PLR2004 - a line of a terminal


def told(steps: Sequence[Step], *, whole: bool = False) -> str:
    """The steps as text.

    Args:
        steps: as `trace` gives them.
        whole: also what each call was denied, with the reason.
    """
    lines = []
    for step in steps:
        lines.append(f"{step.number:2} {step.name}")
        lines += [f"     {line}" for line in step.lines or ["-"]]
        for sent in step.sent:
            manifest = sent.manifest
            about = f" ({sent.about})" if sent.about else ""
            lines.append(f"     sent by {sent.node}{about}: {manifest.tokens} of {manifest.budget_tokens} tokens")
            for entry in manifest.sections:
                if entry.fidelity == "left_out" and entry.why == "nothing to show":
                    continue
                size = f"{entry.tokens} tokens" + (f" of {entry.whole_tokens}" if entry.left_out_tokens else "")
                lines.append(f"       + {entry.name} ({entry.trust}, {entry.fidelity}): {size}")
            if whole:
                lines += [f"       - {name}: {why}" for name, why in manifest.withheld.items()]
            else:
                lines.append(f"       - withheld: {', '.join(manifest.withheld)}")
    return "\n".join(lines)
