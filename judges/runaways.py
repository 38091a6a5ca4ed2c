"""Runs that use far more than runs of their agent usually do (docs/detectors.md, "Runs far beyond the usual").

What is usual is what nine in ten earlier runs of an agent do not exceed; it is given, since one trace does not tell.
A run is beyond it with the turn in which the first of its figures passes `factor` times that, and stays so: figures
only grow. Turns are those of each run. Tokens, time and money are those of a manager's run with all that it started.
Where a run holds a conversation, each message of the user begins anew.

Time is what models and tools took, not the time in which the run waited for a person.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Final, NamedTuple

from tracejury.schemas.normalized import NormalizedSpan
from tracejury.schemas.trajectory import AgentRun, Trace, Turn


@dataclass(frozen=True, slots=True)
class RunUsage:
    """What a run used, or may use; `seconds` of models and tools at work, `usd` as far as prices are known."""

    turns: float = 0
    tokens: float = 0
    seconds: float = 0
    usd: float = 0.0

    def plus(self, other: RunUsage) -> RunUsage:
        """The sum."""
        return RunUsage(*(getattr(self, name) + getattr(other, name) for name in MEASURES))

    def beyond(self, bounds: RunUsage) -> tuple[str, ...]:
        """The measures in which it exceeds `bounds`."""
        return tuple(name for name in MEASURES if getattr(self, name) > getattr(bounds, name))


MEASURES: Final = tuple(f.name for f in fields(RunUsage))

LEAST: Final = RunUsage(turns=30, tokens=1_000_000, seconds=600, usd=1.0)
"""No run that has used less than this is a runaway, however little others use."""
FIXED: Final = RunUsage(turns=300, tokens=30_000_000, seconds=7200, usd=20.0)
"""What a run may use while too few of its agent are known; chosen by hand, for agents that do long work."""
FACTOR: Final = 5
"""Times the usual that a run may use: of a geometric distribution one run in 100,000 uses more, of a log-normal one of
shape 1, as long-tailed as any that we know of agents, one in 500."""
SEVERE: Final = 2
"""Times its bound that a run uses where the error is HIGH."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What runs of an agent may use; `runs`: of how many earlier ones each measure was read, 0: it is fixed."""

    most: RunUsage
    runs: RunUsage = field(default_factory=RunUsage)


FIXED_BOUNDS: Final = Bounds(FIXED)


def _no_price(_: NormalizedSpan) -> float | None:
    return None


@dataclass(frozen=True, slots=True)
class UsualRuns:
    """What is usual on a trace's service: `of`: by name of an agent, else `fixed`; `price`: US dollars of a call."""

    of: Mapping[str, Bounds] = field(default_factory=dict)
    fixed: Bounds = FIXED_BOUNDS
    price: Callable[[NormalizedSpan], float | None] = _no_price

    def bounds(self, run: AgentRun) -> Bounds:
        """What a run may use."""
        return self.of.get(run.name, self.fixed)


UNKNOWN: Final = UsualRuns()
"""Of no agent anything is known."""


class Runaway(NamedTuple):
    """A run beyond its bounds: `run` in `turn`, with what it `used` in all, by the measures that are `beyond`."""

    run: AgentRun
    turn: Turn
    used: RunUsage
    bounds: Bounds
    beyond: tuple[str, ...]

    @property
    def severe(self) -> bool:
        """Whether it uses more than `SEVERE` times its bound."""
        return any(getattr(self.used, name) > SEVERE * getattr(self.bounds.most, name) for name in self.beyond)


def may_be_beyond(trace: Trace) -> bool:
    """Whether it is worth asking what is usual: something in the trace exceeds `LEAST`; money apart, which is small."""
    turns = [turn for run in trace.runs for turn in run.turns]
    tokens = sum((t.llm.input_tokens or 0) + (t.llm.output_tokens or 0) for t in turns if t.llm is not None)
    return len(turns) > LEAST.turns or tokens > LEAST.tokens or trace.end - trace.start > LEAST.seconds * _SECOND


_SECOND: Final = 1_000_000_000


def runaways(trace: Trace, usual: UsualRuns) -> Iterator[Runaway]:
    """Of each manager's tree of runs the first that is beyond its bounds, with what it has used by the end."""
    if not may_be_beyond(trace):
        return
    top: dict[str, AgentRun] = {}
    for run in trace.runs:  # parents first
        top[run.id] = top.get(run.parent_id, run)
    begins = {(exchange.run_id, exchange.first) for exchange in trace.exchanges}
    turns: dict[str, int] = {}
    whole: dict[str, RunUsage] = {}
    first: dict[str, tuple[AgentRun, AgentRun, Turn]] = {}  # by tree: which run is beyond, in which run's turn
    steps = [(_start(turn), number, turn.index) for number, run in enumerate(trace.runs) for turn in run.turns]
    for _, number, index in sorted(steps):
        run, turn = trace.runs[number], trace.runs[number].turns[index]
        tree = top[run.id]
        if (run.id, index) in begins:
            if tree.id in first:
                break  # what follows was asked for by another message
            turns[run.id] = 0
            whole.pop(tree.id, None)
        turns[run.id] = turns.get(run.id, 0) + 1
        whole[tree.id] = whole.get(tree.id, RunUsage()).plus(_used(turn, usual.price))
        if tree.id not in first:
            if turns[run.id] > usual.bounds(run).most.turns:
                first[tree.id] = run, run, turn
            elif whole[tree.id].beyond(usual.bounds(tree).most):
                first[tree.id] = tree, run, turn
    for tree_id, (culprit, run, turn) in first.items():
        sums = whole[tree_id] if culprit.id == tree_id else RunUsage()
        used = replace(sums, turns=turns[culprit.id])
        bounds = usual.bounds(culprit)
        yield Runaway(run, turn, used, bounds, used.beyond(bounds.most))


def _start(turn: Turn) -> int:
    spans = (turn.llm, *(call.span for call in turn.tool_calls))
    return min((span.raw.start for span in spans if span is not None), default=0)


def _used(turn: Turn, price: Callable[[NormalizedSpan], float | None]) -> RunUsage:
    llm = turn.llm
    tools = (c.span for c in turn.tool_calls if c.span is not None and not c.sub_run_id)
    took = max((max(s.raw.end - s.raw.start, 0) for s in tools), default=0)
    if llm is None:
        return RunUsage(0, 0, took / _SECOND)
    took += max(llm.raw.end - llm.raw.start, 0)
    return RunUsage(
        0, max(llm.input_tokens or 0, 0) + max(llm.output_tokens or 0, 0), took / _SECOND, price(llm) or 0.0
    )
