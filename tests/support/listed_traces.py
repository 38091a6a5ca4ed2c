"""Traces to be listed: built from a few choices each, stored as judging stores them, and filtered naively."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from store_parts import a_finding, a_judged_trace, a_run
from trajectories import fixture_spans, normalise_all

from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.shared_store import SharedStore
from tracejury.collector.store.texts import StoredTexts, text_of
from tracejury.processors.searchable import searchable, searched
from tracejury.schemas.findings import Finding, FindingState
from tracejury.schemas.normalized import NormalizedSpan
from tracejury.schemas.queries.listing import Sort
from tracejury.schemas.queries.reader import TraceQuery
from tracejury.schemas.simulation import SIMULATED
from tracejury.schemas.taxonomy import Dimension, Severity
from tracejury.schemas.trajectory import AgentRun, ToolCall, Trace, TraceState, Turn, TurnKind
from tracejury.schemas.verdicts import JudgedTrace, TraceSpend

SECOND = 1_000_000_000
RANK = {s: 2**20**s.rank for s in Severity}


@dataclass(frozen=True, slots=True)
class Mark:
    """A finding: who, what, how bad, how sure, in which run (by its name), at the tool's call or elsewhere."""

    judge: str = "loops"
    category: str = "Resource Abuse"
    dimension: Dimension = Dimension.EXECUTION_EFFICIENCY
    severity: Severity = Severity.LOW
    confidence: float = 0.9
    agent: str = "planner"
    at_tool: bool = False
    state: FindingState = FindingState.CURRENT
    evidence: str = "again and again"
    explanation: str = "three times the same"


@dataclass(frozen=True)
class Listed:
    """A trace of two runs: a planner with one tool call, and a helper, whose run may be inferred."""

    number: int
    service: str = "shop"
    version: str = "1"
    session: str = ""
    state: TraceState = TraceState.SETTLED
    model: str = "gpt"
    tool: str = "search"
    helper: str = "helper"
    inferred: bool = False
    goal: str = "buy milk"
    answer: str = "it is bought"
    received: int = 0
    start: int = 0
    length: int = 0
    tokens: int | None = None
    lacking: int = 0
    usd: float | None = None
    marks: tuple[Mark, ...] = ()
    joined_to: str = ""
    simulated: bool = False
    prompt: str = ""

    @property
    def trace_id(self) -> str:
        """Spread over the order of ids."""
        return f"{self.number * 0x9E3779B97F4A7C15 % 2**64:016x}{self.number:016x}"

    @cached_property
    def judged(self) -> JudgedTrace:
        """As judging stores it."""
        call, tool = self.spans()
        turn = Turn(0, TurnKind.ACT, call, (self.call(tool),))
        runs: tuple[AgentRun, ...] = (
            a_run(id="p", name="planner", goal=self.goal, answer=self.answer, turns=(turn,)),
            a_run(
                id="h",
                name=self.helper,
                role="sub-agent",
                parent_id="p",
                goal="help",
                answer="helped",
                inferred=self.inferred,
            ),
        )
        found = tuple(self.finding(i, mark) for i, mark in enumerate(self.marks))
        judged = a_judged_trace(
            *found, received=self.received, judged_at=1 + self.number, trace_id=self.trace_id, service=self.service,
            session_id=self.session, state=self.state, runs=runs, spans={s.span_id: s for s in (call, tool)},
            start=self.start, end=self.start + self.length, joined_to=self.joined_to,
        )  # fmt: skip
        written = None if self.tokens is None else 0
        return replace(judged, spent=TraceSpend(self.tokens, written, self.usd, self.lacking))

    def call(self, span: NormalizedSpan) -> ToolCall:
        """The planner's call of its tool."""
        return ToolCall(self.tool, {"q": self.goal}, None, requested=True, executed=True, error=None, span=span)

    def spans(self) -> tuple[NormalizedSpan, NormalizedSpan]:
        """An LLM call and a tool's."""
        told = {"openinference.span.kind": "LLM", "llm.model_name": self.model}
        if self.simulated:
            told[SIMULATED] = "true"
        if self.prompt:
            told["langfuse.observation.prompt.name"], _, told["langfuse.observation.prompt.version"] = (
                self.prompt.partition("@")
            )
        entries = [
            {"id": "l", "attributes": told},
            {"id": "t", "parent": "l", "attributes": {"openinference.span.kind": "TOOL"}},
        ]
        call, tool = normalise_all(fixture_spans({"spans": entries})[0])
        raw = replace(call.raw, resource_attributes={"service.version": self.version})
        return replace(call, raw=raw), tool

    def finding(self, index: int, mark: Mark) -> Finding:
        """The stored finding of a mark, an error of its own."""
        tool = self.spans()[1].span_id if mark.at_tool else ""
        return a_finding(
            trace_id=self.trace_id, span_id=f"{index:016x}", id=f"{self.number}-{index}", turn=index, tool_span_id=tool,
            judge=mark.judge, category=mark.category, dimensions=(mark.dimension,), severity=mark.severity,
            confidence=mark.confidence, agent_run_id="p" if mark.agent == "planner" else "h", state=mark.state,
            evidence=mark.evidence, explanation=mark.explanation,
        )  # fmt: skip

    @property
    def runs(self) -> Sequence[tuple[str, str, str, str, str]]:
        """Id, name, role and model of each run, and whether it is inferred."""
        return ("p", "planner", "manager", self.model, "no"), (
            "h", self.helper, "sub-agent", "", "yes" if self.inferred else "no",
        )  # fmt: skip


