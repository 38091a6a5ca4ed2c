"""The cases of a task: what is put to LLM judges in one go. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from tracejury.judges.llm.case import Case, Stage
from tracejury.judges.llm.members import LlmJudges
from tracejury.judges.llm.schedule import closed_turns
from tracejury.judges.llm.second_look import MOST_CHARACTERS
from tracejury.processors.transcript import UNCUT, paper_transcript, plan_views, split, transcribe
from tracejury.schemas.findings import Finding
from tracejury.schemas.trajectory import AgentRun, Trace
from tracejury.schemas.transcript import Chapter

from .judge_queue import JudgeTask

LEAST_PER_TOKEN: Final = 3
"""Characters: fewer than a token has on average."""

LEAST_BUDGET: Final = 2000
"""Tokens that a transcript may always take, whatever a model's limit leaves."""


@dataclass(frozen=True, slots=True)
class JudgeRequest:
    """One case with its transcript cut to the model's context. `turns`: indices of the first and last judged."""

    case: Case
    chapters: tuple[Chapter, ...]
    turns: tuple[int, int]


@dataclass(frozen=True, slots=True)
class PromptBudget:
    """Limits of requests: `budget` tokens for a transcript, counted by `count`.

    `hints`: whether the judges are asked about the detectors' errors once they have answered; `look`: characters that a
    second look may show beside it.
    """

    panel: LlmJudges
    budget: int
    count: Callable[[str], int]
    hints: bool = True
    look: int = MOST_CHARACTERS

    def room(self, description: str) -> int:
        """Tokens that a transcript may take beside the description of its service."""
        return max(self.budget - len(description) // LEAST_PER_TOKEN, LEAST_BUDGET)


def judge_requests(
    task: JudgeTask, trace: Trace, run: AgentRun, how: PromptBudget, provisional: Iterable[Finding], architecture: str
) -> list[JudgeRequest]:
    """The cases of an entry: its plans, then its window or its closing pass."""
    paper = how.panel.transcript == "paper"
    transcript = paper_transcript(trace, run) if paper else transcribe(trace, run)
    views = plan_views(run, transcript)
    case = Case(
        trace=trace,
        run=run,
        transcript=transcript,
        judges=task.judges,
        stage=task.stage,
        plans=views,
        provisional=tuple(f for f in provisional if task.stage is Stage.CLOSING and f.agent_run_id == run.id),
        detected=tuple(f for f in task.findings if f.agent_run_id == run.id),
        architecture=architecture,
        probability=task.probability,
        uncut=None if paper else partial(transcribe, trace, run, UNCUT),
    )
    if task.stage is Stage.CLOSING:
        chapters = split(transcript, how.room(architecture), how.count)
        return [JudgeRequest(case, chapters, (0, len(run.turns) - 1))]
    made = _plans(case, task, how)
    return made + _window(case, task, how) if task.stage is Stage.WINDOW else made


def cut_down(request: JudgeRequest, how: PromptBudget) -> JudgeRequest | None:
    """The same case in smaller chapters, for a model that reads less than it should; None if it reads too little."""
    shown = [chapter.text for chapter in request.chapters]
    budget = max(map(how.count, shown), default=0) // 2
    if budget < LEAST_BUDGET:
        return None
    chapters = split(request.case.transcript, budget, how.count)
    return replace(request, chapters=chapters if request.case.stage is Stage.CLOSING else chapters[-1:])


def _plans(case: Case, task: JudgeTask, how: PromptBudget) -> list[JudgeRequest]:
    """One case a plan: each is a subject of its own while the run goes on."""
    judges = how.panel.asked(case.run.role, Stage.PLAN, has_plan=True)
    views = [view for view in case.plans if view.turn in task.plans] if judges else []
    return [
        JudgeRequest(replace(case, stage=Stage.PLAN, judges=judges, plans=(view,)), (), (view.turn, view.turn))
        for view in views
    ]


def _window(case: Case, task: JudgeTask, how: PromptBudget) -> list[JudgeRequest]:
    turns = closed_turns(case.run)[task.turns[0] : task.turns[1]]
    indices = {turn.index for turn in turns}
    at = [i for i, step in enumerate(case.transcript.steps) if step.turn in indices]
    if not at or not task.judges:
        return []
    so_far = replace(case.transcript, steps=case.transcript.steps[: at[-1] + 1], closing="")
    window = replace(case, transcript=so_far, first=so_far.steps[at[0]].label, plans=())
    # What came before the last chapter is in its index of steps.
    return [
        JudgeRequest(
            window, split(so_far, how.room(case.architecture), how.count)[-1:], (turns[0].index, turns[-1].index)
        )
    ]
