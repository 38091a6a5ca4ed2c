"""Traces for tests of the processors: fixtures as JSON, captures of frameworks, and what a rebuilt trace shows."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

from tracejury.collector.otlp.codec.decode import decode
from tracejury.collector.otlp.codec.signals import Encoding, Signal
from tracejury.collector.otlp.files.files import read
from tracejury.processors.normalize import normalize
from tracejury.schemas.normalized import NormalizedSpan
from tracejury.schemas.spans import LogRecord, Span, SpanEvent
from tracejury.schemas.trajectory import AgentRun, ToolCall, Trace, Turn

SHARED = Path(__file__).parents[3] / "shared" / "data"
TRAIL = SHARED / "trail" / "gaia-dev" / "traces"
FRAMEWORKS = SHARED / "frameworks"

TRACE_ID = "a" * 32
_TYPES = {bool: "bool", int: "int", float: "double", list: "array", dict: "kvlist"}


def load(path: Path) -> dict[str, list[NormalizedSpan]]:
    """The normalised spans of a file (OTLP, TRAIL's form, or an archive of such) by trace id."""
    spans: list[Span] = []
    logs: list[LogRecord] = []
    for number, source in enumerate(read([path])):
        signal = Signal.LOGS if isinstance(source.request, ExportLogsServiceRequest) else Signal.TRACES
        batch = decode(signal, Encoding.PROTOBUF, source.request.SerializeToString(), received_at=number).batch
        spans += batch.spans
        logs += batch.logs
    traces: defaultdict[str, list[NormalizedSpan]] = defaultdict(list)
    for span in normalise_all(spans, logs):
        traces[span.raw.trace_id].append(span)
    return dict(traces)


def normalise_all(spans: Iterable[Span], logs: Iterable[LogRecord] = ()) -> list[NormalizedSpan]:
    """Each span with the log records that name it."""
    joined: defaultdict[tuple[str, str], list[LogRecord]] = defaultdict(list)
    for log in logs:
        joined[log.trace_id, log.span_id].append(log)
    return [normalize(s, joined.get((s.trace_id, s.span_id), ())) for s in spans]


def fixture_spans(data: dict[str, Any]) -> tuple[list[Span], list[LogRecord]]:
    """Spans and log records of a JSON fixture.

    `data["spans"]`: `{id, parent?, name?, start?, end?, attributes?, events?, status?, …}`; start defaults to the
    span's position, end to start + 1; attribute values that are not strings are stored as JSON text with their type.
    """
    spans = [_span(i, s) for i, s in enumerate(data["spans"])]
    return spans, [_log(i, entry) for i, entry in enumerate(data.get("logs", ()))]


def span(span_id: str, parent: str = "", attributes: dict[str, Any] | None = None, **changes: Any) -> Span:
    """One span; `changes` are fields of `Span`."""
    stored, types = _stored(attributes or {})
    fields: dict[str, Any] = {"name": span_id, "start": 1, "end": 2} | changes
    return Span(
        TRACE_ID,
        span_id,
        parent,
        attributes=stored,
        attribute_types=types,
        service=fields.pop("service", "app"),
        **fields,
    )


def _span(position: int, entry: dict[str, Any]) -> Span:
    start = entry.get("start", position + 1)
    events = tuple(SpanEvent(start, e["name"], _stored(e.get("attributes", {}))[0]) for e in entry.get("events", ()))
    optional = {k: entry[k] for k in ("service", "scope_name", "pending", "dropped_attributes", "kind") if k in entry}
    return span(
        entry["id"],
        entry.get("parent", ""),
        entry.get("attributes"),
        name=entry.get("name", entry["id"]),
        start=start,
        end=entry.get("end", start + 1),
        status_code={"unset": 0, "ok": 1, "error": 2}[entry.get("status", "unset")],
        status_message=entry.get("message", ""),
        events=events,
        **optional,
    )


def _log(position: int, entry: dict[str, Any]) -> LogRecord:
    body = entry.get("body", "")
    stored, types = _stored(entry.get("attributes", {}))
    return LogRecord(
        TRACE_ID,
        entry["span"],
        entry.get("time", 0),
        entry.get("observed_time", position + 1),
        event_name=entry.get("event_name", ""),
        body=body if isinstance(body, str) else json.dumps(body),
        body_type="string" if isinstance(body, str) else _TYPES[type(body)],
        attributes=stored,
        attribute_types=types,
    )


def _stored(attributes: dict[str, Any]) -> tuple[dict[str, str], dict[str, str]]:
    stored = {k: v if isinstance(v, str) else json.dumps(v) for k, v in attributes.items()}
    return stored, {k: _TYPES[type(v)] for k, v in attributes.items() if not isinstance(v, str)}


def outline(trace: Trace) -> dict[str, Any]:
    """What a rebuilt trace shows, as JSON."""
    return {
        "session": trace.session_id,
        "service": trace.service,
        "conventions": list(trace.conventions),
        "runs": [_run(run) for run in trace.runs],
        "remainder": [s.span_id for s in trace.remainder],
    }


def _run(run: AgentRun) -> dict[str, Any]:
    return {
        "id": run.id,
        "name": run.name,
        "role": run.role,
        "span": run.span.span_id if run.span else None,
        "parent": run.parent_id,
        "parent_turn": run.parent_turn,
        "goal": run.goal,
        "system_prompt": run.system_prompt,
        "answer": run.answer,
        "status": run.status,
        "plans": list(run.plans),
        "tools": [t.name for t in run.tools],
        "managed_agents": list(run.managed_agents),
        "max_steps": run.max_steps,
        "turns": [_turn(turn) for turn in run.turns],
    }


def _turn(turn: Turn) -> dict[str, Any]:
    return {
        "kind": turn.kind.value,
        "llm": turn.llm.span_id if turn.llm else None,
        "text": turn.text,
        "sent": len(turn.llm.input_messages) if turn.llm else 0,
        "new": [[m.role, m.text] for m in turn.new_messages],
        "observation": turn.observation,
        "closed": turn.closed,
        "sub_runs": list(turn.sub_run_ids),
        "wrappers": [w.span_id for w in turn.wrappers],
        "calls": [_call(call) for call in turn.tool_calls],
    }


def _call(call: ToolCall) -> dict[str, Any]:
    return {
        "name": call.name,
        "arguments": call.arguments,
        "result": call.result,
        "requested": call.requested,
        "executed": call.executed,
        "error": call.error,
        "call_id": call.call_id,
        "span": call.span.span_id if call.span else None,
        "sub_run": call.sub_run_id,
        "closing": call.closing,
    }


def differences(actual: Any, expected: Any, path: str = "") -> list[str]:
    """Where `actual` lacks what `expected` asks for: of objects the named keys, of lists all items in order."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        return [d for k, v in expected.items() for d in differences(actual.get(k), v, f"{path}.{k}")]
    if isinstance(expected, list) and isinstance(actual, list):
        if len(actual) != len(expected):
            return [f"{path}: {len(actual)} items instead of {len(expected)}: {actual}"]
        return [
            d for i, pair in enumerate(zip(actual, expected, strict=True)) for d in differences(*pair, f"{path}[{i}]")
        ]
    return [] if actual == expected else [f"{path}: {actual!r} instead of {expected!r}"]


def misplaced(trace: Trace) -> list[str]:
    """LLM and TOOL spans that are not in exactly one turn or else in the remainder; any span that is in two places."""
    places: list[str] = [s.span_id for s in trace.remainder]
    for run in trace.runs:
        for turn in run.turns:
            places += _spans_of(turn)
    counts: defaultdict[str, int] = defaultdict(int)
    for span_id in places:
        counts[span_id] += 1
    lost = [i for i, s in trace.spans.items() if s.kind.value in ("llm", "tool") and not counts[i]]
    return lost + [i for i, n in counts.items() if n > 1]


def _spans_of(turn: Turn) -> Sequence[str]:
    found = [turn.llm.span_id] if turn.llm else []
    found += [call.span.span_id for call in turn.tool_calls if call.span]
    return found + [w.span_id for w in turn.wrappers]
