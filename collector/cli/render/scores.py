"""Scores that others gave for people, from the JSON of the API: plain text, made safe."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType
from rich.text import Text

from tracejury.schemas.wire.scores import GivenScoreJson

from .tables import content, moment, rows_table

WHY = 120


def scores_table(rows: Sequence[GivenScoreJson]) -> RenderableType:
    """A line a score."""
    return rows_table(
        rows,
        "no scores",
        {
            "score": lambda r: content(r.name, 60),
            "value": score_told,
            "source": lambda r: content(r.source or "-", 40),
            "of": _place,
            "at": lambda r: moment(r.at),
            "why": lambda r: content(r.explanation or "-", WHY),
        },
    )


def score_told(row: GivenScoreJson) -> Text:
    """Value, label and failure."""
    value = "" if row.value is None else f"{row.value:g}"
    failed = f"failed: {row.error_type}" if row.error_type else ""
    return content(" ".join(filter(None, (value, row.label, failed))), 80)


def _place(row: GivenScoreJson) -> Text:
    named = (("trace", row.trace_id), ("span", row.span_id), ("session", row.session_id))
    place = content(" ".join(f"{kind} {text}" for kind, text in named if text), 120)
    return place + Text(" (not there yet)", "dim") if row.waiting else place
