"""A comparison of two versions of the judges, for programs and for people."""

from __future__ import annotations

from typing import Any, Final

from rich.console import Group, RenderableType
from rich.text import Text

from tracejury.schemas.text.terminal import one_line

from .diff import Difference
from .plain import plain
from .tables import INTERVAL, Column, listed

FIGURES = ("localised", "caught", "span_precision", "span_recall", "span_f1", "findings_per_trace")


def diff_json(difference: Difference) -> dict[str, Any]:
    """The comparison as JSON values."""
    return {
        "a": difference.a.name,
        "b": difference.b.name,
        "versions_a": dict(difference.a.versions),
        "versions_b": dict(difference.b.versions),
        "profile": difference.profile,
        **plain(difference.comparison),
        "scores": plain(difference.scores),
    }


def diff_tables(difference: Difference) -> RenderableType:
    """Figures of both, and which way scores went; a delta is b less a, with its 95% interval over traces."""
    c = difference.comparison
    title = f"a {difference.a.name}, b {difference.b.name}; {c.traces} traces, {c.errors} annotated errors"
    parts: list[RenderableType] = [Text(one_line(f"{title}; profile {difference.profile}", 300))]
    if c.basis_a != c.basis_b:
        parts.append(Text('only one of the two was matched by an LLM: do not compare "caught"'))
    figures = [
        (row.judge, (row.errors, name.replace("_", " "), delta))
        for row in c.rows
        for name in (FIGURES if row.dimension == "all" else FIGURES[:2])
        if (delta := row.figures.get(name)) is not None
    ]
    paired = [(row.judge, row.localised) for row in c.rows if row.errors]
    scores = [(change.judge, change) for change in difference.scores]
    return Group(
        *parts,
        listed("judge", DELTAS, figures),
        listed("localised by", ("both", "only_a", "only_b", "neither", "p"), paired),
        listed("scores", SCORES, scores),
    )


DELTAS: Final[tuple[Column, ...]] = (
    ("errors", lambda row: row[0]),
    ("figure", lambda row: row[1]),
    ("a", lambda row: row[2].a),
    ("b", lambda row: row[2].b),
    ("b - a", lambda row: None if row[2].delta is None else f"{row[2].delta:+.3f}"),
    (INTERVAL, lambda row: row[2].interval and "{:+.3f} to {:+.3f}".format(*row[2].interval)),
)
SCORES: Final[tuple[Column, ...]] = (
    ("runs", "n"),
    ("mean a", lambda row: f"{row.mean_a:.2f}"),
    ("mean b", lambda row: f"{row.mean_b:.2f}"),
    ("higher in b", "higher"),
    ("lower in b", "lower"),
)
