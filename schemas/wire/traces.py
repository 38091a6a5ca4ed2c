"""The JSON of the API and of `--format json`, as types. From the first release on, keys are only ever added.

Ids that there are not (a manager's parent, the tool span of a finding that has none) are null, never "".
Times are ISO 8601 in UTC with microseconds ("2026-11-20T10:09:46.123456Z").
"""

from __future__ import annotations

from .base import Number, OptionalText, Time, WireModel
from .errors import ErrorJson, FindingJson, WorstErrorJson

Json = dict[str, object] | list[object] | str | float | int | bool | None


class ToolCallJson(WireModel):
    """One tool call of a turn; `arguments` that are neither object nor text are given as JSON text."""

    name: str
    arguments: dict[str, object] | str | None
    result: str | None
    requested: bool | None
    executed: bool | None
    error: str | None
    span_id: str | None
    call_id: OptionalText
    sub_run_id: OptionalText


class TurnJson(WireModel):
    """One LLM call of an agent run and the tool calls that it caused; `kind`: act, plan, facts, answer or inner."""

    index: int
    kind: str
    llm_span_id: str | None
    text: str
    tool_calls: list[ToolCallJson]
    sub_run_ids: list[str]


class AgentRunJson(WireModel):
    """One invocation of one agent; `span_id` is null while its own span has not arrived.

    `not_judged`: why no judge can say anything of it, as of a trace in a list; null where one can. `inferred`: no
    agent, chain or conversation claims its calls; `beside`: these stand around or beside the runs of agents.
    """

    id: str
    name: str
    role: str
    span_id: str | None
    parent_id: OptionalText
    parent_turn: int | None
    goal: str
    answer: str
    status: str
    turns: list[TurnJson]
    not_judged: str | None = None
    inferred: bool = False
    beside: bool = False


class SubjectJson(WireModel):
    """The subject of a verdict: `kind` is turn-window, agent-run, exchange, trace or session.

    A session of several traces has an empty `trace_id`; its `id` is a JSON list of its service and session id.
    """

    kind: str
    id: str
    trace_id: str


class ItemJson(WireModel):
    """The answer of a check to one item; below the `best` answer, the quote and the span that has it.

    `grounded`: false where no quote could be verified; the item then counts in no value. Of an item that was asked
    about several times, `runs`: how many of the replies were of use, `yes`: how many of these gave the best answer.
    """

    item: str
    answer: str
    best: bool
    reason: str
    label: OptionalText
    trace_id: OptionalText
    span_id: OptionalText
    quote: OptionalText
    grounded: bool
    yes: int
    runs: int


class VerdictJson(WireModel):
    """One judge's score (0 to 3, 3 best) of one subject; null when not applicable or unscored (with the reason).

    `quote_dropped`: the judge quoted something, and none of its quotes stands in the trace, so it has no finding.
    A check has no score but a `value` from 0 to 1, `numerator` / `denominator` over its grounded `items`; `raw` counts
    ungrounded ones as failed.
    """

    judge: str
    version: str
    model: OptionalText
    subject: SubjectJson
    score: int | None
    not_applicable: bool
    unscored_reason: OptionalText
    reasons: str
    sampling_probability: Number
    quote_dropped: bool
    value: Number | None
    raw: Number | None
    numerator: Number
    denominator: Number
    items: list[ItemJson]


class TokensJson(WireModel):
    """Tokens sent to and written by the models, over all LLM calls; null where no call recorded any.

    `calls_without_usage`: LLM calls that worked and recorded none, so that the sums are partial.
    """

    input: int | None
    output: int | None
    llm_calls: int
    calls_without_usage: int = 0


class TraceJson(WireModel):
    """A rebuilt trace with what was found in it; `remainder`: ids of the spans in no agent run.

    An error names all its findings; `findings` are those that are sure enough by themselves. `not_judged`: why no judge
    has looked at it, as of a trace in a list; null where one has. `status`: as of a trace in a list.
    """

    trace_id: str
    trace_ids: list[str]
    session_id: OptionalText
    service: str
    state: str
    spans: int
    start: Time
    end: Time
    conventions: list[str]
    tokens: TokensJson
    agent_runs: list[AgentRunJson]
    remainder: list[str]
    errors: list[ErrorJson]
    findings: list[FindingJson]
    verdicts: list[VerdictJson]
    not_judged: str | None = None
    status: str = ""


class TracePartJson(WireModel):
    """The place of a part in its trace: `first` of `agent_runs`; `next` goes into `cursor`, null in the last part.

    `stored_spans` beyond the trace's `spans` were not looked at yet, or never will be (docs/trace-pages.md). `rebuilt`
    false: the trace was not judged yet, so its agent runs are not known, and its first spans are in the `remainder`.
    `judged`: detectors have judged the trace in the state that it has, and what they found is listed.
    """

    rebuilt: bool
    judged: bool
    first: int
    agent_runs: int
    next: str | None
    stored_spans: int


class PartedTraceJson(TraceJson):
    """Some consecutive agent runs of a large trace, with what was found in them; the last part has all that is in none.

    A run that fits no part stands in several, each with some of its turns. All else is of the whole trace.
    """

    part: TracePartJson


class SpanTurnsJson(WireModel):
    """The agent run of a span, with the span's turn and those next to it; none where the span is in no run."""

    agent_runs: list[AgentRunJson]


