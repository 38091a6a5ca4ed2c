"""The results of judging as ClickHouse rows: tables `findings`, `judgements`, `verdicts` and `traces`, there and back.

Each `*_row` gives one row in the order of its `*_COLUMNS`; `finding_from_row` and `verdict_from_row` take rows of
`FINDING_SELECT` and `VERDICT_SELECT`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from .agent_errors import ErrorSummary
from .call_graph import CallEdge, CalleeKind
from .checks import ItemAnswer
from .columns import ColumnTable, Row, StoredColumn, array_column, enum_column, plain_columns
from .findings import Finding, FindingState, Verification
from .normalized import NormalizedSpan
from .not_judged import why_not_judged, why_run_not_judged
from .operations import Operation
from .simulation import behaviour, is_simulated
from .taxonomy import Dimension, Severity
from .trajectory import AgentRun, Exchange, Trace, TraceState
from .verdicts import DETECTORS, TAKEN_BACK, Judgement, Outcome, Subject, SubjectKind, TraceSpend, Verdict

NO_TURN: Final = -1

MAX_CALLS: Final = 10_000
"""Tool calls of a trace whose tools are kept beside it."""

MOST_PROMPTS: Final = 100
MOST_PROMPT: Final = 256
"""Prompts of a trace that are kept beside it, and characters of one's label."""

_STAMPS: Final = ("JudgedAt", "ReceivedAt")


def _turn_number(turn: int | None) -> int:
    return NO_TURN if turn is None else turn


def _turn_or_none(number: int) -> int | None:
    return None if number == NO_TURN else number


def _values(items: Iterable[Dimension]) -> list[str]:
    return [item.value for item in items]


def _dimensions(values: Iterable[str]) -> tuple[Dimension, ...]:
    return tuple(map(Dimension, values))


_FINDINGS: Final = ColumnTable(
    Finding,
    *plain_columns("tenant", "trace_id", "span_id", "id", "fingerprint"),
    enum_column("State", "state", FindingState),
    StoredColumn("AgentRunId", "agent_run_id"),
    StoredColumn("Turn", "turn", _turn_number, _turn_or_none),
    StoredColumn("Judge", "judge"),
    StoredColumn("Dimensions", "dimensions", _values, _dimensions),
    *plain_columns("taxonomy", "category"),
    enum_column("Severity", "severity", Severity),
    *plain_columns("confidence", "evidence", "explanation", "tool_span_id", "seen_by_span_id"),
    array_column("AlsoAt", "also_at"),
    array_column("Linked", "linked"),
    *plain_columns("first_seen", "title"),
    enum_column("Verification", "verification", Verification),
    *plain_columns("verified_by", "verification_reason", "withdrawn", "template"),
)
FINDING_COLUMNS: Final = (*_FINDINGS.names, "JudgedBy", "JudgeVersion", *_STAMPS, "ErrorId")
FINDING_SELECT: Final = _FINDINGS.select
finding_from_row = _FINDINGS.read

_ERRORS: Final = ColumnTable(
    ErrorSummary,
    *plain_columns("tenant", "trace_id", "span_id", "id"),
    enum_column("State", "state", FindingState),
    *plain_columns("cause", "title", "agent_run_id"),
    StoredColumn("Turn", "turn", _turn_number, _turn_or_none),
    StoredColumn("Judge", "judge"),
    array_column("Judges", "judges"),
    StoredColumn("Dimensions", "dimensions", _values, _dimensions),
    *plain_columns("taxonomy", "category", "confidence"),
    StoredColumn("MediumConfidence", "medium"),
    StoredColumn("HighConfidence", "high"),
    *plain_columns("evidence", "explanation", "shown_at", "read_at"),
    array_column("RepeatedAt", "repeated_at"),
    array_column("FindingIds", "findings"),
    *plain_columns("first_seen", "decided"),
    enum_column("Verification", "verification", Verification),
    *plain_columns("verified_by", "verification_reason", "pattern"),
)
ERROR_COLUMNS: Final = (*_ERRORS.names, "Whole", "Removed", "FoldedAt", "ReceivedAt")
ERROR_SELECT: Final = _ERRORS.select
error_from_row = _ERRORS.read
error_row = _ERRORS.row
"""The row of an error: then follow the trace it shows under, whether it is gone, and when it was made and arrived."""

