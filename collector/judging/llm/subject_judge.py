"""LLM judges by the kind of their subject."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tracejury.collector.judging.pipeline import Judge
from tracejury.schemas.verdicts import JudgedSubject, SubjectKind

from .judge_queue import JudgeTask


class SubjectJudge:
    """Implements `Judge`: hands each task to the judge of its kind of subject. `runs`: of agent runs."""

    def __init__(
        self,
        runs: Judge[JudgeTask, JudgedSubject],
        others: Mapping[SubjectKind, Judge[JudgeTask, JudgedSubject]],
    ) -> None:
        self._runs, self._others = runs, others

    def ask(self, task: JudgeTask) -> Iterable[JudgedSubject]:
        """See `Judge`."""
        return self._others.get(task.kind, self._runs).ask(task)
