"""Human labels for people, from the JSON of the API: plain text, made safe."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tracejury.schemas.taxonomy import DIMENSION_NAMES
from tracejury.schemas.text.naming import agent_name
from tracejury.schemas.wire.labels import (
    AnnotationJson,
    HumanScoreJson,
    QualityPage,
    QueueItemJson,
    ReviewJson,
)
from tracejury.schemas.wire.rates import EstimateJson

from .tables import SEVERITY_STYLE, content, moment, plain_table, rows_table

WHY = 120


def annotations_table(rows: Sequence[AnnotationJson]) -> RenderableType:
    """A line an annotation."""
    return rows_table(
        rows,
        "no annotations",
        {
            "annotation": lambda r: content(r.id, 40),
            "at": lambda r: moment(r.changed_at),
            "annotator": lambda r: content(r.annotator, 30),
            "opinion": lambda r: _opinion(r.opinion, withdrawn=r.withdrawn),
            "severity": lambda r: Text(r.severity, style=SEVERITY_STYLE.get(r.severity, "")),
            "category": lambda r: content(r.category, 40),
            "span": lambda r: content(r.span_id),
            "judge": lambda r: content(r.judge or "-", 40),
            "why": lambda r: content(r.explanation or r.evidence, WHY),
        },
    )


def scores_table(rows: Sequence[HumanScoreJson]) -> RenderableType:
    """A line a score."""
    return rows_table(
        rows,
        "no scores",
        {
            "trace": lambda r: content(r.trace_id),
            "run": lambda r: content(r.agent_run_id),
            "at": lambda r: moment(r.changed_at),
            "annotator": lambda r: content(r.annotator, 30),
            "dimension": lambda r: Text(DIMENSION_NAMES.get(r.dimension, r.dimension)),
            "score": lambda r: _opinion("not applicable" if r.score is None else str(r.score), withdrawn=r.withdrawn),
            "why": lambda r: content(r.explanation, WHY),
        },
    )


def reviews_table(rows: Sequence[ReviewJson]) -> RenderableType:
    """A line a review."""
    if not rows:
        return Text("no reviews")
    table = plain_table("trace", "run", "at", "annotator", "drawn from")
    for row in rows:
        drawn = content(row.stratum or "chosen by hand", 60)
        if row.withdrawn:
            drawn.append(" (withdrawn)")
        table.add_row(
            content(row.trace_id),
            content(row.agent_run_id),
            moment(row.changed_at),
            content(row.annotator, 30),
            drawn,
        )
    return table


def queue_table(rows: Sequence[QueueItemJson]) -> RenderableType:
    """A line a run, in the order in which to look at them."""
    return rows_table(
        rows,
        "nothing to label",
        {
            "trace": lambda r: content(r.trace_id),
            "run": lambda r: content(r.agent_run_id),
            "service / agent": lambda r: content(f"{r.service or 'unknown service'} / {agent_name(r.agent)}", 60),
            "why": lambda r: content(r.why, WHY),
        },
    )


def quality_tables(page: QualityPage) -> RenderableType:
    """How judges fare, and how much of each stratum is labelled."""
    return Group(_judges(page), Text(), _strata(page))


def _judges(page: QualityPage) -> Table | Text:
    if not page.items:
        return Text("no labels of findings, and no reviews")
    table = plain_table("judge", "findings labelled", "precision", "localised", "errors seen by people", "recall")
    for row in page.items:
        table.add_row(
            content(row.judge, 60),
            str(row.findings),
            _estimate(row.precision),
            str(row.localised),
            str(row.errors),
            _estimate(row.recall),
        )
    return table


def _strata(page: QualityPage) -> Table | Text:
    if not page.strata:
        return Text("no judged runs")
    table = plain_table("found/score/service", "runs", "reviewed at random", "came since")
    for row in page.strata:
        table.add_row(content(row.name, 60), str(row.size), str(row.reviewed), str(row.waiting))
    return table


def _opinion(text: str, *, withdrawn: bool) -> Text:
    return Text(f"{text} (withdrawn)", style="dim") if withdrawn else Text(text)


def _estimate(estimate: EstimateJson | None) -> Text:
    if estimate is None:
        return Text("-", style="dim")
    return Text(f"{estimate.value:.0%} [{estimate.low:.0%}, {estimate.high:.0%}]")
