"""Tables of an evaluation, each declared as a list of columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from rich.table import Table
from rich.text import Text

from tracejury.schemas.text.terminal import one_line

INTERVAL = "95%"
"""The header of every column of intervals."""

Column = str | tuple[str, str | Callable[[Any], object]]
"""A header, and the path of a row's value ("caught.tp") or a function of the row; a name alone is both."""


def grid(first: str, *others: str) -> Table:
    """A table without lines: a first column of names, others of figures."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), title_justify="left")
    table.add_column(first)
    for name in others:
        table.add_column(name, justify="right")
    return table


def listed(first: str, columns: Iterable[Column], rows: Iterable[tuple[str, Any]], *, most: int = 60) -> Table:
    """A line for each of the named rows; texts have at most `most` characters."""
    declared = [(c.replace("_", " "), c) if isinstance(c, str) else c for c in columns]
    table = grid(first, *(header for header, _ in declared))
    for name, row in rows:
        values = ((header, _value(row, of) if isinstance(of, str) else of(row)) for header, of in declared)
        cells = (cell(value, most=most, interval=header == INTERVAL) for header, value in values)
        table.add_row(Text(one_line(name, most)), *cells)
    return table


def cell(value: object, *, most: int = 60, interval: bool = False) -> Text:
    """A value as it is shown: floats and intervals with three digits; of a missing number "-", of an interval ""."""
    if value is None:
        return Text("" if interval else "-")
    if interval and isinstance(value, tuple):
        return Text("{:.3f} to {:.3f}".format(*value))
    return Text(f"{value:.3f}" if isinstance(value, float) else one_line(str(value), most))


def _value(row: Any, path: str) -> Any:
    for name in path.split("."):
        row = row.get(name) if isinstance(row, Mapping) else getattr(row, name)
    return row
