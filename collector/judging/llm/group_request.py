"""Closing passes of short runs of one trace, put to LLM judges as one request. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from tracejury.judges.llm.case import Stage
from tracejury.judges.llm.groups import Group, groups
from tracejury.judges.llm.members import LlmJudges
from tracejury.processors.transcript import UNCUT, group_record
from tracejury.schemas.trajectory import Trace
from tracejury.schemas.transcript import GroupRecord, Transcript

from .judge_queue import JudgeTask
from .judge_request import JudgeRequest, PromptBudget


@dataclass(frozen=True, slots=True)
class GroupRequest:
    """Closing passes by themselves, and the record that shows their runs together; `full` makes it uncut."""

    requests: tuple[JudgeRequest, ...]
    record: GroupRecord
    full: Callable[[], Transcript]

    def shown(self, request: JudgeRequest) -> JudgeRequest:
        """One of the passes with what its judges were shown."""
        return replace(request, case=replace(request.case, transcript=self.record.transcript, uncut=self.full))


def group_request(requests: Sequence[JudgeRequest], group: Group, how: PromptBudget) -> GroupRequest | None:
    """The passes of runs of `group` as one request; None where the model could not read the record at once."""
    trace = requests[0].case.trace
    record = group_record(trace, group)
    shown = record.transcript
    if how.count(shown.header + "".join(step.text for step in shown.steps)) > how.room(requests[0].case.architecture):
        return None
    return GroupRequest(tuple(requests), record, partial(_uncut, trace, group))


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


def _uncut(trace: Trace, group: Group) -> Transcript:
    return group_record(trace, group, UNCUT).transcript
