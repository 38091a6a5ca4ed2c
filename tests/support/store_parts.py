"""Small domain objects for tests of the store: each builder takes any field by name."""

from __future__ import annotations

from typing import Any

from tracejury.processors.normalize import normalize
from tracejury.schemas.findings import Finding, finding_id, fingerprint
from tracejury.schemas.spans import LogRecord, Span
from tracejury.schemas.taxonomy import TRAIL, Dimension, Severity
from tracejury.schemas.trajectory import AgentRun, Trace, TraceState, Turn, TurnKind
from tracejury.schemas.verdicts import JudgedSubject, JudgedTrace, Judgement, Outcome, Subject, SubjectKind, Verdict

TRACE_ID = "0af7651916cd43dd8448eb211c80319c"
SPAN_ID = "b7ad6b7169203331"


def a_span(**changes: Any) -> Span:
    """A finished span."""
    fields: dict[str, Any] = {
        "trace_id": TRACE_ID, "span_id": SPAN_ID, "parent_span_id": "", "name": "chat",
        "start": 1_700_000_000_000_000_000, "end": 1_700_000_001_000_000_000, "attributes": {"input.value": "hi"},
        "service": "shop",
    }  # fmt: skip
    return Span(**fields | changes)


def a_log(**changes: Any) -> LogRecord:
    """A log record of that span."""
    fields: dict[str, Any] = {
        "trace_id": TRACE_ID, "span_id": SPAN_ID, "time": 1_700_000_000_500_000_000,
        "observed_time": 1_700_000_000_600_000_000, "event_name": "gen_ai.user.message", "body": '{"content": "hi"}',
        "body_type": "kvlist",
    }  # fmt: skip
    return LogRecord(**fields | changes)


def a_finding(**changes: Any) -> Finding:
    """A finding at that span; its ids follow from its fields."""
    fields: dict[str, Any] = {
        "tenant": "", "trace_id": TRACE_ID, "span_id": SPAN_ID, "agent_run_id": "run-1", "turn": 2, "judge": "loops",
        "dimensions": (Dimension.EXECUTION_EFFICIENCY, Dimension.TOOL_CALLING), "taxonomy": TRAIL,
        "category": "Resource Abuse", "severity": Severity.HIGH, "confidence": 0.9, "evidence": "again and again",
        "explanation": "the same call, three times", "first_seen": 1_000,
    }  # fmt: skip
    fields |= changes
    key = (fields["tenant"], fields["trace_id"], fields["span_id"])
    fields.setdefault("id", finding_id(*key, fields["judge"], fields["category"], fields["evidence"]))
    fields.setdefault("fingerprint", fingerprint(*key, fields["taxonomy"], fields["category"]))
    return Finding(**fields)


def a_run(**changes: Any) -> AgentRun:
    """A manager's run of one call of a model."""
    fields: dict[str, Any] = {
        "id": "run-1", "name": "planner", "role": "manager", "span": None, "parent_id": "", "parent_turn": None,
        "goal": "buy milk", "system_prompt": "", "answer": "done", "status": "ok",
        "turns": (Turn(0, TurnKind.ACT, normalize(a_span())),),
    }  # fmt: skip
    return AgentRun(**fields | changes)


def a_judged_trace(
    *findings: Finding,
    judged_at: int = 1,
    received: int = 1,
    version: str = "v1",
    outcome: Outcome = Outcome.DONE,
    retracted: tuple[Finding, ...] = (),
    **trace: Any,
) -> JudgedTrace:
    """A trace judged with these findings, all of them changed; `trace`: fields of the trace."""
    fields: dict[str, Any] = {
        "trace_id": TRACE_ID, "tenant": "", "service": "shop", "session_id": "", "state": TraceState.SETTLED,
        "runs": (a_run(),), "spans": {}, "remainder": (), "conventions": ("openinference",),
    }  # fmt: skip
    fields |= trace
    subject = Subject(SubjectKind.TRACE, fields["trace_id"], fields["trace_id"], fields["tenant"])
    judgement = Judgement(
        subject, "detectors", version, f"hash-{judged_at}", judged_at, received, outcome, findings=tuple(findings)
    )
    return JudgedTrace(Trace(**fields), judgement, tuple(findings), retracted)


def a_judged_subject(
    judge: str = "goal-fulfilment",
    *findings: Finding,
    judged_at: int = 1,
    received: int = 1,
    version: str = "v1",
    content: str = "content",
    outcome: Outcome = Outcome.DONE,
    score: int | None = 2,
    retracted: tuple[Finding, ...] = (),
    subject: Subject | None = None,
    **judgement: Any,
) -> JudgedSubject:
    """What one LLM judge said of an agent run, with a verdict where done; `judgement`: fields of its judgement."""
    subject = subject or Subject(SubjectKind.AGENT_RUN, "run-1", TRACE_ID)
    verdict = Verdict(judge, version, subject, score, "some/model", reasons="because")
    said = Judgement(
        subject, judge, version, content, judged_at, received, outcome, findings=tuple(findings),
        verdicts=(verdict,) if outcome is Outcome.DONE else (), **judgement,
    )  # fmt: skip
    return JudgedSubject(TraceState.SETTLED, (said,), tuple(findings), retracted)
