"""Loads how the users of traces behaved, where the labels of their exchanges are stored. All of it blocks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from tracejury.collector.store.scope import TENANT, Scope
from tracejury.judges.packs.rut.measures import LABELLER, behaviours
from tracejury.schemas.judged_rows import VERDICT_SELECT, verdict_from_row

from .base import BaseTrace

_LABELS: Final = (
    f"SELECT {VERDICT_SELECT} FROM verdicts FINAL WHERE {TENANT} AND TraceId IN {{trace_ids:Array(String)}} "
    f"AND SubjectKind = 'exchange' AND Judge = '{LABELLER}' AND isNotNull(Value)"
)
_BEGAN: Final = f"""
SELECT TraceId, Runs, format('{{}}:{{}}-{{}}', Run, toString(First), toString(Last)) FROM
(
    SELECT TraceId, Exchanges.Run, Exchanges.First, Exchanges.Last, Exchanges.Runs FROM traces FINAL
    WHERE {TENANT} AND TraceId IN {{trace_ids:Array(String)}}
)
ARRAY JOIN Exchanges.Run AS Run, Exchanges.First AS First, Exchanges.Last AS Last, Exchanges.Runs AS Runs
"""


def labelled(scope: Scope, traces: Sequence[BaseTrace]) -> list[BaseTrace]:
    """The traces with `behaviours` and `began`; the store is asked only where users were labelled.

    Raises:
        RetryableError, StoreError: the store failed.
    """
    ids = sorted(trace.trace_id for trace in traces if any(judge == LABELLER for _, judge in trace.scored))
    if not ids:
        return list(traces)
    said: defaultdict[str, dict[str, Sequence[str]]] = defaultdict(dict)
    for row in scope.select(_LABELS, trace_ids=ids):
        verdict = verdict_from_row(row)
        said[verdict.subject.trace_id][verdict.subject.id] = behaviours(verdict.items)
    began: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for trace_id, runs, exchange_id in scope.select(_BEGAN, trace_ids=ids):
        began[trace_id] |= dict.fromkeys(runs, exchange_id)
    return [replace(one, behaviours=said[one.trace_id], began=began[one.trace_id]) for one in traces]
