"""Domain objects to the JSON of the API and of `--format json`. Pure functions; the shapes stand in shapes.py."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...processors.tokens import sum_tokens
from ...schemas.findings import Finding
from ...schemas.normalized import Json
from ...schemas.queries.reader import Sighting, TraceRow
from ...schemas.taxonomy import Severity
from ...schemas.text.jsontext import text_of
from ...schemas.text.moments import iso_time
from ...schemas.trajectory import AgentRun, ToolCall, Trace, Turn
from ...schemas.verdicts import Judgement, Verdict
from ...schemas.wire.traces import (
    AgentRunJson,
    ErrorJson,
    FindingJson,
    JudgedJson,
    TokensJson,
    ToolCallJson,
    TraceJson,
    TraceRowJson,
    TurnJson,
    VerdictJson,
)


def present_trace(trace: Trace, findings: Iterable[Finding], verdicts: Iterable[Verdict] = ()) -> TraceJson:
    """The trace as JSON. `findings` come out by place: agent run, turn, span, then judge.

    `trace_ids` names every trace id that the spans carry, the trace's own first.
    """
    others = {span.raw.trace_id for span in trace.spans.values()} - {trace.trace_id}
    order = {run.id: position for position, run in enumerate(trace.runs)}
    return {
        "trace_id": trace.trace_id,
        "trace_ids": [trace.trace_id, *sorted(others)],
        "session_id": trace.session_id or None,
        "service": trace.service,
        "state": trace.state.value,
        "spans": len(trace.spans),
        "start": iso_time(trace.start),
        "end": iso_time(trace.end),
        "conventions": list(trace.conventions),
        "tokens": _tokens(trace),
        "agent_runs": [_run(run) for run in trace.runs],
        "remainder": [span.span_id for span in trace.remainder],
        "findings": [present_finding(f) for f in sorted(findings, key=lambda f: _place(f, order))],
        "verdicts": [present_verdict(v) for v in verdicts],
    }


def present_finding(finding: Finding) -> FindingJson:
    """One finding as JSON."""
    dimensions = [dimension.value for dimension in finding.dimensions]
    return {
        "id": finding.id,
        "fingerprint": finding.fingerprint,
        "trace_id": finding.trace_id,
        "span_id": finding.span_id,
        "agent_run_id": finding.agent_run_id or None,
        "turn": finding.turn,
        "judge": finding.judge,
        "dimension": dimensions[0] if dimensions else None,
        "dimensions": dimensions,
        "taxonomy": finding.taxonomy,
        "category": finding.category,
        "severity": finding.severity.value,
        "confidence": finding.confidence,
        "evidence": finding.evidence,
        "explanation": finding.explanation,
        "tool_span_id": finding.tool_span_id or None,
        "seen_by_span_id": finding.seen_by_span_id or None,
        "also_at": list(finding.also_at),
        "linked": list(finding.linked),
        "state": finding.state.value,
        "first_seen": iso_time(finding.first_seen),
    }


def present_error(sighting: Sighting) -> ErrorJson:
    """One finding outside its trace as JSON."""
    return {**present_finding(sighting.finding), "service": sighting.service, "agent": sighting.agent or None}


def present_row(row: TraceRow) -> TraceRowJson:
    """A trace in a list as JSON."""
    return {
        "trace_id": row.trace_id,
        "session_id": row.session_id or None,
        "service": row.service,
        "state": row.state.value,
        "spans": row.spans,
        "agents": list(row.agents),
        "start": iso_time(row.start),
        "end": iso_time(row.end),
        "received": iso_time(row.received),
        "findings": {severity.value: row.findings.get(severity, 0) for severity in Severity},
        "name": row.name,
        "version": row.version or None,
        "goal": row.goal,
        "models": list(row.models),
        "turns": row.turns,
        "duration_ms": max(0, row.end - row.start) / 1e6,
        "input_tokens": row.input_tokens,
        "output_tokens": row.output_tokens,
        "usd": row.usd,
    }


def present_judged(judgement: Judgement, pending_judges: int = 0) -> JudgedJson:
    """What judging a trace again led to as JSON; `pending_judges`: its agent runs that wait for LLM judges."""
    return {
        "trace_id": judgement.subject.trace_id,
        "findings": len(judgement.findings),
        "failures": [f"{judge}: {why}" for judge, why in judgement.failures],
        "pending_judges": pending_judges,
    }


def present_verdict(verdict: Verdict) -> VerdictJson:
    """One verdict as JSON."""
    subject = verdict.subject
    return {
        "judge": verdict.judge,
        "version": verdict.version,
        "model": verdict.model or None,
        "subject": {"kind": subject.kind.value, "id": subject.id, "trace_id": subject.trace_id},
        "score": verdict.score,
        "not_applicable": verdict.not_applicable,
        "unscored_reason": verdict.unscored_reason or None,
        "reasons": verdict.reasons,
        "sampling_probability": verdict.sampling_probability,
    }


def _place(finding: Finding, order: Mapping[str, int]) -> tuple[int, int, str, str, str]:
    run = order.get(finding.agent_run_id, len(order))
    return run, -1 if finding.turn is None else finding.turn, finding.span_id, finding.judge, finding.id


def _tokens(trace: Trace) -> TokensJson:
    sums = sum_tokens(trace.spans)
    return {"input": sums.input_tokens, "output": sums.output_tokens, "llm_calls": sums.calls}


def _run(run: AgentRun) -> AgentRunJson:
    return {
        "id": run.id,
        "name": run.name,
        "role": run.role,
        "span_id": run.span.span_id if run.span else None,
        "parent_id": run.parent_id or None,
        "parent_turn": run.parent_turn,
        "goal": run.goal,
        "answer": run.answer,
        "status": run.status,
        "turns": [_turn(turn) for turn in run.turns],
    }


def _turn(turn: Turn) -> TurnJson:
    return {
        "index": turn.index,
        "kind": turn.kind.value,
        "llm_span_id": turn.llm.span_id if turn.llm else None,
        "text": turn.text,
        "tool_calls": [_tool_call(call) for call in turn.tool_calls],
        "sub_run_ids": list(turn.sub_run_ids),
    }


def _tool_call(call: ToolCall) -> ToolCallJson:
    return {
        "name": call.name,
        "arguments": _arguments(call.arguments),
        "result": call.result,
        "requested": call.requested,
        "executed": call.executed,
        "error": call.error,
        "span_id": call.span.span_id if call.span else None,
        "call_id": call.call_id or None,
        "sub_run_id": call.sub_run_id or None,
    }


def _arguments(arguments: Json) -> dict[str, object] | str | None:
    if arguments is None or isinstance(arguments, str):
        return arguments
    if isinstance(arguments, Mapping):
        return dict(arguments)
    return text_of(arguments)
