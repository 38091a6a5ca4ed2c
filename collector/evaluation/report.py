"""An evaluation as JSON for programs and as tables for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tracejury.judges.agreement import Agreement
from tracejury.schemas.text.terminal import one_line

from .plain import plain
from .score import DetectorEvaluation, ErrorFigures
from .tables import INTERVAL, Column, listed

HEADLINES: Final = {
    "localised": "localised",
    "localised_any": "localised by any named span",
    "span_precision": "span precision",
    "span_precision_any": "precision of all named spans",
    "span_recall": "span recall",
    "span_f1": "span F1",
    "weighted_category_f1": "weighted category F1",
    "location_accuracy": "location accuracy",
    "joint_accuracy": "joint accuracy",
}


def as_json(e: DetectorEvaluation) -> dict[str, Any]:
    """The report for programs: figures of findings first, then intervals, tables and what they were measured on.

    `as_errors` holds the figures of errors, `valid` those without the invalid annotations; an interval is [low, high]
    at 95%.
    """
    a = e.agreement
    every = plain(a.all)
    localised = a.valid_intervals.get("localised")
    return {
        "traces": a.traces,
        "errors": a.errors,
        "findings_per_trace": every.pop("findings_per_trace"),
        "localised": every.pop("localised"),
        "localised_valid": a.valid.localised,
        "invalid_annotations": a.invalid,
        **every,
        "intervals": plain(a.intervals) | ({"localised_valid": list(localised)} if localised else {}),
        "valid": {"errors": a.errors - a.invalid, **plain(a.valid), "intervals": plain(a.valid_intervals)},
        **{f"per_{name}": plain(rows) for name, rows in sorted(e.breakdowns.items())},
        "invalid": [
            {"trace_id": i.trace_id, "span_id": i.span_id, "category": i.category, "reason": i.invalid}
            for i in e.invalid
        ],
        **{name: value for name, value in plain(e).items() if name not in {"agreement", "breakdowns", "invalid"}},
    }


def as_tables(e: DetectorEvaluation) -> RenderableType:
    """The report for people."""
    tables = (_breakdown(name, rows) for name, rows in e.breakdowns.items())
    return Group(*_headlines(e), *tables, *_notes(e))


def _headlines(e: DetectorEvaluation) -> Iterator[RenderableType]:
    a = e.agreement
    order = "" if e.shuffle is None else f", shuffled with seed {e.shuffle}"
    yield Text(f"{a.traces} traces, {a.errors} annotated errors; profile {e.profile}, over {e.protocol}{order}")
    if e.as_errors is not None:
        yield _figures("errors", e.as_errors, a.invalid)
    yield _figures("findings", a, a.invalid)


def _figures(of: str, scored: Agreement | ErrorFigures, invalid: int) -> Table:
    columns: tuple[Column, ...] = (
        ("all", lambda key: getattr(scored.all, key)),
        (INTERVAL, scored.intervals.get),
        (f"without {invalid} invalid", lambda key: getattr(scored.valid, key)),
        (INTERVAL, scored.valid_intervals.get),
    )
    named = {"findings_per_trace": f"{of} a trace"} | HEADLINES
    return listed(f"as {of}", columns, ((label, key) for key, label in named.items()))


def _notes(e: DetectorEvaluation) -> Iterator[RenderableType]:
    if e.invalid:
        columns = (("span", "span_id"), ("reason", "invalid"))
        yield listed("invalid annotation", columns, ((i.trace_id, i) for i in e.invalid), most=100)
    if e.traces_without_annotations:
        yield Text(f"{e.traces_without_annotations} traces without annotations were judged and not scored")
    if e.annotations_without_trace:
        yield Text(f"{e.annotations_without_trace} files of annotations had no trace")
    if e.items_refused:
        yield Text(f"{e.items_refused} spans or log records were refused by the receiver")
    g = e.grounding
    yield Text(f"of all findings, {g.span_exists:.1%} have a span that was sent, {g.evidence_in_span:.1%} quote it")
    for detector, why in e.failures.items():
        yield Text(one_line(f"detector {detector} failed: {why}", 200))


def _breakdown(name: str, rows: Mapping[str, Any]) -> Table:
    figures = {label: asdict(row) for label, row in rows.items()}
    return listed(name, next(iter(figures.values()), {}), figures.items())
