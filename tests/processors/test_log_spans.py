"""Agents that send log events: their spans, the trace of their session, and real spans of the same work."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from trajectories import span

from tracejury.processors.log_spans import MARK, session_trace, with_log_spans
from tracejury.processors.normalize import normalize
from tracejury.processors.rebuild import rebuild
from tracejury.schemas.spans import LogRecord, Span
from tracejury.schemas.trajectory import Trace

SECOND = 1_000_000_000


def event(second: float, name: str, trace_id: str = "", span_id: str = "", **more: Any) -> LogRecord:
    """A record of an event; two underscores in a key stand for a point."""
    attributes = {"session.id": "s1", "event.name": name.partition(".")[2]}
    attributes |= {key.replace("__", "."): str(value) for key, value in more.pop("said", {}).items()}
    time = int(second * SECOND)
    fields = {"body": name, "attributes": attributes, "service": "cli", "tenant": "shop"} | more
    return LogRecord(trace_id, span_id, time, time, **fields)


def claude(second: float, kind: str, **said: Any) -> LogRecord:
    """A record of Claude Code."""
    return event(second, f"claude_code.{kind}", said=said)


SESSION = (
    claude(1, "user_prompt", prompt="rename it", prompt__id="p1"),
    claude(3, "api_request", model="m", input_tokens=40, output_tokens=80, duration_ms=900, prompt__id="p1"),
    claude(4, "tool_decision", tool_name="Edit", decision="accept", prompt__id="p1"),
    claude(5, "tool_result", tool_name="Edit", success="false", error="not found", tool_input='{"file": "a"}'),
    claude(6, "api_error", model="m", error="overloaded", status_code=529),
    claude(7, "api_request", model="m", input_tokens=45, output_tokens=20, prompt__id="p1"),
    claude(20, "user_prompt", prompt="<REDACTED>", prompt__id="p2"),
    claude(22, "api_request", model="m", input_tokens=9, output_tokens=3, prompt__id="p2"),
    claude(23, "tool_result", tool_name="Bash", success="true", tool_use_id="t1", prompt__id="p2"),
)


def rebuilt(spans: Sequence[Span], logs: Sequence[LogRecord]) -> Trace:
    """The one trace of these rows."""
    return rebuild([normalize(s, [r for r in logs if r.span_id == s.span_id]) for s in spans])


def shape(trace: Trace) -> list[Any]:
    """Runs with their goals, turns and calls."""
    return [
        (run.name, run.goal, [(t.llm and t.llm.output_tokens, *map(called, t.tool_calls)) for t in run.turns])
        for run in trace.runs
    ]


def called(call: Any) -> tuple[str, str | None]:
    return call.name, call.error


EXPECTED = [
    ("claude-code", "rename it", [(80, ("Edit", "not found")), (None,), (20,)]),
    ("claude-code", "", [(3, ("Bash", None))]),
]


def test_a_session_of_events_is_a_trace_of_its_prompts() -> None:
    """Each prompt is a run: requests are turns, results are calls, a decision is neither."""
    records, spans = with_log_spans(SESSION)
    assert {r.trace_id for r in records} == {s.trace_id for s in spans} == {session_trace("shop", "cli", "s1")}
    trace = rebuilt(spans, records)
    assert shape(trace) == EXPECTED
    assert not trace.remainder
    assert trace.session_id == "s1"
    assert trace.runs[0].turns[0].tool_calls[0].arguments == {"file": "a"}
    assert [s.error_text for s in trace.spans.values() if s.is_error] == ["not found", "overloaded"]


@pytest.mark.parametrize("seed", range(5))
def test_any_order_and_a_second_copy_give_the_same(seed: int) -> None:
    """Records come in any order, in requests of any size, and are sent again."""
    order = random.Random(seed)  # noqa: S311 - an order of arrival
    shuffled = [*SESSION, *order.sample(SESSION, 4)]
    order.shuffle(shuffled)
    spans = [s for r in shuffled for s in with_log_spans([r])[1]]
    assert shape(rebuilt(spans, ())) == EXPECTED


def test_records_of_others_never_join() -> None:
    """Another project, service or session has a trace of its own; a record of no session has none."""
    ids = {
        with_log_spans([replace(SESSION[0], **change)])[0][0].trace_id
        for change in ({}, {"tenant": "b"}, {"service": "b"}, {"attributes": {"session.id": "s2"}})
    }
    assert len(ids) == 4
    records, spans = with_log_spans([replace(SESSION[0], attributes={})])
    assert (records[0].trace_id, spans) == ("", [])


def test_records_of_other_programs_stay_as_they_are() -> None:
    """What is no event of a known program is stored as it came."""
    other = [
        event(1, "app.user_prompt"),
        event(2, "", body="claude said so"),
        event(3, "claude_code.unknown", "a" * 32),
    ]
    assert with_log_spans(other) == (other, [])


def test_events_with_ids_of_spans_that_never_come() -> None:
    """They are a trace as well, whatever spans they name."""
    named = [replace(r, trace_id="b" * 32, span_id=f"{i:016x}") for i, r in enumerate(SESSION)]
    records, spans = with_log_spans(named)
    assert records == named
    assert shape(rebuilt(spans, records)) == EXPECTED


REAL = (
    span("a", attributes={"user_prompt": "rename it"}, name="claude_code.interaction", start=SECOND, end=9 * SECOND),
    span(
        "l", "a", {"model": "m", "input_tokens": 40, "output_tokens": 80}, name="claude_code.llm_request",
        start=2 * SECOND, end=3 * SECOND,
    ),
    span("t", "a", {"tool_name": "Edit"}, name="claude_code.tool", start=4 * SECOND, end=5 * SECOND),
    span("x", "t", {"success": False, "error": "not found"}, name="claude_code.tool.execution", start=4 * SECOND),
    span(
        "m", "a", {"model": "m", "input_tokens": 45, "output_tokens": 20}, name="claude_code.llm_request",
        start=6 * SECOND, end=7 * SECOND,
    ),
)  # fmt: skip


def test_real_spans_count_and_events_stand_at_them() -> None:
    """Nothing is told twice; each event is a log line of its span, the failed request's of the nearest."""
    spans = [replace(s, trace_id=REAL[0].trace_id) for s in with_log_spans(SESSION[:6])[1]]
    trace = rebuilt([*REAL, *spans], ())
    assert shape(trace) == [("claude-code", "rename it", [(80, ("Edit", "not found")), (20,)])]
    assert {s.span_id: s.log_text for s in trace.spans.values() if s.log_text} == {
        "a": ("claude_code.user_prompt",),
        "l": ("claude_code.api_request",),
        "t": ("claude_code.tool_result: not found",),
        "m": ("claude_code.api_error: overloaded", "claude_code.api_request"),
    }


