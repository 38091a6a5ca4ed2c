"""Spans that were exported twice under new ids count once."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from trajectories import fixture_spans, normalise_all, outline, span

from tracejury.processors.normalize import normalize
from tracejury.processors.rebuild import rebuild
from tracejury.processors.tokens import sum_tokens
from tracejury.schemas.spans import LogRecord, Span
from tracejury.schemas.trajectory import Trace

FIXTURES = sorted((Path(__file__).parent / "fixtures").glob("*.json"))


def whole(spans: list[Span], *, scope: str = "") -> list[Span]:
    """The whole trace again, each parent a copy, too."""
    known = {s.span_id for s in spans}
    return [
        replace(
            s,
            span_id=f"~{s.span_id}",
            parent_span_id=f"~{s.parent_span_id}" if s.parent_span_id in known else s.parent_span_id,
            scope_name=scope or s.scope_name,
        )
        for s in spans
    ]


def another_scope(spans: list[Span]) -> list[Span]:
    return whole(spans, scope="second")


def leaves(spans: list[Span]) -> list[Span]:
    """Spans without children again, below the same parents."""
    above = {s.parent_span_id for s in spans}
    return [replace(s, span_id=f"~{s.span_id}") for s in spans if s.span_id not in above]


def shown(trace: Trace) -> dict[str, Any]:
    """What a trace shows, without the records that tell nothing new."""
    found = outline(trace)
    for run in found["runs"]:
        for turn in run["turns"]:
            turn["wrappers"] = [w for w in turn["wrappers"] if not w.startswith("~")]
    found["remainder"] = [i for i in found["remainder"] if not i.startswith("~")]
    return found


def rebuilt(spans: Iterable[Span], logs: list[LogRecord]) -> Trace:
    return rebuild(normalise_all(spans, logs))


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
@pytest.mark.parametrize("again", [whole, another_scope, leaves])
def test_copies_change_nothing(path: Path, again: Callable[[list[Span]], list[Span]]) -> None:
    """Runs, turns, calls and tokens are those of the trace that was sent once, in any order of arrival."""
    spans, logs = fixture_spans(json.loads(path.read_text()))
    spans = list({s.span_id: s for s in spans if s.end > s.start}.values())
    sent = [*spans, *again(spans)]
    random.Random(7).shuffle(sent)  # noqa: S311
    once, twice = rebuilt(spans, logs), rebuilt(sent, logs)
    assert shown(twice) == shown(once)
    assert sum_tokens(twice.spans) == sum_tokens(once.spans)
    assert twice.spans.keys() == {s.span_id for s in sent}


def agent(*below: Span) -> list[Span]:
    stated = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "x"}
    return [span("a", attributes=stated, start=1, end=90_000_001), *below]


def chat(span_id: str, parent: str, start: int, *requests: str) -> Span:
    parts = [{"type": "tool_call", "name": "look", "arguments": {}, "id": i} for i in requests]
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.usage.input_tokens": 5,
        "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": parts}]),
    }
    return span(span_id, parent, attributes, name="chat", start=start, end=start + 3_000_000)


def tool(span_id: str, parent: str, start: int, call_id: str = "", result: str = "seen") -> Span:
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "look",
        "gen_ai.tool.call.result": result,
    } | ({"gen_ai.tool.call.id": call_id} if call_id else {})
    return span(span_id, parent, attributes, name="look", start=start, end=start + 1_000_000)


def calls(spans: list[Span]) -> int:
    return sum(len(turn.tool_calls) for run in rebuild(map(normalize, spans)).runs for turn in run.turns)


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (tool("u", "a", 5_000_123), 1),
        (tool("u", "a", 5_000_124), 2),  # began later
        (tool("u", "a", 5_000_123, result="other"), 2),
    ],
)
def test_only_the_same_operation_is_a_copy(other: Span, expected: int) -> None:
    """All that spans say must be the same, also their nanoseconds."""
    assert calls(agent(chat("l", "a", 1_000_123), tool("t", "a", 5_000_123), other)) == expected


@pytest.mark.parametrize(("call_id", "expected"), [("", 2), ("c", 1)])
def test_a_coarse_clock_is_no_evidence(call_id: str, expected: int) -> None:
    """Two equal calls side by side may begin and end in the same milliseconds; an id makes them one."""
    ran = [tool(i, "a", 5_000_000, call_id) for i in ("t", "u")]
    assert calls(agent(chat("l", "a", 1_000_000, *([call_id] if call_id else ["", ""])), *ran)) == expected


def test_what_hangs_below_a_copy_belongs_to_the_first() -> None:
    """A call whose first record was lost is a call of the run."""
    lost = tool("t", "~a", 5_000_123)
    trace = rebuild(map(normalize, [*agent(chat("l", "a", 1_000_123)), *whole(agent()), lost]))
    (run,) = trace.runs
    assert [c.span.span_id for t in run.turns for c in t.tool_calls if c.span] == ["t"]
    assert not trace.remainder
