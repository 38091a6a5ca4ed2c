"""The JSON of lists of traces and sessions. From the first release on, keys are only ever added."""

from __future__ import annotations

from .base import Number, OptionalText, Time, WireModel
from .errors import ErrorJson, FindingJson, WorstErrorJson
from .traces import ItemJson, VerdictJson


class SessionRowJson(WireModel):
    """Traces of one conversation: of one service that name one session id.

    `turns`: LLM turns of all its agents; `duration_ms` from the first span's start to the last one's end; `tokens` and
    `usd` null where they are not known, and partial sums where `calls_without_usage` LLM calls recorded no tokens;
    `priced_traces`: of how many traces the cost is known; `errors`
    counts those that the profile shows, by severity, as `findings` does under an earlier name; `worst_error` is null
    where there is none. `unjudged_traces`: those that no judge has looked at (yet);
    `status` as of a trace in a list.
    """

    session_id: str
    service: str
    state: str
    traces: int
    turns: int
    agents: list[str]
    start: Time
    end: Time
    duration_ms: float
    first_received: Time
    received: Time
    errors: dict[str, int]
    worst_error: WorstErrorJson | None
    findings: dict[str, int]
    tokens: int | None
    usd: Number | None
    priced_traces: int
    unjudged_traces: int
    calls_without_usage: int = 0
    status: str = ""


class ExchangeJson(WireModel):
    """A user's message (`goal`) and the agents' answer, with its errors (the worst first) and their findings.

    `agents`: the name of each agent run of it, by the run's id. `judged` false: no judge has looked at its trace (yet),
    so that it has no errors proves nothing; of one that waits no messages are known. `first_turn`: the turn of its run
    with which it begins; a run in which the user writes again has several exchanges. `usd`: of the whole trace, at its
    first one; a partial sum where `calls_without_usage` LLM calls recorded no tokens.
    """

    trace_id: str
    agent_run_id: OptionalText
    agent: str
    goal: str
    answer: str
    status: str
    state: str
    start: Time
    end: Time
    turns: int
    usd: Number | None
    calls_without_usage: int
    errors: list[ErrorJson]
    findings: list[FindingJson]
    agents: dict[str, str]
    verdicts: list[VerdictJson]
    judged: bool
    first_turn: int


class ItemProgressJson(WireModel):
    """The last answer to an item; `exchange`: number of the one that settled it, null where none did."""

    answer: ItemJson
    exchange: int | None


class CheckProgressJson(WireModel):
    """How far the items of a check came to settle at their best answer; `kind`: what they are, such as notes.

    `settled`: how many are; `after`: the share at the end of each exchange; `closed`: nothing else follows.
    """

    judge: str
    title: str
    kind: str
    items: list[ItemProgressJson]
    settled: int
    after: list[Number]
    closed: bool


class SessionJson(SessionRowJson):
    """A session as a conversation in order of time; `left`: traces beyond those that are shown.

    `verdicts`: on the session as a whole, its measures; `progress`: of checks whose items settle, in sessions of one
    service.
    """

    services: list[str]
    exchanges: list[ExchangeJson]
    left: int
    verdicts: list[VerdictJson]
    progress: list[CheckProgressJson]


class SessionPage(WireModel):
    """A page of sessions; `next` goes into `cursor`, null on the last page; the others as in a page of traces."""

    items: list[SessionRowJson]
    next: str | None
    searched: str | None
    unknown: dict[str, list[str]]
