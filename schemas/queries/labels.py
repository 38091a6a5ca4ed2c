"""What the API and the pages ask of human labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from ...judges.measures.quality import JudgeQuality
from ..annotations import Annotation, HumanScore, Opinion, Review
from ..findings import Finding
from .reader import Position

OVERLAP = 0.2
"""The share of runs that every annotator is asked for, so that their agreement can be measured."""


class Purpose(StrEnum):
    """Why something is to be labelled next."""

    CALIBRATION = "calibration"  # a random stratified sample: what rates are corrected by
    LEARNING = "learning"  # where judges disagree with each other, with people, or are unsure


@dataclass(frozen=True, slots=True)
class QueueQuery:
    """What to label next among the runs that arrived in [since, until) (unix nanos); "" does not filter.

    Runs that the annotator has reviewed are left out; of a calibration sample only those reviewed as drawn: whoever
    looked at a run for another reason is asked for it again, since the sample may not depend on what people look at.
    Of such a sample `overlap` of the runs, the same ones for everybody, are asked of each annotator; the others only
    until somebody has reviewed them as drawn.
    """

    purpose: Purpose
    since: int
    until: int
    limit: int
    service: str = ""
    annotator: str = ""
    tenant: str = ""
    overlap: float = OVERLAP


@dataclass(frozen=True, slots=True)
class QueueItem:
    """An agent run to look at; `why`: one line. `stratum` and `probability` go into the review.

    `probability`, of a calibration sample only: that a run of this stratum is in this answer or came before it, as the
    stratum was then. Each run has one random number for good (a hash of its ids), and those of a stratum of N runs are
    in the sample whose number is its smallest, or below t / sqrt(N): t is that of the last run of the answer.
    """

    trace_id: str
    agent_run_id: str
    service: str
    agent: str
    why: str
    stratum: str = ""
    probability: float = 0.0


@dataclass(frozen=True, slots=True)
class Stratum:
    """Runs of one stratum: `size` in all, of which `reviewed` were drawn by the queue and looked at.

    `waiting`: nobody has looked at them as drawn although their random number is below that of one that was, most of
    them because they came later. The queue gives them first; until then the sample lacks what is new. `drawn`: (trace
    id, agent run id) of each of the `reviewed`.
    """

    name: str
    size: int
    reviewed: int
    waiting: int
    drawn: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True, slots=True)
class LabelQuery:
    """Labels, latest change first, or, with `after`, earliest first; empty fields do not filter.

    Nor do fields that a kind of label has not. `since`: unix nanos, of the change; `withdrawn`: those, too.
    """

    limit: int
    id: str = ""
    trace_id: str = ""
    span_id: str = ""
    agent_run_id: str = ""
    annotator: str = ""
    finding_id: str = ""
    judge: str = ""
    category: str = ""
    opinion: Opinion | None = None
    service: str = ""
    since: int = 0
    withdrawn: bool = False
    before: Position | None = None
    after: Position | None = None
    tenant: str = ""


@dataclass(frozen=True, slots=True)
class Labelled:
    """All that stands of some traces."""

    annotations: Sequence[Annotation] = ()
    scores: Sequence[HumanScore] = ()
    reviews: Sequence[Review] = ()


class Labels(Protocol):
    """Labels in the store. Every method may block: call it on a thread. Times in unix nanos."""

    def save(self, labelled: Labelled) -> None:
        """Keep new or changed labels; the same again changes nothing.

        Raises:
            RetryableError, StoreError: the store failed.
        """

    def of_traces(self, trace_ids: Sequence[str], tenant: str = "") -> Mapping[str, Labelled]:
        """What stands, by trace id; absent: nothing."""

    def annotations(self, query: LabelQuery) -> Sequence[Annotation]:
        """Up to `limit` of them; their place is (changed_at, place)."""

    def scores(self, query: LabelQuery) -> Sequence[HumanScore]:
        """Up to `limit` of them; their place is (changed_at, place)."""

    def reviews(self, query: LabelQuery) -> Sequence[Review]:
        """Up to `limit` of them; their place is (changed_at, place)."""

    def forget(self, query: LabelQuery) -> int:
        """Delete for good what it names by id, trace, run and annotator, withdrawn or not; returns how many labels.

        Raises:
            ValueError: it names nothing.
        """

    def finding(self, finding_id: str, tenant: str = "") -> Finding | None:
        """The finding of that id, whether or not it still holds; None where there is none."""

    def queue(self, query: QueueQuery) -> Sequence[QueueItem]:
        """Up to `limit` runs that the annotator has not reviewed, in the order in which to look at them."""

    def strata(self, since: int, until: int, service: str = "", tenant: str = "") -> Sequence[Stratum]:
        """The strata of the judged runs that arrived in [since, until), by name, as they are now.

        An estimate weighs each reviewed run of a stratum by size / reviewed (strata are known of every run, so this is
        post-stratification), and a stratum without a reviewed run is said to be missing. Neither
        stopping in the middle of the queue, nor a queue that was narrowed to a service, nor runs that came since bias
        it: which runs of a stratum were looked at depends on their hash alone, and only `waiting` ones are behind.
        """

    def quality(
        self,
        since: int,
        until: int,
        service: str = "",
        tenant: str = "",
        strata: Sequence[Stratum] | None = None,
    ) -> Sequence[JudgeQuality]:
        """How judges fare against the labels of runs that arrived in that time, by name.

        `strata`: of the same time and service, where they are known already; it takes as long as all else to ask.
        """
