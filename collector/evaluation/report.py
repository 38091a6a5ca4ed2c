"""An evaluation as JSON for programs and as tables for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ...judges.bootstrap import Interval
from ...schemas.text.terminal import one_line
from .score import Evaluation

HEADLINES = {
    "findings_per_trace": "findings a trace",
    "localised": "localised",
    "span_precision": "span precision",
    "span_recall": "span recall",
    "span_f1": "span F1",
    "weighted_category_f1": "weighted category F1",
    "location_accuracy": "location accuracy",
    "joint_accuracy": "joint accuracy",
}


def as_json(e: Evaluation) -> dict[str, Any]:
    """The report for programs: headline figures first, then intervals, tables and what they were measured on.

    `valid` holds the figures without the invalid annotations; an interval is [low, high] at 95%.
    """
    a = e.agreement
    every = asdict(a.all)
    return {
        "traces": a.traces,
        "errors": a.errors,
        "findings_per_trace": every.pop("findings_per_trace"),
        "localised": every.pop("localised"),
        "localised_valid": a.valid.localised,
        "invalid_annotations": a.invalid,
        **every,
        "intervals": {
            **{name: list(i) for name, i in a.intervals.items()},
            **{f"{name}_valid": list(i) for name, i in a.valid_intervals.items() if name == "localised"},
        },
        "valid": {"errors": a.errors - a.invalid, **asdict(a.valid), "intervals": _lists(a.valid_intervals)},
        "per_category": {name: asdict(row) for name, row in e.per_category.items()},
        "per_detector": {name: asdict(row) for name, row in e.per_detector.items()},
        "per_dimension": {name: asdict(row) for name, row in e.per_dimension.items()},
        "per_impact": {name: asdict(row) for name, row in e.per_impact.items()},
        "invalid": [
            {"trace_id": i.trace_id, "span_id": i.span_id, "category": i.category, "reason": i.invalid}
            for i in e.invalid
        ],
        "profile": e.profile,
        "protocol": e.protocol,
        "shuffle": e.shuffle,
        "findings": e.findings,
        "traces_without_annotations": e.unannotated,
        "annotations_without_trace": e.spare,
        "items_refused": e.refused,
        "failures": dict(e.failures),
        "grounding": asdict(e.grounding),
    }


def as_tables(e: Evaluation) -> RenderableType:
    """The report for people."""
    return Group(
        *_headlines(e),
        _table("detector", e.per_detector),
        _table("category", e.per_category),
        _table("dimension", e.per_dimension),
        _table("impact", e.per_impact),
        *_notes(e),
    )


def _headlines(e: Evaluation) -> Iterator[RenderableType]:
    a = e.agreement
    order = "" if e.shuffle is None else f", shuffled with seed {e.shuffle}"
    yield Text(f"{a.traces} traces, {a.errors} annotated errors; profile {e.profile}, over {e.protocol}{order}")
    table = grid("", "all", "95%", f"without {a.invalid} invalid", "95%")
    every, valid = asdict(a.all), asdict(a.valid)
    for key, label in HEADLINES.items():
        table.add_row(
            label,
            _number(every[key]),
            _span(a.intervals.get(key)),
            _number(valid[key]),
            _span(a.valid_intervals.get(key)),
        )
    yield table


def _notes(e: Evaluation) -> Iterator[RenderableType]:
    if e.invalid:
        table = grid("invalid annotation", "span", "reason")
        for i in e.invalid:
            table.add_row(*(Text(one_line(cell, 100)) for cell in (i.trace_id, i.span_id, i.invalid)))
        yield table
    if e.unannotated:
        yield Text(f"{e.unannotated} traces without annotations were judged and not scored")
    if e.spare:
        yield Text(f"{e.spare} files of annotations had no trace")
    if e.refused:
        yield Text(f"{e.refused} spans or log records were refused by the receiver")
    g = e.grounding
    yield Text(f"of all findings, {g.span_exists:.1%} have a span that was sent, {g.evidence_in_span:.1%} quote it")
    for detector, why in e.failures.items():
        yield Text(one_line(f"detector {detector} failed: {why}", 200))


def _table(title: str, rows: Mapping[str, Any]) -> Table:
    columns = [name.replace("_", " ") for name in next((asdict(r) for r in rows.values()), {})]
    table = grid(title, *columns)
    for name, row in rows.items():
        table.add_row(Text(one_line(name, 60)), *(_number(value) for value in asdict(row).values()))
    return table


def grid(first: str, *others: str) -> Table:
    """A table without lines: a first column of names, others of figures."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), title_justify="left")
    table.add_column(first)
    for name in others:
        table.add_column(name, justify="right")
    return table


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.3f}"


def _span(interval: Interval | None) -> str:
    return "" if interval is None else "{:.3f} to {:.3f}".format(*interval)


def _lists(intervals: Mapping[str, Iterable[float]]) -> dict[str, list[float]]:
    return {name: list(i) for name, i in intervals.items()}
