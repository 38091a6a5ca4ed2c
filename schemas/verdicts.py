"""Judgements and verdicts: what one judge said of one subject at one time."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from .findings import Finding
from .trajectory import Trace


class SubjectKind(StrEnum):
    """What a judge may look at."""

    TURN_WINDOW = "turn-window"
    AGENT_RUN = "agent-run"
    TRACE = "trace"
    SESSION = "session"


@dataclass(frozen=True, slots=True)
class Subject:
    """What a judgement is about. `id`: the trace id, run id or session id."""

    kind: SubjectKind
    id: str
    trace_id: str
    tenant: str = ""


class Outcome(StrEnum):
    """The ledger's answer to "why has this subject no score?"."""

    DONE = "done"
    NOT_APPLICABLE = "not-applicable"
    FAILED = "failed"
    PENDING = "pending"
    SUPERSEDED = "superseded"


@dataclass(frozen=True, slots=True)
class Verdict:
    """One judge's score of one subject: 0 to 3, or not applicable, or unscored (with the reason)."""

    judge: str
    version: str
    subject: Subject
    score: int | None
    model: str = ""
    not_applicable: bool = False
    unscored_reason: str = ""
    reasons: str = ""
    sampling_probability: float = 1.0


@dataclass(frozen=True, slots=True)
class Judgement:
    """Keyed by (tenant, subject, judge, version, input_hash): storing it again changes nothing.

    `received_through`: the latest `received_at` (unix nanos) among the spans it saw; a trace with later spans is
    judged again. `judged_at`: unix nanos. `failures`: (judge name, one line why) for each rule that raised.
    """

    subject: Subject
    judge: str
    version: str
    input_hash: str
    judged_at: int
    received_through: int
    outcome: Outcome
    findings: tuple[Finding, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    failures: tuple[tuple[str, str], ...] = ()
    dropped: int = 0


@dataclass(frozen=True, slots=True)
class JudgedTrace:
    """What is stored after a trace was judged, the judgement last.

    `judgement.findings`: all that now hold; `changed`: those of them that differ from what is stored;
    `retracted`: stored ones that no longer hold, in their new state.
    """

    trace: Trace
    judgement: Judgement
    changed: tuple[Finding, ...] = ()
    retracted: tuple[Finding, ...] = ()