_JUDGEMENTS: Final = ColumnTable(
    Judgement,
    StoredColumn("tenant", "subject.tenant"),
    StoredColumn("TraceId", "subject.trace_id"),
    enum_column("SubjectKind", "subject.kind", SubjectKind),
    StoredColumn("SubjectId", "subject.id"),
    *plain_columns("judge", "version", "input_hash"),
    enum_column("Outcome", "outcome", Outcome),
    StoredColumn("Findings", "findings", len),
    StoredColumn("Dropped", "dropped"),
    StoredColumn("Failures.Judge", "failures", lambda failures: [judge for judge, _ in failures]),
    StoredColumn("Failures.Reason", "failures", lambda failures: [reason for _, reason in failures]),
    *plain_columns("reason", "probability", "model", "judged_at"),
    StoredColumn("ReceivedAt", "received_through"),
)
JUDGEMENT_COLUMNS: Final = (*_JUDGEMENTS.names, "TraceState")

_VERDICTS: Final = ColumnTable(
    Verdict,
    StoredColumn("tenant", "subject.tenant"),
    StoredColumn("TraceId", "subject.trace_id"),
    enum_column("SubjectKind", "subject.kind", SubjectKind),
    StoredColumn("SubjectId", "subject.id"),
    *plain_columns("judge", "version", "model", "score", "not_applicable", "unscored_reason", "reasons"),
    *plain_columns("sampling_probability", "quote_dropped", "value", "raw", "numerator", "denominator"),
)
_ITEMS: Final = ColumnTable(
    ItemAnswer,
    *plain_columns("item", "answer", "best", "reason", "label", "trace_id", "span_id", "quote", group="Items"),
    *plain_columns("grounded", "yes", "runs", "denied_trace_id", "denied_span_id", "denied_quote", group="Items"),
)
VERDICT_COLUMNS: Final = (*_VERDICTS.names, *_ITEMS.names, *_STAMPS)
VERDICT_SELECT: Final = f"{_VERDICTS.select}, {_ITEMS.select}"
_VERDICT_ITEMS: Final = slice(len(_VERDICTS.names), len(_VERDICTS.names) + len(_ITEMS.names))


def _name(spans: Mapping[str, NormalizedSpan]) -> str:
    """The name of the earliest span whose parent is not in the trace."""
    tops = (span.raw for span in spans.values() if span.raw.parent_span_id not in spans)
    first = min(tops, key=lambda raw: (raw.start, raw.span_id), default=None)
    return first.name if first else ""


def _prompts(spans: Mapping[str, NormalizedSpan]) -> list[str]:
    """The prompts that its calls were made from, each once."""
    labels = {span.prompt.label[:MOST_PROMPT] for span in spans.values() if span.prompt is not None}
    return sorted(labels - {""})[:MOST_PROMPTS]


_TRACES: Final = ColumnTable(
    Trace,
    *plain_columns("tenant", "trace_id"),
    StoredColumn("ServiceName", "service"),
    StoredColumn("SessionId", "session_id"),
    enum_column("State", "state", TraceState),
    StoredColumn("Name", "spans", _name),
    StoredColumn("StartNanos", "start"),
    StoredColumn("EndNanos", "end"),
    StoredColumn("Spans", "spans", len),
    array_column("Conventions", "conventions"),
    StoredColumn("JoinedTo", "joined_to"),
    StoredColumn("Simulated", "spans", is_simulated),
    StoredColumn("Behaviour", "spans", behaviour),
    StoredColumn("Prompts", "spans", _prompts),
)
_SPENT: Final = ColumnTable(
    TraceSpend,
    *plain_columns("input_tokens", "output_tokens", "calls_without_usage"),
    StoredColumn("Cost", "usd"),
)
_RUNS: Final = ColumnTable(
    AgentRun,
    *plain_columns("id", "name", "role", group="Runs"),
    StoredColumn("Runs.SpanId", "span", lambda span: span.span_id if span else ""),
    *plain_columns("parent_id", "goal", "answer", "status", group="Runs"),
    StoredColumn("Runs.Turns", "turns", len),
    StoredColumn("Runs.ToolCalls", "turns", lambda turns: sum(len(turn.tool_calls) for turn in turns)),
    *plain_columns("model", "inferred", "beside", group="Runs"),
)
_EXCHANGES: Final = ColumnTable(
    Exchange,
    StoredColumn("Exchanges.Run", "run_id"),
    *plain_columns("first", "last", "asked", "answer", group="Exchanges"),
)
_EDGES: Final = ColumnTable(
    CallEdge,
    enum_column("Edges.Kind", "kind", CalleeKind),
    *plain_columns("caller", "callee", "calls", "failed", "given", "used", group="Edges"),
)
_OPERATIONS: Final = tuple(f"Operations.{name.title().replace('_', '')}" for name in Operation._fields)
TRACE_COLUMNS: Final = (
    *_TRACES.names, "Version", *_SPENT.names, *_STAMPS, *_RUNS.names, "Runs.NotJudged", "Calls.SpanId", "Calls.Tool",
    "Calls.Asked", *_EXCHANGES.names, "Exchanges.Runs", "NotJudged",
    *_EDGES.names,
    "Measured", *_OPERATIONS,
)  # fmt: skip

