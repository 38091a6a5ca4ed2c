"""Several runs of one trace as text for a judge: in order of time, as one record that shows each text once."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from dataclasses import replace as changed
from typing import Final

from tracejury.schemas.trajectory import AgentRun, Trace, Turn
from tracejury.schemas.transcript import GroupRecord, Transcript

from .closing import closing
from .header import first_call, prompt_and_tools
from .limits import TranscriptLimits
from .lines import name
from .llm_step import titled
from .memory import Memory
from .transcribe import calls_outside, following, start_of
from .unsaid import Unsaid
from .writer import Writer

_HEAD_OF_TASK: Final = 0.4  # a task mostly follows what was pasted


def group_record(trace: Trace, runs: Sequence[AgentRun], limits: TranscriptLimits | None = None) -> GroupRecord:
    """The record of `runs` (of `trace`, in order of start), as far as their turns are closed; labels run through.

    A turn stands where it began, and a run's end where it ended, so that what a sub-agent did stands between its
    caller's decisions. Runs of one agent share a prompt. Cost is linear in the size of the runs.
    """
    memory = Memory(limits or TranscriptLimits())
    recorder = _GroupRecorder(trace, runs, memory)
    for moment in sorted(
        (m for run in runs for m in _moments(trace, run, recorder.labels)), key=lambda m: (m.at, m.late)
    ):
        recorder.add(moment)
    first = runs[0]
    transcript = Transcript(
        trace_id=trace.home(first.span.span_id if first.span else first.id),
        run_id=first.id,
        agent=first.name,
        role=first.role,
        header=recorder.header,
        common=recorder.header,
        steps=tuple(recorder.writer.steps),
        closing="".join(recorder.pending),
    )
    return GroupRecord(transcript, recorder.labels, recorder.owners)


@dataclass(frozen=True, slots=True)
class _Moment:
    """A turn of a run with the run's next, or its end (`turn` None). Turns of one run never change places.

    `below`: a sub-agent that the record shows by its task and answer only; the turn holds nothing else then. `late`:
    order among those of one time: a run ends before the next one begins.
    """

    at: int
    run: AgentRun
    turn: Turn | None = None
    after: Turn | None = None
    below: bool = False
    late: int = 1


def _moments(trace: Trace, run: AgentRun, members: Collection[str]) -> Iterator[_Moment]:
    begun = {other.id: start_of(other, -1) for other in trace.runs}
    latest = start_of(run, -1)
    for index, (turn, after) in enumerate(zip(run.turns, following(run.turns), strict=True)):
        if not turn.closed:
            break
        latest = max(latest, turn.llm.raw.start if turn.llm else start_of(run, index))
        yield _Moment(latest, run, turn, after)
        for one in _below(turn, members):
            latest = max(latest, begun.get(one.sub_run_ids[0], 0))
            yield _Moment(latest, run, one, after, below=True)
    ended = run.span.raw.end if run.span is not None and not run.span.raw.pending else 0
    outside = (span.raw.start for span in calls_outside(trace, run))
    until = max(latest, ended, *outside)
    yield _Moment(until, run, late=2 if until == latest else 0)


def _below(turn: Turn, members: Collection[str]) -> Iterator[Turn]:
    """A turn for each of its sub-agents that has no place of its own in the record."""
    calls = {call.sub_run_id: call for call in turn.tool_calls}
    for run_id in dict.fromkeys((*(i for i in calls if i), *turn.sub_run_ids)):
        if run_id not in members:
            called = (calls[run_id],) if run_id in calls else ()
            yield Turn(turn.index, turn.kind, None, called, (run_id,))


class _GroupRecorder:
    """Writes the turns of several runs into one record."""

    def __init__(self, trace: Trace, runs: Sequence[AgentRun], memory: Memory) -> None:
        self.labels = {run.id: f"R{number}" for number, run in enumerate(runs, 1)}
        self.owners: dict[str, str] = {}
        self.pending: list[str] = []
        self.writer = Writer(trace, memory)
        self._trace, self._memory = trace, memory
        self._agents: dict[str, str] = {}
        self.header = self._header(runs)
        unsaid = Unsaid()
        self._left = {run.id: unsaid.turns(run.turns, run.goal, begins_run=True) for run in runs}
        self._executing: dict[str, bool] = {}
        self._at = ""

    def _header(self, runs: Sequence[AgentRun]) -> str:
        """The prompts and tools of the runs, those that several share once."""
        texts: dict[str, str] = {}
        for run in runs:
            first = first_call(run.turns)
            told = prompt_and_tools(first, self._memory) if first is not None else ""
            label = texts.setdefault(f"{name(run.name)}\n{told}", f"A{len(texts) + 1}")
            self._agents[run.id] = label
        return "".join(f"Agent {label}: {text}" for text, label in texts.items())

    def add(self, moment: _Moment) -> None:
        run, steps = moment.run, self.writer.steps
        if moment.turn is None:
            self._end(run)
            return
        if moment.below:
            self._at = ""
        else:
            self._turn_to(run)
        before = len(steps)
        turn = moment.turn if moment.below else next(self._left[run.id])
        self._memory.executes = self._executing.get(run.id, False)
        self.writer.write(turn, moment.after, agents=moment.below)
        self._executing[run.id] = self._memory.executes
        self._own(run, before)

    def _turn_to(self, run: AgentRun) -> None:
        """Begin a run, or return to it."""
        label = self.labels[run.id]
        if self._at == run.id:
            return
        began = run.id in self._executing
        self._at = run.id
        if began:
            self.pending.append(f"{label} goes on.\n")
            return
        self._executing[run.id] = False
        above = self.labels.get(run.parent_id, "")
        role = f"sub-agent of {above}" if above else run.role
        lines = [f"Run {label} of agent {self._agents[run.id]} ({name(run.name) or 'unnamed'}), {role}."]
        if run.goal.strip():
            place, limit = f"task of {label}", self._memory.limits.task
            lines += titled("its task", self._memory.shown.render(place, run.goal, limit, head=_HEAD_OF_TASK))
            self._memory.given.add(run.goal)
        self.pending += [f"{line}\n" for line in lines]

    def _end(self, run: AgentRun) -> None:
        before = len(self.writer.steps)
        for span in calls_outside(self._trace, run):
            self._turn_to(run)
            self.writer.write_outside(span, run.turns[-1].index)
        self._own(run, before)
        if run.id not in self._executing:
            self._turn_to(run)
        told = closing(self._trace, run, self._memory, label := self.labels[run.id])
        told = told.replace("End of the run", f"End of {label}", 1)
        steps = self.writer.steps
        if self.pending or not steps:
            self.pending.append(told)
        else:
            steps[-1] = changed(steps[-1], text=steps[-1].text + told)

    def _own(self, run: AgentRun, before: int) -> None:
        """Note whose the new steps are; the lines that wait open the first of them."""
        steps = self.writer.steps
        for at in range(before, len(steps)):
            self.owners[steps[at].label] = run.id
            if self.pending:
                steps[at] = changed(steps[at], text="".join((*self.pending, steps[at].text)))
                self.pending.clear()
