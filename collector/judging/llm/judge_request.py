"""What is put to LLM judges in one go: the cases of a task, and closing passes of short runs together. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from tracejury.judges.llm.case import Case, ServiceDescription, Stage
from tracejury.judges.llm.groups import Group, groups
from tracejury.judges.llm.members import LlmJudges
from tracejury.judges.llm.picture import Picture, chosen
from tracejury.judges.llm.schedule import closed_turns
from tracejury.processors.transcript import (
    UNCUT,
    group_record,
    paper_plan_views,
    paper_transcript,
    plan_views,
    split,
    transcribe,
)
from tracejury.schemas.findings import Finding
from tracejury.schemas.trajectory import AgentRun, Trace
from tracejury.schemas.transcript import Chapter, GroupRecord, PlanView, Transcript

from .judge_queue import JudgeTask
from .prompt_budget import PromptBudget
from .run_pictures import pictures_of


@dataclass(frozen=True, slots=True)
class JudgeRequest:
    """One case with its transcript cut to the model's context. `turns`: indices of the first and last judged."""

    case: Case
    turns: tuple[int, int]
    chapters: tuple[Chapter, ...] = ()

    def fitted(self, room: int, count: Callable[[str], int]) -> JudgeRequest:
        """The same in prompts that show at most `room` tokens of the record."""
        case = replace(self.case, plans=tuple(_fitted(view, room, count) for view in self.case.plans))
        if case.stage is Stage.PLAN:
            return replace(self, case=case)
        chapters = split(case.transcript, room, count)
        # What came before a window's last chapter is in its index of steps.
        return replace(self, case=case, chapters=chapters if case.stage is Stage.CLOSING else chapters[-1:])

    def with_pictures(self, most_tokens: int) -> JudgeRequest:
        """The same with the pictures of what is judged."""
        return replace(self, case=replace(self.case, pictures=pictures_of(self.case, most_tokens)))

    def without_pictures(self) -> JudgeRequest:
        """The same in words alone."""
        return replace(self, case=replace(self.case, pictures=()))

    def longest(self, count: Callable[[str], int]) -> int:
        """Tokens of the record that its longest prompt shows."""
        plans = (view.transcript.header + "".join(s.text for s in view.transcript.steps) for view in self.case.plans)
        return max((count(text) for text in (*plans, *(chapter.text for chapter in self.chapters))), default=0)


def _fitted(view: PlanView, room: int, count: Callable[[str], int]) -> PlanView:
    last = split(view.transcript, room, count)[-1]
    return replace(view, transcript=replace(view.transcript, header=last.header + last.before, steps=last.steps))


def judge_requests(
    task: JudgeTask,
    trace: Trace,
    run: AgentRun,
    how: PromptBudget,
    detected: Iterable[Finding],
    provisional: Iterable[Finding],
    description: ServiceDescription,
) -> list[JudgeRequest]:
    """The cases of an entry: its plans, then its window or its closing pass. `detected`: the detectors' findings."""
    paper = how.panel.transcript == "paper"
    transcript = paper_transcript(trace, run) if paper else transcribe(trace, run)
    views = (paper_plan_views if paper else plan_views)(run, transcript)
    case = Case(
        trace=trace,
        run=run,
        transcript=transcript,
        judges=task.judges,
        stage=task.stage,
        plans=views,
        provisional=tuple(f for f in provisional if task.stage is Stage.CLOSING and f.agent_run_id == run.id),
        detected=tuple(f for f in detected if f.agent_run_id == run.id),
        description=description,
        probability=task.probability,
        uncut=None if paper else partial(transcribe, trace, run, UNCUT),
    )
    if task.stage is Stage.CLOSING:
        made = [JudgeRequest(case, (0, len(run.turns) - 1))]
    else:
        made = [*_plans(case, task, how.panel), *(_window(case, task) if task.stage is Stage.WINDOW else ())]
    pictured = [request.with_pictures(how.pictures) for request in made] if how.pictures else made
    return [each.fitted(how.room(description.text, each.case.pictures), how.count) for each in pictured]


def _plans(case: Case, task: JudgeTask, panel: LlmJudges) -> list[JudgeRequest]:
    """One case a plan: each is a subject of its own while the run goes on."""
    judges = panel.asked(case.run.role, Stage.PLAN, has_plan=True)
    views = [view for view in case.plans if view.turn in task.plans] if judges else []
    return [
        JudgeRequest(replace(case, stage=Stage.PLAN, judges=judges, plans=(view,)), (view.turn, view.turn))
        for view in views
    ]


def _window(case: Case, task: JudgeTask) -> list[JudgeRequest]:
    turns = closed_turns(case.run)[task.turns[0] : task.turns[1]]
    indices = {turn.index for turn in turns}
    at = [i for i, step in enumerate(case.transcript.steps) if step.turn in indices]
    if not at or not task.judges:
        return []
    so_far = replace(case.transcript, steps=case.transcript.steps[: at[-1] + 1], closing="")
    window = replace(case, transcript=so_far, first=so_far.steps[at[0]].label, plans=())
    return [JudgeRequest(window, (turns[0].index, turns[-1].index))]


@dataclass(frozen=True, slots=True)
class GroupRequest:
    """Closing passes by themselves, and the record that shows their runs together, with its pictures.

    `full` makes the record uncut.
    """

    requests: tuple[JudgeRequest, ...]
    record: GroupRecord
    full: Callable[[], Transcript]
    pictures: tuple[Picture, ...] = ()

    def shown(self, request: JudgeRequest) -> JudgeRequest:
        """One of the passes with what its judges were shown."""
        shown = replace(request.case, transcript=self.record.transcript, uncut=self.full, pictures=self.pictures)
        return replace(request, case=shown)


def group_request(requests: Sequence[JudgeRequest], group: Group, how: PromptBudget) -> GroupRequest | None:
    """The passes of runs of `group` as one request; None where the model could not read the record at once."""
    first = requests[0].case
    record = group_record(first.trace, group)
    shown = record.transcript
    text = shown.header + "".join(step.text for step in shown.steps)
    pictures = chosen((picture for request in requests for picture in request.case.pictures), text)
    if how.count(text) > how.room(first.description.text, pictures):
        return None
    return GroupRequest(tuple(requests), record, lambda: group_record(first.trace, group, UNCUT).transcript, pictures)


def by_group(trace: Trace, tasks: Iterable[JudgeTask], panel: LlmJudges) -> list[tuple[list[JudgeTask], Group]]:
    """The tasks of the runs of a trace, those of one group together, each with all runs of the group."""
    together = groups(trace, as_it_is=True) if panel.grouped else ()
    group_of = {run.id: group for group in together for run in group}
    alone = {run.id: (run,) for run in trace.runs}
    found: dict[str, tuple[list[JudgeTask], Group]] = {}
    for task in tasks:
        own = alone[task.subject_id]
        group = group_of.get(task.subject_id, own) if task.stage is Stage.CLOSING else own
        found.setdefault(group[0].id, ([], group))[0].append(task)
    return list(found.values())
