"""What a backfill reads: traces that begin in a window, listed slice by slice of time and read whole.

A trace belongs to the slice in which its first span begins, of those that match the filter; it is sent with all of its
spans within a day of it, of all services. No slice has many more spans than `SLICE_SPANS`, so that memory does not grow
with the table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from tracejury.collector.otlp.codec.groups import Row
from tracejury.schemas.errors import ConfigError
from tracejury.schemas.text.moments import iso_time

from .columns import LOG_TABLE, SPAN_TABLE
from .items import MAX_NAMED, TRACE_ID, BadRows, log_row, span_row
from .source import ExporterTables

SECOND: Final = 1_000_000_000
HOUR: Final = 3600 * SECOND
REACH: Final = 24 * HOUR
"""How far a trace's spans may be from its first one: as long as a collector of ours keeps a trace open by default."""
SLICE_SPANS: Final = 200_000
_LEAST_SLICE: Final = SECOND
_MAX_NAMES: Final = 20

_MATCHES: Final = "(empty({services:Array(String)}) OR has({services:Array(String)}, ServiceName))"
_BETWEEN: Final = (
    "Timestamp >= fromUnixTimestamp64Nano({since:Int64}) AND Timestamp < fromUnixTimestamp64Nano({until:Int64})"
)
_HOURS: Final = f"""
SELECT intDiv(toUnixTimestamp64Nano(toDateTime64(Timestamp, 9)), {HOUR}) AS Hour, count() FROM {{table}}
WHERE {_BETWEEN} AND {_MATCHES} GROUP BY Hour ORDER BY Hour
"""
_HEX: Final = "match(TraceId, '^[0-9a-fA-F]{32}$') AND TraceId != repeat('0', 32)"
_BAD: Final = f"""
SELECT count(), arraySort(groupUniqArray({MAX_NAMED})(toString(TraceId))) FROM {{table}}
WHERE {_BETWEEN} AND {_MATCHES} AND NOT ({_HEX})
"""
_TRACES: Final = f"""
SELECT toString(TraceId), toUnixTimestamp64Nano(toDateTime64(min(Timestamp), 9)) AS Start, count() FROM {{table}}
WHERE Timestamp >= fromUnixTimestamp64Nano({{reach:Int64}}) AND Timestamp < fromUnixTimestamp64Nano({{until:Int64}})
AND {_MATCHES} AND {_HEX}
AND TraceId GLOBAL IN (SELECT TraceId FROM {{table}} WHERE {_BETWEEN} AND {_MATCHES})
GROUP BY TraceId HAVING Start >= {{since:Int64}} ORDER BY Start, TraceId
"""
_ROWS: Final = f"SELECT {{columns}} FROM (SELECT * FROM {{table}} WHERE {_BETWEEN} AND TraceId IN ({{ids}}))"
_SERVICES: Final = f"""
SELECT ServiceName, uniqExact(TraceId), count() FROM {{table}} WHERE {_BETWEEN} AND {_MATCHES}
GROUP BY ServiceName ORDER BY count() DESC, ServiceName
"""
_RANGE: Final = f"""
SELECT count(), toUnixTimestamp64Nano(toDateTime64(min(Timestamp), 9)),
    toUnixTimestamp64Nano(toDateTime64(max(Timestamp), 9)), arraySort(groupUniqArray({_MAX_NAMES})(ServiceName))
FROM {{table}}
"""


@dataclass(frozen=True, slots=True)
class TimeSlice:
    """Spans from `since` until before `until` (unix nanos), about `spans` of them."""

    since: int
    until: int
    spans: int


@dataclass(frozen=True, slots=True, order=True)
class Listed:
    """A trace: its first span's time (unix nanos) and its id, by which traces are in order; and its spans by then."""

    start: int
    trace_id: str
    spans: int = 0


