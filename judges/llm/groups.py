"""Short runs of one trace that are judged together, in one call, each with verdicts of its own. Pure.

A call for each of them would show what they share again and again: the history of a conversation, a chat's messages,
the rules of judging.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from tracejury.schemas.trajectory import AgentRun, Trace, TraceState

from .schedule import is_over
from .subjects import has_llm_step, subjects

LONG: Final = 24_000
"""Characters of its own from which a run is judged by itself: what others of its trace were shown counts once."""
LONG_TURNS: Final = 16
FULL: Final = 48_000
"""Characters of the runs of a group."""
MOST_RUNS: Final = 12
"""Runs of a group: their verdicts stand in one answer."""

Group = tuple[AgentRun, ...]


def groups(trace: Trace, *, as_it_is: bool = False) -> tuple[Group, ...]:
    """The short runs of the trace, in order of start, in groups of as many as fit; each long run is in none.

    While the trace is open, those groups of which it is known that they stay as they are: the last one may grow, and a
    run that goes on may be found too long for the one that it would be in. `as_it_is`: all of them, as if it were
    settled.
    """
    return _groups(trace, list(_sizes(trace)), is_open=trace.state is TraceState.OPEN and not as_it_is)


def ready(trace: Trace, *, grouped: bool) -> list[AgentRun]:
    """The subjects of the trace that can be judged now: those that are over, short ones with their group.

    `grouped`: whether short runs share a call.
    """
    over = [run for run in subjects(trace) if is_over(trace, run)]
    if not grouped or trace.state is not TraceState.OPEN:
        return over
    sizes = list(_sizes(trace))
    judged = {run.id for group in _groups(trace, sizes, is_open=True) for run in group}
    judged.update(run.id for run, own in sizes if _is_alone(run, own))
    return [run for run in over if run.id in judged]


def _groups(trace: Trace, sizes: Iterable[tuple[AgentRun, int]], *, is_open: bool) -> tuple[Group, ...]:
    found: list[Group] = []
    filling: list[AgentRun] = []
    size = 0
    for run, own in sizes:
        if _is_alone(run, own):
            continue
        if is_open and not is_over(trace, run):
            return tuple(found)
        if filling and (size + own > FULL or len(filling) >= MOST_RUNS):
            found.append(tuple(filling))
            filling, size = [], 0
        filling.append(run)
        size += own
    if filling and not is_open:
        found.append(tuple(filling))
    return tuple(found)


def _is_alone(run: AgentRun, own: int) -> bool:
    """Whether a run, with that many characters of its own, is judged by itself."""
    return own > LONG or len(run.turns) > LONG_TURNS or not has_llm_step(run)


def _sizes(trace: Trace) -> Iterator[tuple[AgentRun, int]]:
    """The subjects, each with the characters that no run before it was shown or wrote."""
    said: set[str] = set()
    for run in sorted(subjects(trace), key=lambda run: (_start(run), run.id)):
        size = 0
        for text in _texts(run):
            if text not in said:
                said.add(text)
                size += len(text)
        yield run, size


def _texts(run: AgentRun) -> Iterator[str]:
    yield run.goal
    for turn in run.turns:
        for message in turn.new_messages:
            yield message.text
        yield turn.text
        for call in turn.tool_calls:
            yield call.result or ""


def _start(run: AgentRun) -> int:
    spans = (run.span, *(turn.llm for turn in run.turns[:1]))
    return min((span.raw.start for span in spans if span is not None), default=0)
