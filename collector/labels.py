"""What the API and the pages ask of human labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from ..schemas.annotations import Annotation, HumanScore, Review
from ..schemas.rates import Estimate


class Purpose(StrEnum):
    """Why something is to be labelled next."""

    CALIBRATION = "calibration"  # a random stratified sample: what rates are corrected by
    LEARNING = "learning"  # where judges disagree with each other, with people, or are unsure


@dataclass(frozen=True, slots=True)
class QueueQuery:
    """What to label next among the runs that arrived in [since, until) (unix nanos); "" does not filter."""

    purpose: Purpose
    since: int
    until: int
    limit: int
    service: str = ""
    annotator: str = ""
    tenant: str = ""


@dataclass(frozen=True, slots=True)
class QueueItem:
    """An agent run to look at; `why`: one line. `stratum` and `probability` go into the review."""

    trace_id: str
    agent_run_id: str
    service: str
    agent: str
    why: str
    stratum: str = ""
    probability: float = 0.0


@dataclass(frozen=True, slots=True)
class Labelled:
    """All that stands of some traces."""

    annotations: Sequence[Annotation] = ()
    scores: Sequence[HumanScore] = ()
    reviews: Sequence[Review] = ()


@dataclass(frozen=True, slots=True)
class JudgeQuality:
    """How one detector or judge (by name) fares against labels; None where nothing tells.

    `findings`: labelled ones; `errors`: those that people see in reviewed runs that the judge looked at.
    """

    judge: str
    findings: int
    agreed: int
    precision: Estimate | None
    errors: int
    found: int
    recall: Estimate | None


class Labels(Protocol):
    """Labels in the store. Every method may block: call it on a thread. Times in unix nanos."""

    def save(self, labelled: Labelled) -> None:
        """Keep new or changed labels; the same again changes nothing.

        Raises:
            RetryableError, StoreError: the store failed.
        """

    def of_traces(self, trace_ids: Sequence[str], tenant: str = "") -> Mapping[str, Labelled]:
        """What stands, by trace id; absent: nothing."""

    def queue(self, query: QueueQuery) -> Sequence[QueueItem]:
        """Up to `limit` runs that the annotator has not reviewed, in the order in which to look at them."""

    def quality(self, since: int, until: int, service: str = "", tenant: str = "") -> Sequence[JudgeQuality]:
        """How judges fare against the labels of runs that arrived in that time, by name."""