@dataclass(frozen=True, slots=True)
class Window:
    """Traces whose first span of these services (none named: of all) begins from `since` until before `until`."""

    source: ExporterTables
    since: int
    until: int
    services: tuple[str, ...] = ()

    def slices(self) -> list[TimeSlice]:
        """The slices in which there are spans, in order of time."""
        hours = self._select(_HOURS, self.since, self.until)
        return list(_sliced(((int(hour), int(count)) for hour, count in hours), self.since, self.until))

    def bad(self) -> BadRows:
        """Spans in the window whose trace id is none: no trace can be made of them."""
        count, ids = self._select(_BAD, self.since, self.until)[0]
        return BadRows(count, [f"trace id {trace_id[:64]!r}" for trace_id in ids])

    def by_service(self) -> list[tuple[str, int, int]]:
        """Services with the traces and spans that the window has of them."""
        return [(name, traces, spans) for name, traces, spans in self._select(_SERVICES, self.since, self.until)]

    def check(self, slices: Sequence[TimeSlice]) -> None:
        """Raises ConfigError, which says what there is, where there is nothing in the window."""
        if slices:
            return
        count, first, last, services = self.source.rows(_RANGE.format(table=self.source.spans))[0]
        if not count:
            raise ConfigError(f"{self.source.shown} has no spans")
        of = f" of {', '.join(self.services)}" if self.services else ""
        more = " …" if len(services) == _MAX_NAMES else ""
        raise ConfigError(
            f"{self.source.shown} has no spans{of} from {iso_time(self.since) or 'the beginning'} to "
            f"{iso_time(self.until)}: it has {count:,} from {iso_time(first)} to {iso_time(last)}, of the services "
            f"{', '.join(services)}{more}"
        )

    def traces(self, of: TimeSlice, after: Listed | None) -> list[Listed]:
        """The traces that belong to a slice, in order, those up to `after` left out."""
        rows = self._select(_TRACES, of.since, of.until, reach=max(of.since - REACH, 0))
        found = [Listed(start, trace_id, spans) for trace_id, start, spans in rows if TRACE_ID.fullmatch(trace_id)]
        return [one for one in found if after is None or (one.start, one.trace_id) > (after.start, after.trace_id)]

    def read(self, traces: Sequence[Listed], bad: BadRows) -> Iterator[tuple[list[Row], list[Row]]]:
        """The log records and the spans of each trace, in the order given; spans by their start."""
        spans = self._items(SPAN_TABLE.types(), self.source.spans, self.source.columns, traces)
        logs: Mapping[str, list[dict[str, Any]]] = {}
        if self.source.logs:
            logs = self._items(LOG_TABLE.types(), self.source.logs, self.source.log_columns, traces)
        for one in traces:
            yield (
                [row for log in logs.get(one.trace_id, ()) if (row := log_row(log, bad))],
                [row for span in spans.get(one.trace_id, ()) if (row := span_row(span, bad))],
            )

    def _items(
        self, types: Iterable[tuple[str, str]], table: str, columns: str, traces: Sequence[Listed]
    ) -> dict[str, list[dict[str, Any]]]:
        kinds = dict(types)
        read = ", ".join(_read(name, kind) for name, kind in kinds.items())
        # Hex digits alone: as a parameter they would stand in the URL, which proxies allow few thousand characters.
        ids = ", ".join(f"'{one.trace_id}'" for one in traces)
        inner = _ROWS.replace("{columns}", columns).replace("{table}", table).replace("{ids}", ids)
        sql = f"SELECT {read} FROM ({inner})"
        found: dict[str, list[dict[str, Any]]] = {}
        values = {"since": max(traces[0].start - REACH, 0), "until": traces[-1].start + REACH}
        for values_of in self.source.rows(sql, values):
            row = dict(zip(kinds, values_of, strict=True))
            found.setdefault(row["TraceId"], []).append(row)
        for rows in found.values():
            rows.sort(key=lambda row: (row["Timestamp"], row["SpanId"]))
        return found

    def _select(self, sql: str, since: int, until: int, **more: int) -> list[Sequence[Any]]:
        values = {"since": since, "until": until, "services": list(self.services), **more}
        return self.source.rows(sql.replace("{table}", self.source.spans), values)


def _read(name: str, kind: str) -> str:
    """A column for the driver, which cuts times to microseconds."""
    if "DateTime64" not in kind:
        return f"`{name}`"
    return (
        f"arrayMap(at -> toUnixTimestamp64Nano(at), `{name}`)"
        if kind.startswith("Array")
        else f"toUnixTimestamp64Nano(`{name}`)"
    )


def _sliced(hours: Iterable[tuple[int, int]], since: int, until: int) -> Iterator[TimeSlice]:
    """Slices of the window by the spans of each hour: a full hour is cut, hours with few spans are put together."""
    start, end, spans = 0, 0, 0
    for hour, count in hours:
        if spans and spans + count > SLICE_SPANS:
            yield TimeSlice(max(start, since), min(end, until), spans)
            spans = 0
        first, last = hour * HOUR, (hour + 1) * HOUR
        if count <= SLICE_SPANS:
            start, end, spans = start if spans else first, last, spans + count
            continue
        parts = min(-(-count // SLICE_SPANS), HOUR // _LEAST_SLICE)
        edges = [max(since, min(until, first + HOUR * part // parts)) for part in range(parts + 1)]
        yield from (TimeSlice(a, b, count // parts) for a, b in pairwise(edges) if a < b)
    if spans:
        yield TimeSlice(max(start, since), min(end, until), spans)
