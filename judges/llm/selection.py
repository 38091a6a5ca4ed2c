"""Selection of agent runs for LLM judges: rules by service, agent and attributes, a rate, and what is always judged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from tracejury.schemas.findings import Finding
from tracejury.schemas.sampling import chosen, upstream_probability
from tracejury.schemas.spans import STATUS_ERROR
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.trajectory import AgentRun, Trace
from tracejury.schemas.verdicts import Outcome, session_subject_id

ANY: Final = "*"


@dataclass(frozen=True, slots=True)
class Rule:
    """For whom it holds, and then the share of traces to judge and the judges to ask (empty: all).

    "*" stands for anybody; `attributes` of the run's own span or its resource must all be equal.
    """

    service: str = ANY
    agent: str = ANY
    attributes: Mapping[str, str] = field(default_factory=dict)
    rate: float = 1.0
    judges: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Policy:
    """The first rule that holds decides.

    Whatever its rate (but 0), runs with a detector finding of at least `always_severity` (None: never for that) and
    `confidence`, and, with `always_on_error`, runs with an error status are judged.
    """

    rules: tuple[Rule, ...] = (Rule(),)
    always_severity: Severity | None = Severity.HIGH
    always_on_error: bool = True
    confidence: float = 0.0


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision on a run: PENDING (to be judged), SAMPLED_OUT or FILTERED, with one line why.

    `probability`: that a run like this is judged, the upstream sampler's included. `judges`: to be asked, empty: all.
    """

    outcome: Outcome
    reason: str
    probability: float
    judges: tuple[str, ...] = ()


def decide(policy: Policy, trace: Trace, run: AgentRun, findings: Iterable[Finding]) -> Decision:
    """Whether `run` is judged; `findings`: the detectors' in its trace."""
    return _decide(policy, trace, run, trace.trace_id, _always(policy, run, findings))


def decide_session(policy: Policy, trace: Trace, run: AgentRun) -> Decision:
    """Whether the exchanges of a manager's run are judged: all of a session, by a hash of its service and id, or none.

    What is always judged of runs is not here: a session that was chosen for its errors would tell of no other.
    """
    drawn = session_subject_id(trace.service, trace.session_id) if trace.session_id else trace.trace_id
    return _decide(policy, trace, run, drawn, "")


def _decide(policy: Policy, trace: Trace, run: AgentRun, drawn: str, always: str) -> Decision:
    """By the first rule that holds; `drawn`: what is hashed, `always`: why it is judged whatever the rate, or ""."""
    rule = next((r for r in policy.rules if _holds(r, trace, run)), None)
    if rule is None:
        return Decision(Outcome.FILTERED, "no policy of judges.policies fits it", 0.0)
    upstream = upstream_probability(_sampled_state(trace, run))
    if rule.rate <= 0:
        return Decision(Outcome.FILTERED, "the policy's rate for it is 0", 0.0, rule.judges)
    if always:
        return Decision(Outcome.PENDING, always, upstream, rule.judges)
    probability = upstream * min(rule.rate, 1.0)
    if chosen(drawn, rule.rate):
        return Decision(Outcome.PENDING, "", probability, rule.judges)
    return Decision(Outcome.SAMPLED_OUT, f"not in the sample of {rule.rate:g}", probability, rule.judges)


def _holds(rule: Rule, trace: Trace, run: AgentRun) -> bool:
    if rule.service not in (ANY, trace.service) or rule.agent not in (ANY, run.name):
        return False
    return all(_attribute(trace, run, key) == value for key, value in rule.attributes.items())


def _attribute(trace: Trace, run: AgentRun, key: str) -> str | None:
    """Of the run's own span, else of its first call's, else of their resource."""
    spans = [run.span] if run.span else []
    spans += [turn.llm for turn in run.turns[:1] if turn.llm]
    raws = [span.raw for span in spans] or [span.raw for span in list(trace.spans.values())[:1]]
    for attributes in (*(r.attributes for r in raws), *(r.resource_attributes for r in raws)):
        if key in attributes:
            return attributes[key]
    return None


def _always(policy: Policy, run: AgentRun, findings: Iterable[Finding]) -> str:
    """Why it is judged whatever the rate, "" where nothing says so."""
    if policy.always_on_error and _failed(run):
        return "a span of it has the status ERROR"
    least = policy.always_severity
    if least is not None:
        for f in findings:
            if f.agent_run_id == run.id and f.severity.rank >= least.rank and f.confidence >= policy.confidence:
                return f"detector {f.judge} found an error of severity {f.severity.value}"
    return ""


def _failed(run: AgentRun) -> bool:
    if run.span is not None and run.span.raw.status_code == STATUS_ERROR:
        return True
    spans = (s for t in run.turns for s in (t.llm, *(c.span for c in t.tool_calls), *t.wrappers))
    return any(span is not None and span.is_error for span in spans)


def _sampled_state(trace: Trace, run: AgentRun) -> str:
    """The trace state of the run's own span, else of the trace's first: a trace is sampled at its root."""
    span = run.span or next(iter(trace.spans.values()), None)
    return span.raw.trace_state if span else ""
