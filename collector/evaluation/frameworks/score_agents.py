"""Agents, their parents and their LLM calls against the truth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from .capture import Capture
from .export import Export
from .items import Measure, ScoredFact
from .rebuilt import RebuiltCapture
from .stated import Range, Stated

NOBODY = "nobody"
ANNOUNCED = "killed, its spans announced at their start"


def agents(capture: Capture, export: Export, rebuilt: RebuiltCapture, told: Stated) -> Iterator[ScoredFact]:
    """The number of runs of each agent; agents that the truth does not know; a killed run's manager."""
    truth = capture.truth
    runs = Counter(r.name for t in rebuilt.traces for r in t.runs)
    for agent in truth.agents:
        yield from _agent(capture, agent.name, told.runs[agent.name], runs[agent.name])
    untold = any(r.rule for r in told.runs.values())
    for name in sorted(set(runs) - {a.name for a in truth.agents}):
        if untold and export.stands(name):
            continue  # a run whose agent is not told may go by any name that stands there, or by none
        kind = "an agent that is none" if name else "a run without a name"
        yield ScoredFact(capture.id, Measure.AGENTS, name, 0, runs[name], ok=False, kind=kind)
    if truth.killed:
        there = any(runs[a.name] for a in truth.agents if not a.parent)
        announced = any(s.raw.pending for t in rebuilt.traces for s in t.spans.values())
        what = ANNOUNCED if announced else "killed"
        yield ScoredFact(capture.id, Measure.MANAGER, what, 1, int(there), there, "" if there else "not there")


def _agent(capture: Capture, name: str, span: Range, got: int) -> Iterator[ScoredFact]:
    """The number of runs that the export states, and beside it those that it does not."""
    if span.low or not span.high:
        right = span.holds(got)
        kind = "" if right else "no run" if not got else "too many runs" if got > span.high else "too few runs"
        yield ScoredFact(capture.id, Measure.AGENTS, name, span.low, got, right, kind)
    if span.low < span.high:
        right = got <= span.high
        kind = "" if right else "too many runs"
        yield ScoredFact(capture.id, Measure.AGENTS, name, span.high, got, right, kind, (span.rule,), stated=False)


def parents(capture: Capture, rebuilt: RebuiltCapture, told: Stated) -> Iterator[ScoredFact]:
    """The number of runs of each agent under its parent; where the export does not tell, at least under nobody else."""
    edges: Counter[tuple[str, str]] = Counter()
    for trace in rebuilt.traces:
        for run in trace.runs:
            above = rebuilt.parent(trace, run)
            edges[run.name, (above.name or "a run without a name") if above else NOBODY] += 1
    named = {a.name for a in capture.truth.agents}
    for agent in capture.truth.agents:
        under = {p: n for (name, p), n in edges.items() if name == agent.name}
        parent = agent.parent or NOBODY
        wrong = bool(named.intersection(under) - {parent})
        kind = "another parent" if wrong else "no parent" if under else "no such run"
        what, span = f"{agent.name} under {parent}", told.parents[agent.name]
        if span.low:
            ok = span.low <= under.get(parent, 0)
            yield ScoredFact(
                capture.id, Measure.PARENTS, what, span.low, under, ok, "" if ok else kind, weight=span.low
            )
        if span.low < span.high:
            rest, ok = span.high - span.low, not wrong
            yield ScoredFact(
                capture.id,
                Measure.PARENTS,
                what,
                span.high,
                under,
                ok,
                "" if ok else kind,
                (span.rule,),
                weight=rest,
                stated=False,
            )


def llm_calls(capture: Capture, rebuilt: RebuiltCapture, told: Stated) -> Iterator[ScoredFact]:
    """The number of LLM calls; the item weighs as many."""
    span, got = told.llm_calls, rebuilt.llm_calls
    ok = span.holds(got)
    kind = "" if ok else "counted more than once" if got > span.high else "not counted"
    rules = (span.rule,) if span.rule else ()
    weight = max(span.low, 1)
    yield ScoredFact(
        capture.id, Measure.LLM_CALLS, "LLM calls", span.low, got, ok, kind, rules, weight=weight, stated=not rules
    )
