"""Queries of human labels, and their results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any

from tracejury.schemas.annotations import Annotation, HumanScore, Opinion, Review, TraceLabel
from tracejury.schemas.rates import Estimate

from .reader import Position

OVERLAP = 0.2
"""The share of runs that every annotator is asked for, so that their agreement can be measured."""


class Purpose(StrEnum):
    """Why something is to be labelled next."""

    CALIBRATION = "calibration"  # a random stratified sample: what rates are corrected by
    LEARNING = "learning"  # where judges disagree with each other, with people, or are unsure
    SESSIONS = "sessions"  # a random sample of sessions: whether they were good


@dataclass(frozen=True, slots=True)
class QueueQuery:
    """A query for the runs to label next, among those that arrived in [since, until) (unix nanos); "" does not filter.

    Runs that the annotator has reviewed are left out; of a calibration sample only those reviewed as drawn: whoever
    looked at a run for another reason is asked for it again, since the sample may not depend on what people look at.
    Of such a sample `overlap` of the runs, the same ones for everybody, are asked of each annotator; the others only
    until somebody has reviewed them as drawn. `simulated`: runs of simulated sessions instead of real ones.
    Sessions are asked for likewise.
    """

    purpose: Purpose
    since: int
    until: int
    limit: int
    service: str = ""
    annotator: str = ""
    overlap: float = OVERLAP
    simulated: bool = False


@dataclass(frozen=True, slots=True)
class QueueItem:
    """An agent run to look at, or a session; `why`: one line. `stratum` and `probability` go into the review.

    A session has neither a trace nor a run; its `session_id` is the trace's id where a trace has no session.

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
    session_id: str = ""


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

    Nor do fields that a kind of label has not; but a label of a session is of no trace, and the other way round.
    `since`: unix nanos, of the change; `withdrawn`: those, too.
    """

    limit: int
    id: str = ""
    trace_id: str = ""
    session_id: str = ""
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


@dataclass(frozen=True, slots=True)
class Labelled:
    """All that stands of some traces, each kind of label under its table."""

    annotations: Sequence[Annotation] = ()
    human_scores: Sequence[HumanScore] = ()
    reviews: Sequence[Review] = ()

    def __iter__(self) -> Iterator[TraceLabel]:
        for field in fields(self):
            yield from getattr(self, field.name)

    @classmethod
    def of(cls, labels: Iterable[TraceLabel]) -> Labelled:
        """These labels, in their order."""
        found = dict[str, Any]()
        for label in labels:
            found[label.table] = (*found.get(label.table, ()), label)
        return cls(**found)


@dataclass(frozen=True, slots=True)
class JudgeQuality:
    """How one detector or judge (by name) fares against labels; None where nothing tells.

    `findings`: labelled ones, of which people take `agreed` for right (an error of that run), `localised` of them at
    the right span, too; `precision`: the share that is right. `errors`: those that people see in reviewed runs that
    the judge looked at, of which it names `found`, at that span in that category; `recall`: that share. Counts are as
    counted, shares weighted where labels were `drawn` at random; then only those count.
    """

    judge: str
    findings: int
    agreed: int
    precision: Estimate | None
    errors: int
    found: int
    recall: Estimate | None
    localised: int = 0
    drawn: bool = False


@dataclass(frozen=True, slots=True)
class OrderAgreement:
    """Pairs of sessions that people compared and that have two values, by how preference and values go together.

    `concordant`: the preferred one has the larger value; `discordant`: the smaller; `measure_tied`: only the values are
    the same; `people_tied`: only people find neither better; `both_tied`. `agreement`: concordant and both tied ones
    among all; `decided`: concordant ones among those where neither is tied; None where there are none.
    """

    concordant: int = 0
    discordant: int = 0
    measure_tied: int = 0
    people_tied: int = 0
    both_tied: int = 0
    agreement: Estimate | None = None
    decided: Estimate | None = None

    @property
    def pairs(self) -> int:
        """All of them."""
        return self.concordant + self.discordant + self.measure_tied + self.people_tied + self.both_tied


@dataclass(frozen=True, slots=True)
class MeasureAgreement:
    """One measure beside preferences. `pack`: "" for the mean score of an LLM judge, whose name is the `letter`."""

    pack: str
    letter: str
    title: str
    found: OrderAgreement


@dataclass(frozen=True, slots=True)
class PreferenceAnswer:
    """How measures go with preferences. `pairs`: that people compared, `same`: of which they find neither better.

    `contested`: of which no answer has more people than any other; they count in nothing else. `people`: how often two
    people say the same of a pair, None where no pair has two answers.
    """

    pairs: int
    same: int
    contested: int
    people: Estimate | None
    measures: Sequence[MeasureAgreement]
