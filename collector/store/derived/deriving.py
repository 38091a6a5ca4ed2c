"""Derives the errors and the facts of traces where something of them is stored. All of it blocks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from tracejury.collector.store.inserting import insert_rows
from tracejury.collector.store.scope import TENANT, Scope
from tracejury.collector.store.shared_store import SharedStore
from tracejury.processors.assemble import TraceKey
from tracejury.schemas.agent_errors import ErrorSummary
from tracejury.schemas.columns import Row
from tracejury.schemas.judged_rows import ERROR_COLUMNS, ERROR_SELECT, error_from_row, error_row
from tracejury.schemas.trajectory import TraceState
from tracejury.schemas.verdicts import JudgedTrace, Judgement

from .base import BaseTrace
from .facts import FACT_COLUMNS, FactKey, fact_row, removed_row
from .fold import Derived, derived
from .loading import Loading, trace_in_memory

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


@dataclass(frozen=True, slots=True)
class _Stood:
    """What stands of a trace before it is derived anew."""

    errors: Sequence[_StoredError] = ()
    facts: Collection[FactKey] = ()


@dataclass(frozen=True, slots=True)
class _Step:
    """Traces of one tenant that are derived together, as they are stored, and what stood of them."""

    tenant: str
    traces: Sequence[BaseTrace]
    stood: Sequence[_Stood]


def derive(
    store: SharedStore,
    keys: Iterable[TraceKey],
    said: Sequence[tuple[Judgement, TraceState]] = (),
    in_memory: Mapping[TraceKey, tuple[JudgedTrace, Row]] = MappingProxyType({}),
) -> None:
    """Store what follows from what is stored of these traces, and of those that they are or were joined to.

    `said`: judgements, each with the state of its trace, that the caller stores next, before it lets go of
    `store.derivation`: whoever derives later reads them. `in_memory`: traces as the detectors have just judged them,
    with their rows; nothing is read of one that is theirs alone, if it is new or was the last time, too. Traces that
    are being deleted are left alone. Deriving the same again changes nothing.

    Raises the driver's errors: see `storing`. RetryableError, StoreError: the store failed.
    """
    known, stood = store.derivation.alone, dict[TraceKey, Any]()
    of_tenant: defaultdict[str, set[str]] = defaultdict(set)
    for key in keys:
        judged = in_memory[key][0] if key in in_memory else None
        if judged is not None and judged.is_alone and (judged.is_new or key in known):
            stood[key] = known.get(key, _Stood())
        elif key[1]:
            of_tenant[key[0]].add(key[1])
    steps = [
        _Step(tenant, [trace_in_memory(*in_memory[key]) for key in own], [stood[key] for key in own])
        for tenant in {tenant for tenant, _ in stood}
        if (own := [key for key in stood if key[0] == tenant])
    ]
    for tenant, trace_ids in of_tenant.items():
        own_words = [one for one in said if one[0].subject.tenant == tenant]
        wanted = sorted(trace_ids)
        pages = (set(wanted[first : first + AT_ONCE]) for first in range(0, len(wanted), AT_ONCE))
        steps += [_read(store, tenant, page, own_words) for page in pages]
    errors, facts, made = list[Row](), list[Row](), dict[TraceKey, _Stood]()
    gone, stamp = store.deletions.under_way(), store.derivation.stamp(store)
    for step in steps:
        found = [(trace, derived(trace)) for trace in step.traces if (step.tenant, trace.trace_id) not in gone]
        errors += _changed((error for one in step.stood for error in one.errors), found, stamp)
        facts += [fact_row(fact, step.tenant, stamp) for _, one in found for fact in one.facts]
        stand = {fact.key for _, one in found for fact in one.facts}
        left = (key for one in step.stood for key in one.facts if key not in stand)
        facts += [removed_row(key, step.tenant, stamp) for key in left]
        for trace, one in found:
            own_errors = [_StoredError(error, trace.trace_id, trace.at) for error in one.errors]
            made[step.tenant, trace.trace_id] = _Stood(own_errors, [fact.key for fact in one.facts])
    insert_rows(store, "errors", ERROR_COLUMNS, errors)
    insert_rows(store, "run_facts", FACT_COLUMNS, facts)
    for key, now in made.items():
        if key in stood:
            known[key] = now
        else:
            known.pop(key, None)


def _read(store: SharedStore, tenant: str, wanted: set[str], said: Sequence[tuple[Judgement, TraceState]]) -> _Step:
    loading = Loading(store, tenant, said)
    while True:  # what these are joined to has changed with them, and what they were joined to before
        facts = loading.facts(wanted)
        grown = wanted | {key.trace_id for key in facts} | loading.heads(wanted)
        if grown == wanted:
            break
        wanted = grown
    errors = [
        _StoredError(error_from_row(row), *row[-2:])
        for row in Scope(store, tenant).select(_ERRORS, trace_ids=sorted(wanted))
    ]
    return _Step(tenant, loading.traces(wanted), [_Stood(errors, facts)])


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
