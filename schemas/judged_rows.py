"""What judging wrote as ClickHouse rows: tables `findings`, `judgements`, `verdicts` and `traces`, there and back.

Each `*_row` gives one row in the order of its `*_COLUMNS`; `finding_from_row` and `verdict_from_row` take rows of
`FINDING_SELECT` and `VERDICT_SELECT`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Final

from .findings import Finding, FindingState
from .taxonomy import Dimension, Severity
from .trajectory import AgentRun, Trace, TraceState
from .verdicts import TAKEN_BACK, Judgement, Subject, SubjectKind, TraceSpend, Verdict

Row = tuple[Any, ...]

NO_TURN: Final = -1

MAX_CALLS: Final = 10_000
"""Tool calls of a trace whose tools are kept beside it."""

_FINDING: Final = (
    "tenant", "TraceId", "SpanId", "Id", "Fingerprint", "State", "AgentRunId", "Turn", "Judge", "Dimensions",
    "Taxonomy", "Category", "Severity", "Confidence", "Evidence", "Explanation", "ToolSpanId", "SeenBySpanId",
    "AlsoAt", "Linked", "FirstSeen",
)  # fmt: skip
FINDING_COLUMNS: Final = (*_FINDING, "JudgedBy", "JudgeVersion", "JudgedAt", "ReceivedAt")
FINDING_SELECT: Final = ", ".join(_FINDING)

JUDGEMENT_COLUMNS: Final = (
    "tenant", "TraceId", "SubjectKind", "SubjectId", "Judge", "Version", "InputHash", "Outcome", "TraceState",
    "Findings", "Dropped", "Failures.Judge", "Failures.Reason", "Reason", "Probability", "Model", "JudgedAt",
    "ReceivedAt",
)  # fmt: skip

_VERDICT: Final = (
    "tenant", "TraceId", "SubjectKind", "SubjectId", "Judge", "Version", "Model", "Score", "NotApplicable",
    "UnscoredReason", "Reasons", "SamplingProbability",
)  # fmt: skip
VERDICT_COLUMNS: Final = (*_VERDICT, "JudgedAt", "ReceivedAt")
VERDICT_SELECT: Final = ", ".join(_VERDICT)

TRACE_COLUMNS: Final = (
    "tenant", "TraceId", "ServiceName", "SessionId", "State", "Name", "StartNanos", "EndNanos", "Spans", "Conventions",
    "Runs.Id", "Runs.Name", "Runs.Role", "Runs.SpanId", "Runs.ParentId", "Runs.Goal", "Runs.Answer", "Runs.Status",
    "Runs.Turns", "Runs.ToolCalls", "Runs.Model", "Calls.SpanId", "Calls.Tool", "Calls.Asked", "Version", "InputTokens",
    "OutputTokens", "Cost", "JoinedTo", "JudgedAt", "ReceivedAt",
)  # fmt: skip

TEXT_COLUMNS: Final = ("tenant", "TraceId", "Text", "JudgedAt", "ReceivedAt")


def finding_row(finding: Finding, judgement: Judgement) -> Row:
    """The finding as `judgement` left it."""
    f = finding
    return (
        f.tenant, f.trace_id, f.span_id, f.id, f.fingerprint, f.state.value, f.agent_run_id,
        NO_TURN if f.turn is None else f.turn, f.judge, [d.value for d in f.dimensions], f.taxonomy, f.category,
        f.severity.value, f.confidence, f.evidence, f.explanation, f.tool_span_id, f.seen_by_span_id,
        list(f.also_at), list(f.linked), f.first_seen,
        judgement.judge, judgement.version, judgement.judged_at, judgement.received_through,
    )  # fmt: skip


def finding_from_row(row: Sequence[Any]) -> Finding:
    """The finding of a row of `FINDING_SELECT`."""
    return Finding(
        tenant=row[0],
        trace_id=row[1],
        span_id=row[2],
        id=row[3],
        fingerprint=row[4],
        state=FindingState(row[5]),
        agent_run_id=row[6],
        turn=None if row[7] == NO_TURN else row[7],
        judge=row[8],
        dimensions=tuple(Dimension(d) for d in row[9]),
        taxonomy=row[10],
        category=row[11],
        severity=Severity(row[12]),
        confidence=row[13],
        evidence=row[14],
        explanation=row[15],
        tool_span_id=row[16],
        seen_by_span_id=row[17],
        also_at=tuple(row[18]),
        linked=tuple(row[19]),
        first_seen=row[20],
    )


def judgement_row(judgement: Judgement, state: TraceState) -> Row:
    """The judgement of a subject in a trace that was in `state`."""
    j, subject = judgement, judgement.subject
    return (
        subject.tenant, subject.trace_id, subject.kind.value, subject.id, j.judge, j.version, j.input_hash,
        j.outcome.value, state.value, len(j.findings), j.dropped, [judge for judge, _ in j.failures],
        [reason for _, reason in j.failures], j.reason, j.probability, j.model, j.judged_at, j.received_through,
    )  # fmt: skip


STANDS: Final = f"UnscoredReason != '{TAKEN_BACK}'"
"""What holds of the verdicts that people are shown."""


def verdict_row(verdict: Verdict, judgement: Judgement) -> Row:
    """The verdict that is part of `judgement`."""
    v, subject = verdict, verdict.subject
    return (
        subject.tenant, subject.trace_id, subject.kind.value, subject.id, v.judge, v.version, v.model, v.score,
        v.not_applicable, v.unscored_reason, v.reasons, v.sampling_probability, judgement.judged_at,
        judgement.received_through,
    )  # fmt: skip


def verdict_from_row(row: Sequence[Any]) -> Verdict:
    """The verdict of a row of `VERDICT_SELECT`."""
    return Verdict(
        subject=Subject(SubjectKind(row[2]), row[3], row[1], row[0]),
        judge=row[4],
        version=row[5],
        model=row[6],
        score=row[7],
        not_applicable=row[8],
        unscored_reason=row[9],
        reasons=row[10],
        sampling_probability=row[11],
    )


def trace_row(trace: Trace, judgement: Judgement, spent: TraceSpend) -> Row:
    """The summary of `trace` as `judgement` saw it, with what its agents spent."""
    return (
        trace.tenant, trace.trace_id, trace.service, trace.session_id, trace.state.value, _name(trace), trace.start,
        trace.end, len(trace.spans), list(trace.conventions), *_columns(map(_run, trace.runs), 11),
        *_columns(islice(_calls(trace), MAX_CALLS), 3), service_version(trace), spent.input_tokens, spent.output_tokens,
        spent.usd, trace.joined_to, judgement.judged_at, judgement.received_through,
    )  # fmt: skip


def text_row(trace: Trace, judgement: Judgement, text: str) -> Row:
    """What is said in `trace`, to be searched."""
    return trace.tenant, trace.trace_id, text, judgement.judged_at, judgement.received_through


def _columns(rows: Iterable[Row], width: int) -> list[list[Any]]:
    """`rows` by column; `width` empty ones where there are none."""
    columns = [list(column) for column in zip(*rows, strict=True)]
    return columns or [[] for _ in range(width)]


def _run(run: AgentRun) -> Row:
    calls = sum(len(turn.tool_calls) for turn in run.turns)
    span_id = run.span.span_id if run.span else ""
    return (
        run.id, run.name, run.role, span_id, run.parent_id, run.goal, run.answer, run.status, len(run.turns), calls,
        run_model(run),
    )  # fmt: skip


def run_model(run: AgentRun) -> str:
    """The model of most of the run's calls, of equals the first; "" where none names one."""
    named = Counter(turn.llm.model for turn in run.turns if turn.llm and turn.llm.model)
    return named.most_common(1)[0][0] if named else ""


def service_version(trace: Trace) -> str:
    """`service.version` of the resource of the trace's first span that has one, else ""."""
    stated = (span.raw.resource_attributes.get("service.version", "") for span in trace.spans.values())
    return next(filter(None, stated), "")


def _calls(trace: Trace) -> Iterator[Row]:
    """Spans of tool calls with the tool; and LLM spans that asked for one tool only."""
    for run in trace.runs:
        for turn in run.turns:
            for call in turn.tool_calls:
                if call.span is not None:
                    yield call.span.span_id, call.name, False
            names = {call.name for call in turn.tool_calls}
            if turn.llm is not None and len(names) == 1:
                yield turn.llm.span_id, names.pop(), True


def _name(trace: Trace) -> str:
    """The name of the earliest span whose parent is not in the trace."""
    tops = (s.raw for s in trace.spans.values() if s.raw.parent_span_id not in trace.spans)
    first = min(tops, key=lambda raw: (raw.start, raw.span_id), default=None)
    return first.name if first else ""
