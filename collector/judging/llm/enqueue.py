"""What is stored as pending, or has closed turns of a live run, is put on the docket. Any thread."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import groupby

from ....judges.llm.case import Stage
from ....processors.assemble import TraceKey
from ....schemas.findings import Finding
from ....schemas.llm_rows import LedgerRow
from ....schemas.trajectory import Trace, TraceState
from ....schemas.verdicts import JudgedTrace, Judgement, Outcome, SubjectKind
from .judge_queue import JudgeQueue, JudgeTask
from .run_selector import AGAIN
from .windows import Windows


class Calendar:
    """Fills a docket from traces that were just judged by the detectors, and from what an earlier process left."""

    def __init__(
        self,
        docket: JudgeQueue,
        windows: Windows | None,
        judges: Collection[str],
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self._docket, self._windows, self._judges, self._clock = docket, windows, judges, clock

    def offer(self, judged: Sequence[JudgedTrace]) -> None:
        """These traces are stored, with their ledgers."""
        for one in judged:
            findings = one.judgement.findings
            for run_id, rows in _pending_runs(one.ledger):
                self._docket.put(self._entry(run_id, rows, one.trace, findings, one.heard))
            if self._windows is None:
                continue
            if one.trace.state is TraceState.OPEN and not one.trace.joined_to:
                self._windows.watch(one.trace, findings, self._clock())
            else:
                self._windows.forget((one.trace.tenant, one.trace.trace_id))

    def withdraw(self, key: TraceKey, but: Collection[str]) -> None:
        """Of this trace only these runs go on: nothing is said any more of others that wait or are being heard."""
        if self._windows is not None and not but:
            self._windows.forget(key)
        self._docket.withdraw(key, but)

    def resume(self, rows: Iterable[LedgerRow]) -> int:
        """Put what an earlier process, or a full docket, left pending; returns the number of runs."""
        ordered = sorted(
            (r for r in rows if r.judge in self._judges),
            key=lambda r: (r.judged_at, r.tenant, r.trace_id, r.subject_id),
        )
        runs = 0
        for (tenant, trace_id, run_id), group in groupby(ordered, key=lambda r: (r.tenant, r.trace_id, r.subject_id)):
            key: TraceKey = (tenant, trace_id)
            left = list(group)
            if not self._docket.holds((key, run_id)):
                self._docket.put(_left(key, run_id, left))
                runs += 1
        return runs

    def _entry(
        self, run_id: str, rows: Sequence[Judgement], trace: Trace, findings: tuple[Finding, ...], heard: frozenset[str]
    ) -> JudgeTask:
        key = (trace.tenant, trace.trace_id)
        begun = self._windows is not None and self._windows.begun((key, run_id))
        return JudgeTask(
            key=key,
            run_id=run_id,
            stage=Stage.CLOSING,
            judges=tuple(row.judge for row in rows),
            content=rows[0].input_hash,
            probability=rows[0].probability,
            received_through=rows[0].received_through,
            noted_at=rows[0].judged_at,
            trace=trace,
            findings=findings,
            fresh=not begun and run_id not in heard,
            anew=any(row.reason == AGAIN for row in rows),
        )


def _pending_runs(ledger: Sequence[Judgement]) -> Iterable[tuple[str, list[Judgement]]]:
    runs: dict[str, list[Judgement]] = {}
    for row in ledger:
        if row.outcome is Outcome.PENDING and row.subject.kind is SubjectKind.AGENT_RUN:
            runs.setdefault(row.subject.id, []).append(row)
    return runs.items()


def _left(key: TraceKey, run_id: str, rows: Sequence[LedgerRow]) -> JudgeTask:
    return JudgeTask(
        key=key,
        run_id=run_id,
        stage=Stage.CLOSING,
        judges=tuple(row.judge for row in rows),
        content=rows[0].input_hash,
        probability=rows[0].probability,
        received_through=rows[0].received_through,
        noted_at=max(row.judged_at for row in rows),
        anew=any(row.reason == AGAIN for row in rows),
    )
