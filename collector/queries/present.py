"""Domain objects as the models of the API and of `--format json`. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tracejury.processors.tokens import sum_tokens
from tracejury.schemas.findings import Finding
from tracejury.schemas.normalized import Json
from tracejury.schemas.not_judged import NotJudged, why_run_not_judged
from tracejury.schemas.queries.reader import LocatedError, TraceRow
from tracejury.schemas.text.jsontext import text_of
from tracejury.schemas.trace_status import status_of
from tracejury.schemas.trajectory import AgentRun, ToolCall, Trace, Turn
from tracejury.schemas.verdicts import Judgement, Verdict
from tracejury.schemas.wire.base import fill
from tracejury.schemas.wire.traces import (
    AgentRunJson,
    JudgedJson,
    TokensJson,
    TraceJson,
    TraceRowJson,
)

from .present_errors import present_error
from .present_lists import duration_ms, listed_errors


def present_trace(
    trace: Trace,
    findings: Iterable[Finding],
    verdicts: Iterable[Verdict] = (),
    errors: Iterable[LocatedError] = (),
    not_judged: NotJudged | None = None,
) -> TraceJson:
    """The trace with its findings in order of place: agent run, turn, span, then judge."""
    order = {run.id: position for position, run in enumerate(trace.runs)}
    sums = sum_tokens(trace.spans)
    return fill(
        TraceJson,
        trace,
        spans=len(trace.spans),
        tokens=TokensJson(
            input=sums.input_tokens,
            output=sums.output_tokens,
            llm_calls=sums.calls,
            calls_without_usage=sums.without_usage,
        ),
        agent_runs=[present_run(run) for run in trace.runs],
        remainder=[span.span_id for span in trace.remainder],
        errors=[present_error(located) for located in errors],
        findings=by_place(findings, order),
        verdicts=list(verdicts),
        not_judged=not_judged,
        status=status_of(trace.state, not_judged is not None),
    )


def present_row(row: TraceRow) -> TraceRowJson:
    """A trace in a list."""
    return fill(TraceRowJson, row, **listed_errors(row), duration_ms=duration_ms(row.start, row.end))


def present_judged(judgement: Judgement, shown: int, pending_judges: int = 0) -> JudgedJson:
    """The outcome of judging a trace again. `shown`, `pending_judges`: as of `JudgedJson`."""
    return JudgedJson(
        trace_id=judgement.subject.trace_id,
        findings=len(judgement.findings),
        shown=shown,
        failures=[f"{judge}: {why}" for judge, why in judgement.failures],
        pending_judges=pending_judges,
    )


def by_place(findings: Iterable[Finding], order: Mapping[str, int]) -> list[Finding]:
    """Findings by agent run, turn, span, then judge; `order`: the places of the runs."""
    return sorted(findings, key=lambda f: _place(f, order))


def _place(finding: Finding, order: Mapping[str, int]) -> tuple[int, int, str, str, str]:
    run = order.get(finding.agent_run_id, len(order))
    return run, -1 if finding.turn is None else finding.turn, finding.span_id, finding.judge, finding.id


def present_run(run: AgentRun) -> AgentRunJson:
    """An agent run with its turns."""
    # Plain dicts for turns and calls: a trace may have ten thousand, and models of them would take four times as long.
    return AgentRunJson.model_construct(
        id=run.id,
        name=run.name,
        role=run.role,
        span_id=run.span.span_id if run.span else None,
        parent_id=run.parent_id or None,
        parent_turn=run.parent_turn,
        goal=run.goal,
        answer=run.answer,
        status=run.status,
        turns=[_turn(turn) for turn in run.turns],
        not_judged=why_run_not_judged(run),
        inferred=run.inferred,
        beside=run.beside,
    )


def _turn(turn: Turn) -> dict[str, object]:
    return {
        "index": turn.index,
        "kind": turn.kind.value,
        "llm_span_id": turn.llm.span_id if turn.llm else None,
        "text": turn.text,
        "tool_calls": [_tool_call(call) for call in turn.tool_calls],
        "sub_run_ids": list(turn.sub_run_ids),
    }


def _tool_call(call: ToolCall) -> dict[str, object]:
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
