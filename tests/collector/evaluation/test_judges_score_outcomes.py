"""Outcomes of traces in their annotations, and judges' scores beside them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from trail_folder import write

from tracejury.collector.evaluation.folder import load
from tracejury.collector.evaluation.judges_result import RunResult, TraceResult
from tracejury.collector.evaluation.judges_score import against_outcomes
from tracejury.schemas.verdicts import Subject, SubjectKind, Verdict

NAMES = [letter * 32 for letter in "abcd"]
ANNOTATIONS: list[dict[str, Any]] = [
    {"errors": [], "outcome": True},
    {"errors": [], "outcome": 0.5, "scores": [{"overall": 4}]},
    {"errors": [], "scores": [{"overall": 2.88}]},
    {"errors": [], "scores": [], "outcome": "good"},
]


def verdict(name: str, run: str, score: int | None, judge: str = "logical-consistency") -> Verdict:
    subject = Subject(SubjectKind.AGENT_RUN, run, name)
    return Verdict(judge, "v1", subject, score, reasons="because", not_applicable=score is None)


def test_an_outcome_is_stated_or_the_annotators_overall_score(tmp_path: Path) -> None:
    """What is no number is none."""
    folder = write(tmp_path / "x", NAMES, {})
    for name, annotation in zip(NAMES, ANNOTATIONS, strict=True):
        (folder / "annotations" / f"{name}.json").write_text(json.dumps(annotation))
    assert load(folder).outcomes == {NAMES[0]: 1.0, NAMES[1]: 0.5, NAMES[2]: 2.88}


def test_the_mean_of_a_traces_runs_is_held_against_its_outcome() -> None:
    """Traces without a score are left out; without outcomes there is nothing."""
    results = [
        TraceResult("a", "a", 0, (RunResult("r", "manager", (verdict("a", "r", 0), verdict("a", "s", 1))),)),
        TraceResult("b", "b", 0, (RunResult("r", "manager", (verdict("b", "r", 1),)),)),
        TraceResult("c", "c", 0, (RunResult("r", "manager", (verdict("c", "r", 3),)),)),
        TraceResult("d", "d", 0, (RunResult("r", "manager", (verdict("d", "r", None),)),)),
    ]
    (row,) = against_outcomes(results, {"a": 0.0, "b": 1.0, "c": 2.0, "d": 5.0})
    assert row.n == 3
    assert row.spearman == pytest.approx(1.0)
    assert row.pearson == pytest.approx(2.5 / 7**0.5)  # of means 0.5, 1 and 3
    assert against_outcomes(results, {}) == ()