TEXT_COLUMNS: Final = ("tenant", "TraceId", "Text", "JudgedAt", "ReceivedAt")


def finding_row(finding: Finding, judgement: Judgement, led: str) -> Row:
    """The finding as `judgement` left it. `led`: the id of the error that it leads, or would lead."""
    by = (judgement.judge, judgement.version, judgement.judged_at, judgement.received_through)
    return _FINDINGS.row(finding, *by, led)


def reviewed_row(finding: Finding, version: str, judged_at: int, received: int, led: str) -> Row:
    """A detectors' finding of that version with what a judge said of it at `judged_at`. `led`: as in `finding_row`."""
    return _FINDINGS.row(finding, DETECTORS, version, judged_at, received, led)


def judgement_row(judgement: Judgement, state: TraceState) -> Row:
    """The judgement of a subject in a trace that was in `state`."""
    return _JUDGEMENTS.row(judgement, state.value)


STANDS: Final = f"UnscoredReason != '{TAKEN_BACK}'"
"""The condition on the verdicts that people are shown."""


def verdict_row(verdict: Verdict, judgement: Judgement) -> Row:
    """The verdict that is part of `judgement`."""
    return _VERDICTS.row(verdict, *_ITEMS.by_column(verdict.items), judgement.judged_at, judgement.received_through)


def verdict_from_row(row: Sequence[Any]) -> Verdict:
    """The verdict of a row of `VERDICT_SELECT`."""
    tenant, trace_id, kind, subject_id, *_ = row
    items = tuple(map(_ITEMS.read, zip(*row[_VERDICT_ITEMS], strict=True)))
    return _VERDICTS.read(row, subject=Subject(SubjectKind(kind), subject_id, trace_id, tenant), items=items)


def trace_row(trace: Trace, judgement: Judgement, spent: TraceSpend, edges: Sequence[CallEdge] = ()) -> Row:
    """The summary of `trace` as `judgement` saw it, with what its agents spent and the graph of its calls."""
    calls = list(zip(*islice(_calls(trace), MAX_CALLS), strict=True)) or [(), (), ()]
    return (
        *_TRACES.row(trace, service_version(trace)),
        *_SPENT.row(spent, judgement.judged_at, judgement.received_through),
        *_RUNS.by_column(trace.runs),
        [why_run_not_judged(run) or "" for run in trace.runs],
        *map(list, calls),
        *_exchanges(trace),
        why_not_judged(trace, judgement.outcome) or "",
        *_EDGES.by_column(edges),
        spent.operations is not None,
        *(map(list, zip(*spent.operations, strict=True)) if spent.operations else ([] for _ in _OPERATIONS)),
    )


def text_row(trace: Trace, judgement: Judgement, text: str) -> Row:
    """The searchable text of `trace`."""
    return trace.tenant, trace.trace_id, text, judgement.judged_at, judgement.received_through


def service_version(trace: Trace) -> str:
    """`service.version` of the resource of the trace's first span that has one, else ""."""
    stated = (span.raw.resource_attributes.get("service.version", "") for span in trace.spans.values())
    return next(filter(None, stated), "")


def _exchanges(trace: Trace) -> Iterator[list[Any]]:
    """Of runs with several exchanges only, by column: others repeat what stands with their run."""
    count = Counter(exchange.run_id for exchange in trace.exchanges)
    several = [exchange for exchange in trace.exchanges if count[exchange.run_id] > 1]
    yield from _EXCHANGES.by_column(several)
    began = trace.exchange_by_run() if several else {}
    yield [[run for run, at in began.items() if at is one and run != one.run_id] for one in several]


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
