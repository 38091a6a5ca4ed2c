"""Trajectories rebuilt from a trace: a tree of agent runs, each an ordered list of turns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from .normalized import Json, Kind, Message, NormalizedSpan, ToolDefinition, ToolRequest


class TurnKind(StrEnum):
    """The purpose of a turn's LLM call."""

    ACT = "act"
    PLAN = "plan"
    FACTS = "facts"
    ANSWER = "answer"  # a closing call that only words the final answer
    INNER = "inner"  # a call that a tool made for its own purposes; the agent never saw it


class TraceState(StrEnum):
    """The completeness of a trace; FAILED is settled, with a manager's run that ended by a failure."""

    OPEN = "open"
    SETTLED = "settled"
    FAILED = "failed"
    INCOMPLETE = "incomplete"

    @classmethod
    def _missing_(cls, value: object) -> TraceState | None:
        return cls.SETTLED if value == OK else None


OK: Final = "ok"
"""SETTLED as people ask for it."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One tool call of a turn: the LLM's request joined with its execution.

    `requested`: an LLM message asked for it (None: content not captured). `executed`: a span or an observation
    shows it ran (None: cannot be known; False with a span: refused for its arguments). `error`: text of the failure,
    None where it did not fail as far as known. `span` is the TOOL span, None where there is none; `sub_run_id` the
    agent run that this call delegated to.
    `closing`: no real tool, but how the run handed over its answer.
    """

    name: str
    arguments: Json
    result: str | None
    requested: bool | None
    executed: bool | None
    error: str | None
    call_id: str = ""
    span: NormalizedSpan | None = None
    sub_run_id: str = ""
    closing: bool = False


@dataclass(frozen=True, slots=True)
class Turn:
    """One LLM call of an agent run and what it caused, in order of time.

    `llm` is None for actions without a recorded LLM call. `new_messages`: the input messages of this call that the
    run's earlier calls had not been sent. `wrappers`: CHAIN and other spans of this run that belong to this turn
    (a step span, its status and output). `sub_run_ids`: agent runs started in this turn, in order.
    `observation`: what the framework recorded as the outcome of the turn outside tool spans (a step's output).
    """

    index: int
    kind: TurnKind
    llm: NormalizedSpan | None
    tool_calls: tuple[ToolCall, ...] = ()
    sub_run_ids: tuple[str, ...] = ()
    new_messages: tuple[Message, ...] = ()
    wrappers: tuple[NormalizedSpan, ...] = ()
    observation: str = ""
    closed: bool = True

    @property
    def text(self) -> str:
        """The LLM's text in this turn ("" without a recorded call)."""
        return self.llm.output if self.llm else ""

    @property
    def tool_requests(self) -> tuple[ToolRequest, ...]:
        """The tool calls that the LLM asked for (() without a recorded call)."""
        return self.llm.tool_requests if self.llm else ()

    @property
    def spans(self) -> list[NormalizedSpan]:
        """Its LLM call, the spans of its tool calls, its wrappers."""
        calls = [call.span for call in self.tool_calls if call.span]
        return [*([self.llm] if self.llm else []), *calls, *self.wrappers]


@dataclass(frozen=True, slots=True)
class AgentRun:
    """One invocation of one agent. `id` is stable under late arrivals: its own or topmost referenced span id.

    `parent_id` the run that caused it ("" for a manager), `parent_turn` the index of the turn there.
    `plans`: indices of the turns that may hold a plan, in order. `status`: "ok", "error" or "unfinished".
    `inferred`: no agent span, chain, delegation or conversation claims its calls; `span` is then what holds them.
    `beside`: these are calls that the program made around or beside the runs of its agents, such as one that words
    their answer: no request of its own, but a step of the trace.
    """

    id: str
    name: str
    role: str  # "manager" | "sub-agent"
    span: NormalizedSpan | None
    parent_id: str
    parent_turn: int | None
    goal: str
    system_prompt: str
    answer: str
    status: str
    turns: tuple[Turn, ...]
    tools: tuple[ToolDefinition, ...] = ()
    plans: tuple[int, ...] = ()
    managed_agents: tuple[str, ...] = ()
    max_steps: int | None = None
    inferred: bool = False
    beside: bool = False

    @property
    def model(self) -> str:
        """The model that answered most of its calls; "" where none names one."""
        named = Counter(turn.llm.model for turn in self.turns if turn.llm and turn.llm.model)
        return named.most_common(1)[0][0] if named else ""


