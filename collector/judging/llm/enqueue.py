"""Tasks for pending ledger entries: of traces that were just judged, and of an earlier process."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import groupby
from types import MappingProxyType

from tracejury.judges.llm.case import Stage
from tracejury.schemas.llm_rows import LedgerRow
from tracejury.schemas.verdicts import JudgedTrace, Judgement, Outcome, SubjectKind

from .judge_queue import AGAIN, UNKNOWN_GROUP, JudgeQueue, JudgeTask, SubjectKey


def closing_tasks(
    judged: JudgedTrace,
    kind: SubjectKind,
    begun: Callable[[SubjectKey], bool] = lambda _: False,
    groups: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[JudgeTask]:
    """The closing passes of subjects of a kind that are pending in a trace.

    `begun`: whether a window of a run was judged before. `groups`: the group that a run is judged in, by its id.
    """
    trace = judged.trace
    key = (trace.tenant, trace.trace_id)
    subjects: dict[str, list[Judgement]] = {}
    for row in judged.ledger:
        if row.outcome is Outcome.PENDING and row.subject.kind is kind:
            subjects.setdefault(row.subject.id, []).append(row)
    for subject_id, rows in subjects.items():
        yield JudgeTask(
            key=key,
            kind=kind,
            subject_id=subject_id,
            stage=Stage.CLOSING,
            judges=tuple(row.judge for row in rows),
            content=rows[0].input_hash,
            probability=rows[0].probability,
            received_through=rows[0].received_through,
            noted_at=rows[0].judged_at,
            trace=trace,
            findings=judged.judgement.findings,
            fresh=subject_id not in judged.known_runs and not begun((key, kind, subject_id)),
            bypass_cache=any(row.reason == AGAIN for row in rows),
            group=groups.get(subject_id, ""),
        )


def tasks_left(rows: Iterable[LedgerRow], judges: Collection[str]) -> Iterator[JudgeTask]:
    """The closing passes that the store has as pending, in the order in which they were noted."""
    left = sorted((r for r in rows if r.judge in judges), key=lambda r: (r.judged_at, *_subject(r)))
    for (tenant, trace_id, kind, subject_id), group in groupby(left, key=_subject):
        rows = list(group)
        yield JudgeTask(
            key=(tenant, trace_id),
            kind=kind,
            subject_id=subject_id,
            stage=Stage.CLOSING,
            judges=tuple(row.judge for row in rows),
            content=rows[0].input_hash,
            probability=rows[0].probability,
            received_through=rows[0].received_through,
            noted_at=max(row.judged_at for row in rows),
            bypass_cache=any(row.reason == AGAIN for row in rows),
            group=UNKNOWN_GROUP if kind is SubjectKind.AGENT_RUN else "",
        )


def resume(queue: JudgeQueue, rows: Iterable[LedgerRow], judges: Collection[str]) -> int:
    """Queue the subjects that an earlier process, or a full queue, left pending; returns their number."""
    new = [task for task in tasks_left(rows, judges) if not queue.holds(task.subject_key)]
    queue.put(*new)
    return len(new)


def _subject(row: LedgerRow) -> tuple[str, str, SubjectKind, str]:
    return row.tenant, row.trace_id, row.kind, row.subject_id
