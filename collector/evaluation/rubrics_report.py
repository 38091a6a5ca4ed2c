"""A test of rubrics, as JSON for programs and as tables for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.text import Text

from tracejury.judges.bootstrap import Interval
from tracejury.judges.rubrics.evaluation.arms import RAW, SCOPE, SplitOutcome
from tracejury.judges.rubrics.evaluation.figures import (
    COMPARED,
    FIGURES,
    OVERALL,
    PARTS,
    Difference,
    RubricRecord,
    SituationShare,
    Spread,
    arm_tests,
    by_rubric,
    by_situation,
    differences,
    localised,
    part_figures,
    situation_kappas,
)
from tracejury.schemas.text.counting import counted
from tracejury.schemas.text.terminal import one_line

from .plain import plain
from .rubrics_run import RubricsPlan
from .tables import INTERVAL, Column, listed


@dataclass(frozen=True, slots=True)
class RubricsReport:
    """`figures`: by arm and part. `compared`: the accuracy of the main arm (`of`) less that of others, by part.

    `sizes`: sessions learned from and tested, by split. `missing`: by split and arm, why it was not learned.
    `unanswered`: by arm, tests without an answer of use.
    """

    of: str
    sizes: Mapping[str, tuple[int, int]]
    left_out: Mapping[str, int]
    missing: Mapping[str, Mapping[str, str]]
    unanswered: Mapping[str, int]
    sessions: Mapping[str, int]
    planted: int
    figures: Mapping[str, Mapping[str, Mapping[str, Spread]]]
    compared: Mapping[str, Mapping[str, Difference]]
    localised: Mapping[str, Spread]
    kappas: Mapping[str, Spread]
    situations: Mapping[str, SituationShare]
    rubrics: Sequence[RubricRecord]


def rubrics_report(plan: RubricsPlan, outcomes: Sequence[SplitOutcome]) -> RubricsReport:
    """All figures of a test."""
    of = SCOPE if plan.learned is None else plan.learned.method.upper()
    arms = arm_tests(outcomes)
    gated = {name: tests for name, tests in arms.items() if not name.endswith(RAW) or name == f"{of}{RAW}"}
    labels = {one.key: one.label for outcome in outcomes for one in outcome.split.tested}.values()
    learners = dict.fromkeys(name for outcome in outcomes for name in outcome.sets)
    lost = {
        name: sum(len(o.split.tested) - len(o.judged[name]) for o in outcomes if name in o.judged) for name in learners
    }
    traces = {i for outcome in outcomes for one in outcome.split.tested for i in one.recorded.traces}
    return RubricsReport(
        of,
        {o.split.name: (len(o.split.learned), len(o.split.tested)) for o in outcomes},
        plan.left_out,
        {o.split.name: o.missing for o in outcomes if o.missing},
        {name: number for name, number in lost.items() if number},
        {part: number for part, belongs in PARTS.items() if (number := sum(map(belongs, labels)))},
        sum(trace_id in traces for trace_id, _ in plan.planted),
        {name: part_figures(tests) for name, tests in arms.items()},
        differences(gated, of),
        localised(outcomes, plan.planted, of),
        situation_kappas(outcomes, of),
        by_situation(arms[of]),
        by_rubric(outcomes, of),
    )


def rubrics_report_json(report: RubricsReport) -> dict[str, Any]:
    """For programs: each figure by split with mean and deviation, null where it is not defined."""
    found: dict[str, Any] = plain(report)
    return found


def rubrics_report_tables(report: RubricsReport) -> RenderableType:
    """For people."""
    return Group(*_tables(report))


_RUBRICS: Final[tuple[Column, ...]] = (
    "split",
    "label",
    ("sessions hit", "hit"),
    "bad",
    "share",
    (INTERVAL, "interval"),
)


def _tables(report: RubricsReport) -> Iterator[RenderableType]:
    yield Text(f"sessions: {', '.join(f'{number} {part}' for part, number in report.sessions.items())}")
    for split, (learned, tested) in report.sizes.items():
        yield Text(f"split {split}: learned from {learned}, tested on {tested}" if split else f"tested on {tested}")
    yield from (Text(line) for line in _notes(report))
    yield Text("\nof good sessions, mean (standard deviation) over splits")
    overall: list[Column] = [(name, partial(_spread, part=OVERALL, figure=name)) for name in FIGURES]
    yield listed("all sessions", overall, report.figures.items())
    parts = [part for part, number in report.sessions.items() if number < report.sessions[OVERALL]]
    accuracy: list[Column] = [(part, partial(_spread, part=part, figure="accuracy")) for part in parts]
    if parts:
        yield listed("accuracy", accuracy, report.figures.items())
    for part in (part for part in parts if len(report.figures[report.of][part]) > 1):
        own: list[Column] = [(name, partial(_spread, part=part, figure=name)) for name in FIGURES[1:]]
        yield listed(part, own, report.figures.items())
    if len(report.sizes) > 1:
        splits: list[Column] = [(name, partial(_split, number=at)) for at, name in enumerate(report.sizes)]
        yield listed("accuracy by split", splits, report.figures.items())
    compared: list[Column] = []
    for part in COMPARED:
        compared += [(part, partial(_difference, part=part)), (INTERVAL, partial(_interval, part=part))]
    yield Text(f"\naccuracy of {report.of} less that of others; bootstrap over sessions")
    yield listed("other", compared, report.compared.items())
    found: list[Column] = [("share", _mean)]
    if report.planted:
        yield listed(f"{counted(report.planted, 'planted error')}, localised by", found, report.localised.items())
    if any(spread.mean is not None for spread in report.kappas.values()):
        yield listed("situations and their axes", [("kappa with the labels", _mean)], report.kappas.items())
    yield listed(
        f"situation, by {report.of}",
        ("sessions", "tests", "bad", ("share judged bad", "share")),
        report.situations.items(),
    )
    yield listed(f"rubrics of {report.of}", _RUBRICS, ((one.rubric, one) for one in report.rubrics))


def _notes(report: RubricsReport) -> Iterator[str]:
    if report.left_out:
        told = ", ".join(f"{name.replace('-', ' ')} {number}" for name, number in sorted(report.left_out.items()))
        yield f"left out: {told}"
    for split, missing in report.missing.items():
        yield from (one_line(f"split {split}, {arm} was not learned: {why}", 300) for arm, why in missing.items())
    for arm, number in report.unanswered.items():
        yield f"{arm}: {counted(number, 'test')} without an answer of use"


def _spread(row: Mapping[str, Mapping[str, Spread]], part: str, figure: str) -> str | None:
    return _mean(row[part][figure])


def _split(row: Mapping[str, Mapping[str, Spread]], number: int) -> float | None:
    return row[OVERALL]["accuracy"].splits[number]


def _difference(row: Mapping[str, Difference], part: str) -> float | None:
    return row[part].difference


def _interval(row: Mapping[str, Difference], part: str) -> Interval | None:
    return row[part].interval


def _mean(spread: Spread) -> str | None:
    if spread.mean is None:
        return None
    return f"{spread.mean:.3f}" + (f" ({spread.deviation:.3f})" if spread.deviation is not None else "")
