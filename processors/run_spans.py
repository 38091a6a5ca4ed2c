"""The spans of agent runs and their turns, before they become these."""

from __future__ import annotations

from dataclasses import dataclass, field

from tracejury.schemas.normalized import NormalizedSpan

from .span_tree import time_key


@dataclass(slots=True)
class TurnSpans:
    """One turn in the making.

    `calls`: TOOL spans; `agents`: first spans of runs started here, by run id; `wrappers`: all other spans of the turn;
    `steps`: those of them that hold the LLM call; `twins`: TOOL span id to the inner span that recorded the same call
    once more; `started_by`: TOOL span id, or the request's call id, to the run that it started; `inner`: the LLM call
    was made by a tool; `planned`: a span labelled as planning holds the call.
    """

    llm: NormalizedSpan | None
    inner: bool = False
    planned: bool = False
    calls: list[NormalizedSpan] = field(default_factory=list)
    agents: dict[str, NormalizedSpan] = field(default_factory=dict)
    wrappers: list[NormalizedSpan] = field(default_factory=list)
    steps: list[NormalizedSpan] = field(default_factory=list)
    twins: dict[str, NormalizedSpan] = field(default_factory=dict)
    started_by: dict[str, str] = field(default_factory=dict)

    @property
    def start(self) -> tuple[int, int, int, str]:
        """Order in time: by the LLM call, else by the first action; by a coarse clock, of calls what was sent less."""
        start, end, span_id = time_key(self.llm or min((*self.calls, *self.agents.values()), key=time_key))
        return start, end, len(self.llm.input_messages) if self.llm else 0, span_id


@dataclass(frozen=True, slots=True)
class SubRunStart:
    """A run right below another: its first span, and the LLM call that asked for it where only its text says so."""

    id: str
    span: NormalizedSpan
    asked_by: str = ""


@dataclass(frozen=True, slots=True)
class RunSpans:
    """One run in the making. `above`: the run that started it ("" for none), in its turn `parent_turn`.

    `span`: its AGENT span, or the one that holds an inferred run, None where that is unknown; `goal`: the task as that
    span says it, `asked`: as the tool's call around it does; `last_span`: the AGENT span in which the run ended;
    `status`: "ok", "error" or "unfinished"; `inferred`, `beside`: see `AgentRun`.
    """

    id: str
    above: str
    parent_turn: int | None
    name: str
    status: str
    span: NormalizedSpan | None
    last_span: NormalizedSpan | None
    goal: str
    turns: list[TurnSpans]
    asked: str = ""
    inferred: bool = False
    beside: bool = False

    @property
    def awaits(self) -> bool:
        """Whether no span of its own tells that it ended, and its last turn asked for calls that nothing shows yet."""
        last = next((turn for turn in reversed(self.turns) if not turn.inner), None)
        if self.span is not None or last is None or last.llm is None:
            return False
        return len(last.llm.tool_requests) > len(last.calls) + len(last.agents)
