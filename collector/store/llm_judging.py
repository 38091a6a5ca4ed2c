"""The store of LLM judging for one tenant. All methods block."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from tracejury.judges.causes import led_by
from tracejury.judges.llm.client import Reply
from tracejury.processors.assemble import TraceKey
from tracejury.schemas.columns import Row
from tracejury.schemas.findings import Finding
from tracejury.schemas.judged_rows import (
    FINDING_COLUMNS,
    JUDGEMENT_COLUMNS,
    VERDICT_COLUMNS,
    finding_row,
    judgement_row,
    verdict_row,
)
from tracejury.schemas.llm_rows import AnswerRow, LedgerRow, Spend
from tracejury.schemas.verdicts import DETECTORS, JudgedSubject, SubjectKind

from . import ledger
from .answers import DAY, StoredAnswers, spend_of_all
from .deleted_elsewhere import delete_made
from .derived.deriving import derive, derive_until_stable
from .detector_opinions import write_opinions
from .findings import findings_by_trace
from .inserting import insert_rows, storing
from .ledger import LedgerKey
from .scope import TENANT, Scope
from .session_deletion import empty_answers
from .shared_store import SharedStore

PendingRow = LedgerRow
"""A pending entry of the ledger."""

_ANSWERED: Final = f"""
SELECT Judge, groupUniqArray(said.1) FROM verdicts FINAL
ARRAY JOIN arrayZip(Items.Item, Items.Answer, Items.Grounded) AS said
WHERE {TENANT} AND TraceId IN {{trace_ids:Array(String)}} AND SubjectKind = '{SubjectKind.EXCHANGE}'
AND (TraceId, SubjectId) IN arrayZip({{trace_ids:Array(String)}}, {{exchange_ids:Array(String)}})
AND UnscoredReason = '' AND said.3 AND (Judge, said.2) IN arrayZip({{checks:Array(String)}}, {{answers:Array(String)}})
GROUP BY Judge
"""


class StoredLlmJudging:
    """Reads and writes of LLM judging for one tenant.

    `answer_age`: nanoseconds for which an answer is given again, 0: never; `clock` gives unix nanos.
    Methods raise RetryableError for what may pass, StoreError for the rest.
    """

    def __init__(
        self,
        store: SharedStore,
        tenant: str = "",
        *,
        answer_age: int = 30 * DAY,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self._store, self._tenant = store, tenant
        self._answer_age, self._clock = answer_age, clock
        self._answers = StoredAnswers(store, tenant, max_age=answer_age, clock=clock)

    def save(self, subjects: Sequence[JudgedSubject]) -> None:
        """Store judged subjects with their errors, the judgements last: until then the subjects count as not judged.

        Storing the same again, or an older judging after a newer one, changes nothing.

        Raises:
            RetryableError: a passing failure; storing it again is safe.
            StoreError: something in it can never be stored.
        """
        with storing("what LLM judges said"), self._store.deletions.writing():
            kept = [s for s in subjects if self.stays(s)]
            said = [(judgement, s.state) for s in kept for judgement in s.judgements]
            insert_rows(self._store, "findings", FINDING_COLUMNS, [row for s in kept for row in _finding_rows(s)])
            insert_rows(
                self._store, "verdicts", VERDICT_COLUMNS, (verdict_row(v, j) for j, _ in said for v in j.verdicts)
            )
            opinions = [opinion for subject in kept for opinion in subject.opinions]
            write_opinions(self._store, opinions, max((j.judged_at for j, _ in said), default=0))
            with self._store.derivation:
                keys = dict.fromkeys(_keys(kept))
                derive(self._store, keys, said)
                insert_rows(self._store, "judgements", JUDGEMENT_COLUMNS, (judgement_row(*one) for one in said))
                derive_until_stable(self._store, keys)
        written = {(j.subject.tenant, j.subject.trace_id): j.received_through for j, _ in said if j.subject.trace_id}
        delete_made(self._store, written)

    def stays(self, subject: JudgedSubject) -> bool:
        """Whether its trace, and those that it shows or quotes, were not deleted meanwhile."""
        shown = dict(subject.shown)
        return all(
            self._store.deletions.stays((j.subject.tenant, trace_id), received)
            for j in subject.judgements
            for trace_id, received in (
                (j.subject.trace_id, j.received_through),
                *((i.trace_id, shown.get(i.trace_id, j.received_through)) for v in j.verdicts for i in v.items),
                *subject.shown,
            )
        )

    def empty_answers(self, kind: SubjectKind, subject_id: str, trace_id: str) -> None:
        """Delete the texts of the answers about a subject, or about all of its trace."""
        where = "TraceId = {trace_id:String}"
        if not trace_id:
            where += " AND Purpose = {purpose:String} AND RunId = {subject_id:String}"
        values = {"tenant": self._tenant, "trace_id": trace_id, "purpose": kind.value, "subject_id": subject_id}
        empty_answers(self._store, where, values)

    def pending(self, limit: int, waited: int = 0) -> list[PendingRow]:
        """Pending entries of all tenants, the oldest first; about `limit`, all judges of a subject together.

        `waited`: see `ledger.pending`.
        """
        return ledger.pending(self._store, limit, waited)

    def outcomes(self, trace_ids: Sequence[str]) -> dict[str, dict[LedgerKey, LedgerRow]]:
        """By trace id: the latest entry of each judge, the detectors too, on each subject; absent: none."""
        return ledger.outcomes(self._store, trace_ids, self._tenant)

    def run_findings(self, trace_ids: Sequence[str]) -> dict[str, list[Finding]]:
        """The findings of LLM judges in each trace, of any state; absent: there are none."""
        return findings_by_trace(Scope(self._store, self._tenant), trace_ids, f"JudgedBy != '{DETECTORS}'")

    def items_answered(
        self, exchanges: Sequence[tuple[str, str]], answers: Mapping[str, str]
    ) -> dict[str, frozenset[str]]:
        """By check the items that any of these exchanges (trace id, id) gave this answer to, with a quote that stands.

        Only these texts are read: a long session asks at each of its exchanges.
        """
        if not exchanges or not answers:
            return {}
        rows = Scope(self._store, self._tenant).select(
            _ANSWERED,
            trace_ids=[trace_id for trace_id, _ in exchanges],
            exchange_ids=[exchange_id for _, exchange_id in exchanges],
            checks=[*answers],
            answers=[*answers.values()],
        )
        return {check: frozenset(items) for check, items in rows}

    @property
    def is_shared(self) -> bool:
        """Whether other processes may ask and answer on the same store."""
        return not self._store.embedded

    def answer(self, key: str, tenant: str) -> Reply | None:
        """The latest answer under `key` to a tenant that is neither too old nor cut off or withheld."""
        return StoredAnswers(self._store, tenant, max_age=self._answer_age, clock=self._clock).answer(key)

    def keep(self, rows: Sequence[AnswerRow]) -> None:
        """Keep answers; keeping the same again changes nothing."""
        self._answers.keep(rows)

    def spend(self, since_nanos: int) -> list[Spend]:
        """Cost of calls since then, by project, hour (of UTC) and service: caps are of the whole collector."""
        return spend_of_all(self._store, since_nanos)


def _keys(subjects: Sequence[JudgedSubject]) -> Iterator[TraceKey]:
    for subject in subjects:
        yield from ((j.subject.tenant, j.subject.trace_id) for j in subject.judgements)
        yield from ((f.tenant, f.trace_id) for f in (*subject.changed, *subject.retracted))
        yield from ((o.tenant, o.trace_id) for o in subject.opinions)


def _finding_rows(subject: JudgedSubject) -> Iterator[Row]:
    said = {judgement.judge: judgement for judgement in subject.judgements}
    for finding in (*subject.changed, *subject.retracted):
        judgement = said.get(finding.judge)
        if judgement is None:  # of a judge that was not asked now, such as one of a run that is part of another now
            judgement = replace(subject.judgements[-1], judge=finding.judge)
        yield finding_row(finding, judgement, led_by(finding))
