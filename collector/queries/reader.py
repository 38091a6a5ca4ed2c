"""What the reader takes from the layers above it: rates, and what people say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

from tracejury.schemas.annotations import Annotation, Label
from tracejury.schemas.findings import Finding
from tracejury.schemas.queries.labels import JudgeQuality, Labelled, LabelQuery, QueueItem, QueueQuery, Stratum
from tracejury.schemas.rates import RateAnswer, RateComparison, RateQuery, ToolRates


class Rates(Protocol):
    """Error rates. Every method may block: call it on a thread."""

    def ask(self, query: RateQuery) -> RateAnswer:
        """Rates as they stand now. Raises ConfigError where the query means nothing, RetryableError, StoreError."""

    def calls(self, query: RateQuery) -> ToolRates:
        """Tools by their own calls; filters of findings do not apply. Raises as `ask`."""

    def compare(self, a: RateQuery, b: RateQuery) -> RateComparison:
        """Whether `b` differs from `a`; of one population where neither names one. Raises as `ask`."""


LabelT = TypeVar("LabelT", bound=Label)


class Labels(Protocol):
    """Labels in the store. Every method may block: call it on a thread. Times in unix nanos."""

    def save(self, labels: Iterable[Label]) -> None:
        """Keep new or changed labels; the same again changes nothing.

        Raises:
            RetryableError, StoreError: the store failed.
        """

    def of_traces(self, trace_ids: Sequence[str]) -> Mapping[str, Labelled]:
        """The labels that hold, by trace id; a trace without labels is absent."""

    def annotations_of(self, trace_ids: Sequence[str]) -> Sequence[Annotation]:
        """The annotations that hold of these traces."""

    def find(self, kind: type[LabelT], query: LabelQuery) -> Sequence[LabelT]:
        """Up to `limit` labels of one kind; their place is (changed_at, place)."""

    def delete(self, query: LabelQuery) -> int:
        """Delete for good what it names by id, trace, run and annotator, withdrawn or not; returns how many labels.

        Raises:
            ValueError: it names nothing.
        """

    def finding(self, finding_id: str) -> Finding | None:
        """The finding of that id, whether or not it still holds; None where there is none."""

    def queue(self, query: QueueQuery) -> Sequence[QueueItem]:
        """Up to `limit` runs that the annotator has not reviewed, in the order in which to look at them."""

    def strata(self, since: int, until: int, service: str = "") -> Sequence[Stratum]:
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
        strata: Sequence[Stratum] | None = None,
    ) -> Sequence[JudgeQuality]:
        """How judges fare against the labels of runs that arrived in that time, by name.

        `strata`: of the same time and service, where they are known already; it takes as long as all else to ask.
        """