def test_events_tell_what_spans_do_not() -> None:
    """Of a program that sends spans of requests alone, the tools come from its events."""
    spans = [replace(s, trace_id=REAL[0].trace_id) for s in with_log_spans(SESSION[:6])[1]]
    trace = rebuilt([REAL[0], REAL[1], REAL[4], *spans], ())
    assert shape(trace) == [("claude-code", "rename it", [(80, ("Edit", "not found")), (20,)])]


def test_codex_and_gemini() -> None:
    """Their documented events: a request's end tells its tokens, a failed tool says so in its output."""
    codex = [
        event(1, "codex.user_prompt", said={"prompt": "list"}),
        event(2, "codex.api_request", said={"model": "g", "duration_ms": 500}),
        event(2.1, "codex.sse_event", said={"event__kind": "response.created"}),
        event(3, "codex.sse_event", said={"event__kind": "response.completed", "model": "g", "output_token_count": 7}),
        event(4, "codex.tool_decision", said={"tool_name": "shell", "decision": "approved"}),
        event(5, "codex.tool_result", said={"tool_name": "shell", "call_id": "c", "success": "false", "output": "no"}),
    ]
    gemini = [
        event(1, "gemini_cli.user_prompt", said={"prompt": "list", "prompt_id": "p"}),
        event(2, "gemini_cli.api_response", said={"model": "g", "output_token_count": 7, "prompt_id": "p"}),
        event(3, "gemini_cli.tool_call", said={"function_name": "shell", "success": "false", "error": "no"}),
    ]
    for name, records in (("codex", codex), ("gemini-cli", gemini)):
        trace = rebuilt(with_log_spans(records)[1], ())
        assert shape(trace) == [(name, "list", [(7, ("shell", "no"))])]


def test_a_refused_call_is_no_failure() -> None:
    """The user's refusal is reported like a failure by the program."""
    refusal = claude(5, "tool_result", tool_name="Bash", success="false", error="User rejected the call")
    (made,) = with_log_spans([refusal])[1]
    assert made.status_message == ""
    assert made.attributes[MARK] == "claude_code.tool_result"


def test_replies_stand_in_the_requests_that_have_their_id() -> None:
    """As texts and as whole responses, in any order; where no other event tells of a request they stand for it."""
    calls = {"type": "tool_use", "id": "t1", "name": "Edit", "input": {"file": "a"}}
    body = json.dumps({"id": "m1", "content": [{"type": "text", "text": "Renaming."}, calls], "usage": {}})
    events = [
        claude(1, "user_prompt", prompt="rename it"),
        claude(3, "assistant_response", response="Renaming.", request_id="r1", model="m"),
        claude(3, "api_response_body", body=body, request_id="r1", model="m"),
        claude(3, "api_request", model="m", input_tokens=40, output_tokens=80, request_id="r1"),
        claude(5, "tool_result", tool_name="Edit", success="true", tool_use_id="t1"),
        claude(6, "assistant_response", response="<REDACTED>", request_id="r2", model="m"),
        claude(6, "api_request", model="m", input_tokens=45, output_tokens=20, request_id="r2"),
        claude(8, "api_response_body", body=body[:40], request_id="r3", model="m"),
    ]
    for seed in range(4):
        records, spans = with_log_spans(random.Random(seed).sample(events, len(events)))  # noqa: S311 - an order
        (run,) = rebuilt(spans, records).runs
        said = [
            (t.llm and t.llm.output, t.llm and t.llm.output_tokens, [c.name for c in t.tool_calls]) for t in run.turns
        ]
        assert said == [("Renaming.", 80, ["Edit"]), ("", 20, []), ("", None, [])]
        assert run.turns[0].tool_calls[0].arguments == {"file": "a"}
        assert not any("body" in span.attributes for span in spans)
