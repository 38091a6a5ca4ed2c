"""Precision over findings: by judge, by severity, on spans and by what a matcher says."""

from __future__ import annotations

from tracejury.judges.agreement import Annotated, Predicted
from tracejury.judges.agreement_tables import per_detector
from tracejury.judges.measures.finding_precision import PrecisionRow, finding_precision
from tracejury.judges.measures.matching import Match

ERRORS = [Annotated("t", "a", "Language-only"), Annotated("u", "b", "Language-only")]


def finding(trace: str, span: str, judge: str, severity: str) -> Predicted:
    return Predicted(trace, span, "Language-only", judge, severity=severity)


FINDINGS = [
    finding("t", "a", "one", "HIGH"),
    finding("t", "a", "one", "LOW"),
    finding("u", "a", "one", "LOW"),
    finding("u", "b", "two", "HIGH"),
]


def row(rows: tuple[PrecisionRow, ...], judge: str, severity: str) -> PrecisionRow:
    return next(r for r in rows if (r.judge, r.severity) == (judge, severity))


def test_rows_by_judge_and_severity() -> None:
    """Each finding once for its judge; severities that a judge did not use have no row."""
    rows = finding_precision(ERRORS, FINDINGS)
    assert [(r.judge, r.severity, r.findings, r.on_span) for r in rows] == [
        ("all", "all", 4, 3),
        ("all", "HIGH", 2, 2),
        ("all", "LOW", 2, 1),
        ("one", "all", 3, 2),
        ("one", "HIGH", 1, 1),
        ("one", "LOW", 2, 1),
        ("two", "all", 1, 1),
        ("two", "HIGH", 1, 1),
    ]


def test_on_span_agrees_with_the_table_of_detectors() -> None:
    """The same figure under the same definition as in the evaluation of detectors."""
    rows = finding_precision(ERRORS, FINDINGS)
    for judge, detector in per_detector(ERRORS, FINDINGS).items():
        assert row(rows, judge, "all").precision == detector.span_precision


def test_without_adjudication_nothing_is_matched_or_unmatched() -> None:
    """None, not 0."""
    every = row(finding_precision(ERRORS, FINDINGS), "all", "all")
    assert every.matched is every.matched_precision is None
    assert set(every.intervals) == {"on_span"}


def test_with_adjudication_both_shares_stand_side_by_side() -> None:
    """On an annotated span and yet about something else, or the other way round; a match counts a finding once."""
    matches = [Match(0, 0, caught=True), Match(0, 1, caught=False), Match(1, 2, caught=True), Match(1, 2, caught=True)]
    every = row(finding_precision(ERRORS, FINDINGS, matches), "all", "all")
    assert (every.precision, every.matched_precision) == (0.75, 0.5)
    assert set(every.intervals) == {"on_span", "matched"}


def test_no_findings_no_rows() -> None:
    """A judge that said nothing has no precision."""
    assert finding_precision(ERRORS, []) == ()