def store_all(store: SharedStore, traces: Sequence[Listed]) -> None:
    """Store them, with their errors and texts."""
    StoredJudging(store).save([t.judged for t in traces])
    StoredTexts(store).keep([text for t in traces if (text := text_of(t.judged))])


def shows(mark: Mark, query: TraceQuery) -> bool:
    """Whether the finding holds and is sure enough."""
    return mark.state is not FindingState.RETRACTED and mark.confidence >= query.confidence.recognised


def expected(traces: Sequence[Listed], query: TraceQuery) -> list[str]:
    """The ids that a list shows, in order, worked out one trace at a time."""
    kept = [t for t in traces if not t.joined_to and fits(t, query)]

    def errors(t: Listed) -> int:
        return sum(shows(m, query) for m in t.marks)

    ways: Mapping[Sort, Callable[[Listed], Any]] = {
        Sort.RECEIVED: lambda t: t.received,
        Sort.START: lambda t: t.start,
        Sort.DURATION: lambda t: t.length,
        Sort.COST: lambda t: t.usd,
        Sort.TOKENS: lambda t: t.tokens,
        Sort.SEVERITY: lambda t: sum(RANK[m.severity] for m in t.marks if shows(m, query)),
        Sort.ERRORS: errors,
        Sort.FINDINGS: errors,
    }
    value = ways[query.sort]
    known = sorted((t for t in kept if value(t) is not None), key=lambda t: (value(t), t.start, t.trace_id))
    unknown = sorted((t for t in kept if value(t) is None), key=lambda t: (t.start, t.trace_id))
    ordered = known + unknown if query.ascending else known[::-1] + unknown[::-1]
    return [t.trace_id for t in ordered][: query.limit]


def fits(t: Listed, q: TraceQuery) -> bool:
    """Whether the trace has all that is asked."""
    plain = (
        q.service in ("", t.service)
        and q.version in ("", t.version)
        and q.session_id in ("", t.session)
        and q.tool in ("", t.tool)
        and q.prompt in ("", t.prompt, t.prompt.partition("@")[0])
        and q.state in (None, t.state)
        and t.received >= q.since
        and (not q.until or t.received < q.until)
        and t.length >= q.min_duration
        and (not q.text or holds(t, q))
    )
    asked = (q.agent, q.role, q.model, q.inferred)
    runs = [r for r in t.runs if all(a in ("", own) for a, own in zip(asked, r[1:], strict=True))]
    return plain and bool(runs) and _marked(t, q, [r[0] for r in runs])


def _marked(t: Listed, q: TraceQuery, runs: Sequence[str]) -> bool:
    if not (q.severity or q.category or q.taxonomy or q.judge or q.dimension):
        return True
    of_run = bool(q.agent or q.role or q.model or q.inferred)
    return any(
        shows(m, q)
        and q.category in ("", m.category, f"trail/{m.category}")
        and q.taxonomy in ("", "trail")
        and q.judge in ("", m.judge)
        and q.dimension in ("", m.dimension.value)
        and (q.severity is None or m.severity.rank >= q.severity.rank)
        and (not of_run or ("p" if m.agent == "planner" else "h") in runs)
        and (m.at_tool or not q.tool)
        for m in t.marks
    )


def holds(t: Listed, q: TraceQuery) -> bool:
    """Whether the text stands in the trace, its findings, or begins its id."""
    sought = searched(q.text)
    trace: Trace = t.judged.trace
    said = searchable(trace) if t.state is not TraceState.OPEN else searched(f"{t.goal}\n{t.answer}")
    found = [f"{m.evidence}\n{m.explanation}".lower() for m in t.marks if shows(m, q)]
    return any(sought in text for text in (said, *found)) or t.trace_id.startswith(sought)
