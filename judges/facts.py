"""Facts of agent runs that several rules need (docs/detectors.md, "What they look for").

The vocabulary: a call *accesses data* unless it hands over the final answer or only computes; a turn's *failure* is
that of a call or of the step around it; it is *read* by the first later turn whose new messages hold its text.

The facts of a run follow from the run itself, from its `RunSurroundings` (names of agents, and the answers of those
that it started), and, `informed` alone, from what all other runs of the trace said; read_runs.py tells how.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeVar

from tracejury.schemas.normalized import Message, ToolDefinition
from tracejury.schemas.trajectory import AgentRun, ToolCall, Turn, TurnKind

from .commands import runs_code
from .exit_status import Ended
from .failure_text import FailureKind, StepFailure
from .names import Role, named

T = TypeVar("T")

SURVEYS: Final = frozenset({TurnKind.PLAN, TurnKind.FACTS})
"""Turns that only take stock."""


class StartedRun(NamedTuple):
    """What reading a run depends on of one that it started; `place`: among all of these, in the order of the trace."""

    place: int
    id: str
    name: str
    answer: str


@dataclass(frozen=True, slots=True)
class RunSurroundings:
    """All of a trace, besides a run itself, that its reading follows from.

    `above`: name of the agent that started it, "" for none. `started`: the runs that it started, by id.
    """

    above: str = ""
    started: Mapping[str, StartedRun] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CallFacts:
    """One call, its role, its failure if it failed, and the kind of refusal if it was turned down (refusals.py).

    `end`: how the program ended that it ran, as far as its result tells; None of a call that started an agent.
    `tools`: those that its run was given.
    """

    call: ToolCall
    role: Role
    failure: StepFailure | None
    refusal: FailureKind | None = None
    end: Ended | None = None
    tools: tuple[ToolDefinition, ...] = ()

    @property
    def runs_code(self) -> bool:
        """Whether it runs code or a command that the caller wrote."""
        return runs_code(self.call.name, self.call.arguments)

    @property
    def ran(self) -> bool | None:
        """Whether it ran: a span shows it or a result came back; None where nobody knows."""
        return True if self.call.result is not None else self.call.executed


@dataclass(frozen=True, slots=True)
class FailureReading:
    """The first reading of a failure: the turn's position in the run, the message, the offset in it."""

    position: int
    text: str
    offset: int


@dataclass(frozen=True, slots=True)
class TurnFacts:
    """One turn read.

    `text`: what the LLM wrote, else the answer that it handed over; `low`: that, bounded, in lower case.
    `failure`: of a call or the step; `failed_call` the call it was, None for the step. `read`: where it was read.
    `gave_up`: the line by which a sub-agent started here says that it obtained nothing. `attempted`: data access
    was tried; `looked_up`: some of it by a way to read, which a refused change is not; `succeeded`: some of it brought
    something. `answers`: it hands over the run's answer by a tool, or writes such a call out in code. `acting`: the
    agent acts here. `started`: the runs that it started, in the order of the trace. `code`: what it wrote to be run and
    its framework ran.
    """

    turn: Turn
    position: int
    text: str
    low: str
    calls: tuple[CallFacts, ...]
    failure: StepFailure | None
    failed_call: ToolCall | None
    gave_up: str
    attempted: bool
    looked_up: bool
    succeeded: bool
    answers: bool
    acting: bool
    started: tuple[StartedRun, ...]
    code: str = ""
    read: FailureReading | None = None

    @property
    def span_id(self) -> str:
        """The LLM span's id ("" without one)."""
        return self.turn.llm.span_id if self.turn.llm else ""

    @property
    def troubled(self) -> bool:
        """Whether the step, a call or an agent that it started brought a failure, a refusal or nothing."""
        if self.failure is not None or self.gave_up:
            return True
        return any(call.failure is not None or call.refusal is not None for call in self.calls)


@dataclass(frozen=True, slots=True)
class RunFacts:
    """One agent run read.

    `surroundings`: what else it was read by. `informed`: data observed before the run stands in its input, as far as
    the trace's other runs tell. `acts`: the acting turns, in order. `tools`: names of the tools and agents that it
    could use, without the one that hands over the answer. `settled`: it is over and could do more than write, so that
    an absence in it means something. By position: `wants_data`, whether the latest plan before it (else the survey of
    facts, or a plan that opens what was said up to there) asks for data from outside; `plan_at`, where that plan stands
    (-1: nowhere).
    `troubled`: one of its turns is.
    """

    run: AgentRun
    surroundings: RunSurroundings
    turns: tuple[TurnFacts, ...]
    acts: tuple[TurnFacts, ...]
    tools: tuple[str, ...]
    settled: bool
    wants_data: tuple[bool, ...]
    plan_at: tuple[int, ...]
    troubled: bool
    informed: bool = False
    memo: dict[Hashable, Any] = field(default_factory=dict, compare=False, repr=False)
    """What was already found in these facts alone, by who looked for it: many rules ask the same."""

    @property
    def calls(self) -> Iterator[tuple[TurnFacts, CallFacts]]:
        """All calls in order, with their turns."""
        return ((turn, call) for turn in self.turns for call in turn.calls)

    def once(self, find: Callable[[RunFacts], Iterable[T]]) -> tuple[T, ...]:
        """All that a function of a module finds in the run, computed at first use, where several rules look for it."""
        if find not in self.memo:
            self.memo[find] = tuple(find(self))
        found: tuple[T, ...] = self.memo[find]
        return found

    def of_turn(self, find: Callable[[RunFacts, TurnFacts], T], turn: TurnFacts) -> T:
        """As `once`, what a function says of one turn."""
        key = find, turn.position
        if key not in self.memo:
            self.memo[key] = find(self, turn)
        found: T = self.memo[key]
        return found

    def plan_before(self, position: int) -> TurnFacts | None:
        """The latest planning turn before a position."""
        at = self.plan_at[position]
        return self.turns[at] if at >= 0 else None

    def texts_until(self, position: int) -> Sequence[str]:
        """Texts sent to the run up to a position: its goal and the new messages of its calls, not its own words.

        Calls that plan or survey facts are sent the agent's own earlier words as if a user had said them.
        """
        texts, until = self.once(_sent)
        return texts[: until[position]]

    def named_tools(self, low: str) -> list[str]:
        """Tools of the run that a lower-cased text names, in order of first mention."""
        return named(low, self.tools)


def _sent(facts: RunFacts) -> tuple[list[Any], list[Any]]:
    """All texts sent to a run (see `texts_until`), and how many of them there are up to each position."""
    texts, until = [facts.run.goal], list[int]()
    opening = opening_messages(facts.run)
    for turn in facts.run.turns:
        if turn.new_messages is opening:
            texts += [m.text for m in opening]  # words of an earlier run are no words of this one
        elif turn.kind not in SURVEYS:
            texts += [m.text for m in turn.new_messages if m.role not in _OWN]
        until.append(len(texts))
    return texts, until


_OWN: Final = frozenset({"assistant", "tool-call"})


def opening_messages(run: AgentRun) -> tuple[Message, ...]:
    """The messages that the run's first LLM call was sent."""
    return next((t.new_messages for t in run.turns if t.llm is not None), ())


def failed_calls(facts: RunFacts) -> Iterator[tuple[TurnFacts, CallFacts]]:
    """The calls of a run that failed, with their turns (for `RunFacts.once`)."""
    return ((turn, call) for turn, call in facts.calls if call.failure is not None)
