"""Saved views for people, from the JSON of the API."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType

from tracejury.schemas.wire.saved_views import SavedViewJson

from .tables import content, moment, rows_table


def views_table(rows: Sequence[SavedViewJson]) -> RenderableType:
    """A line a view."""
    return rows_table(
        rows,
        "no saved views",
        {
            "view": lambda row: content(row.name, 100),
            "shows": lambda row: content(row.link),
            "saved": lambda row: moment(row.saved_at),
        },
    )
