"""An evaluation on labelled steps, as JSON for programs and as tables for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tracejury.judges.measures.rule_records import RuleRecord
from tracejury.judges.measures.step_figures import StepFigures
from tracejury.judges.measures.wilson import wilson
from tracejury.schemas.text.terminal import one_line

from .plain import plain
from .steps_baselines import EVERY_CALL
from .steps_run import CLAIMS, TOGETHER, StepsEvaluation
from .tables import INTERVAL, Column, listed

_LOCATED: Final[tuple[Column, ...]] = (
    "claims",
    ("localised", "localisation"),
    "precision",
    "recall",
    ("F1", "f1"),
    ("by any span", "localisation_any"),
    ("precision of all spans", "precision_any"),
    ("F1", "f1_any"),
)
_BLAMED: Final[tuple[Column, ...]] = (("agent", "agent_accuracy"), ("step", "step_accuracy"))
_ALARMED: Final[tuple[Column, ...]] = (
    ("MEDIUM or HIGH", "false_alarms"),
    (INTERVAL, lambda row: wilson(row.alarmed, row.error_free)),
    ("any claim", "false_alarms_any"),
    (INTERVAL, lambda row: wilson(row.alarmed_any, row.error_free)),
)


def as_json(e: StepsEvaluation, *, rules: bool) -> dict[str, Any]:
    """The report for programs; an interval is [low, high] at 95%, a figure without a denominator null."""
    report = {
        "profile": e.profile,
        **{scored: {name: _figures(row) for name, row in _rows(e, scored)} for scored in e.figures},
        "data_sets": {
            name: {
                "invalid_annotations": d.labels.invalid,
                "labels_on_unknown_spans": [list(label) for label in d.labels.unknown_spans],
                "traces_without_annotations": d.unannotated,
                "items_refused": d.refused,
                "failures": dict(d.failures),
            }
            for name, d in e.data_sets.items()
        },
        "overlaps": plain(e.overlaps),
    }
    return report | ({"rules": _rules(e)} if rules else {})


def as_tables(e: StepsEvaluation, *, rules: bool) -> RenderableType:
    """The report for people: tables for each data set, then for all together if there are several."""
    names = [*e.data_sets, *([TOGETHER] if len(e.data_sets) > 1 else [])]
    rows = {scored: dict(_rows(e, scored)) for scored in e.figures}
    tables = [t for name in names for t in _tables(name, {scored: own[name] for scored, own in rows.items()})]
    return Group(Text(f"detectors, profile {e.profile}"), *tables, *([_rule_table(e)] if rules else []), *_notes(e))


def _rows(e: StepsEvaluation, scored: str) -> Iterator[tuple[str, StepFigures]]:
    yield from e.figures[scored].items()
    if len(e.figures[scored]) > 1:
        yield TOGETHER, e.together[scored]


def _tables(name: str, rows: Mapping[str, StepFigures]) -> Iterator[RenderableType]:
    """Of one data set, the tables that have something to count."""
    counted = rows[CLAIMS]
    size = f"{counted.traces} traces, {counted.error_free} without errors; {counted.errors} labelled errors"
    yield Text(f"\n{one_line(name, 60)}: {size}")
    if counted.errors:
        yield listed("labelled errors", _LOCATED, rows.items())
    if counted.answers:
        blamed = [(scored, row) for scored, row in rows.items() if scored != EVERY_CALL]
        yield listed(f"who and when, {counted.answers} traces", _BLAMED, blamed)
    if counted.error_free:
        yield listed("error-free traces with", _ALARMED, rows.items())


def _rule_table(e: StepsEvaluation) -> Table:
    rows = [
        (f"{rule} / {name}", (own, e.rules_elsewhere[rule][name]))
        for rule, by in e.rules.items()
        for name, own in by.items()
    ]
    columns: tuple[Column, ...] = (
        ("right of errors", lambda row: _share(row[0].right, row[0])),
        ("by any span", lambda row: _share(row[0].right_any, row[0])),
        ("agents", lambda row: len(row[0].agents)),
        ("in the other sets", lambda row: _share(row[1].right, row[1])),
        ("by any span", lambda row: _share(row[1].right_any, row[1])),
        ("agents", lambda row: len(row[1].agents)),
    )
    return listed("rule / data set, all errors", columns, rows, most=100)


def _share(right: int, record: RuleRecord) -> str:
    return f"{right} of {record.claims}"


def _rules(e: StepsEvaluation) -> dict[str, Any]:
    return {
        rule: {
            name: {"in": _record(rows.get(name, RuleRecord())), "elsewhere": _record(elsewhere)}
            for name, elsewhere in e.rules_elsewhere[rule].items()
        }
        for rule, rows in e.rules.items()
    }


def _record(record: RuleRecord) -> dict[str, Any]:
    return {**plain(record), "agents": sorted(record.agents)}


def _figures(row: StepFigures) -> dict[str, Any]:
    intervals = {
        "false_alarms": wilson(row.alarmed, row.error_free),
        "false_alarms_any": wilson(row.alarmed_any, row.error_free),
    }
    return {**plain(row), "intervals": plain(intervals)}


def _notes(e: StepsEvaluation) -> Iterator[RenderableType]:
    for o in e.overlaps:
        first, second = one_line(o.first, 60), one_line(o.second, 60)
        yield Text(
            f"{len(o.traces)} traces of {first} are runs that {second} holds, too: the two are not independent "
            f'("{TOGETHER}" has each run once, with the labels of {second})'
        )
    for name, d in e.data_sets.items():
        told = [
            (d.labels.invalid, "invalid annotations were left out"),
            (
                len(d.labels.unknown_spans),
                "labels are on spans that their trace does not have, so nothing can find them",
            ),
            (d.unannotated, "traces without annotations were not scored"),
            (d.refused, "spans or log records were refused by the receiver"),
        ]
        yield from (Text(one_line(f"{name}: {count} {what}", 200)) for count, what in told if count)
        yield from (Text(one_line(f"{name}: detector {who} failed: {why}", 200)) for who, why in d.failures.items())