class TraceRowJson(WireModel):
    """A trace in a list; `errors` counts those that the profile shows, by severity ("HIGH": 2).

    `worst_error` is null where there is none; `findings` is an earlier name of `errors`.
    `goal`: the beginning of what its first manager was asked; `turns`: LLM turns; tokens and `usd` null where unknown,
    and partial sums where `calls_without_usage` LLM calls recorded no tokens.
    `judged` false: no judge has looked at it, so that it has no errors proves nothing; `not_judged` is why, else null:
    waiting, no-calls (of a model or tool), no-content, unknown-convention, no-run, failed (judging did), our-calls. Of
    one that is waiting what only judging finds is empty; of calls without content statuses and times alone were judged.
    `status`: how it stands: running, failed, not-judged, incomplete or ok; of a session also partly-judged.
    """

    trace_id: str
    session_id: OptionalText
    service: str
    state: str
    spans: int
    agents: list[str]
    start: Time
    end: Time
    received: Time
    errors: dict[str, int]
    worst_error: WorstErrorJson | None
    findings: dict[str, int]
    name: str
    version: OptionalText
    goal: str
    models: list[str]
    turns: int
    duration_ms: float
    input_tokens: int | None
    output_tokens: int | None
    usd: Number | None
    judged: bool
    calls_without_usage: int = 0
    not_judged: str | None = None
    status: str = ""


class JudgedJson(WireModel):
    """The result of judging a trace again: the findings of detectors that hold now and, rule by rule, what failed.

    `shown`: the errors, of LLM judges, too, that lists show in the default profile. `pending_judges`: its agent runs
    and exchanges that wait for LLM judges now, and with the last trace of a session that was asked for the session; 0
    where these are off.
    """

    trace_id: str
    findings: int
    shown: int
    failures: list[str]
    pending_judges: int


class LedgerSubjectJson(SubjectJson):
    """The subject of a verdict with the agent whose run it is, or the session that it is where no trace is named."""

    agent: OptionalText
    session_id: OptionalText


class LedgerJson(WireModel):
    """The last word of one judge on one subject; `score` and `value` are those of the verdict that stands, if any."""

    trace_id: str
    service: str
    subject: LedgerSubjectJson
    judge: str
    version: str
    outcome: str
    reason: OptionalText
    model: OptionalText
    score: int | None
    value: Number | None
    not_applicable: bool
    quote_dropped: bool
    sampling_probability: Number
    findings: int
    at: Time


class SpentJson(WireModel):
    """The cost of judging since then; `unpriced`: tokens that no price is known for, and that are not in `usd`."""

    since: Time
    usd: Number
    tokens: int
    unpriced: int
    calls: int


class ServiceSpentJson(WireModel):
    """The cost of judging one service today."""

    service: str
    usd: Number
    tokens: int


class PurposeSpentJson(WireModel):
    """The cost of one kind of calls today; `purpose`: "plan", "window", "closing", "lookup" for second looks, …."""

    purpose: str
    usd: Number
    tokens: int
    calls: int


class SpendJson(WireModel):
    """This hour and this day of UTC; `caps` of all services together and what is `used` of each, by name."""

    hour: SpentJson
    day: SpentJson
    services: list[ServiceSpentJson]
    purposes: list[PurposeSpentJson]
    caps: dict[str, Number]
    used: dict[str, Number]


class JudgesJson(WireModel):
    """The state of LLM judges; `pending`, `in_flight`: runs, exchanges, sessions and traces that wait, or are judged.

    `trouble`: why they do not work, although a model is configured. `failing`: why the latest call brought nothing;
    null once one did. `missing_keys`: what the environment lacks to ask the model; null once a call was answered.
    `stopped`: the cap that kept a call from being sent, until its hour or day ends; runs are left
    `over-budget` meanwhile.
    """

    on: bool
    model: OptionalText
    pending: int
    in_flight: int
    trouble: OptionalText
    failing: OptionalText
    missing_keys: OptionalText
    stopped: OptionalText


class LedgerPage(WireModel):
    """A page of the ledger; `summary`: how many words of each outcome; `why`: why a trace has no word of a judge.

    `unknown` as in a page of traces.
    """

    items: list[LedgerJson]
    next: str | None
    summary: dict[str, int]
    spend: SpendJson
    judges: JudgesJson
    why: str | None
    unknown: dict[str, list[str]]


class ArchitectureJson(WireModel):
    """One version of the description of a service's architecture; `source`: derived, edited, or cleared (no text)."""

    service: str
    version: str
    source: str
    text: str
    at: Time


class ArchitecturePage(WireModel):
    """Descriptions: the one that holds of each service, or all of one service, latest first."""

    items: list[ArchitectureJson]
    next: str | None


class ClearedJson(WireModel):
    """Whether there was an edited description, and the one that holds now."""

    cleared: bool
    current: ArchitectureJson | None


class TracePage(WireModel):
    """A page of traces; `next` goes into `cursor`, null on the last page; `searched`: what `text` was looked for in.

    `unknown`, where nothing was found: filters whose value is in no stored data, with known values, the nearest first.
    """

    items: list[TraceRowJson]
    next: str | None
    searched: str | None
    unknown: dict[str, list[str]]


class JudgedPage(WireModel):
    """The traces that were judged again."""

    items: list[JudgedJson]
    next: str | None


class ProblemJson(WireModel):
    """Why a request was refused, in one line."""

    detail: str
