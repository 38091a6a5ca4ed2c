"""Windows of turns and plans of live runs, which are judged before the run is over."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from tracejury.judges.llm.case import Stage
from tracejury.judges.llm.members import LlmJudges
from tracejury.judges.llm.schedule import RunProgress, WindowRules, closed_turns, is_over, new_plans, window_due
from tracejury.judges.llm.selection import Policy, decide
from tracejury.judges.llm.subjects import subjects
from tracejury.processors.assemble import TraceKey
from tracejury.processors.trace_rows import span_size
from tracejury.schemas.findings import Finding
from tracejury.schemas.trajectory import AgentRun, Trace
from tracejury.schemas.verdicts import Outcome

from .judge_queue import JudgeQueue, JudgeTask, SubjectKey

MAX_BYTES: Final = 128 * 1024 * 1024
MAX_TRACES: Final = 10_000


@dataclass(slots=True)
class WatchedTrace:
    """An open trace as it was last judged by the detectors, and how far the windows of its runs have come."""

    trace: Trace
    findings: Sequence[Finding]
    size: int
    progress: dict[str, RunProgress] = field(default_factory=dict)


class Windows:
    """Open traces, the least recently changed out first: their runs then have their closing pass only. Any thread."""

    def __init__(self, panel: LlmJudges, policy: Policy, rules: WindowRules, queue: JudgeQueue) -> None:
        self._panel, self._policy, self._rules, self._queue = panel, policy, rules, queue
        self._watched: OrderedDict[TraceKey, WatchedTrace] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._watched)

    def watch(self, trace: Trace, findings: Sequence[Finding], now: int) -> None:
        """The trace is open and has changed."""
        key = (trace.tenant, trace.trace_id)
        with self._lock:
            old = self._watched.pop(key, None)
            size = sum(span_size(span.raw) for span in trace.spans.values())
            watched = WatchedTrace(trace, findings, size, old.progress if old else {})
            self._watched[key] = watched
            self._bytes += size - (old.size if old else 0)
            self._queue_due(key, watched, now)
            while self._bytes > MAX_BYTES or len(self._watched) > MAX_TRACES:
                self._bytes -= self._watched.popitem(last=False)[1].size

    def tick(self, now: int) -> None:
        """Time has passed: windows close by it, too."""
        with self._lock:
            for key, watched in self._watched.items():
                self._queue_due(key, watched, now)

    def begun(self, subject_key: SubjectKey) -> bool:
        """Whether a window or a plan of this run was queued in this process."""
        with self._lock:
            watched = self._watched.get(subject_key[0])
            progress = watched.progress.get(subject_key[2]) if watched else None
            return progress is not None and bool(progress.turns or progress.plans)

    def forget(self, key: TraceKey) -> None:
        """The trace is no longer open."""
        with self._lock:
            watched = self._watched.pop(key, None)
            self._bytes -= watched.size if watched else 0

    def _queue_due(self, key: TraceKey, watched: WatchedTrace, now: int) -> None:
        for run in subjects(watched.trace):
            if run.turns and not is_over(watched.trace, run):
                before = watched.progress.get(run.id, RunProgress())
                after = self._advance(key, watched, run, before, now)
                if after != before:
                    watched.progress[run.id] = after

    def _advance(
        self, key: TraceKey, watched: WatchedTrace, run: AgentRun, before: RunProgress, now: int
    ) -> RunProgress:
        closed = len(closed_turns(run))
        if closed <= before.turns:
            return before
        seen = replace(before, since=before.since or now)
        due = window_due(run, seen, watched.findings, now, self._rules)
        plans = new_plans(run, seen)
        if not due and not plans:
            return seen
        decision = decide(self._policy, watched.trace, run, watched.findings)
        if decision.outcome is not Outcome.PENDING:
            return seen
        stage = Stage.WINDOW if due else Stage.PLAN
        judges = tuple(
            j
            for j in self._panel.asked(run.role, stage, has_plan=bool(run.plans))
            if not decision.judges or j in decision.judges
        )
        task = JudgeTask(
            key=key,
            subject_id=run.id,
            stage=stage,
            judges=judges,
            content=f"{before.turns}-{closed}",
            probability=decision.probability,
            received_through=watched.trace.received_through,
            trace=watched.trace,
            findings=tuple(watched.findings),
            turns=(before.turns, closed),
            plans=plans,
        )
        if (judges or plans) and not self._queue.put(task):
            return seen
        judged_plans = sum(turn.index in set(run.plans) for turn in closed_turns(run))
        return RunProgress(closed if due else before.turns, 0 if due else seen.since, judged_plans)
