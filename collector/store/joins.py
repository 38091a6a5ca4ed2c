"""Stored join keys, which tell the traces that may be one run. All of it blocks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from .inserting import store_rows
from .scope import TENANT, TenantRows

MOST: Final = 256
"""Traces that are looked at as one, as `processors.joining.MOST_TRACES`."""

_NEAR: Final = f"""
SELECT TraceId, Key FROM joins FINAL
WHERE {TENANT} AND (Key IN {{keys:Array(String)}} OR TraceId IN {{trace_ids:Array(String)}})
ORDER BY TraceId, Key LIMIT {MOST * 16}
"""

_KNOWN: Final = f"SELECT DISTINCT Key FROM joins WHERE {TENANT} AND Key IN {{keys:Array(String)}}"

_TIED: Final = f"""
SELECT DISTINCT TraceId, Key FROM joins
WHERE {TENANT} AND (Key IN {{keys:Array(String)}} OR TraceId IN {{trace_ids:Array(String)}})
"""

_LACKING: Final = "lacks:"
"""Begins a key that leads to no other trace; see `lacking_key`."""

_LACKED: Final = f"""
SELECT DISTINCT TraceId, Key FROM joins WHERE {TENANT} AND startsWith(Key, '{_LACKING}')
ORDER BY ReceivedAt DESC LIMIT {{limit:UInt32}}
"""

_LACKED_OF: Final = f"""
SELECT DISTINCT TraceId, Key FROM joins
WHERE {TENANT} AND startsWith(Key, '{_LACKING}') AND splitByChar(':', Key)[2] IN {{span_ids:Array(String)}}
ORDER BY Key, TraceId LIMIT {{limit:UInt32}}
"""

_HOLDERS: Final = f"""
SELECT DISTINCT SpanId, TraceId FROM spans WHERE {TENANT} AND SpanId IN {{span_ids:Array(String)}}
AND ReceivedAt >= fromUnixTimestamp64Nano({{since:Int64}}, 'UTC')
ORDER BY SpanId, TraceId LIMIT {{limit:UInt32}} BY SpanId
"""


class StoredJoins(TenantRows):
    """Keys of one tenant's traces."""

    def any(self) -> bool:
        """Whether any trace has keys that lead to another: most stores know none."""
        sql = f"SELECT 1 FROM joins WHERE {TENANT} AND NOT startsWith(Key, '{_LACKING}') LIMIT 1"
        return bool(self._scope.select(sql))

    def lacking(self, limit: int) -> list[tuple[str, str]]:
        """The latest ids of parents that traces lack, each with the trace."""
        return _parents(self._scope.select(_LACKED, limit=limit))

    def lacking_of(self, span_ids: Collection[str], limit: int) -> list[tuple[str, str]]:
        """Those of these spans that traces lack, each with the trace; at most `limit`."""
        rows = self._scope.select(_LACKED_OF, span_ids=sorted(span_ids), limit=limit) if span_ids else ()
        return _parents(rows)

    def holders(self, span_ids: Collection[str], since: int, limit: int) -> dict[str, set[str]]:
        """By id of a span: up to `limit` traces with a span of that id that came since (unix nanos); absent: none."""
        found: dict[str, set[str]] = {}
        for span_id, trace in self._scope.select(_HOLDERS, span_ids=sorted(span_ids), since=since, limit=limit):
            found.setdefault(span_id, set()).add(trace)
        return found

    def keep(self, keys: Mapping[str, Iterable[str]], received_at: int) -> None:
        """Keep the keys of these traces; keeping the same again changes nothing. Raises RetryableError, StoreError."""
        rows = [(self._scope.tenant, key, trace, received_at) for trace, own in keys.items() for key in sorted(own)]
        store_rows(self._store, "keys of traces", "joins", ("tenant", "Key", "TraceId", "ReceivedAt"), rows)

    def tied(self, trace_ids: Sequence[str]) -> set[str]:
        """Those of these traces that have keys, or that a key of another names."""
        own = {_own(t): t for t in trace_ids}
        found = self._scope.select(_TIED, keys=sorted(own), trace_ids=sorted(trace_ids))
        wanted = set(trace_ids)
        return {trace for trace, _ in found if trace in wanted} | {own[key] for _, key in found if key in own}

    def known(self, keys: Collection[str]) -> set[str]:
        """Those of these keys that a trace has."""
        return {key for (key,) in self._scope.select(_KNOWN, keys=sorted(keys))} if keys else set()

    def partners(self, trace_ids: Sequence[str]) -> dict[str, frozenset[str]]:
        """By trace id: ids of all traces that its keys lead to, its own among them, at most `MOST`; absent: none."""
        return {t: found for t in trace_ids if len(found := self.with_partners(t)) > 1}

    def with_partners(self, trace_id: str) -> frozenset[str]:
        """A trace and all that its keys lead to, at most `MOST`.

        Followed to its end: a run may be one long chain, and all of its traces must find the same ones.
        """
        traces, keys = {trace_id}, {_own(trace_id)}
        new_traces, new_keys = set(traces), set(keys)
        while new_traces or new_keys:
            rows = self._scope.select(_NEAR, keys=sorted(new_keys), trace_ids=sorted(new_traces))
            found = {trace for trace, _ in rows}
            named = {key for _, key in rows} | {_own(t) for t in found}
            found |= {key.removeprefix("trace:") for key in named if key.startswith("trace:")}
            new_traces, new_keys = found - traces, (named | {_own(t) for t in found}) - keys
            if len(traces) + len(new_traces) > MOST:
                break
            traces, keys = traces | new_traces, keys | new_keys
        return frozenset(traces)


def _parents(rows: Iterable[Sequence[str]]) -> list[tuple[str, str]]:
    return [(key.removeprefix(_LACKING).removesuffix(f":{trace}"), trace) for trace, key in rows]


def lacking_key(parent: str, trace_id: str) -> str:
    """The key of a trace that lacks a parent; with its own id, since two that lack the same one are not one for it."""
    return f"{_LACKING}{parent}:{trace_id}"


def _own(trace_id: str) -> str:
    return f"trace:{trace_id}"
