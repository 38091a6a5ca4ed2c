"""Rules on agents: missing spans, missing names, runs that nothing links to their manager."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tracejury.processors.delegation import addressee
from tracejury.processors.names import same_name
from tracejury.schemas.normalized import Kind, NormalizedSpan
from tracejury.schemas.trajectory import AgentRun, ToolCall

from .facts import DetectedGap, ExternalRun, Facts, count, lost_parents, never_ended

_OPERATION: Final = re.compile(r"ai\.\w+|invoke_agent|agent|agent run")
"""Names of spans of agents that were given no name (Vercel's, GenAI's, Pydantic AI's older ones)."""
_SHOWN_SERVICES: Final = 3
_SKEW: Final = 1_000_000_000
"""Nanos by which clocks of two machines may differ."""


def no_convention(facts: Facts) -> Iterator[DetectedGap]:
    """No span is written in any convention of agents."""
    if facts.spans and not any(s.convention for s in facts.spans):
        yield DetectedGap("no-convention", f"none of {count(facts.spans, 'span')}", facts.spans)


def nothing_done(facts: Facts) -> Iterator[DetectedGap]:
    """Spans in a convention, but neither an agent nor an LLM nor a tool at work."""
    told = [s for s in facts.spans if s.convention]
    if told and not facts.of(Kind.AGENT, Kind.LLM, Kind.TOOL):
        yield DetectedGap("nothing-done", f"{count(told, 'span')}, of no agent, LLM call or tool", told)


def no_agents(facts: Facts) -> Iterator[DetectedGap]:
    """LLM calls or tools, and nothing says whose; where parents are missing, that is what to mend first."""
    acts = facts.of(Kind.LLM, Kind.TOOL)
    if not acts or facts.of(Kind.AGENT):
        return
    around = {s.raw.name for s in facts.of(Kind.OTHER, Kind.CHAIN)} | {t.service for t in facts.traces} | {""}
    if any(r.span or r.name not in around for r in facts.runs if not r.inferred):
        return
    if not any(lost_parents(t) for t in facts.traces):
        among = len({s.raw.trace_id for s in acts})
        scattered = f", in {among} traces" if among > 1 else ""
        yield DetectedGap(
            "no-agents", f"{count(facts.calls, 'LLM call')}, {count(facts.tools, 'tool call')}{scattered}", acts
        )


def unnamed_agents(facts: Facts) -> Iterator[DetectedGap]:
    """Agents' spans that do not say which agent it is."""
    unnamed = [r.span for r in facts.runs if r.span and (not r.name or _is_operation(r))]
    if unnamed:
        yield DetectedGap("unnamed-agents", f"{len(unnamed)} of {count(facts.runs, 'agent run')}", unnamed)


def _is_operation(run: AgentRun) -> bool:
    """Whether it goes by the name of what was done, for lack of a name of who did it."""
    return bool(run.span and not run.span.agent_name and _OPERATION.fullmatch(run.name))


def no_root(facts: Facts) -> Iterator[DetectedGap]:
    """Traces whose root never came, and spans that are missing further down."""
    rootless: list[NormalizedSpan] = []
    lost: list[NormalizedSpan] = []
    traces = 0
    for trace in facts.settled:
        orphans = lost_parents(trace)
        if orphans and len(orphans) == sum(1 for s in trace.spans.values() if s.raw.parent_span_id not in trace.spans):
            traces += 1
            rootless += orphans
        else:
            lost += orphans
    if rootless:
        where = f"in {traces} of {len(facts.traces)} traces " if len(facts.traces) > 1 else ""
        yield DetectedGap("no-root", f"{where}{count(rootless, 'span')} under a parent that never came", rootless)
    if lost:
        yield DetectedGap("lost-spans", f"{count(lost, 'span')} under a parent that never came", lost)


def unended(facts: Facts) -> Iterator[DetectedGap]:
    """Spans that were announced at their start and never came to their end."""
    spans = [s for trace in facts.settled for s in never_ended(trace)]
    if spans:
        yield DetectedGap("never-ended", f"{count(spans, 'span')} began and did not end", spans)


def linked_traces(facts: Facts) -> Iterator[DetectedGap]:
    """Runs in many traces that only span links tie."""
    held = [{s.raw.trace_id for s in t.spans.values()} for t in facts.traces]
    tied = [
        s
        for trace, ids in zip(facts.traces, held, strict=True)
        for s in trace.spans.values()
        if s.raw.parent_span_id not in trace.spans and any(link.trace_id not in ids for link in s.raw.links)
    ]
    if tied and any(s.convention for s in facts.spans):
        traces = len({s.raw.trace_id for s in tied})
        yield DetectedGap("linked-traces", f"{traces} of {count(facts.traces, 'trace')}", tied)


def unlinked_agents(facts: Facts) -> Iterator[DetectedGap]:
    """Calls of a tool that asks an agent, while an agent of that name leads a trace of its own."""
    others = [*facts.elsewhere, *_leaders(facts)]
    spans: list[NormalizedSpan] = []
    services: set[str] = set()
    for trace in facts.traces:
        own = trace.trace_ids
        foreign = [e for e in others if e.agent and e.trace_id not in own]
        calls = (c for run in trace.runs for turn in run.turns for c in turn.tool_calls) if foreign else ()
        for call in calls:
            asked = _addressed_run(call, foreign)
            if asked and call.span:
                spans.append(call.span)
                services |= {asked.service} - {"", trace.service}
    if spans:
        of = f", of {', '.join(sorted(services)[:_SHOWN_SERVICES])}" if services else ""
        what = f"{count(spans, 'call')} of an agent whose run stands in another trace{of}"
        yield DetectedGap("unlinked-agents", what, spans)


def _leaders(facts: Facts) -> Iterator[ExternalRun]:
    for trace in facts.traces:
        for run in trace.runs:
            if not run.parent_id:
                yield ExternalRun(trace.trace_id, trace.service, run.name, trace.start, trace.end)


def _addressed_run(call: ToolCall, others: list[ExternalRun]) -> ExternalRun | None:
    if call.span is None or call.sub_run_id:
        return None
    span, wanted = call.span.raw, addressee(call.name, call.arguments)
    fits = (
        e
        for e in others
        if wanted and same_name(wanted, e.agent)
        and span.start - _SKEW <= e.start and e.end <= span.end + _SKEW
    )  # fmt: skip
    return next(fits, None)
