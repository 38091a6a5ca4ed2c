"""Derives the errors and the facts of traces where something of them is stored. All of it blocks."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
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
from .facts import FACT_COLUMNS, Fact, FactKey, fact_row, removed_row
from .fold import Derived, derived
from .loading import Loading, trace_in_memory

log = logging.getLogger(__name__)

AT_ONCE: Final = 512
"""Traces that are derived together."""

MOST_ROUNDS: Final = 8
"""Derivations of the same traces in a row: of two processes at once each needs three."""

_ERRORS: Final = f"""
SELECT {ERROR_SELECT}, FoldedAt, Whole, toUnixTimestamp64Nano(ReceivedAt) FROM errors FINAL
WHERE {TENANT} AND (Whole IN {{trace_ids:Array(String)}} OR TraceId IN {{trace_ids:Array(String)}})
"""

_FACT_KEY: Final = ("Unit", "Hour", "TraceId", "RunId")


@dataclass(frozen=True, slots=True)
class _StoredError:
    """An error as its row has it. `whole`: the trace that it shows under; `at`: its latest arrival, unix nanos."""

    error: ErrorSummary
    whole: str
    at: int


@dataclass(frozen=True, slots=True)
class _Stood:
    """What stands of a trace before it is derived anew.

    Of a server: `rows`, all of its facts as rows of version 0, and `version`, the highest of what stands.
    """

    errors: Sequence[_StoredError] = ()
    facts: Collection[FactKey] = ()
    rows: Mapping[FactKey, Row] = field(default_factory=dict)
    version: int = 0


@dataclass(frozen=True, slots=True)
class _Step:
    """Traces of one tenant that are derived together, as they are stored, and what stood of them."""

    tenant: str
    traces: Sequence[BaseTrace]
    stood: Sequence[_Stood]


def derive_until_stable(store: SharedStore, keys: Collection[TraceKey]) -> None:
    """On a server: derive these again until a reading finds nothing to change. Nothing to do with an embedded store.

    Other processes may store words on the same traces, and derive them, at the same time. Each process stores its words
    first and reads afterwards what was derived, so whichever reads last has read all words and leaves what follows from
    them, in whatever order the derivations were written. Call it when the words are stored. Raises as `derive`.
    """
    if store.embedded or not keys:
        return
    for _ in range(MOST_ROUNDS):
        if not derive(store, keys):
            return
    log.warning("errors of %d traces are derived by several processes at once, and again with their next", len(keys))


def derive(
    store: SharedStore,
    keys: Iterable[TraceKey],
    said: Sequence[tuple[Judgement, TraceState]] = (),
    in_memory: Mapping[TraceKey, tuple[JudgedTrace, Row]] = MappingProxyType({}),
) -> bool:
    """Store what follows from what is stored of these traces, and of those that they are or were joined to.

    Returns whether anything was written. `said`: judgements, each with the state of its trace, that the caller stores
    next, before it lets go of `store.derivation`: whoever derives later reads them. `in_memory`: traces as the
    detectors have just judged them, with their rows; of an embedded store nothing is read of one that is theirs alone,
    if it is new or was the last time, too. Traces that are being deleted are left alone. Deriving the same again
    changes nothing.

    Raises the driver's errors: see `storing`. RetryableError, StoreError: the store failed.
    """
    known, stood, began = store.derivation.alone, dict[TraceKey, Any](), store.derivation.began(store)
    of_tenant: defaultdict[str, set[str]] = defaultdict(set)
    for key in keys:
        judged = in_memory[key][0] if key in in_memory and store.embedded else None
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
    gone = store.deletions.under_way()
    stamp = store.derivation.stamp(store, max([began, *(one.version + 1 for step in steps for one in step.stood)]))
    for step in steps:
        found = [(trace, derived(trace)) for trace in step.traces if (step.tenant, trace.trace_id) not in gone]
        own = list(_changed((error for one in step.stood for error in one.errors), found, stamp))
        errors += own
        # With an error its facts are written: whoever keeps what follows from both looks at facts alone.
        stands = {} if own else {key: row for one in step.stood for key, row in one.rows.items()}
        facts += _new_facts((fact for _, one in found for fact in one.facts), stands, step.tenant, stamp)
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
    return bool(errors or facts)


def _read(store: SharedStore, tenant: str, wanted: set[str], said: Sequence[tuple[Judgement, TraceState]]) -> _Step:
    loading = Loading(store, tenant, said)
    while True:  # what these are joined to has changed with them, and what they were joined to before
        facts = loading.facts(wanted)
        grown = wanted | {key.trace_id for key in facts} | loading.heads(wanted)
        if grown == wanted:
            break
        wanted = grown
    traces = loading.traces(wanted)
    if not store.embedded:  # whoever derived a part of them by itself may have died before it read again
        wanted |= {part for trace in traces for part in trace.parts}
    stored = Scope(store, tenant).select(_ERRORS, trace_ids=sorted(wanted))
    errors = [_StoredError(error_from_row(row), *row[-2:]) for row in stored]
    if store.embedded:
        return _Step(tenant, traces, [_Stood(errors, facts)])
    rows = loading.fact_rows(wanted)
    version = max([0, *(row[-3] for row in stored), *(row["FoldedAt"] for row in rows)])
    stands = {FactKey(*(row[name] for name in _FACT_KEY)): tuple((row | {"FoldedAt": 0}).values()) for row in rows}
    return _Step(tenant, traces, [_Stood(errors, stands, stands, version)])


def _new_facts(facts: Iterable[Fact], stands: Mapping[FactKey, Row], tenant: str, stamp: int) -> Iterator[Row]:
    """Rows of the facts, but of those that stand already as far as that is known."""
    for fact in facts:
        if not stands or fact_row(fact, tenant, 0) != stands.get(fact.key):
            yield fact_row(fact, tenant, stamp)


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
