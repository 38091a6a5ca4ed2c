"""Objects of the API as the small answers of tools. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Final

from tracejury.schemas.text.jsontext import text_of
from tracejury.schemas.wire.base import fill
from tracejury.schemas.wire.divergence import ComparedRunsJson, ComparedTracesJson, TraceStepJson
from tracejury.schemas.wire.errors import ErrorDetailJson, ErrorJson
from tracejury.schemas.wire.patterns import PatternJson
from tracejury.schemas.wire.rates import RateJson
from tracejury.schemas.wire.traces import AgentRunJson, PartedTraceJson, ToolCallJson, TraceRowJson, TurnJson

from .answers import (
    ErrorBrief,
    ErrorCause,
    FoundTrace,
    ToldCall,
    ToldDifference,
    ToldParting,
    ToldPattern,
    ToldRate,
    ToldRun,
    ToldStep,
    ToldTrace,
    ToldTurn,
)
from .quoted import LONG, SHORT, quoted

MOST_CALLS: Final = 20
MOST_NAMED: Final = 10
FAILED: Final = "error"


def told_error(error: ErrorJson) -> ErrorBrief:
    """An error of a list."""
    texts = quoted(title=error.title, evidence=error.evidence, service=error.service, agent=error.agent)
    return fill(ErrorBrief, error, label=error.human_label, quoted=texts)


def told_reason(error: ErrorDetailJson, runs: Sequence[AgentRunJson], also: Sequence[str], page: str) -> ErrorCause:
    """An error with the turns around it, which `runs` have."""
    texts = quoted(
        LONG,
        title=error.title,
        evidence=error.evidence,
        explanation=error.explanation,
        decided_why=error.decided_why,
        instead=error.instead,
        service=error.service,
        agent=error.agent,
        verification_reason=error.verification_reason,
    )
    spans = {
        "showed": [error.shown_at] if error.shown_at else [],
        "read": [error.read_at] if error.read_at else [],
        "repeated": error.repeated_at[:MOST_NAMED],
    }
    return fill(
        ErrorCause,
        error,
        label=error.human_label,
        seen_at={role: found for role, found in spans.items() if found},
        turns=[turn for run in runs for turn in told_turns(run.turns, error.span_id, 4 * SHORT)],
        also=list(also)[:MOST_NAMED],
        page=page,
        quoted=texts,
    )


def told_turns(turns: Sequence[TurnJson], span_id: str, limit: int) -> list[ToldTurn]:
    """Turns with texts of at most `limit` characters; `span_id` is the one that was asked for, "" for none."""
    return [
        ToldTurn(
            index=turn.index,
            kind=turn.kind,
            span_id=turn.llm_span_id,
            here=bool(span_id) and span_id in (turn.llm_span_id, *(call.span_id for call in turn.tool_calls)),
            quoted=quoted(limit, text=turn.text),
            calls=[_told_call(call, limit) for call in islice(turn.tool_calls, MOST_CALLS)],
        )
        for turn in turns
    ]


def _told_call(call: ToolCallJson, limit: int) -> ToldCall:
    result = call.result if call.result != call.error else None
    arguments = call.arguments if isinstance(call.arguments, str | None) else text_of(call.arguments)
    return ToldCall(
        span_id=call.span_id,
        failed=call.error is not None,
        sub_run_id=call.sub_run_id,
        quoted=quoted(limit, tool=call.name, arguments=arguments, result=result, failure=call.error),
    )


def told_run(run: AgentRunJson, turns: Sequence[TurnJson], span_id: str, limit: int) -> ToldRun:
    """An agent run with these of its turns."""
    texts = quoted(limit, name=run.name, goal=run.goal, answer=run.answer)
    return fill(ToldRun, run, quoted=texts, turns=told_turns(turns, span_id, limit))


def told_trace(part: PartedTraceJson, runs: list[ToldRun], following: str | None, page: str) -> ToldTrace:
    """A trace with these runs of a part."""
    return fill(
        ToldTrace,
        part,
        judged=part.part.judged,
        page=page,
        quoted=quoted(service=part.service),
        agent_runs=runs,
        errors=[told_error(error) for error in part.errors[:MOST_NAMED]],
        next=following,
    )


def found_trace(row: TraceRowJson) -> FoundTrace:
    """A trace of a list."""
    worst = row.worst_error
    texts = quoted(
        name=row.name,
        service=row.service,
        agents=", ".join(row.agents[:MOST_NAMED]),
        goal=row.goal,
        session=row.session_id,
        worst_error=worst.title if worst else None,
    )
    return fill(FoundTrace, row, worst_error_id=worst.id if worst else None, quoted=texts)


def told_rate(rate: RateJson, group: str = "") -> ToldRate:
    """The rate of a group."""
    return fill(ToldRate, rate, quoted=quoted(group=group))


def told_pattern(pattern: PatternJson) -> ToldPattern:
    """A pattern of a list."""
    evidence = pattern.examples[0].evidence if pattern.examples else None
    since = pattern.since
    return fill(
        ToldPattern,
        pattern,
        since=since.time if since else None,
        examples=[example.error_id for example in pattern.examples[:3]],
        quoted=quoted(
            service=pattern.service,
            about=pattern.about,
            told=pattern.told,
            evidence=evidence,
            since_version=since.version if since else None,
        ),
    )


def told_difference(found: ComparedTracesJson) -> ToldDifference | None:
    """Where two traces first differ, None where nowhere."""
    if found.divergence is None:
        return None
    first, second = found.divergence.first, found.divergence.second
    return ToldDifference(
        at=found.at,
        first=_told_step(first),
        second=_told_step(second),
        quoted=quoted(difference=found.divergence.difference, first_asked=found.first.asked),
    )


def told_parting(found: ComparedRunsJson) -> ToldParting:
    """Where failing runs part from passing ones."""
    step = found.step
    return ToldParting(
        failing=found.failing,
        passing=found.passing,
        found=step is not None,
        p_value=step.p_value if step else None,
        lift=step.lift if step else None,
        step=_told_step(step.step) if step else None,
        examples=found.examples,
        quoted=quoted(3 * SHORT, told=step.told if step else None),
    )


def _told_step(step: TraceStepJson | None) -> ToldStep | None:
    if step is None:
        return None
    texts = quoted(
        4 * SHORT,
        agent=step.agent,
        tool=step.tool,
        arguments=step.arguments,
        outcome=step.outcome,
        result=step.result,
    )
    return ToldStep(trace_id=step.trace_id, span_id=step.span_id, quoted=texts)
