"""A comparison of two versions of the judges, for programs and for people."""

from __future__ import annotations

from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from ...judges.measures.comparison import ComparisonRow, Delta
from ...schemas.text.terminal import one_line
from .diff import Difference
from .plain import plain
from .report import grid

FIGURES = ("localised", "caught", "span_precision", "span_recall", "span_f1", "findings_per_trace")


def diff_json(difference: Difference) -> dict[str, Any]:
    """All of it."""
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
    figures = grid("judge", "errors", "figure", "a", "b", "b - a", "95%")
    for row in c.rows:
        for name in FIGURES if row.dimension == "all" else FIGURES[:2]:
            if (delta := row.figures.get(name)) is not None:
                figures.add_row(*_row(row, name, delta))
    paired = grid("localised by", "both", "only a", "only b", "neither", "p")
    for row in c.rows:
        if row.errors:
            p = row.localised.p
            counts = (row.localised.both, row.localised.only_a, row.localised.only_b, row.localised.neither)
            paired.add_row(Text(one_line(row.judge, 60)), *map(str, counts), "-" if p is None else f"{p:.3f}")
    scores = grid("scores", "runs", "mean a", "mean b", "higher in b", "lower in b")
    for s in difference.scores:
        means = (f"{s.mean_a:.2f}", f"{s.mean_b:.2f}")
        scores.add_row(Text(one_line(s.judge, 60)), str(s.n), *means, str(s.higher), str(s.lower))
    return Group(*parts, figures, paired, scores)


def _row(row: ComparisonRow, name: str, delta: Delta) -> tuple[Text | str, ...]:
    interval = "" if delta.interval is None else "{:+.3f} to {:+.3f}".format(*delta.interval)
    return (
        Text(one_line(row.judge, 60)),
        str(row.errors),
        name.replace("_", " "),
        "-" if delta.a is None else f"{delta.a:.3f}",
        "-" if delta.b is None else f"{delta.b:.3f}",
        "-" if delta.delta is None else f"{delta.delta:+.3f}",
        interval,
    )
