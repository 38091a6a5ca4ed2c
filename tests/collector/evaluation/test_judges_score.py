"""What judges said of a folder, scored."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trail_folder import error, write

from tracejury.collector.evaluation.judges_result import RunResult, TraceResult, trace_scores
from tracejury.collector.evaluation.judges_score import against_annotators, against_people, by_source, repeatability
from tracejury.collector.evaluation.rebuilt import RebuiltFolder, rebuild_folder
from tracejury.judges.measures.consistency import TfIdf
from tracejury.judges.measures.judge_agreement import CoverageRow, JudgeAgreement
from tracejury.judges.measures.scales import ScaleRating
from tracejury.schemas.errors import PermanentError
from tracejury.schemas.findings import Finding
from tracejury.schemas.taxonomy import Dimension, Severity
from tracejury.schemas.verdicts import Subject, SubjectKind, Verdict

A, B = "a" * 32, "b" * 32
MISSING = error(2, "Instruction Non-compliance", description="The plan lacks the <end_plan> tag.")


@pytest.fixture
def rebuilt(tmp_path: Path) -> RebuiltFolder:
    """In A a missing tag that cannot be there, and an error at span 5; in B one at span 3."""
    folder = write(tmp_path / "x", [A, B], {A: [MISSING, error(5, "Goal Deviation")], B: [error(3)]})
    (folder / "dimensions.json").write_text(json.dumps({A: [["LC"], ["PA", "LC"]]}))
    return rebuild_folder(folder)


def finding(trace: str, number: int, confidence: float = 0.9, **changes: str) -> Finding:
    return Finding(
        id=changes.get("id", f"{trace[0]}{number}"),
        fingerprint="",
        tenant="",
        trace_id=trace,
        span_id=f"{number:016x}",
        agent_run_id="",
        turn=0,
        judge="logical-consistency",
        dimensions=(Dimension.LOGICAL_CONSISTENCY,),
        taxonomy="trail",
        category="Goal Deviation",
        severity=Severity.HIGH,
        confidence=confidence,
        evidence="The mean is 42.",
        explanation="",
    )


def everything(agreement: JudgeAgreement) -> CoverageRow:
    return agreement.coverage[0]


def test_without_a_matcher_only_what_is_localised_is_caught(rebuilt: RebuiltFolder) -> None:
    """Over all annotated traces; findings below the profile's threshold do not count."""
    found = against_annotators(rebuilt, [finding(A, 5), finding(B, 3, 0.25)], "balanced", None, None)
    assert (found.traces, found.kappa) == (2, None)
    assert (everything(found.all).errors, everything(found.all).caught, everything(found.all).localised) == (3, 1, 1)
    assert (everything(found.valid).errors, everything(found.valid).caught) == (2, 1)
    assert everything(against_annotators(rebuilt, [finding(B, 3, 0.25)], "recall", None, None).all).caught == 1


def test_people_decide_what_is_caught(rebuilt: RebuiltFolder) -> None:
    """By number of the error in its file, invalid ones counted; only the traces that they looked at are scored."""
    found = against_annotators(rebuilt, [finding(A, 4), finding(B, 3)], "balanced", None, {A: frozenset({(1, "a4")})})
    assert found.traces == 1
    row = everything(found.all)
    assert (row.errors, row.caught, row.localised) == (2, 1, 0)
    assert (everything(found.valid).errors, everything(found.valid).caught) == (1, 1)
    assert (found.precision[0].findings, found.precision[0].on_span, found.precision[0].matched) == (1, 0, 1)


def test_a_matcher_is_compared_with_people(rebuilt: RebuiltFolder) -> None:
    """Over all pairs of the traces that both looked at; its own matches decide."""
    both = [finding(A, 4), finding(A, 5), finding(B, 3)]
    model = {A: frozenset({(1, "a4"), (1, "a5")}), B: frozenset({(0, "b3")})}
    found = against_annotators(rebuilt, both, "balanced", model, {A: frozenset({(1, "a5")})})
    assert found.kappa is not None
    assert found.kappa.n == 2 * 2
    assert found.kappa.table == {("match", "match"): 1, ("match", "no match"): 1, ("no match", "no match"): 2}
    assert (everything(found.all).caught, everything(found.all).localised) == (2, 2)


def test_judges_detectors_and_both(rebuilt: RebuiltFolder) -> None:
    """The figures over spans of each, from one reading of the folder."""
    spans = by_source(rebuilt, [finding(B, 3)], "balanced")
    localised = {source: e.agreement.all.localised for source, e in spans.items()}
    assert localised["judges"] == pytest.approx(1 / 3)
    assert localised["both"] >= max(localised["judges"], localised["detectors"])
    assert spans["both"].findings == spans["judges"].findings + spans["detectors"].findings
    assert spans["judges"].grounding.evidence_in_span == 0.0  # span 3 does not say so


def test_labels_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    """By the name of the trace."""
    folder = write(tmp_path / "x", [A], {A: [error(3)]})
    (folder / "dimensions.json").write_text(json.dumps({A: [["ZZ"]]}))
    with pytest.raises(PermanentError, match=A):
        rebuild_folder(folder)


def result(name: str, repetition: int, *scores: int | None) -> TraceResult:
    runs = tuple(
        RunResult(
            f"r{i}",
            "manager",
            (Verdict("goal-fulfilment", "v", Subject(SubjectKind.AGENT_RUN, f"r{i}", name), s, reasons="so"),),
        )
        for i, s in enumerate(scores)
    )
    return TraceResult(name, name, repetition, runs)


@given(st.lists(st.integers(0, 3), min_size=1))
def test_a_traces_score_is_the_mean_of_its_runs(scores: list[int]) -> None:
    """Rounded half up; unscored runs have no part in it."""
    (score,) = trace_scores(result("t", 0, *scores, None)).values()
    assert score - 0.5 <= sum(scores) / len(scores) < score + 0.5
    assert trace_scores(result("t", 0, None)) == {}


def test_scores_beside_peoples() -> None:
    """Of whole traces where people scored those, of runs where they scored runs."""
    said = [result("t", 0, 3, 0), result("u", 0, 1)]
    (whole,) = against_people(
        said, [ScaleRating("t", "", "goal-fulfilment", 2), ScaleRating("u", "", "goal-fulfilment", 3)]
    )
    assert (whole.n, whole.accuracy, whole.off_by_one) == (2, 0.5, 0.5)
    (runs,) = against_people(said, [ScaleRating("t", "r1", "goal-fulfilment", 0)])
    assert (runs.n, runs.accuracy, runs.judge_only) == (1, 1.0, 2)


def test_repetitions_are_compared_trace_by_trace() -> None:
    """With the mean of the runs' scores, not rounded; a trace scored once has no part in it."""
    same = [result(t, n, *s) for n in range(2) for t, s in (("t", (3, 0)), ("u", (1,)))]
    alike = repeatability(same, TfIdf())["goal-fulfilment"]
    assert alike.scores.alpha.alpha == 1.0
    assert alike.scores.spread.mean == 0.0
    assert alike.reasons.index == pytest.approx(1)
    apart = [*same, result("t", 2, 3, 3), result("u", 2, None), result("w", 2, 1)]
    less = repeatability(apart, TfIdf())["goal-fulfilment"]
    assert less.scores.alpha.alpha is not None
    assert less.scores.alpha.alpha < 1.0
    assert (less.scores.alpha.units, less.scores.alpha.left_out) == (2, 1)
