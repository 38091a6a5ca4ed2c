"""LLM judges by the kind of their subject."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ....schemas.verdicts import JudgedSubject, SubjectKind
from ..pipeline import Judge
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
