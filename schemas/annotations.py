"""Human annotations in the vocabulary of findings: the labels that judges are measured against."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from .findings import digest
from .taxonomy import TRAIL, Dimension, Severity


class Opinion(StrEnum):
    """A person's opinion of a finding, or of an error without one."""

    AGREE = "agree"  # the finding is right
    DISAGREE = "disagree"  # it is no error
    OTHER_SPAN = "other-span"  # it is one, but made at the annotation's span
    MISSED = "missed"  # an error that no finding names


class ErrorLabel(StrEnum):
    """What people say of an error, taken together."""

    RIGHT = "right"  # it is one, made at its primary span or at another one
    WRONG = "wrong"  # it is none
    CONTESTED = "contested"  # some say that it is one, some that it is none: neither right nor wrong


@dataclass(frozen=True, slots=True)
class Annotation:
    """One error that a person sees at one span, or sees not where a finding does.

    `id`: see `opinion_id` and `missed_id`; `changed_at` in unix nanos. `opinion` other than MISSED is about the finding
    `finding_id` of `judge`, whose fingerprint, category and severity are repeated here as they were, so that the
    opinion outlives the finding (see `opinions_on`). `withdrawn`: the annotator took it back; it is kept, and counts
    nowhere.
    """

    id: str
    trace_id: str
    span_id: str
    annotator: str
    category: str
    severity: Severity
    evidence: str = ""
    explanation: str = ""
    taxonomy: str = TRAIL
    withdrawn: bool = False
    changed_at: int = 0
    tenant: str = ""
    opinion: Opinion = Opinion.MISSED
    finding_id: str = ""
    judge: str = ""
    agent_run_id: str = ""
    fingerprint: str = ""

    @property
    def place(self) -> str:
        """Key of the annotation: trace and id, since an imported id may occur in several traces."""
        return f"{self.trace_id}/{self.id}"


@dataclass(frozen=True, slots=True)
class HumanScore:
    """A person's score of one agent run in one dimension: 0 to 3, 3 best; None: not applicable."""

    trace_id: str
    agent_run_id: str
    annotator: str
    dimension: Dimension
    score: int | None
    explanation: str = ""
    withdrawn: bool = False
    changed_at: int = 0
    tenant: str = ""

    @property
    def place(self) -> str:
        """Key: subject and annotator. A later one with the same key replaces it."""
        return f"{self.trace_id}/{self.agent_run_id}/{self.annotator}/{self.dimension}"


@dataclass(frozen=True, slots=True)
class Review:
    """A person has looked at the whole of an agent run: what is not marked as an error there, is none.

    `stratum` and `probability`: how the queue drew it, "" and 0 where somebody chose it; such a one calibrates nothing.
    Weights of an estimate come from the sizes of strata at that time, not from `probability`: see `Labels.strata`.
    """

    trace_id: str
    agent_run_id: str
    annotator: str
    stratum: str = ""
    probability: float = 0.0
    withdrawn: bool = False
    changed_at: int = 0
    tenant: str = ""

    @property
    def place(self) -> str:
        """Key: subject and annotator. A later one with the same key replaces it."""
        return f"{self.trace_id}/{self.agent_run_id}/{self.annotator}"


def opinion_id(tenant: str, annotator: str, finding_id: str) -> str:
    """One annotator has one opinion on one finding: another one replaces it (32 hex digits)."""
    return digest(("opinion", tenant, annotator, finding_id))


def missed_id(tenant: str, annotator: str, trace_id: str, span_id: str, taxonomy: str, category: str) -> str:
    """One annotator marks one missed error a span and category, unless it has an id of its own (32 hex digits)."""
    return digest(("missed", tenant, annotator, trace_id, span_id, taxonomy, category))
