"""Tasks of pending ledger entries: of traces that were just judged, and those that the store has."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from tracejury.judges.llm.case import Stage
from tracejury.schemas.llm_rows import LedgerRow
from tracejury.schemas.verdicts import Judgement, Outcome, SubjectKind

from .judge_queue import UNKNOWN_GROUP, JudgeQueue, JudgeTask, SubjectKey
from .ledger_entries import AGAIN
from .outcome import judgement_of


def pending_tasks(ledger: Iterable[Judgement], *kinds: SubjectKind) -> Iterator[JudgeTask]:
    """The closing passes of the subjects of these kinds that are pending, in their order."""
    subjects: dict[SubjectKey, list[Judgement]] = {}
    for row in ledger:
        if row.outcome is Outcome.PENDING and row.subject.kind in kinds:
            place: SubjectKey = ((row.subject.tenant, row.subject.trace_id), row.subject.kind, row.subject.id)
            subjects.setdefault(place, []).append(row)
    for (key, kind, subject_id), rows in subjects.items():
        yield JudgeTask(
            key=key,
            kind=kind,
            subject_id=subject_id,
            stage=Stage.CLOSING,
            judges=tuple(row.judge for row in rows),
            content=rows[0].input_hash,
            probability=rows[0].probability,
            received_through=rows[0].received_through,
            noted_at=max(row.judged_at for row in rows),
            bypass_cache=any(row.reason == AGAIN for row in rows),
        )


def resume(queue: JudgeQueue, rows: Iterable[LedgerRow], judges: Collection[str], *, shuffled: bool = False) -> int:
    """Queue the subjects that an earlier process, or a full queue, left pending; returns their number.

    `shuffled`: others begin with the same, and each should begin elsewhere, as the first answer is every one's.
    """
    left = sorted(
        (r for r in rows if r.judge in judges), key=lambda r: (r.judged_at, r.tenant, r.trace_id, r.kind, r.subject_id)
    )
    new = [
        replace(task, group=UNKNOWN_GROUP if task.kind is SubjectKind.AGENT_RUN else "")
        for task in pending_tasks(map(judgement_of, left), *SubjectKind)
        if task.subject_key not in queue
    ]
    if shuffled:
        random.shuffle(new)
    queue.add(*new)
    return len(new)
