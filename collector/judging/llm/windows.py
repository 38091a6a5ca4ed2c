"""Windows of turns and plans of live runs, which are judged before the run is over."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Final

from tracejury.judges.llm.case import Stage
from tracejury.judges.llm.members import LlmJudges
from tracejury.judges.llm.schedule import (
    RunProgress,
    WindowRules,
    closed_turns,
    is_over,
    judged_so_far,
    new_plans,
    window_due,
)
from tracejury.judges.llm.selection import Policy, decide
from tracejury.judges.llm.subjects import subjects
from tracejury.processors.assemble import TraceKey
from tracejury.schemas.findings import Finding
from tracejury.schemas.trajectory import AgentRun, Trace
from tracejury.schemas.verdicts import Outcome

from .judge_queue import JudgeQueue, JudgeTask, SubjectKey
from .traces_to_judge import TracesToJudge

MAX_TRACES: Final = 10_000


class Windows:
    """How far the windows of open traces have come, the least recently changed out first. Any thread.

    Of a run that was judged before, in another process or before its trace went on, they begin with what comes now:
    the closing pass looks at all of it. To find what is due in the store would mean to rebuild every open trace once a
    second. Of several processes each watches the traces that it judges.
    """

    def __init__(
        self, panel: LlmJudges, policy: Policy, rules: WindowRules, queue: JudgeQueue, recent: TracesToJudge
    ) -> None:
        self._panel, self._policy, self._rules, self._queue, self._recent = panel, policy, rules, queue, recent
        self._progress: OrderedDict[TraceKey, dict[str, RunProgress]] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._progress)

    def watch(self, trace: Trace, findings: Sequence[Finding], now: int, known_runs: Collection[str] = ()) -> None:
        """The trace is open and has changed. `known_runs`: runs of which the ledger tells."""
        key = (trace.tenant, trace.trace_id)
        self._recent.keep(trace, findings)
        with self._lock:
            progress = self._progress.setdefault(key, {})
            self._progress.move_to_end(key)
            for run in trace.runs:
                if run.id in known_runs and run.id not in progress:
                    progress[run.id] = judged_so_far(run)
            self._queue_due(key, now)
            while len(self._progress) > MAX_TRACES:
                self._progress.popitem(last=False)

    def tick(self, now: int) -> None:
        """Time has passed: windows close by it, too."""
        with self._lock:
            for key in [*self._progress]:
                self._queue_due(key, now)

    def begun(self, subject_key: SubjectKey) -> bool:
        """Whether a window or a plan of this run was queued in this process."""
        with self._lock:
            progress = self._progress.get(subject_key[0], {}).get(subject_key[2])
            return progress is not None and bool(progress.turns or progress.plans)

    def forget(self, key: TraceKey) -> None:
        """The trace is no longer open."""
        with self._lock:
            self._progress.pop(key, None)

    def _queue_due(self, key: TraceKey, now: int) -> None:
        found = self._recent.get(key)
        if found is None:  # there was no room for it: its runs have their closing pass only
            del self._progress[key]
            return
        trace, findings = found
        for run in subjects(trace):
            if run.turns and not is_over(trace, run):
                before = self._progress[key].get(run.id, RunProgress())
                after = self._advance(trace, findings, run, before, now)
                if after != before:
                    self._progress[key][run.id] = after

    def _advance(
        self, trace: Trace, findings: Sequence[Finding], run: AgentRun, before: RunProgress, now: int
    ) -> RunProgress:
        closed = len(closed_turns(run))
        if closed <= before.turns:
            return before
        seen = replace(before, since=before.since or now)
        due = window_due(run, seen, findings, now, self._rules)
        plans = new_plans(run, seen)
        if not due and not plans:
            return seen
        decision = decide(self._policy, trace, run, findings)
        if decision.outcome is not Outcome.PENDING:
            return seen
        stage = Stage.WINDOW if due else Stage.PLAN
        judges = tuple(
            j
            for j in self._panel.asked(run.role, stage, has_plan=bool(run.plans))
            if not decision.judges or j in decision.judges
        )
        task = JudgeTask(
            key=(trace.tenant, trace.trace_id),
            subject_id=run.id,
            stage=stage,
            judges=judges,
            content=f"{before.turns}-{closed}",
            probability=decision.probability,
            received_through=trace.received_through,
            turns=(before.turns, closed),
            plans=plans,
        )
        if (judges or plans) and not self._queue.add(task):
            return seen
        return RunProgress(closed if due else before.turns, 0 if due else seen.since, judged_so_far(run).plans)
