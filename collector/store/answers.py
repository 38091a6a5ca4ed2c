"""Answers of models: a cache by what was asked, and the ledger of what they cost. All of it blocks."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Final

from tracejury.judges.llm.client import Reply
from tracejury.schemas.filters import SIMULATED_SESSIONS, SIMULATED_TRACES
from tracejury.schemas.llm_rows import ANSWER_COLUMNS, AnswerRow, Spend, answer_row

from .client import Store
from .inserting import store_rows
from .scope import TENANT, Scope

DAY: Final = 86_400 * 1_000_000_000
HOUR: Final = 3_600 * 1_000_000_000

# An answer that was cut off, or withheld, may come out well the next time.
_ANSWER: Final = f"""
SELECT Text, Model, InputTokens, CachedTokens, OutputTokens, FinishReason FROM answers
WHERE {TENANT} AND Key = {{key:String}} AND At >= {{since:UInt64}} AND FinishReason NOT IN ('length', 'content_filter')
ORDER BY At DESC LIMIT 1
"""

# ReceivedAt is the same instant as At: beside it, it leaves out whole partitions.
_SPEND: Final = """
SELECT
    intDiv(At, {HOUR}) * {HOUR} AS hour, Service, sum(Cost), sum(InputTokens + OutputTokens), count(),
    sumIf(InputTokens + OutputTokens, NOT Priced), Purpose, tenant
FROM answers FINAL
WHERE {of}{narrowed} AND At >= {since:UInt64} AND ReceivedAt >= fromUnixTimestamp64Nano({since:Int64})
GROUP BY tenant, hour, Service, Purpose ORDER BY hour, Service, Purpose
"""
# A call about a whole session has no trace: its subject is named by service and id.
_OF_SIMULATED: Final = f"""TraceId IN ({SIMULATED_TRACES}) OR TraceId = ''
AND (JSONExtractString(RunId, 1), JSONExtractString(RunId, 2)) IN ({SIMULATED_SESSIONS})"""


class StoredAnswers:
    """Answers given to one tenant. `max_age`: nanoseconds for which one is given again; `clock` gives unix nanos."""

    def __init__(
        self, store: Store, tenant: str = "", *, max_age: int = 30 * DAY, clock: Callable[[], int] = time.time_ns
    ) -> None:
        self._store, self._scope = store, Scope(store, tenant)
        self._max_age, self._clock = max_age, clock

    def answer(self, key: str) -> Reply | None:
        """The latest answer under `key` that is not too old, nor cut off or withheld; at no cost, `known`."""
        if not key or not self._max_age:
            return None
        rows = self._scope.select(_ANSWER, key=key, since=max(self._clock() - self._max_age, 0))
        for text, model, read, cached, written, finish in rows:
            return Reply(text, model, read, cached, written, 0.0, finish, known=True)
        return None

    def keep(self, rows: Sequence[AnswerRow]) -> None:
        """Keep answers of any tenants; keeping the same again changes nothing. Raises RetryableError, StoreError."""
        store_rows(self._store, "answers", "answers", ANSWER_COLUMNS, map(answer_row, rows))

    def spend(self, since: int, *, simulated: bool | None = None) -> list[Spend]:
        """The cost of calls from `since` (unix nanos) on, by hour (of UTC), service and purpose.

        `simulated`: of judging simulated sessions, of all others (False), or of both (None).
        """
        narrowed = "" if simulated is None else f" AND ({_OF_SIMULATED}) = {int(simulated)}"
        return [Spend(*row) for row in self._scope.select(_spend(TENANT, narrowed), since=max(since, 0))]


def spend_of_all(store: Store, since: int) -> list[Spend]:
    """The same of all tenants: caps on judging are of the whole collector. Raises RetryableError, StoreError."""
    return [Spend(*row) for row in store.rows(_spend("1"), {"since": max(since, 0)})]


def _spend(of: str, narrowed: str = "") -> str:
    return _SPEND.replace("{of}", of).replace("{narrowed}", narrowed).replace("{HOUR}", str(HOUR))
