"""StoredColumn tables: which attribute of an object each column of a ClickHouse table stores.

Rows are built, selected and read from the one declaration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from operator import attrgetter, itemgetter
from typing import Any, Final, Generic, TypeVar, get_type_hints

Row = tuple[Any, ...]
Stored = TypeVar("Stored")

_VALUE: Final = attrgetter("value")


@dataclass(frozen=True, slots=True)
class StoredColumn:
    """A column and the attribute that it stores, perhaps of an attribute ("subject.id").

    `write` turns the attribute into the column's value, `read` the value into the attribute; without them it is itself.
    `write_all` does what `write` does for many items at once, where a table is written by column.
    """

    name: str
    attribute: str
    write: Callable[[Any], Any] | None = None
    read: Callable[[Any], Any] | None = None
    write_all: Callable[[Iterable[Any]], list[Any]] = list

    def values(self, items: Iterable[object]) -> list[Any]:
        """The column of many items."""
        found = map(attrgetter(self.attribute), items)
        return self.write_all(map(self.write, found) if self.write else found)


def enum_column(name: str, attribute: str, kind: type[StrEnum]) -> StoredColumn:
    """A column with the values of an enumeration."""
    return StoredColumn(name, attribute, _VALUE, kind)


def array_column(name: str, attribute: str) -> StoredColumn:
    """A column with the items of a tuple."""
    return StoredColumn(name, attribute, list, tuple)


def plain_columns(*attributes: str, group: str = "") -> tuple[StoredColumn, ...]:
    """Columns of attributes as they are, which bear their names: `trace_id` is TraceId, in a `group` Group.TraceId.

    The tenant's alone is written small.
    """
    names = (attribute if attribute == "tenant" else attribute.title().replace("_", "") for attribute in attributes)
    prefix = f"{group}." if group else ""
    return tuple(StoredColumn(f"{prefix}{name}", attribute) for name, attribute in zip(names, attributes, strict=True))


def select_list(names: Sequence[str]) -> str:
    """The columns as a SELECT list. DateTime64(9) would come back cut to micros: its nanos are read as a number."""
    return ", ".join(
        "toUnixTimestamp64Nano(ReceivedAt) AS ReceivedNanos" if name == "ReceivedAt" else f"`{name}`" for name in names
    )


class ColumnTable(Generic[Stored]):
    """The columns that store a `kind`, a dataclass. `names` in the order of its rows, `select` as a SELECT list."""

    def __init__(self, kind: type[Stored], *columns: StoredColumn) -> None:
        self.names: Final = tuple(column.name for column in columns)
        self.select: Final = select_list(self.names)
        self._kind: Callable[..., Stored] = kind
        self._columns = columns
        self._attributes = tuple(column.attribute for column in columns)
        self._get = attrgetter(*self._attributes)
        self._writers = [(at, column.write) for at, column in enumerate(columns) if column.write]
        names = [field.name for field in fields(kind) if field.name in self._attributes]  # type: ignore[arg-type]
        self._fields = tuple(names)
        readers = {column.attribute: column.read for column in columns}
        self._in_order = self.values_of(*names)
        self._readers = [(at, read) for at, name in enumerate(names) if (read := readers[name])]

    def column_of(self, attribute: str) -> str:
        """The name of the column that stores an attribute."""
        return self.names[self._attributes.index(attribute)]

    def row(self, item: object, *more: Any) -> Row:
        """The row of `item`, followed by the values of further columns."""
        values = [*self._get(item), *more]
        for at, write in self._writers:
            values[at] = write(values[at])
        return tuple(values)

    def read(self, row: Sequence[Any], **more: Any) -> Stored:
        """The object of a row, with `more` fields that are no columns; values of further columns are left out."""
        values = self._in_order(row)
        if self._readers:
            values = list(values)
            for at, read in self._readers:
                values[at] = read(values[at])
        return self._kind(**dict(zip(self._fields, values, strict=True)), **more)

    def values_of(self, *attributes: str) -> Callable[[Sequence[Any]], Sequence[Any]]:
        """A function that takes the values of these attributes out of a row."""
        return itemgetter(*map(self._attributes.index, attributes))

    def by_column(self, items: Sequence[Stored]) -> list[list[Any]]:
        """One list of values a column."""
        return [column.values(items) for column in self._columns]


_TABLES: Final[dict[type, ColumnTable[Any]]] = {}


def columns_of(kind: type[Stored]) -> ColumnTable[Stored]:
    """The table of a dataclass each field of which is a column of its name, as in `plain_columns`."""
    if kind not in _TABLES:
        hints = get_type_hints(kind)
        plain = plain_columns(*(field.name for field in fields(kind)))  # type: ignore[arg-type]
        columns = {column.attribute: column for column in plain}
        of_enums = {
            name: enum_column(columns[name].name, name, hint)
            for name, hint in hints.items()
            if isinstance(hint, type) and issubclass(hint, StrEnum)
        }
        _TABLES[kind] = ColumnTable(kind, *(columns | of_enums).values())
    return _TABLES[kind]
