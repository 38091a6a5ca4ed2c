"""Agents, their parents and their LLM calls against the truth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from .items import CaptureCase, Measure, ScoredFact
from .stated import Range

NOBODY = "nobody"
ANNOUNCED = "killed, its spans announced at their start"


def agents(case: CaptureCase) -> Iterator[ScoredFact]:
    """The number of runs of each agent; agents that the truth does not know; a killed run's manager."""
    truth, told = case.capture.truth, case.stated.runs
    # What is inferred, or called after its service, claims no agent.
    found = ((r.name, t.service) for t in case.rebuilt.traces for r in t.runs if not r.inferred)
    runs = Counter("" if name == service and name not in told else name for name, service in found)
    for agent in truth.agents:
        yield from _agent(case, agent.name, told[agent.name], runs[agent.name])
    untold = any(r.rule for r in told.values())
    for name in sorted(set(runs) - {a.name for a in truth.agents}):
        if untold and case.export.stands(name):
            continue  # a run whose agent is not told may go by any name that stands there, or by none
        yield case.fact(
            Measure.AGENTS, name, 0, runs[name], "an agent that is none" if name else "a run without a name"
        )
    if truth.killed:
        there = any(runs[a.name] for a in truth.agents if not a.parent)
        announced = any(s.raw.pending for t in case.rebuilt.traces for s in t.spans.values())
        what = ANNOUNCED if announced else "killed"
        yield case.fact(Measure.MANAGER, what, 1, int(there), "" if there else "not there")


def _agent(case: CaptureCase, name: str, span: Range, got: int) -> Iterator[ScoredFact]:
    """The number of runs that the export states, and beside it those that it does not."""
    many = "too many runs" if got > span.high else ""
    if span.low or not span.high:
        kind = "" if span.holds(got) else "no run" if not got else many or "too few runs"
        yield case.fact(Measure.AGENTS, name, span.low, got, kind)
    if span.low < span.high:
        yield case.fact(Measure.AGENTS, name, span.high, got, many, rules=(span.rule,), stated=False)


def parents(case: CaptureCase) -> Iterator[ScoredFact]:
    """The number of runs of each agent under its parent; where the export does not tell, at least under nobody else."""
    edges: Counter[tuple[str, str]] = Counter()
    for trace in case.rebuilt.traces:
        for run in trace.runs:
            above = case.rebuilt.parent(trace, run)
            edges[run.name, (above.name or "a run without a name") if above else NOBODY] += 1
    truth = case.capture.truth
    named = {a.name for a in truth.agents}
    for agent in truth.agents:
        under = {p: n for (name, p), n in edges.items() if name == agent.name}
        parent = agent.parent or NOBODY
        wrong = bool(named.intersection(under) - {parent})
        kind = "another parent" if wrong else "no parent" if under else "no such run"
        what, span = f"{agent.name} under {parent}", case.stated.parents[agent.name]
        if span.low:
            missed = "" if span.low <= under.get(parent, 0) else kind
            yield case.fact(Measure.PARENTS, what, span.low, under, missed, weight=span.low)
        if rest := span.high - span.low:
            missed = kind if wrong else ""
            yield case.fact(
                Measure.PARENTS, what, span.high, under, missed, rules=(span.rule,), weight=rest, stated=False
            )


def llm_calls(case: CaptureCase) -> Iterator[ScoredFact]:
    """The number of LLM calls; the item weighs as many."""
    span, got = case.stated.llm_calls, case.rebuilt.llm_calls
    kind = "" if span.holds(got) else "counted more than once" if got > span.high else "not counted"
    rules = (span.rule,) if span.rule else ()
    weight = max(span.low, 1)
    yield case.fact(Measure.LLM_CALLS, "LLM calls", span.low, got, kind, rules=rules, weight=weight, stated=not rules)
