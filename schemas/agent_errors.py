"""Errors of agents: the findings that have one cause, as people see and count them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any, Final

from .findings import Finding, FindingState, Verification, digest
from .taxonomy import Dimension, Severity

NEVER: Final = -1.0
"""A confidence below any that is asked for."""


class Cause(StrEnum):
    """The classes of causes; a judge of one's own has its taxonomy and category as class."""

    FAILED_CALL = "failed-call"  # a call or code that failed, and what led to it: a wrong argument, an unknown tool
    MODEL = "model"  # the model's own call failed or was cut
    ENDING = "ending"  # the run ended without a result
    TOOL_CHOICE = "tool-choice"  # another tool, or none, was needed
    OMITTED_CALL = "omitted-call"  # announced and not made
    SUPPORT = "support"  # nothing observed supports what is said
    WASTE = "waste"  # work that brought nothing new
    PLAN = "plan"
    ADHERENCE = "adherence"  # the plan or an instruction was not followed
    GOAL = "goal"  # the task was not done
    SESSION = "session"  # what makes a session bad, or decides what kind it is
    CHECK = "check"  # what was changed was not checked, or checks were claimed


class ErrorRole(StrEnum):
    """The part of a span in an error."""

    DECIDED = "decided at"
    SHOWN = "shown at"
    READ = "read at"
    REPEATED = "also at"  # repeats and relays, and what asked for a tool that failed


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorSpans:
    """`shown_at`, `read_at`: the spans where an error showed and was read, "" for none; `repeated_at`: further ones."""

    shown_at: str = ""
    read_at: str = ""
    repeated_at: tuple[str, ...] = ()

    def roles(self, span_id: str) -> dict[str, ErrorRole]:
        """The spans that it names with their roles, `span_id` first: its primary span."""
        named = {span_id: ErrorRole.DECIDED}
        for other, role in ((self.shown_at, ErrorRole.SHOWN), (self.read_at, ErrorRole.READ)):
            if other:
                named.setdefault(other, role)
        for other in self.repeated_at:
            named.setdefault(other, ErrorRole.REPEATED)
        return named


@dataclass(frozen=True, slots=True)
class AgentError(ErrorSpans):
    """One mistake. `findings`: its lead first, those that repeat it last; `cause`: their class (`judges/causes.py`).

    Findings of packs' checks, or of the judge of decisive errors, after a lead that is none decide nothing of it: both
    may be switched on and off.
    """

    cause: str
    findings: tuple[Finding, ...]

    @property
    def lead(self) -> Finding:
        """The finding that gives primary span, title, category, confidence and quote."""
        return self.findings[0]

    @property
    def id(self) -> str:
        """Identity: see `error_id`."""
        return error_id(self.lead, self.cause)

    @property
    def deciding(self) -> tuple[Finding, ...]:
        """The findings that decide its state, confidence and severity."""
        kind = (self.lead.of_pack, self.lead.marks)
        return tuple(finding for finding in self.findings if (finding.of_pack, finding.marks) == kind)

    @property
    def decided(self) -> str:
        """Why it decided the outcome of its trace and what should have been done, "" where it did not."""
        return next((finding.explanation for finding in self.findings if finding.marks), "")

    @property
    def state(self) -> FindingState:
        """Current if any deciding finding is, else provisional if any is."""
        found = {finding.state for finding in self.deciding}
        return next((s for s in (FindingState.CURRENT, FindingState.PROVISIONAL) if s in found), FindingState.RETRACTED)

    @property
    def title(self) -> str:
        """A few words, or the category with its group where the lead's judge gives none."""
        return self.lead.shown_title

    @property
    def spans(self) -> dict[str, ErrorRole]:
        """The spans that it names with their roles, its primary span first."""
        return self.roles(self.lead.span_id)

    def confidence(self, severity: Severity = Severity.LOW) -> float:
        """The confidence with which it is at least so severe: that of its surest deciding finding that is, or NEVER.

        So another finding raises the severity of its lead only in a profile that shows that finding by itself.
        """
        return max((f.confidence for f in self.deciding if f.severity.rank >= severity.rank), default=NEVER)

    def severity(self, least: float = 0.0) -> Severity:
        """The severity for readers who ask for a confidence of at least `least`."""
        sure = [f.severity for f in self.deciding if f.confidence >= least]
        return max(sure, key=lambda severity: severity.rank, default=self.lead.severity)


