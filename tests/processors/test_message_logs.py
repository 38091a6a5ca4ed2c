"""Log records with the messages of model calls: stand-ins for spans that come later, or never."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from tracejury.processors.log_spans import with_log_spans
from tracejury.processors.normalize.message_logs import STAND_IN
from tracejury.processors.open_trace import OpenTrace
from tracejury.processors.rebuild import rebuild
from tracejury.schemas.spans import LogRecord, Span
from tracejury.schemas.trajectory import Trace

SECOND = 1_000_000_000
DETAILS = "gen_ai.client.inference.operation.details"
TRACE = "a" * 32


def record(second: int, name: str, body: Any = "", trace_id: str = TRACE, span_id: str = "", **said: Any) -> LogRecord:
    """A log record; values that are no texts are JSON."""
    attributes = {k.replace("__", "."): v if isinstance(v, str) else json.dumps(v) for k, v in said.items()}
    text, kind = (body, "string") if isinstance(body, str) else (json.dumps(body), "kvlist")
    time = second * SECOND
    return LogRecord(
        trace_id, span_id, time, time, event_name=name, body=text, body_type=kind, attributes=attributes, service="shop"
    )


def message(role: str, content: str) -> dict[str, Any]:
    """One message of the conventions."""
    return {"role": role, "parts": [{"type": "text", "content": content}]}


ASKS = {
    "role": "assistant",
    "parts": [{"type": "tool_call", "id": "call-1", "name": "search", "arguments": {"q": "a"}}],
}
RESULT = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "call-1", "response": "nothing found"}]}
QUESTION, ANSWER = message("user", "Where is it?"), message("assistant", "I do not know.")


def details(span_ids: Sequence[str] = ("0" * 15 + "1", "0" * 15 + "2"), **more: Any) -> list[LogRecord]:
    """Two calls as records of whole operations."""
    said = {"gen_ai__operation__name": "chat", "gen_ai__request__model": "m", "gen_ai__usage__output_tokens": "7"}
    sent = ([QUESTION], [QUESTION, ASKS, RESULT])
    return [
        record(
            2 + 2 * at, DETAILS, span_id=span_id, gen_ai__input__messages=sent[at],
            gen_ai__output__messages=[(ASKS, ANSWER)[at]], **said, **more,
        )
        for at, span_id in enumerate(span_ids)
    ]  # fmt: skip


def events() -> list[LogRecord]:
    """The same as events of one message each, as the conventions had them before."""
    one, two = "0" * 15 + "1", "0" * 15 + "2"
    call = {"id": "call-1", "type": "function", "function": {"name": "search", "arguments": '{"q": "a"}'}}
    asks = {"tool_calls": [call], "role": "assistant"}
    system = {"gen_ai__system": "openai"}
    return [
        record(1, "gen_ai.user.message", {"content": "Where is it?"}, span_id=one, **system),
        record(2, "gen_ai.choice", {"index": 0, "finish_reason": "tool_calls", "message": asks}, span_id=one, **system),
        record(3, "gen_ai.user.message", {"content": "Where is it?"}, span_id=two, **system),
        record(3, "gen_ai.assistant.message", asks, span_id=two, **system),
        record(3, "gen_ai.tool.message", {"content": "nothing found", "id": "call-1"}, span_id=two, **system),
        record(
            4, "gen_ai.choice", {"index": 0, "finish_reason": "stop", "message": {"content": "I do not know."}},
            span_id=two, **system,
        ),
    ]  # fmt: skip


def adot() -> list[LogRecord]:
    """The same as the bodies of ADOT."""
    one, two = "0" * 15 + "1", "0" * 15 + "2"
    call = json.dumps([{"toolUse": {"toolUseId": "call-1", "name": "search", "input": {"q": "a"}}}])
    result = json.dumps([{"toolResult": {"toolUseId": "call-1", "content": [{"text": "nothing found"}]}}])
    user = {"role": "user", "content": {"content": "Where is it?"}}
    asks, found = {"role": "assistant", "content": {"content": call}}, {"role": "tool", "content": {"content": result}}
    wrote = [
        {"role": "assistant", "content": {"message": call, "finish_reason": "tool_use"}},
        {"role": "assistant", "content": {"message": "I do not know.", "finish_reason": "end_turn"}},
    ]
    sent = ([user], [user, asks, found])
    return [
        record(2 * n, "strands.telemetry.tracer", {"input": {"messages": sent[n - 1]}, "output": {"messages": [out]}},
               span_id=(one, two)[n - 1])
        for n, out in enumerate(wrote, 1)
    ]  # fmt: skip


def rebuilt(arrivals: Iterable[tuple[Sequence[Span], Sequence[LogRecord]]], *, settles: bool | None = None) -> Trace:
    """The trace of requests that came in that order; `settles`: whether its root must have ended, or not."""
    trace = OpenTrace(("", TRACE), 0, 0)
    for spans, logs in arrivals:
        kept, made = with_log_spans(logs)
        for span in (*spans, *made):
            trace.add_span(span)
        trace.add_logs(kept)
    assert settles is None or trace.root_ended() is settles
    return rebuild(trace.spans.values())


def shape(trace: Trace) -> list[Any]:
    """Runs with what they were asked, and their turns with calls, replies and times."""
    return [
        (
            run.goal,
            [(t.llm and t.llm.output, [(c.name, c.arguments, c.result) for c in t.tool_calls]) for t in run.turns],
        )
        for run in trace.runs
    ]


EXPECTED = [("Where is it?", [("", [("search", {"q": "a"}, "nothing found")]), ("I do not know.", [])])]


@pytest.mark.parametrize("sent", [details(), events(), adot()], ids=["details", "events", "adot"])
def test_records_whose_spans_never_come_are_calls(sent: list[LogRecord]) -> None:
    """One turn a span id, in whatever order and company the records come; the trace waits for its spans."""
    for seed in range(4):
        records = random.Random(seed).sample(sent, len(sent))  # noqa: S311 - an order
        for size in (1, 2, len(sent)):
            parts = [((), records[at : at + size]) for at in range(0, len(sent), size)]
            trace = rebuilt(parts, settles=False)
            assert shape(trace) == EXPECTED
            assert [t.llm and t.llm.span_id[-1] for t in trace.runs[0].turns] == ["1", "2"]
            assert not any(span.raw.pending for span in trace.spans.values())


def test_what_records_say_beside_messages_is_read() -> None:
    """Model, tokens, session and failure; an operation that is no call is none."""
    trace = rebuilt([((), details(gen_ai__conversation__id="s", error__type="timeout"))])
    (run,) = trace.runs
    assert [(t.llm.model, t.llm.output_tokens, t.llm.error_text) for t in run.turns if t.llm] == [
        ("m", 7, "timeout")
    ] * 2
    assert trace.session_id == "s"
    agent = [replace(r, attributes={**r.attributes, "gen_ai.operation.name": "invoke_agent"}) for r in details()[1:]]
    assert [s.kind.value for s in rebuilt([((), agent)]).spans.values()] == ["agent"]


def real(span_id: str, start: int, end: int, parent: str = "0" * 15 + "9", **attributes: str) -> Span:
    """A span that was sent."""
    said = {k.replace("__", "."): v for k, v in attributes.items()}
    return Span(TRACE, span_id, parent, "chat m", start * SECOND, end * SECOND, said, service="shop")


def test_the_real_span_wins_in_any_order() -> None:
    """A span that comes before or after its record is the one that counts, and gives the same trace."""
    spans = [
        Span(TRACE, "0" * 15 + "9", "", "invoke_agent a", 0, 9 * SECOND,
             {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "a"}, service="shop"),
        real("0" * 15 + "1", 1, 2, gen_ai__operation__name="chat"),
        real("0" * 15 + "2", 3, 3, gen_ai__operation__name="chat"),  # ends before its record was written
    ]  # fmt: skip
    both = [(spans, ()), ((), details())]
    first = rebuilt(both, settles=True)
    assert first == rebuilt(both[::-1]) == rebuilt([(spans, details())])
    assert not any(STAND_IN in span.raw.attributes for span in first.spans.values())
    assert [(run.name, len(run.turns)) for run in first.runs] == [("a", 2)]


def test_beside_spans_of_the_same_service_records_are_records() -> None:
    """Where a program sends spans of its calls, logs under other ids tell of no more, and hold nothing up."""
    span = real("0" * 15 + "7", 1, 5, parent="", gen_ai__operation__name="chat", gen_ai__request__model="m")
    trace = rebuilt([([span], details())], settles=True)
    assert [[t.llm and t.llm.span_id for t in run.turns] for run in trace.runs] == [["0" * 15 + "7"]]
    assert len(trace.spans) == 3
    other = rebuilt([([replace(span, service="other")], details())])
    assert sum(len(run.turns) for run in other.runs) == 3


def test_a_record_of_what_is_around_a_call_is_none() -> None:
    """It tells the reply of a call before it, and the first message that this one was sent."""
    asked = {"role": "user", "content": {"content": "Where is it?"}}
    wrote = {"role": "assistant", "content": {"message": "I do not know.", "finish_reason": "end_turn"}}
    body = {"input": {"messages": [asked]}, "output": {"messages": [wrote]}}
    around = record(5, "strands.telemetry.tracer", body, span_id="0" * 15 + "5")
    assert shape(rebuilt([((), [*adot(), around])])) == EXPECTED


def test_records_without_ids_are_in_the_trace_of_their_session() -> None:
    """Where no span was open when they were written."""
    records = [replace(r, trace_id="") for r in details(("", ""), gen_ai__conversation__id="s")]
    placed, spans = with_log_spans(records)
    assert {r.trace_id for r in placed} == {s.trace_id for s in spans}
    assert [r.span_id for r in placed] == [s.span_id for s in spans]
    assert shape(rebuilt([((), placed)])) == EXPECTED
    assert with_log_spans([replace(r, trace_id="") for r in details(("", ""))])[1] == []


@pytest.mark.parametrize(
    "log",
    [
        record(1, "", "started", span_id="1" * 16),
        record(1, "gen_ai.user.message", {"content": "hi"}, span_id="1" * 16),
        record(1, "app.event", '{"input": 1, "output": {"messages": "no"}}', span_id="1" * 16),
        record(1, "app.event", {"input": {"messages": [{"role": "user", "content": "q"}]},
                                "output": {"messages": [{"role": "assistant", "content": "a"}]}}, span_id="1" * 16),
        record(1, "gen_ai.evaluation.result", "bad", span_id="1" * 16, gen_ai__evaluation__name="x"),
    ],
)  # fmt: skip
def test_other_records_make_no_span(log: LogRecord) -> None:
    """Plain records, messages that were only sent, and bodies that any step may have."""
    assert with_log_spans([log]) == ([log], [])


def test_a_task_within_a_session_is_a_run_of_its_own() -> None:
    """The same agent, asked twice by one manager in one session: the second task is no turn of the first."""
    tool = {"type": "tool_call", "name": "ask_helper"}
    tasks = ("Find the length of the Rhine.", "Find the length of the Elbe.")
    calls: list[tuple[list[Any], Any]] = []
    told: list[Any] = [message("system", "You manage."), message("user", "Compare the rivers.")]
    for at, task in enumerate(tasks):
        asks = {"role": "assistant", "parts": [{**tool, "id": f"ask-{at}", "arguments": {"task": task}}]}
        calls.append((list(told), asks))
        given, look = (
            [message("system", "You help."), message("user", task)],
            {**tool, "name": "search", "id": f"look-{at}"},
        )
        looks = {"role": "assistant", "parts": [{**look, "arguments": {"q": at}}]}
        seen = {"role": "tool", "parts": [{"type": "tool_call_response", "id": f"look-{at}", "response": "found"}]}
        calls.append((given, looks))
        calls.append(([*given, looks, seen], message("assistant", f"It is {at}00 km.")))
        response = {"type": "tool_call_response", "id": f"ask-{at}", "response": f"It is {at}00 km."}
        told += [asks, {"role": "tool", "parts": [response]}]
    calls.append((told, message("assistant", "One is longer.")))
    records = [
        record(at, DETAILS, span_id=f"{at:016x}", gen_ai__conversation__id="s",
               gen_ai__input__messages=sent, gen_ai__output__messages=[wrote])
        for at, (sent, wrote) in enumerate(calls, 1)
    ]  # fmt: skip
    trace = rebuilt([((), records)])
    assert [(run.goal, len(run.turns)) for run in trace.runs] == [("Compare the rivers.", 3), *((t, 2) for t in tasks)]
    results = [call.result for call in trace.runs[0].turns[0].tool_calls + trace.runs[0].turns[1].tool_calls]
    assert results == ["It is 000 km.", "It is 100 km."]
