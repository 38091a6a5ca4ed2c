"""Columns of the tables of the OpenTelemetry Collector's ClickHouse exporter, of all versions, as SQL of one shape.

Source: opentelemetry-collector-contrib, exporter/clickhouseexporter (SQL templates of the exporter). Versions differ:
older ones have no scope columns (name and version stand among the span's attributes) and a signed duration; newer ones
may have attributes of type JSON instead of Map, and log records an event name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Final


@dataclass(frozen=True, slots=True)
class TableSchema:
    """One table of the exporter. `columns`: each with its type as we read it; `needed`: no such table lacks these.

    Attributes are read as JSON text. Groups of arrays (`Events.Name`) may be one column of tuples (`Events`).
    """

    noun: str
    columns: Mapping[str, str]
    needed: frozenset[str]
    nested: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def missing(self, found: Mapping[str, str]) -> list[str]:
        """Needed columns that a table lacks."""
        return sorted(self.needed - found.keys())

    def select(self, found: Mapping[str, str]) -> str:
        """The select list for a table with these columns and types: all of ours, in order, with our names and types."""
        return ", ".join(f"{expression} AS `{name}`" for name, expression in self._expressions(found))

    def types(self) -> Iterator[tuple[str, str]]:
        """All columns with the types that `select` gives them, groups flattened."""
        yield from self.columns.items()
        for group, parts in self.nested.items():
            yield from ((f"{group}.{name}", f"Array({kind})") for name, kind in parts.items())

    def structure(self, found: AbstractSet[str]) -> dict[str, str]:
        """The columns and types as which to read a file of JSON that has these columns."""
        read = {name: kind for name, kind in self.types() if name in found}
        for group in self.nested.keys() & found:
            parts = ", ".join(f"{name} {kind}" for name, kind in self.nested[group].items())
            read[group] = f"Array(Tuple({parts}))"
        return read

    def _expressions(self, found: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        for name, kind in self.columns.items():
            yield name, _converted(name, found[name], kind) if name in found else f"defaultValueOfTypeName('{kind}')"
        for group, parts in self.nested.items():
            for part, kind in parts.items():
                name = f"{group}.{part}"
                inner = re.search(rf"[(\s]{part} (.+)", found.get(group, ""))
                stored = found.get(name) or (inner[1] if inner else "")
                each = f"arrayMap(item -> {_converted('item', stored.removeprefix('Array('), kind)}, {name})"
                yield name, each if stored else "[]"


_TIME: Final = "DateTime64(9, 'UTC')"


def _converted(value: str, stored: str, wanted: str) -> str:
    """The SQL of a value of the stored type as the wanted one."""
    stored = stored.removeprefix("Nullable(")
    if wanted == _TIME:
        return (
            f"fromUnixTimestamp64Nano(toInt64({value}))" if "Int" in stored[:5] else f"toDateTime64({value}, 9, 'UTC')"
        )
    if wanted == "Int64":
        return f"toInt64({value})"  # of an end before the start the unsigned duration wraps around, and so back
    if wanted == "String" and stored.startswith(("Map", "JSON", "Object", "Tuple")):
        return f"toJSONString({value})"
    return f"ifNull(toString({value}), '')" if wanted == "String" else value


def _texts(names: str) -> dict[str, str]:
    """Columns of text; attributes are JSON text."""
    return dict.fromkeys(names.split(), "String")


SPAN_TABLE: Final = TableSchema(
    "spans",
    {"Timestamp": _TIME, "Duration": "Int64"}
    | _texts("TraceId SpanId ParentSpanId TraceState SpanName SpanKind ServiceName ResourceAttributes ScopeName")
    | _texts("ScopeVersion SpanAttributes StatusCode StatusMessage"),
    frozenset({"Timestamp", "Duration"})
    | _texts("TraceId SpanId ParentSpanId SpanName ServiceName ResourceAttributes SpanAttributes StatusCode").keys(),
    {
        "Events": {"Timestamp": _TIME, **_texts("Name Attributes")},
        "Links": _texts("TraceId SpanId TraceState Attributes"),
    },
)
LOG_TABLE: Final = TableSchema(
    "log records",
    {"Timestamp": _TIME, "TraceFlags": "Int64", "SeverityNumber": "Int64"}
    | _texts("TraceId SpanId SeverityText ServiceName Body ResourceAttributes ScopeName ScopeVersion LogAttributes")
    | _texts("EventName"),
    frozenset({"Timestamp"}) | _texts("TraceId SpanId ServiceName Body ResourceAttributes LogAttributes").keys(),
)
