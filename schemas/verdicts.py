"""Judgements and verdicts: what one judge said of one subject at one time."""

from __future__ import annotations

import json
from collections.abc import MutableMapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

from .checks import ItemAnswer
from .detector_opinions import DetectorOpinion
from .findings import Finding
from .operations import Operation
from .trajectory import Trace, TraceState

DETECTORS: Final = "detectors"
"""The judge that all detectors together are; every other one is an LLM judge or a user's own."""

TAKEN_BACK: Final = "taken back"
"""Why a verdict has no score where the subject is none any more, or shows at another trace: nobody is shown it."""


class SubjectKind(StrEnum):
    """The kind of a judge's subject."""

    TURN_WINDOW = "turn-window"
    AGENT_RUN = "agent-run"
    EXCHANGE = "exchange"
    TRACE = "trace"
    SESSION = "session"


@dataclass(frozen=True, slots=True)
class Subject:
    """The subject of a judgement. `id`: the trace id, run id, id of an exchange, or `session_subject_id`.

    A session has no `trace_id`, as it has several; a trace without one is a session of its own, with its id as both.
    """

    kind: SubjectKind
    id: str
    trace_id: str
    tenant: str = ""

    @property
    def run_id(self) -> str:
        """The agent run that it is, or is part of; "" for a trace and a session."""
        if self.kind in (SubjectKind.TURN_WINDOW, SubjectKind.EXCHANGE):
            return self.id.rpartition(":")[0]
        return self.id if self.kind is SubjectKind.AGENT_RUN else ""


def session_subject_id(service: str, session_id: str) -> str:
    """The subject id of a session: a JSON list, as sessions of one id in two services are two."""
    return json.dumps([service, session_id], ensure_ascii=False)


def session_of(subject: Subject) -> tuple[str, str] | None:
    """Service and session id of a session's subject; None for a trace that is a session of its own."""
    if subject.trace_id:
        return None
    service, session_id = json.loads(subject.id)
    return service, session_id


class Outcome(StrEnum):
    """The ledger's answer to "why has this subject no score?"."""

    DONE = "done"
    CACHED = "cached"  # done without a call: every answer was known already
    NOT_APPLICABLE = "not-applicable"
    FAILED = "failed"
    PENDING = "pending"
    SUPERSEDED = "superseded"
    SAMPLED_OUT = "sampled-out"
    FILTERED = "filtered"
    OVER_BUDGET = "over-budget"


@dataclass(frozen=True, slots=True)
class Verdict:
    """One judge's score of one subject: 0 to 3, or not applicable, or unscored (with the reason).

    `sampling_probability`: that this subject was judged at all, the upstream sampler's included; 0 where somebody asked
    for it by hand, so that it counts in no rate. `quote_dropped`: the judge quoted something, and none of its quotes
    stands in the trace, so it has no finding.

    Of a check: `value` in [0, 1] is `numerator` / `denominator` over the grounded `items`, None where it is not
    applicable; `raw` counts ungrounded items as failed.
    """

    judge: str
    version: str
    subject: Subject
    score: int | None
    model: str = ""
    not_applicable: bool = False
    unscored_reason: str = ""
    reasons: str = ""
    sampling_probability: float = 1.0
    quote_dropped: bool = False
    value: float | None = None
    raw: float | None = None
    numerator: float = 0.0
    denominator: float = 0.0
    items: tuple[ItemAnswer, ...] = ()


@dataclass(frozen=True, slots=True)
class Judgement:
    """Keyed by (tenant, subject, judge, version, input_hash): storing it again changes nothing.

    `received_through`: the latest `received_at` (unix nanos) among the spans it saw; a trace with later spans is
    judged again. `judged_at`: unix nanos. `failures`: (judge name, one line why) for each rule that raised.
    `reason`: one line on the outcome for the ledger (which filter, which cap, why it failed, why not applicable).
    `probability`: as a verdict's `sampling_probability`. `model`: that answered, "" for detectors.
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
    reason: str = ""
    probability: float = 1.0
    model: str = ""


@dataclass(frozen=True, slots=True)
class TraceSpend:
    """Usage of a trace's own LLM calls: input and output tokens, and US dollars; None where unknown.

    `calls_without_usage`: those that recorded no tokens, so that the others are partial sums. `operations`: what ran,
    each with its part of them; None where nobody could look.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    usd: float | None = None
    calls_without_usage: int = 0
    operations: tuple[Operation, ...] | None = ()


@dataclass(frozen=True, slots=True)
class JudgedTrace:
    """A judged trace as it is stored, the judgement last.

    `judgement.findings`: all that now hold; `changed`: those of them that differ from what is stored;
    `retracted`: stored ones that no longer hold, in their new state. `ledger`: what LLM judges were told to do about
    its agent runs; stored before `judgement`, so that no run is forgotten between the two. `known_runs`: ids
    of the runs of which something of LLM judges was stored before. `spent`: of the agents, not of judges. `is_alone`:
    nobody but the detectors has said anything of it, and it is one with no other; `is_new`: nothing of it was stored.
    """

    trace: Trace
    judgement: Judgement
    changed: tuple[Finding, ...] = ()
    retracted: tuple[Finding, ...] = ()
    ledger: tuple[Judgement, ...] = ()
    known_runs: frozenset[str] = frozenset()
    spent: TraceSpend = TraceSpend()
    is_alone: bool = False
    is_new: bool = False


@dataclass(frozen=True, slots=True)
class JudgedSubject:
    """A subject judged by LLM judges as it is stored, the judgements last.

    `changed` and `retracted` as in `JudgedTrace`. `state`: the trace's when it was judged. `shown`: the traces of its
    session that it is judged by, each with its latest arrival (unix nanos). `opinions`: on the detectors' findings.
    """

    state: TraceState
    judgements: tuple[Judgement, ...]
    changed: tuple[Finding, ...] = ()
    retracted: tuple[Finding, ...] = ()
    shown: tuple[tuple[str, int], ...] = ()
    opinions: tuple[DetectorOpinion, ...] = ()


LedgerKey = tuple[str, str, str]  # (subject kind, subject id, judge)


class LedgerRecord(Protocol):
    """The ledger's record of one judge and one subject."""

    @property
    def version(self) -> str:
        """The judge's."""

    @property
    def input_hash(self) -> str:
        """Hash of the input that it saw, or is to see."""

    @property
    def outcome(self) -> Outcome:
        """The outcome so far."""

    @property
    def reason(self) -> str:
        """One line on the outcome."""

    @property
    def probability(self) -> float:
        """The probability that it is judged at all."""

    @property
    def judged_at(self) -> int:
        """Unix nanos."""


LedgerEntries = MutableMapping[LedgerKey, LedgerRecord]
