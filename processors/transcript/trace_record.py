"""A whole trace as text for a judge: the transcripts of its agent runs, in order of time, as one.

Bounded: what is far from the steps of interest is shown by one line a step, and left out where even that is too long.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import Final

from tracejury.schemas.trajectory import AgentRun, Trace
from tracejury.schemas.transcript import Step, Transcript, cut_notice

from .closing import closing
from .header import header
from .limits import TranscriptLimits
from .lines import inline, name
from .memory import Memory
from .transcribe import calls_outside, write_turns
from .writer import Writer

LIMITS: Final = TranscriptLimits(
    system=6_000, examples=600, preface=300, prompt=1_200, result=1_500, output=4_000, tool=80
)
"""Shorter than a run's own transcript: what happened matters here, not how each agent was instructed."""

_GOAL: Final = 400
_MOST_RUNS: Final = 60
_NEAR: Final = (5, 2, 1, 0)
"""Distances, in steps, from a step of interest within which steps are shown in full, if there is room."""
_LEAST_STEP: Final = 400
"""Characters of a step of interest that are shown whatever the room."""


def trace_record(trace: Trace, limits: TranscriptLimits = LIMITS) -> Transcript:
    """The record of all runs of the trace as far as their turns are closed: steps "R1.S1" …, R1 the first run."""
    memory = Memory(limits)
    placed: list[tuple[int, int, int, Step]] = []
    runs = trace.agents
    heads = [*header(runs[0], memory)] if runs else []
    heads += [_introduced(number, run) for number, run in enumerate(runs[:_MOST_RUNS], 1)]
    closings: list[str] = []
    for number, run in _inner_first(runs):
        writer = Writer(trace, memory, f"R{number}.")
        write_turns(writer, run.turns)
        for span in calls_outside(trace, run):
            writer.write_outside(span, run.turns[-1].index)
        placed += _timed(trace, number, writer.steps)
        if not run.parent_id and (ended := closing(trace, run, memory)):
            closings.append(f"R{number}: {ended}")
    first = runs[0] if runs else None
    return Transcript(
        trace_id=trace.trace_id,
        run_id="",
        agent=first.name if first else "",
        role=first.role if first else "",
        header="".join(heads),
        steps=tuple(step for *_, step in sorted(placed, key=lambda one: one[:3])),
        closing="".join(closings[-3:]),
    )


def _inner_first(runs: Sequence[AgentRun]) -> Iterator[tuple[int, AgentRun]]:
    """Runs with their numbers from 1, each after those that it called: what an agent wrote stands whole in its own run.

    Where it returns to the caller, a reference stands for it.
    """
    children: dict[str, list[tuple[int, AgentRun]]] = {}
    ids = {run.id for run in runs}
    for number, run in enumerate(runs, 1):
        children.setdefault(run.parent_id if run.parent_id in ids else "", []).append((number, run))
    waiting = [(False, one) for one in reversed(children.get("", []))]
    while waiting:
        is_left, one = waiting.pop()
        if is_left:
            yield one
        else:
            waiting.append((True, one))
            waiting += [(False, child) for child in reversed(children.get(one[1].id, []))]


def near(record: Transcript, labels: Collection[str], room: int, count: Callable[[str], int]) -> Transcript:
    """The record within `room` tokens, as `count` tells them: in full what is near to the steps of these labels.

    The first step and the last count among them.
    """
    steps = record.steps
    at = [i for i, s in enumerate(steps) if s.label in labels or i in (0, len(steps) - 1)]
    for distance in (None, *_NEAR):
        shown = {i for a in at for i in range(a - distance, a + distance + 1)} if distance is not None else None
        cut = replace(record, steps=tuple(s if shown is None or i in shown else _line(s) for i, s in enumerate(steps)))
        if _fits(cut, room, count):
            return cut
    most = max(_LEAST_STEP, 2 * room // max(1, len(at)))
    few = {i: _shortened(steps[i], most) for i in at}
    cut = replace(record, steps=tuple(few.get(i, _line(s)) for i, s in enumerate(steps)))
    return cut if _fits(cut, room, count) else replace(record, steps=tuple(_without(steps, few)))


def _introduced(number: int, run: AgentRun) -> str:
    goal = f": {inline(run.goal, _GOAL)}" if run.goal and number > 1 else ""
    return f"R{number} is the run of agent {name(run.name) or 'unnamed'} ({run.role}){goal}\n"


def _timed(trace: Trace, number: int, steps: Sequence[Step]) -> Iterator[tuple[int, int, int, Step]]:
    """Steps with their places in time; those of one run never change places."""
    latest = 0
    for position, step in enumerate(steps):
        span = trace.spans.get(step.span_id)
        latest = max(latest, span.raw.start if span else 0)
        yield latest, number, position, step


def _fits(record: Transcript, room: int, count: Callable[[str], int]) -> bool:
    return count(record.header + "".join(s.text for s in record.steps) + record.closing) <= room


def _line(step: Step) -> Step:
    return replace(step, text=f"{step.outline}\n")


def _shortened(step: Step, most: int) -> Step:
    """A step without the lines beyond its first `most` characters."""
    if len(step.text) <= most:
        return step
    kept = step.text[:most].rpartition("\n")[0] or step.outline
    return replace(step, text=f"{kept}\n{cut_notice(len(step.text) - len(kept))}\n")


def _without(steps: Sequence[Step], kept: dict[int, Step]) -> Iterator[Step]:
    """The kept steps, with a line of ours where others are left out."""
    missing = 0
    for number in range(len(steps)):
        if number not in kept:
            missing += 1
            continue
        notice = f"[… {missing} steps left out …]\n" if missing else ""
        yield replace(kept[number], text=f"{notice}{kept[number].text}")
        missing = 0
