"""Derives the errors and the facts of traces where something of them is stored. All of it blocks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from tracejury.collector.store.client import Store
from tracejury.collector.store.inserting import insert_rows
from tracejury.collector.store.scope import TENANT, Scope
from tracejury.processors.assemble import TraceKey
from tracejury.schemas.agent_errors import ErrorSummary
from tracejury.schemas.columns import Row
from tracejury.schemas.judged_rows import ERROR_COLUMNS, ERROR_SELECT, error_from_row, error_row
from tracejury.schemas.trajectory import TraceState
from tracejury.schemas.verdicts import Judgement

from .base import BaseTrace
from .facts import FACT_COLUMNS, fact_row, removed_row
from .fold import Derived, derived
from .loading import Loading

AT_ONCE: Final = 512
"""Traces that are derived together."""

_ERRORS: Final = f"""
SELECT {ERROR_SELECT}, Whole, toUnixTimestamp64Nano(ReceivedAt) FROM errors FINAL
WHERE {TENANT} AND (Whole IN {{trace_ids:Array(String)}} OR TraceId IN {{trace_ids:Array(String)}})
"""


@dataclass(frozen=True, slots=True)
class _StoredError:
    """An error as its row has it. `whole`: the trace that it shows under; `at`: its latest arrival, unix nanos."""

    error: ErrorSummary
    whole: str
    at: int


def derive(store: Store, keys: Iterable[TraceKey], said: Sequence[tuple[Judgement, TraceState]] = ()) -> None:
    """Store what follows from what is stored of these traces, and of those that they are or were joined to.

    `said`: judgements, each with the state of its trace, that the caller stores next, before it lets go of
    `store.derivation`: whoever derives later reads them. Traces that are being deleted are left alone. Deriving the
    same again changes nothing.

    Raises the driver's errors: see `storing`. RetryableError, StoreError: the store failed.
    """
    of_tenant: defaultdict[str, set[str]] = defaultdict(set)
    for tenant, trace_id in keys:
        if trace_id:
            of_tenant[tenant].add(trace_id)
    for tenant, trace_ids in of_tenant.items():
        own = [one for one in said if one[0].subject.tenant == tenant]
        wanted = sorted(trace_ids)
        for first in range(0, len(wanted), AT_ONCE):
            _derive(store, tenant, set(wanted[first : first + AT_ONCE]), own)


def _derive(store: Store, tenant: str, wanted: set[str], said: Sequence[tuple[Judgement, TraceState]]) -> None:
    loading = Loading(store, tenant, said)
    while True:  # what these are joined to has changed with them, and what they were joined to before
        stood = loading.facts(wanted)
        grown = wanted | {key.trace_id for key in stood} | loading.heads(wanted)
        if grown == wanted:
            break
        wanted = grown
    gone = store.deletions.under_way()
    made = [(trace, derived(trace)) for trace in loading.traces(wanted) if (tenant, trace.trace_id) not in gone]
    stamp = store.derivation.stamp(store)
    rows = [fact_row(fact, tenant, stamp) for _, one in made for fact in one.facts]
    stand = {fact.key for _, one in made for fact in one.facts}
    rows += [removed_row(key, tenant, stamp) for key in stood if key not in stand]
    errors = [
        _StoredError(error_from_row(row), *row[-2:])
        for row in Scope(store, tenant).select(_ERRORS, trace_ids=sorted(wanted))
    ]
    insert_rows(store, "errors", ERROR_COLUMNS, _changed(errors, made, stamp))
    insert_rows(store, "run_facts", FACT_COLUMNS, rows)


def _changed(stood: Iterable[_StoredError], made: Iterable[tuple[BaseTrace, Derived]], stamp: int) -> Iterator[Row]:
    """Rows of the errors that are new, have changed, or are gone."""
    before = {(one.error.trace_id, one.error.id): one for one in stood}
    for trace, one in made:
        for error in one.errors:
            now = _StoredError(error, trace.trace_id, trace.at)
            if before.pop((error.trace_id, error.id), None) != now:
                yield error_row(error, now.whole, 0, stamp, now.at)
    for gone in before.values():
        yield error_row(gone.error, gone.whole, 1, stamp, gone.at)