@dataclass(frozen=True, slots=True)
class ErrorSummary(ErrorSpans):
    """An error as lists show it: what its lead says, and where its findings are.

    `confidence`, `medium`, `high`: with which it is at least LOW, MEDIUM, HIGH; `judges`: of all its findings, the
    lead's first; `first_seen`: of any deciding one, unix nanos; `decided`: as of `AgentError`; `verification`,
    `verified_by`, `verification_reason`: of the lead. `pattern`: the id of the pattern that it is of.
    """

    tenant: str
    trace_id: str
    span_id: str
    id: str
    state: FindingState
    cause: str
    title: str
    agent_run_id: str
    turn: int | None
    judge: str
    judges: tuple[str, ...]
    dimensions: tuple[Dimension, ...]
    taxonomy: str
    category: str
    confidence: float
    medium: float
    high: float
    evidence: str
    explanation: str
    findings: tuple[str, ...]
    first_seen: int
    decided: str = ""
    verification: Verification = Verification.NONE
    verified_by: str = ""
    verification_reason: str = ""
    pattern: str = ""

    @property
    def decisive(self) -> bool:
        """Whether it decided the outcome of its trace."""
        return bool(self.decided)

    @property
    def spans(self) -> dict[str, ErrorRole]:
        """As of `AgentError`."""
        return self.roles(self.span_id)

    def severity(self, least: float = 0.0) -> Severity:
        """As of `AgentError`."""
        if self.high >= least:
            return Severity.HIGH
        return Severity.MEDIUM if self.medium >= least else Severity.LOW


ERROR_SPANS: Final = tuple(field.name for field in fields(ErrorSpans))
_OWN: Final = frozenset(dir(AgentError))
"""What an error says itself: all else, its lead says."""


def summary(error: AgentError, pattern: str = "") -> ErrorSummary:
    """The error without its findings; `pattern`: that it is of."""
    said: dict[str, Any] = {
        "pattern": pattern,
        "judges": tuple(dict.fromkeys(finding.judge for finding in error.findings)),
        "confidence": error.confidence(),
        "medium": error.confidence(Severity.MEDIUM),
        "high": error.confidence(Severity.HIGH),
        "findings": tuple(finding.id for finding in error.findings),
        "first_seen": min(finding.first_seen for finding in error.deciding),
    }
    names = [field.name for field in fields(ErrorSummary) if field.name not in said]
    return ErrorSummary(**said, **{name: getattr(error if name in _OWN else error.lead, name) for name in names})


def whole_error(told: ErrorSummary, findings: Mapping[str, Finding]) -> AgentError | None:
    """The error with its findings, of these by id; None where its lead is not among them."""
    if told.findings[0] not in findings:
        return None
    own = tuple(findings[i] for i in told.findings if i in findings)
    return AgentError(told.cause, own, **{name: getattr(told, name) for name in ERROR_SPANS})


def in_place(errors: Iterable[ErrorSummary], runs: Iterable[str]) -> list[ErrorSummary]:
    """Errors of one trace in the order of their primary spans; `runs`: ids of its agent runs in order."""
    order = {run: number for number, run in enumerate(runs)}

    def place(error: ErrorSummary) -> tuple[int, int, str, str, str]:
        run = order.get(error.agent_run_id, len(order))
        return run, -1 if error.turn is None else error.turn, error.span_id, error.judge, error.findings[0]

    return sorted(errors, key=place)


def error_id(lead: Finding, cause: str) -> str:
    """The id of an error that this finding leads: 32 hex digits from project, trace, primary span and cause."""
    return digest((lead.tenant, lead.trace_id, lead.span_id, cause))
