"""Answers to who is to blame and when, against labels: those of the judges, and of baselines that ask no model.

The two accuracies are those of Who&When (Zhang et al., arXiv 2505.00212): one answer a trace, and a trace without one
counts as wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tracejury.judges.bootstrap import Interval
from tracejury.judges.measures.located_claim import LocatedClaim
from tracejury.judges.measures.step_figures import LabelledTrace, StepFigures, total, trace_figures
from tracejury.judges.measures.wilson import wilson
from tracejury.schemas.decisive import DECISIVE
from tracejury.schemas.findings import Finding
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.trajectory import Trace

from .judges_result import TraceResult
from .rebuilt import RebuiltFolder
from .steps_baselines import FIRST_FAILURE, first_failure

FIRST_STEP: Final = "first step"
USUAL_STEP: Final = "step blamed most often"
USUAL_AGENT: Final = "agent blamed most often"


@dataclass(frozen=True, slots=True)
class DecisiveFigures:
    """Counts over labelled traces. `open`: the answer is that nobody can tell; `unanswered`: there is no answer.

    Both count as wrong. `intervals`: of the two accuracies.
    """

    traces: int
    right_step: int
    right_agent: int
    open: int
    unanswered: int
    step_accuracy: float | None
    agent_accuracy: float | None
    intervals: Mapping[str, Interval | None]


def decisive_figures(rebuilt: RebuiltFolder, results: Sequence[TraceResult]) -> dict[str, DecisiveFigures]:
    """The answers of `results`, one repetition, then the baselines, over the same traces; none if nobody was asked."""
    asked = [result for result in results if result.decisive is not None and result.name in rebuilt.decided]
    if not asked:
        return {}
    labels = {result.name: rebuilt.decided[result.name] for result in asked}
    traces = [trace for trace in rebuilt.traces if rebuilt.name(trace) in labels]
    by_id = {trace.trace_id: trace for trace in traces}
    named: dict[str, LocatedClaim] = {}
    failed: set[str] = set()
    for result in asked:
        said = result.decisive
        if said is not None and said.findings:
            named[result.name] = _claim(by_id[result.trace_id], said.findings[0])
        elif said is not None and said.failures:
            failed.add(result.name)
    answers = {DECISIVE: named} | _baselines(labels, {rebuilt.name(t): tuple(first_failure(t)) for t in traces})
    return {name: _figures(labels, own, failed if name == DECISIVE else ()) for name, own in answers.items()}


def _figures(
    labels: Mapping[str, LabelledTrace], answers: Mapping[str, LocatedClaim], failed: Iterable[str]
) -> DecisiveFigures:
    rows = {name: [answers[name]] if name in answers else [] for name in labels}
    sums: StepFigures = total(trace_figures(labels[name], claims) for name, claims in rows.items())
    unanswered = len(set(failed) - answers.keys())
    return DecisiveFigures(
        traces=sums.answers,
        right_step=sums.right_step,
        right_agent=sums.right_agent,
        open=len(labels) - len(answers) - unanswered,
        unanswered=unanswered,
        step_accuracy=sums.step_accuracy,
        agent_accuracy=sums.agent_accuracy,
        intervals={
            "step_accuracy": wilson(sums.right_step, sums.answers),
            "agent_accuracy": wilson(sums.right_agent, sums.answers),
        },
    )


def _baselines(
    labels: Mapping[str, LabelledTrace], failures: Mapping[str, Sequence[LocatedClaim]]
) -> dict[str, dict[str, LocatedClaim]]:
    """By name of the baseline, then of the trace. The last two know the labels of the folder."""
    steps = {name: list(trace.speakers) for name, trace in labels.items()}
    places = Counter(steps[name].index(trace.step) for name, trace in labels.items())
    place = min(places, key=lambda p: (-places[p], p))
    agents = Counter(trace.agent for trace in labels.values())
    agent = min(agents, key=lambda a: (-agents[a], a))
    return {
        FIRST_STEP: {name: _blamed(own[0]) for name, own in steps.items()},
        USUAL_STEP: {name: _blamed(own[place]) for name, own in steps.items() if place < len(own)},
        USUAL_AGENT: {
            name: _blamed(first)
            for name, own in steps.items()
            if (first := next((span for span in own if agent in labels[name].speakers[span]), ""))
        },
        FIRST_FAILURE: {name: claims[0] for name, claims in failures.items() if claims},
    }


def _claim(trace: Trace, finding: Finding) -> LocatedClaim:
    run = trace.run(finding.agent_run_id)
    return _blamed(finding.span_id, run.name if run else "")


def _blamed(span: str, agent: str = "") -> LocatedClaim:
    return LocatedClaim("", "", agent, span, frozenset({span}), DECISIVE, "", Severity.HIGH, 1.0)
