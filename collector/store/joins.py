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


class StoredJoins(TenantRows):
    """Keys of one tenant's traces."""

    def any(self) -> bool:
        """Whether any trace has keys at all: most stores know none."""
        return bool(self._scope.select(f"SELECT 1 FROM joins WHERE {TENANT} LIMIT 1"))

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


def _own(trace_id: str) -> str:
    return f"trace:{trace_id}"
