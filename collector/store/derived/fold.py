"""Errors and facts from a judged trace: pure, and always from all that is stored of it.

Findings are grouped once, into the errors of the trace. A population, judge or pack has the errors in which it has a
current finding, each once, as its own findings in it tell it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tracejury.judges.grouping import standing_errors
from tracejury.judges.patterns.keys import pattern_key
from tracejury.schemas.agent_errors import AgentError, ErrorSummary, summary
from tracejury.schemas.behaviours import Behaviour
from tracejury.schemas.findings import Finding, FindingState
from tracejury.schemas.rates import Population, Unit
from tracejury.schemas.taxonomy import Dimension, Severity
from tracejury.schemas.trajectory import TraceState
from tracejury.schemas.verdicts import Outcome

from .base import BaseCall, BaseRun, BaseTrace, BaseWord
from .facts import HOUR, ErrorScope, Fact, FactError, FactKey, Standing, fact_unit, short
from .judge_coverage import NOT_ASKED, OPEN, JudgeCoverage, run_coverage, trace_coverage

ABOUT_TOOLS = frozenset({Dimension.TOOL_SELECTION, Dimension.TOOL_CALLING})
"""Dimensions whose findings at a model call are about the tool that it asked for."""


@dataclass(frozen=True, slots=True)
class Derived:
    """What is derived of a trace: its errors, provisional ones among them, by place; its facts, of the trace last."""

    errors: tuple[ErrorSummary, ...]
    facts: tuple[Fact, ...]


def derived(trace: BaseTrace) -> Derived:
    """The errors of a trace, and what rates count of it."""
    errors = standing_errors((one.finding for one in trace.findings), trace.runs)
    patterns = [_pattern(error, trace) for error in errors]
    return Derived(tuple(map(summary, errors, patterns)), _facts(trace, zip(errors, patterns, strict=True)))


def _pattern(error: AgentError, trace: BaseTrace) -> str:
    agent = next((run.name for run in trace.runs if run.id == error.lead.agent_run_id), "")
    key = pattern_key(error, _tool(error, trace), agent, trace.names.get(error.id, ""))
    return key.id(trace.tenant, trace.service)


def _facts(trace: BaseTrace, standing: Iterable[tuple[AgentError, str]]) -> tuple[Fact, ...]:
    """One fact for each run that stands for itself, then one for the trace as a whole."""
    of_llm = {one.finding.id for one in trace.findings if one.llm}
    failed = trace.detectors.failed if trace.detectors else ()
    errors = [
        (view.lead.agent_run_id, _error(view, trace, scopes, pattern, llm=view.lead.id in of_llm))
        for error, pattern in standing
        for view, scopes in _views(error, of_llm)
    ]
    of_run: dict[str, list[FactError]] = {}
    for run_id, error in errors:
        of_run.setdefault(run_id, []).append(error)
    runs = {run.id: run for run in trace.runs if not run.beside}
    words = {run_id: run_coverage((w for w in trace.words if w.subject_id == run_id), trace.scored) for run_id in runs}
    exchanges, behaviours = _exchanges(trace), behaviours_of(trace)
    facts = [
        _fact(
            trace,
            Unit.RUN,
            run_id,
            run,
            run.not_judged or trace.not_judged,
            words[run_id],
            exchanges[run_id],
            failed,
            of_run.get(run_id, ()),
        )
        for run_id, run in runs.items()
    ]
    first = next((run for run in runs.values() if not run.parent_id), next(iter(runs.values()), None))
    said, all_exchanges = trace_coverage(list(words.values())), [e for run_id in runs for e in exchanges[run_id]]
    of_trace = (e for _, e in errors)
    beside = [*all_exchanges, run_coverage(trace.whole_words, trace.scored)]
    whole = _fact(trace, Unit.TRACE, "", first, trace.not_judged, said, beside, failed, of_trace)
    return tuple(replace(fact, behaviours=behaviours.get(fact.key.run_id, ())) for fact in (*facts, whole))


def _exchanges(trace: BaseTrace) -> defaultdict[str, list[JudgeCoverage]]:
    """The coverage of each exchange, by its run."""
    words: defaultdict[str, list[BaseWord]] = defaultdict(list)
    for word in trace.exchange_words:
        words[word.subject_id].append(word)
    found: defaultdict[str, list[JudgeCoverage]] = defaultdict(list)
    for exchange_id, own in words.items():
        found[exchange_id.rpartition(":")[0]].append(run_coverage(own, trace.scored))
    return found


def _fact(
    trace: BaseTrace,
    unit: Unit,
    run_id: str,
    run: BaseRun | None,
    not_judged: str,
    said: JudgeCoverage,
    exchanges: Sequence[JudgeCoverage],
    failed: tuple[str, ...],
    errors: Iterable[FactError],
) -> Fact:
    # Judges of exchanges decide nothing of a population: a pack may be switched on or off.
    beside = trace_coverage(exchanges)
    detectors = _detectors(trace, not_judged)
    judges = Standing(0.0, OPEN) if trace.state is TraceState.OPEN else said.standing
    if not_judged and judges.why == NOT_ASKED:
        judges = Standing(0.0, not_judged)
    return Fact(
        key=FactKey(fact_unit(unit, simulated=trace.simulated), trace.at // HOUR, trace.trace_id, run_id),
        at=trace.at,
        service=short(trace.service),
        version=short(trace.version),
        session=trace.session,
        agent=short(run.name) if run else "",
        role=short(run.role) if run else "",
        model=short(run.model) if run else "",
        recognised=trace.recognised,
        turns=run.turns if run else 0,
        standings={
            Population.DETECTORS: detectors,
            Population.JUDGES: judges,
            Population.BOTH: judges if detectors.weight else detectors,
        },
        scored=tuple(sorted((*said.scored, *beside.scored))) if judges.why != OPEN else (),
        missed=tuple(sorted({*said.missed, *beside.missed, *map(short, failed)})),
        errors=tuple(errors),
        parts=trace.parts or (trace.trace_id,),
    )


def _detectors(trace: BaseTrace, not_judged: str) -> Standing:
    word = trace.detectors
    if word is None:
        return Standing(0.0, Outcome.PENDING)
    if trace.state is TraceState.OPEN:
        return Standing(0.0, OPEN)
    if word.outcome is not Outcome.DONE or word.probability <= 0:
        return Standing(0.0, word.outcome if word.outcome is not Outcome.DONE else Outcome.SAMPLED_OUT)
    if not_judged:
        return Standing(0.0, not_judged)
    return Standing(1 / word.probability)


def _views(error: AgentError, of_llm: Collection[str]) -> Iterator[tuple[AgentError, ErrorScope]]:
    """A current error as each population, judge and pack sees it: by their own findings in it, the surest first.

    Those with the same findings are one view. Findings of packs, and those that mark the decisive error, are of no
    population.
    """
    current = [f for f in error.findings if f.state is FindingState.CURRENT]
    usual = [f for f in current if not f.beside]
    seen: list[tuple[ErrorScope, Iterable[Finding]]] = [
        (ErrorScope.DETECTORS, [f for f in usual if f.id not in of_llm]),
        (ErrorScope.JUDGES, [f for f in usual if f.id in of_llm]),
        (ErrorScope.BOTH, usual),
    ]
    judges: dict[tuple[str, bool], list[Finding]] = {}
    packs: dict[str, list[Finding]] = {}
    for finding in current:
        judges.setdefault((finding.judge, finding.id in of_llm), []).append(finding)
        if finding.of_pack:
            packs.setdefault(finding.taxonomy, []).append(finding)
    seen += [(ErrorScope.ITS_JUDGE, own) for own in judges.values()]
    seen += [(ErrorScope.ITS_PACK, own) for own in packs.values()]
    views: dict[tuple[str, ...], tuple[tuple[Finding, ...], ErrorScope]] = {}
    for scope, found in seen:
        own = tuple(found)
        ids = tuple(finding.id for finding in own)
        views[ids] = own, views[ids][1] | scope if ids in views else scope
    yield from ((replace(error, findings=own), scope) for own, scope in views.values() if own)


def _error(error: AgentError, trace: BaseTrace, scopes: ErrorScope, pattern: str, *, llm: bool) -> FactError:
    lead = error.lead
    return FactError(
        judge=short(lead.judge),
        llm=llm,
        scopes=scopes,
        dimensions=lead.dimensions,
        taxonomy=short(lead.taxonomy),
        category=short(lead.category),
        confidences=(error.confidence(), error.confidence(Severity.MEDIUM), error.confidence(Severity.HIGH)),
        tool=short(_tool(error, trace)),
        turn=lead.turn,
        pattern=pattern,
    )


def _tool(error: AgentError, trace: BaseTrace) -> str:
    lead = error.lead
    return tool_of((lead.tool_span_id, error.shown_at, lead.span_id), lead.dimensions, trace.calls)


def tool_of(span_ids: Iterable[str], dimensions: Iterable[Dimension], calls: Mapping[str, Sequence[BaseCall]]) -> str:
    """The tool of an error: where it showed, else where it was made, the order of `span_ids`; "" for none.

    One that was only asked for where the error is about tools. `calls` by span.
    """
    about = not ABOUT_TOOLS.isdisjoint(dimensions)
    for span_id in filter(None, span_ids):
        own = sorted(calls.get(span_id, ()), key=lambda call: call.asked)
        if found := next((call.tool for call in own if about or not call.asked), ""):
            return found
    return ""


def behaviours_of(trace: BaseTrace) -> Mapping[str, tuple[str, ...]]:
    """The behaviours by run, and under "" those of the trace as a whole; of what nobody labelled there are none.

    A run has those of its exchanges, a sub-agent those of the exchange in which it began. The user of an exchange
    without a label is ideal.
    """
    if trace.simulated and trace.behaviour:
        return dict.fromkeys(("", *(run.id for run in trace.runs)), (trace.behaviour,))
    if not trace.behaviours:
        return {}
    labels = {at: tuple(said) or (Behaviour.IDEAL.value,) for at, said in trace.behaviours.items()}
    found: dict[str, tuple[str, ...]] = {"": _together(labels.values())}
    for run in trace.runs:  # managers before their sub-agents
        own = [said for at, said in labels.items() if at.rpartition(":")[0] == run.id]
        began = trace.began.get(run.id)
        caused = labels.get(began, ()) if began else found.get(run.parent_id, ()) if run.parent_id else ()
        found[run.id] = _together(own) if own else caused
    return found


def _together(labels: Iterable[Iterable[str]]) -> tuple[str, ...]:
    return tuple(sorted({label for said in labels for label in said}))
