"""Patterns for people. Their words are made of texts of spans: plain text, made safe, never markup."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from tracejury.schemas.text.counting import counted
from tracejury.schemas.wire.patterns import PatternJson, PatternsJson
from tracejury.schemas.wire.rates import EstimateJson

from .tables import SEVERITY_STYLE, content, rows_table

STATE_STYLE: Final = {
    "new": "bold yellow",
    "more frequent": "bold red",
    "back": "bold red",
    "rarer": "green",
    "gone": "green",
}
BARS: Final = " ▁▂▃▄▅▆▇█"
_NAME = 80


def patterns_table(page: PatternsJson) -> RenderableType:
    """A line a pattern, and what is not shown."""
    table = rows_table(
        page.items,
        "no patterns",
        {
            "pattern": lambda row: content(row.id),
            "severity": lambda row: Text(row.severity, SEVERITY_STYLE.get(row.severity, "")),
            "what": lambda row: content(f"{row.about}: {row.kind}" if row.about else row.kind, _NAME),
            "service": lambda row: content(row.service or "-", 40),
            "runs": lambda row: f"{row.hits} of {row.units}",
            "share": lambda row: share(row.share),
            "state": lambda row: Text(row.state, STATE_STYLE.get(row.state, "")),
            "since": _since,
            "last weeks": lambda row: Text(spark(row.series), "dim"),
            "such as": lambda row: content(row.examples[0].evidence if row.examples else "", _NAME, "dim"),
        },
    )
    lines = [Text(f"{counted(page.looked_at, 'pattern')} looked at", "dim")] if page.looked_at else []
    if page.left:
        lines.append(Text(f"{counted(page.left, 'more pattern')}: narrow with filters, or raise --limit", "dim"))
    if page.hidden:
        lines.append(Text(f"{page.hidden} resolved or ignored: --state all shows them", "dim"))
    return Group(table, *lines)


def pattern_view(row: PatternJson) -> RenderableType:
    """One pattern: the sentence, its figures, examples, what people say."""
    return Group(*_lines(row))


def _lines(row: PatternJson) -> Iterator[RenderableType]:
    yield Text.assemble((row.severity, SEVERITY_STYLE.get(row.severity, "")), " ", content(row.told, 300, "bold"))
    before = Text.assemble("; before: ", share(row.before)) if row.before else Text("; not seen before")
    yield Text.assemble(
        (row.state, STATE_STYLE.get(row.state, "")),
        f", in {row.hits} of {row.units} judged runs: ",
        share(row.share),
        before,
    )
    if row.calibrated:
        yield Text.assemble("as far as people confirm it: ", share(row.calibrated))
    elif row.uncalibrated:
        yield content(f"not corrected by labels: {row.uncalibrated}", 600, "dim")
    if row.needed is not None and row.quiet:
        yield Text(f"none in the last {row.quiet} runs; gone after {row.needed}", "dim")
    if row.since:
        yield Text.assemble(
            "since ",
            content(row.since.version or str(row.since.time), _NAME),
            ("  (95 %: ", "dim"),
            content(row.since.first, _NAME, "dim"),
            (" to ", "dim"),
            content(row.since.last, _NAME, "dim"),
            (")", "dim"),
        )
    else:
        yield Text("since when cannot be told", "dim")
    yield Text(spark(row.series), "dim")
    for name, values in (("versions", row.versions), ("agents", row.agents), ("tools", row.tools)):
        if values:
            yield Text.assemble(f"{name}: ", content(", ".join(values), 300))
    for label in row.labels:
        mark = f"{label.mark} in {label.version}" if label.version else label.mark
        yield content(f"{mark} by {label.annotator}: {label.explanation}", 300, "bold")
    for one in row.examples:
        yield Text.assemble(
            "error ", content(one.error_id[:8]), "  trace ", content(one.trace_id), "  span ", content(one.span_id)
        )
        yield Padding(content(one.evidence, 160), (0, 0, 0, 4), expand=False)
        yield Padding(content(one.explanation, 240, "dim"), (0, 0, 0, 4), expand=False)


def share(estimate: EstimateJson | None) -> Text:
    """A share with its interval."""
    if estimate is None:
        return Text("-")
    value, low, high = (100 * part for part in (estimate.value, estimate.low, estimate.high))
    return Text.assemble(f"{value:.1f} %", (f" ({low:.1f} - {high:.1f})", "dim"))


def spark(series: Sequence[float]) -> str:
    """The series as bars of eighths of its highest value."""
    most = max(series, default=0.0)
    return "".join(BARS[round(8 * value / most)] if most else BARS[0] for value in series)


def _since(row: PatternJson) -> Text:
    if row.since is None:
        return Text("-", "dim")
    return content(row.since.version or str(row.since.time)[:10], 40)
