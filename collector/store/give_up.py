"""Giving up the lost rows of a store: what is left is consistent, and judged again at the next start."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from typing import Final

from tracejury.schemas.verdicts import DETECTORS

from .damage import LostSpans, lost_spans
from .repair import drop_detached
from .shared_store import SharedStore
from .trace_deleter import PAGE, TraceDeleter
from .unjudged import forget_sweeps

_JUDGED: Final = f"""
DELETE FROM judgements WHERE SubjectKind = 'trace' AND Judge = '{DETECTORS}'
"""
_RECEIVED: Final = frozenset({"spans", "logs", "media", "judgements"})
"""Losses of these concern the traces that lost spans, or make a trace unjudged by themselves."""


def give_up(store: SharedStore, damaged: Collection[str]) -> tuple[int, int]:
    """Delete set-aside parts, and traces without any span; returns the numbers of both.

    `damaged`: the tables that lost rows. Traces that lost some spans, and where derived tables lost rows all traces,
    count as not judged from then on. Raises RetryableError, StoreError.
    """
    forget_sweeps(store)
    lost = lost_spans(store)
    whole = [one for one in lost if one.stored == 0]
    for tenant in sorted({one.tenant for one in whole}):
        deleter, ids = TraceDeleter(store, tenant), _ids(whole, tenant)
        for at in range(0, len(ids), PAGE):
            deleter.delete(ids[at : at + PAGE], time.time_ns())
    if set(damaged) - _RECEIVED:
        store.command(_JUDGED, mutated="judgements")
    else:
        ids = [one.trace_id for one in lost if one.stored]
        for at in range(0, len(ids), PAGE):
            these = {"ids": ids[at : at + PAGE]}
            store.command(f"{_JUDGED} AND TraceId IN {{ids:Array(String)}}", these, mutated="judgements")
    return drop_detached(store), len(whole)


def _ids(lost: Sequence[LostSpans], tenant: str) -> list[str]:
    return [one.trace_id for one in lost if one.tenant == tenant]
