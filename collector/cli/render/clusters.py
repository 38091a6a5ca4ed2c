"""Clusters of errors for people. Names are made of words from spans: plain text, made safe, never markup."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from tracejury.judges.clusters.naming import NamedTypes
from tracejury.schemas.text.counting import counted
from tracejury.schemas.wire.clusters import ClusterJson, ClustersJson

from .tables import SHORT, content, rows_table

_NAME = 90


def clusters_table(page: ClustersJson) -> RenderableType:
    """A line a cluster, and below what is in none."""
    if not page.items and not page.errors:
        return Text("no errors")
    mark = "~" if page.sampled is not None else ""
    table = rows_table(
        page.items,
        "no two errors are alike",
        {
            "kind": lambda row: content(row.name, _NAME, "bold" if row.named else ""),
            "tool": lambda row: content(row.tool or "-", 40),
            "errors": lambda row: f"{mark}{row.errors}",
            "sessions": lambda row: str(row.sessions),
            "share": lambda row: f"{100 * row.share:.1f} %",
            "before": lambda row: Text(f"{mark}{row.before}", "dim"),
            "change": _change,
            "error": lambda row: content(row.spans[0].error_id[:SHORT], style="dim"),
        },
    )
    lines = [Text(f"{mark}{counted(page.errors, 'error')}; {mark}{page.single} like no others", "dim")]
    if page.left:
        lines.append(Text(f"{counted(page.left, 'more cluster')}: narrow with filters, or raise --limit", "dim"))
    if page.sampled is not None:
        lines.append(
            Text(f"~ scaled: a sample of {page.sampled} errors was compared; sessions are of the sample", "dim")
        )
    if not page.by_text:
        lines.append(Text("the collector lacks scikit-learn (pip install 'tracejury[clusters]'): by category and tool"))
    return Group(table, *lines)


def naming_remarks(types: NamedTypes) -> Iterator[str]:
    """What came of the model's answers, a line each."""
    if types.types:
        groups = sum(len(one.groups) for one in types.types)
        yield f"{counted(groups, 'group')} named, as {counted(len(types.types), 'type')}"
    if types.apart:
        yield f"{counted(types.apart, 'label')} in no type, or in two: kept apart"
    if types.unknown:
        yield f"{counted(types.unknown, 'number')} of errors or labels that there are not: left out"
    if types.unlabelled:
        yield f"{counted(types.unlabelled, 'group')} without a label"
    yield from (f"no answer: {content(failure, 300)}" for failure in types.failures)


def _change(row: ClusterJson) -> Text:
    if row.change is None:
        return Text("new", "yellow")
    sure = row.change.low > 1 or row.change.high < 1
    style = "" if not sure else "bold red" if row.change.value > 1 else "bold green"
    value, low, high = row.change.value, row.change.low, row.change.high
    return Text.assemble((f"{value:.2f}x", style), (f" ({low:.2f} - {high:.2f})", "dim"))
