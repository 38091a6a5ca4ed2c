"""Tasks for pending ledger entries: of traces that were just judged, and of an earlier process."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import groupby

from ....judges.llm.case import Stage
from ....schemas.llm_rows import LedgerRow
from ....schemas.verdicts import JudgedTrace, Judgement, Outcome, SubjectKind
from .judge_queue import AGAIN, JudgeQueue, JudgeTask, RunKey


def closing_tasks(judged: JudgedTrace, begun: Callable[[RunKey], bool]) -> Iterator[JudgeTask]:
    """The closing passes that are pending in a trace; `begun`: whether a window of a run was judged before."""
    trace = judged.trace
    key = (trace.tenant, trace.trace_id)
    runs: dict[str, list[Judgement]] = {}
    for row in judged.ledger:
        if row.outcome is Outcome.PENDING and row.subject.kind is SubjectKind.AGENT_RUN:
            runs.setdefault(row.subject.id, []).append(row)
    for run_id, rows in runs.items():
        yield JudgeTask(
            key=key,
            run_id=run_id,
            stage=Stage.CLOSING,
            judges=tuple(row.judge for row in rows),
            content=rows[0].input_hash,
            probability=rows[0].probability,
            received_through=rows[0].received_through,
            noted_at=rows[0].judged_at,
            trace=trace,
            findings=judged.judgement.findings,
            fresh=run_id not in judged.known_runs and not begun((key, run_id)),
            bypass_cache=any(row.reason == AGAIN for row in rows),
        )


def tasks_left(rows: Iterable[LedgerRow], judges: Collection[str]) -> Iterator[JudgeTask]:
    """The closing passes that the store has as pending, in the order in which they were noted."""
    left = sorted(
        (r for r in rows if r.judge in judges), key=lambda r: (r.judged_at, r.tenant, r.trace_id, r.subject_id)
    )
    for (tenant, trace_id, run_id), group in groupby(left, key=lambda r: (r.tenant, r.trace_id, r.subject_id)):
        rows = list(group)
        yield JudgeTask(
            key=(tenant, trace_id),
            run_id=run_id,
            stage=Stage.CLOSING,
            judges=tuple(row.judge for row in rows),
            content=rows[0].input_hash,
            probability=rows[0].probability,
            received_through=rows[0].received_through,
            noted_at=max(row.judged_at for row in rows),
            bypass_cache=any(row.reason == AGAIN for row in rows),
        )


def resume(queue: JudgeQueue, rows: Iterable[LedgerRow], judges: Collection[str]) -> int:
    """Queue the runs that an earlier process, or a full queue, left pending; returns their number."""
    new = [task for task in tasks_left(rows, judges) if not queue.holds(task.run_key)]
    for task in new:
        queue.put(task)
    return len(new)
