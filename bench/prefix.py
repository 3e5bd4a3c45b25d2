"""How much of each prompt is a byte-identical beginning of the turn before's: what a provider's cache can take.

One conversation of many turns with tools, rules, a card that changes now and then, and two documents found anew for
each question. Every way of assembling gets the same and may use as many tokens; what it sends is written out as bytes,
tools first, and compared with what it sent a turn before. The share is weighted by tokens, over all turns but the
first.

* *naive*: rules, card and documents in one system prompt, then the newest messages, as many as fit.
* *trim_messages*: rules and card in the system prompt, the documents in a message before the question, the history by
  LangChain's `trim_messages` (`strategy="last"`, `start_on="human"`).
* *dalsegno*: the same parts as sections of a `Context`.
* *dalsegno, tight*: the same without `keep_recent`, so that the history gives way only when the budget is short.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from typing import Any, cast

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage, trim_messages

from bench.harness import Bound, Report, options
from bench.workload import chinese, english
from dalsegno import Context, Section
from dalsegno.core.tokens import estimate, request_tokens, schema_tokens
from dalsegno.langgraph.turns import turns_of

LEAST_SHARE = 0.75
"""Of the prompt, on average."""
AHEAD = 1.5
"""So many times the better of the other two."""
CARD_EVERY = 12
KEEP = 100

Assembler = Callable[[str, str, Sequence[str], Sequence[AnyMessage], int], Sequence[AnyMessage]]

RULES = english(1, 1600)
TOOLS = [
    {"type": "function", "function": {"name": f"tool_{at}", "description": english(40 + at, 200), "parameters": {}}}
    for at in range(5)
]


def turn(at: int) -> list[AnyMessage]:
    """What one turn adds: a question, every third time a call with its result, an answer."""
    write = chinese if at % 4 == 3 else english  # noqa: PLR2004 - every fourth turn
    asked: list[AnyMessage] = [HumanMessage(write(1000 + at, 240))]
    if at % 3 == 0:
        call = {"name": "tool_0", "args": {"q": english(5000 + at, 20)}, "id": f"call-{at}"}
        asked += [AIMessage("", tool_calls=[call]), ToolMessage(english(6000 + at, 300), tool_call_id=f"call-{at}")]
    return [*asked, AIMessage(write(2000 + at, 400))]


def naive(
    rules: str, card: str, documents: Sequence[str], messages: Sequence[AnyMessage], room: int
) -> list[AnyMessage]:
    """Everything but the messages in one system prompt."""
    system = SystemMessage("\n\n".join([rules, card, *documents]))
    kept: list[AnyMessage] = []
    room -= _tokens([system])
    for message in reversed(messages):
        room -= _tokens([message])
        if room < 0:
            break
        kept.insert(0, message)
    return [system, *kept]


def trimmed(
    rules: str, card: str, documents: Sequence[str], messages: Sequence[AnyMessage], room: int
) -> list[AnyMessage]:
    """LangChain's trimming."""
    system = SystemMessage(f"{rules}\n\n{card}")
    evidence = HumanMessage("\n\n".join(documents))
    kept = trim_messages(
        list(messages),
        max_tokens=room - _tokens([system, evidence]),
        token_counter=_tokens,
        strategy="last",
        start_on="human",
    )
    asked = max(at for at, message in enumerate(kept) if isinstance(message, HumanMessage))
    return cast("list[AnyMessage]", [system, *kept[:asked], evidence, *kept[asked:]])


def ours(keep: int | None) -> Assembler:
    """Sections of a context."""

    def assemble(
        rules: str, card: str, documents: Sequence[str], messages: Sequence[AnyMessage], room: int
    ) -> Sequence[AnyMessage]:
        asked = max(at for at, message in enumerate(messages) if isinstance(message, HumanMessage))
        sections = [
            Section(name="rules", text=rules, trust="rules"),
            Section(name="card", text=card, place="head"),
            Section(name="earlier", messages=messages[:asked], trust="user", keep_recent=keep),
            *(
                Section(name=f"document {at}", text=text, trust="third_party", priority=60)
                for at, text in enumerate(documents)
            ),
            Section(name="question", messages=messages[asked:], trust="user", place="tail"),
        ]
        return Context(sections, room + schema_tokens(TOOLS), tools=TOOLS).request().messages

    return assemble


WAYS: dict[str, Assembler] = {
    "naive": naive,
    "trim_messages": trimmed,
    "dalsegno": ours(KEEP),
    "dalsegno, tight": ours(None),
}


def measure(way: str, *, turns: int, budget_tokens: int) -> dict[str, object]:
    """Shares over one conversation."""
    messages: list[AnyMessage] = []
    before = ""
    same = total = broken = 0
    for at in range(turns):
        new = turn(at)
        card = f"Goal: {english(7, 120)}\nDecided: {english(8000 + at // CARD_EVERY, 300)}"
        documents = [english(20_000 + 2 * at, 700), english(20_001 + 2 * at, 700)]
        sent = _written(WAYS[way](RULES, card, documents, [*messages, new[0]], budget_tokens))
        messages += new
        if at:
            size = _common(before, sent)
            share = estimate(sent[:size]), estimate(sent)
            same += share[0]
            total += share[1]
            broken += share[0] < share[1] / 2
        before = sent
    return {
        "assembled by": way,
        "turns": turns,
        "tokens a turn": total // (turns - 1),
        "share of the turn before": same / total,
        "turns below half": broken,
    }


def _tokens(messages: Sequence[Any]) -> int:
    return sum(each.tokens for each in turns_of(messages))


def _written(messages: Sequence[AnyMessage]) -> str:
    """A request as a provider sees it, tools first; ids of messages are not sent."""
    told = [[message.type, message.content, getattr(message, "tool_calls", None) or None] for message in messages]
    return json.dumps([TOOLS, *told], ensure_ascii=False)


def _common(one: str, other: str) -> int:
    """Length of the beginning that two texts share."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def bounds(rows: Sequence[dict[str, object]]) -> list[Bound]:
    """What is promised."""
    shares = {str(row["assembled by"]): float(str(row["share of the turn before"])) for row in rows}
    others = max(shares.get("naive", 0.0), shares.get("trim_messages", 0.0))
    return [
        Bound(claim="part of a prompt that is new", limit=1 - LEAST_SHARE, found=1 - shares["dalsegno"]),
        Bound(claim=f"{AHEAD} × the others' share, over ours", limit=1, found=AHEAD * others / shares["dalsegno"]),
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the measurement; exit code 1 when a bound is broken."""
    parser = options(__doc__)
    parser.add_argument("--turns", type=int, default=300, help="turns of the conversation")
    parser.add_argument("--budget", type=int, default=8000, help="tokens that a prompt may cost, tools not counted")
    asked = parser.parse_args(argv)
    report = Report(title="Share of each prompt that is the beginning of the turn before's")
    report.notes = [f"prompt of at most {asked.budget:,} tokens, rules and tools {request_tokens([], RULES, TOOLS):,}"]
    report.rows = [measure(way, turns=asked.turns, budget_tokens=asked.budget) for way in WAYS]
    report.bounds = bounds(report.rows)
    return report.close(as_json=asked.json)


if __name__ == "__main__":
    sys.exit(main())
