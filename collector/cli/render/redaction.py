"""The table of `tracejury redact --dry-run`."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import RenderableType
from rich.text import Text

from tracejury.schemas.text.counting import counted

from .tables import content, plain_table

_KEY = 80


def redacted_table(counts: Mapping[tuple[str, str], int], traces: int) -> RenderableType:
    """A line for each rule and attribute, the most values first."""
    if not counts:
        return Text(f"nothing would be redacted in {counted(traces, 'trace')}")
    table = plain_table("rule", "attribute", "values")
    for (rule, key), count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        table.add_row(rule, content(key, _KEY), str(count))
    return table
