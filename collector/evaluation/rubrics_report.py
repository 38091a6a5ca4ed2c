"""A test of rubrics as named tables of rows: JSON for programs, tables for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from rich.console import Group, RenderableType

from tracejury.judges.rubrics.evaluation.arms import RAW, SCOPE, SplitOutcome
from tracejury.judges.rubrics.evaluation.figures import (
    FIGURES,
    OVERALL,
    PARTS,
    Row,
    Spread,
    arm_tests,
    by_rubric,
    by_situation,
    differences,
    localised,
    situation_kappas,
    spreads,
)

from .plain import plain
from .rubrics_run import RubricsPlan
from .tables import listed

Report = Mapping[str, Mapping[str, Row]]
"""Rows by name, by the name of their table."""


def rubrics_report(plan: RubricsPlan, outcomes: Sequence[SplitOutcome]) -> Report:
    """All figures of a test; tables without rows are left out."""
    of = plan.learned.method.upper() if plan.learned else SCOPE
    arms = arm_tests(outcomes)
    labels = {one.key: one.label for outcome in outcomes for one in outcome.split.tested}.values()
    sizes = {part: number for part, belongs in PARTS.items() if (number := sum(map(belongs, labels)))}
    parts = [part for part, number in sizes.items() if number < sizes[OVERALL]]
    tables: dict[str, Mapping[str, Row]] = {
        "sessions": {part: {"labelled": number} for part, number in sizes.items()},
        "left out": {why: {"count": number} for why, number in plan.left_out.items()},
        "splits": {
            o.split.name: {"learned from": len(o.split.learned), "tested on": len(o.split.tested)} for o in outcomes
        },
        "not learned": {f"{o.split.name} {arm}": {"why": why} for o in outcomes for arm, why in o.missing.items()},
        "unanswered": {
            f"{o.split.name} {arm}".strip(): {"tests": lost}
            for o in outcomes
            for arm, judged in o.judged.items()
            if (lost := len(o.split.tested) - len(judged))
        },
        "accuracy": {
            arm: {part: spreads(tests, part)["accuracy"] for part in (OVERALL, *parts)} for arm, tests in arms.items()
        },
    }
    for part in (OVERALL, *(part for part in parts if not part.startswith("hard"))):
        tables[f"good sessions, {part}"] = {
            arm: {name: spreads(tests, part)[name] for name in FIGURES[1:]} for arm, tests in arms.items()
        }
    if len(outcomes) > 1:
        tables["accuracy by split"] = {
            arm: {o.split.name: right for o, right in zip(outcomes, accuracy.splits, strict=True)}
            for arm, tests in arms.items()
            for accuracy in [spreads(tests, OVERALL)["accuracy"]]
        }
    gated = {name: tests for name, tests in arms.items() if not name.endswith(RAW) or name == f"{of}{RAW}"}
    tables |= {
        f"accuracy of {of} less that of": differences(gated, of) if of in arms else {},
        "planted errors localised by": localised(outcomes, plan.planted, of) if plan.planted else {},
        "agreement with labels": situation_kappas(outcomes, of),
        "situation": by_situation(arms.get(of, ())),
        "rubric": by_rubric(outcomes, of),
    }
    return {title: rows for title, rows in tables.items() if rows}


def rubrics_report_json(report: Report) -> dict[str, Any]:
    """For programs: a figure of splits has `splits`, `mean` and `deviation`, null where it is not defined."""
    found: dict[str, Any] = plain(report)
    return found


def rubrics_report_tables(report: Report) -> RenderableType:
    """For people."""
    columns = {title: [*next(iter(rows.values()))] for title, rows in report.items()}
    return Group(
        *(
            listed(
                f"\n{title}", [(name, partial(_shown, name=name)) for name in columns[title]], rows.items(), most=200
            )
            for title, rows in report.items()
        )
    )


def _shown(row: Row, name: str) -> object:
    value = row[name]
    if isinstance(value, tuple):
        return "{:.3f} to {:.3f}".format(*value)
    if not isinstance(value, Spread) or value.mean is None:
        return value.mean if isinstance(value, Spread) else value
    return f"{value.mean:.3f}" + (f" ({value.deviation:.3f})" if value.deviation is not None else "")