@dataclass(slots=True)
class KnownRun:
    """An agent run as an earlier pass over a growing trace left it: the one memo of rebuilding and judging.

    `made_of`: what the run was rebuilt from, compared by whoever rebuilds; `run` is reused while it is unchanged, and
    `hits`, what the rules found in that very object, with it (None: nobody looked yet).
    """

    made_of: object
    run: AgentRun
    hits: object | None = None


KnownRuns = dict[str, KnownRun]
"""By id of the run; kept by whoever holds an open trace, updated by each pass."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A user's message and all that a manager's run did until its answer (`processors/exchanges.py`).

    `first`, `last`: indices of the run's turns (-1 for none). `asked`: the user's words. `answer`: "" for none (yet).
    """

    run_id: str
    first: int
    last: int
    asked: str
    answer: str

    @property
    def id(self) -> str:
        """Identity within its trace."""
        return f"{self.run_id}:{self.first}-{self.last}"


@dataclass(frozen=True, slots=True)
class Trace:
    """A rebuilt trace: runs in order of start (managers before their sub-agents), spans by id, the remainder.

    `remainder`: normalised spans that belong to no agent run, in order of time (plain spans around the agents,
    LLM calls outside any agent, evaluators). `conventions`: those recognised, most frequent first. A run written into
    several traces is one `Trace` under the id of the first; `joined_to` is that id in what stands for another.
    `exchanges`: of its managers, in order of `runs`.
    """

    trace_id: str
    tenant: str
    service: str
    session_id: str
    state: TraceState
    runs: tuple[AgentRun, ...]
    spans: Mapping[str, NormalizedSpan]
    remainder: tuple[NormalizedSpan, ...]
    conventions: tuple[str, ...] = ()
    start: int = 0
    end: int = 0
    received_through: int = 0
    joined_to: str = ""
    exchanges: tuple[Exchange, ...] = ()

    @property
    def trace_ids(self) -> tuple[str, ...]:
        """The ids of all traces that its spans are of, its own first."""
        return (self.trace_id, *sorted({s.raw.trace_id for s in self.spans.values()} - {self.trace_id}))

    def home(self, span_id: str) -> str:
        """The id of the trace that the span is of; its own where there is no such span."""
        span = self.spans.get(span_id)
        return span.raw.trace_id if span is not None else self.trace_id

    def exchange_at(self, run_id: str, turn: int | None) -> Exchange | None:
        """The exchange of a manager's turn; its first without a turn, None for another run."""
        return _exchange_at([e for e in self.exchanges if e.run_id == run_id], turn)

    def exchange_by_run(self) -> dict[str, Exchange]:
        """The exchange in which each run began, by its id; a run that no manager caused is in none."""
        own: dict[str, list[Exchange]] = {}
        for exchange in self.exchanges:
            own.setdefault(exchange.run_id, []).append(exchange)
        found: dict[str, Exchange] = {}
        for run in self.runs:  # managers before their sub-agents
            at = _exchange_at(own.get(run.parent_id, ()), run.parent_turn) or found.get(run.parent_id)
            at = at if run.parent_id else _exchange_at(own.get(run.id, ()), None)
            if at is not None:
                found[run.id] = at
        return found

    @property
    def agents(self) -> tuple[AgentRun, ...]:
        """The runs that stand for themselves: all but those beside others."""
        return tuple(run for run in self.runs if not run.beside)

    @property
    def outside(self) -> tuple[NormalizedSpan, ...]:
        """The LLM calls that stand beside the agents' runs, or in none, in order of time."""
        beside = {turn.llm.span_id for run in self.runs if run.beside for turn in run.turns if turn.llm is not None}
        if not beside:
            return tuple(span for span in self.remainder if span.kind is Kind.LLM)
        found = [s for s in self.spans.values() if s.span_id in beside]
        found += [span for span in self.remainder if span.kind is Kind.LLM]
        return tuple(sorted(found, key=lambda s: (s.raw.start or s.raw.end, s.raw.end, s.span_id)))

    def run(self, run_id: str) -> AgentRun | None:
        """The run with that id, or None."""
        return next((r for r in self.runs if r.id == run_id), None)


def _exchange_at(own: Sequence[Exchange], turn: int | None) -> Exchange | None:
    """Of a run's exchanges the one of a turn, the first without a turn."""
    return next((e for e in reversed(own) if turn is not None and e.first <= turn), own[0] if own else None)
