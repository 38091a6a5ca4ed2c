"""Lists of traces and sessions: by what they are sorted, and what they suggest to filter by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from ..agent_errors import AgentError
from ..findings import Finding
from ..taxonomy import Severity
from ..trajectory import TraceState
from ..verdicts import Verdict


class Sort(StrEnum):
    """The order of a list; unknown values come last."""

    RECEIVED = "received"
    START = "start"
    DURATION = "duration"
    COST = "cost"
    TOKENS = "tokens"
    SEVERITY = "severity"  # by the number of findings of the worst severity, then of the next
    FINDINGS = "findings"


@dataclass(frozen=True, slots=True)
class SessionRow:
    """Traces of one conversation: those of one service that name one session id.

    `findings` by severity; `turns`: LLM turns of all agents; `start` to `end` of the spans, `received`: the last
    arrival, all in unix nanos; tokens and `usd` are None where they are not known. `priced_traces`: those with a known
    cost; `unjudged_traces`: those of which only spans are known so far. `place`, `key`: in the order.
    """

    session_id: str
    service: str
    state: TraceState
    traces: int
    turns: int
    agents: Sequence[str]
    start: int
    end: int
    first_received: int
    received: int
    findings: Mapping[Severity, int]
    tokens: int | None = None
    usd: float | None = None
    priced_traces: int = 0
    unjudged_traces: int = 0
    place: int = 0
    key: str = ""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A user's message and the agents' answer: one run without a parent, with what hangs on its trace.

    `findings`, `errors` by severity and `verdicts`: of the run and the runs below it; of the whole trace at its
    first exchange. `agents`: the name of each of these runs by its id. `judged`: whether the trace was; else its runs
    and messages are not known.
    """

    trace_id: str
    run_id: str
    agent: str
    goal: str
    answer: str
    status: str
    state: TraceState
    start: int
    end: int
    turns: int
    usd: float | None
    findings: Sequence[Finding] = ()
    errors: Sequence[tuple[AgentError, Severity]] = ()
    verdicts: Sequence[Verdict] = ()
    agents: Mapping[str, str] = field(default_factory=dict)
    judged: bool = True


@dataclass(frozen=True, slots=True)
class SessionView:
    """A session with its conversation in order of time. `left`: traces that came later and are not shown."""

    session: SessionRow
    services: Sequence[str]
    exchanges: Sequence[Exchange]
    left: int = 0


@dataclass(frozen=True, slots=True)
class Facets:
    """Names that traces of some time can be filtered by, each with how many traces, most first."""

    services: Sequence[tuple[str, int]] = ()
    agents: Sequence[tuple[str, int]] = ()
    tools: Sequence[tuple[str, int]] = ()
    models: Sequence[tuple[str, int]] = ()
    versions: Sequence[tuple[str, int]] = ()
    categories: Sequence[tuple[str, int]] = ()
    judges: Sequence[tuple[str, int]] = ()
