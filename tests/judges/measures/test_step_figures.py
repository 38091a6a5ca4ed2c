"""Localisation, precision, false alarms, and who and when, of claims counted by hand."""

from __future__ import annotations

import pytest
from located_claims import claimed

from tracejury.judges.measures.step_figures import LabelledTrace, StepFigures, most_certain, total, trace_figures
from tracejury.schemas.taxonomy import Severity

FAILED = LabelledTrace("t", errors=("a", "a", "b"))
HEALTHY = LabelledTrace("t", error_free=True)


def test_primary_and_named_spans_are_counted_apart() -> None:
    """Three labels on two spans; the claims' primary spans are one of them, and their named spans both."""
    figures = trace_figures(FAILED, [claimed("a"), claimed("a", judge="other"), claimed("x", "b", "y")])
    assert (figures.localisation, figures.localisation_any) == (2 / 3, 1.0)
    assert (figures.precision, figures.precision_any) == (1 / 2, 2 / 4)  # of a, x and of a, x, b, y
    assert (figures.recall, figures.recall_any) == (1 / 2, 1.0)
    assert (figures.f1, figures.f1_any) == pytest.approx((1 / 2, 2 / 3))
    assert figures.false_alarms is None


@pytest.mark.parametrize("trace", [FAILED, HEALTHY])
def test_without_claims_there_is_no_precision(trace: LabelledTrace) -> None:
    figures = trace_figures(trace, [])
    assert (figures.precision, figures.precision_any) == (None, None)
    assert figures.f1 == (0.0 if trace.errors else None)


def test_without_labels_there_is_no_localisation() -> None:
    figures = trace_figures(HEALTHY, [claimed("a")])
    assert (figures.localisation, figures.recall, figures.f1) == (None, None, None)
    assert figures.precision == 0.0


@pytest.mark.parametrize(
    ("severity", "alarmed", "any_claim"),
    [(None, 0.0, 0.0), (Severity.LOW, 0.0, 1.0), (Severity.MEDIUM, 1.0, 1.0), (Severity.HIGH, 1.0, 1.0)],
)
def test_a_low_claim_is_no_false_alarm(severity: Severity | None, alarmed: float, any_claim: float) -> None:
    """It counts among traces with any claim only."""
    figures = trace_figures(HEALTHY, [claimed("a", severity=severity)] if severity else [])
    assert (figures.false_alarms, figures.false_alarms_any) == (alarmed, any_claim)


def test_a_trace_with_labels_has_no_false_alarm() -> None:
    figures = trace_figures(FAILED, [claimed("x", severity=Severity.HIGH)])
    assert (figures.error_free, figures.alarmed, figures.alarmed_any) == (0, 0, 0)


def test_the_surest_claim_of_the_highest_severity_is_blamed() -> None:
    """Of several the earliest."""
    low = claimed("a", severity=Severity.LOW, confidence=0.9, start=1)
    late = claimed("b", severity=Severity.HIGH, confidence=0.5, start=3)
    early = claimed("c", severity=Severity.HIGH, confidence=0.5, start=2)
    unsure = claimed("d", severity=Severity.HIGH, confidence=0.4, start=0)
    assert most_certain([low, late, early, unsure]) == early
    assert most_certain([]) is None


def answered(**speakers: set[str]) -> LabelledTrace:
    """Agent "planner" is to blame, at span "a"."""
    return LabelledTrace(
        "t", ("a",), agent="planner", step="a", speakers={k: frozenset(v) for k, v in speakers.items()}
    )


@pytest.mark.parametrize(
    ("trace", "span", "right"),
    [
        pytest.param(answered(a={"planner"}), "a", (1.0, 1.0), id="agent and step"),
        pytest.param(answered(a={"planner"}, b={"planner"}), "b", (1.0, 0.0), id="another step of the agent"),
        pytest.param(answered(a={"planner"}, b={"writer"}), "b", (0.0, 0.0), id="the source names another speaker"),
        pytest.param(answered(), "z", (0.0, 0.0), id="a span outside the steps, of another agent's run"),
    ],
)
def test_agent_and_step_of_the_blamed_claim(trace: LabelledTrace, span: str, right: tuple[float, float]) -> None:
    figures = trace_figures(trace, [claimed(span, agent="writer")])
    assert (figures.agent_accuracy, figures.step_accuracy) == right


def test_a_span_outside_the_steps_is_its_run_agents() -> None:
    assert trace_figures(answered(), [claimed("z", agent="planner")]).agent_accuracy == 1.0


def test_traces_without_a_claim_count_as_wrong_and_those_without_an_answer_do_not_count() -> None:
    silent = trace_figures(answered(a={"planner"}), [])
    right = trace_figures(answered(a={"planner"}), [claimed("a")])
    figures = total([silent, right, trace_figures(FAILED, [claimed("a")])])
    assert (figures.traces, figures.answers, figures.agent_accuracy, figures.step_accuracy) == (3, 2, 0.5, 0.5)


def test_no_traces_have_no_figures() -> None:
    assert total([]) == StepFigures()
    assert total([]).localisation is None
