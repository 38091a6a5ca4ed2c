"""Lists of many columns: a line a row where that fits, else a block a row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.text import Text

from tracejury.schemas.list_columns import ListColumn, chosen_columns

from .tables import rows_table

SHORT: Final = 32
"""Characters of a name and its value that share a line of a block with others."""
_ANY: Final = 10_000
"""Wider than any table."""


@dataclass(frozen=True, slots=True)
class RowsList:
    """Rows with the cells of the named columns, as of `rows_table`.

    A block has the first cell on a line of its own, and the others below it with their names, the long ones apart.
    """

    rows: Sequence[Any]
    nothing: str
    columns: Mapping[str, Callable[[Any], Text | str]]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The table, or blocks where it would have to fold its cells."""
        table = rows_table(self.rows, self.nothing, self.columns)
        if Measurement.get(console, options.update(max_width=_ANY), table).maximum <= options.max_width:
            yield table
            return
        for row in self.rows:
            first, *others = ((name, cell(row)) for name, cell in self.columns.items())
            yield Text.assemble(first[1], style="bold")
            named = [Text.assemble((f"{name} ", "dim"), value) for name, value in others]
            short = Text("  ").join(text for text in named if len(text) <= SHORT)
            for line in (short, *(text for text in named if len(text) > SHORT)):
                yield Padding(line, (0, 0, 0, 2), expand=False)


def chosen_rows(
    rows: Sequence[Any],
    nothing: str,
    columns: Sequence[ListColumn],
    names: Iterable[str],
    cells: Mapping[str, Callable[[Any], Text | str]],
) -> RowsList:
    """A list with the named columns, or without names the usual ones; `cells`: of each column, in the order here.

    Raises:
        ConfigError: there is no such column.
    """
    shown = {one.name for one in chosen_columns(columns, names, on_page=False)}
    return RowsList(rows, nothing, {name.replace("-", " "): cell for name, cell in cells.items() if name in shown})
