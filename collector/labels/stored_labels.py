"""Human labels in the store: kept without limit of time, the latest change of each wins. All of it blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from tracejury.collector.store.findings import read_finding
from tracejury.collector.store.inserting import insert_rows, storing
from tracejury.collector.store.scope import TENANT, TenantRows
from tracejury.judges.measures.quality import quality_of
from tracejury.schemas.annotations import Annotation, HumanScore, Review
from tracejury.schemas.columns import ColumnTable
from tracejury.schemas.filters import LABEL_FILTERS, conditions
from tracejury.schemas.findings import Finding
from tracejury.schemas.judged_rows import FINDING_SELECT
from tracejury.schemas.label_rows import ANNOTATIONS, REVIEWS, SCORES
from tracejury.schemas.queries.labels import JudgeQuality, Labelled, LabelQuery, QueueItem, QueueQuery, Stratum

from . import queue as label_queue
from .labelled_runs import labelled_runs

Label = TypeVar("Label")


@dataclass(frozen=True, slots=True)
class _Kind(Generic[Label]):
    """A table of labels: what tells its labels apart within a trace, and which filters it has."""

    table: str
    columns: ColumnTable[Label]
    place: str
    filters: frozenset[str]


_ABOUT_RUNS: Final = frozenset({"agent_run_id", "annotator"})
_ANNOTATIONS: Final = _Kind(
    "annotations", ANNOTATIONS, "concat(TraceId, '/', Id)",
    _ABOUT_RUNS | {"id", "span_id", "finding_id", "judge", "category", "opinion"},
)  # fmt: skip
_SCORES: Final = _Kind(
    "human_scores", SCORES, "concat(TraceId, '/', AgentRunId, '/', Annotator, '/', Dimension)",
    _ABOUT_RUNS,
)  # fmt: skip
_REVIEWS: Final = _Kind("reviews", REVIEWS, "concat(TraceId, '/', AgentRunId, '/', Annotator)", _ABOUT_RUNS)


class StoredLabels(TenantRows):
    """Labels of one tenant. Methods raise RetryableError for what may pass, StoreError for the rest."""

    def save(self, labelled: Labelled) -> None:
        """Keep new or changed labels; the same again, or an older change after a newer one, changes nothing.

        Raises:
            RetryableError, StoreError: the store failed.
        """
        with storing("labels"):
            insert_rows(self._store, "annotations", ANNOTATIONS.names, map(ANNOTATIONS.row, labelled.annotations))
            insert_rows(self._store, "human_scores", SCORES.names, map(SCORES.row, labelled.scores))
            insert_rows(self._store, "reviews", REVIEWS.names, map(REVIEWS.row, labelled.reviews))

    def annotations_of(self, trace_ids: Sequence[str]) -> Sequence[Annotation]:
        """The annotations that hold, by span."""
        found = self._of_traces(_ANNOTATIONS, trace_ids) if trace_ids else ()
        return sorted(found, key=lambda a: (a.span_id, a.id))

    def of_traces(self, trace_ids: Sequence[str]) -> Mapping[str, Labelled]:
        """The labels that hold, by trace id, each kind in the order of spans or runs."""
        if not trace_ids:
            return {}
        annotations = self.annotations_of(trace_ids)
        scores = sorted(self._of_traces(_SCORES, trace_ids), key=lambda s: s.place)
        reviews = sorted(self._of_traces(_REVIEWS, trace_ids), key=lambda r: r.place)
        labelled = {a.trace_id for a in annotations} | {s.trace_id for s in scores} | {r.trace_id for r in reviews}
        return {
            trace_id: Labelled(
                tuple(a for a in annotations if a.trace_id == trace_id),
                tuple(s for s in scores if s.trace_id == trace_id),
                tuple(r for r in reviews if r.trace_id == trace_id),
            )
            for trace_id in labelled
        }

    def annotations(self, query: LabelQuery) -> Sequence[Annotation]:
        """Up to `limit`, latest change first."""
        return self._find(_ANNOTATIONS, query)

    def scores(self, query: LabelQuery) -> Sequence[HumanScore]:
        """Up to `limit`, latest change first."""
        return self._find(_SCORES, query)

    def reviews(self, query: LabelQuery) -> Sequence[Review]:
        """Up to `limit`, latest change first."""
        return self._find(_REVIEWS, query)

    def delete(self, query: LabelQuery) -> int:
        """Delete what it names by id, trace, run and annotator, withdrawn or not; returns the number of labels.

        Raises:
            ValueError: it names nothing.
        """
        named = {name: getattr(query, name) for name in ("trace_id", "id", "agent_run_id", "annotator")}
        named = {name: value for name, value in named.items() if value}
        if not named:
            raise ValueError("labels to delete must be named")
        kinds: tuple[_Kind[Any], ...] = (_ANNOTATIONS,) if query.id else (_ANNOTATIONS, _SCORES, _REVIEWS)
        condition = "".join(f" AND {ANNOTATIONS.column_of(name)} = {{{name}:String}}" for name in named)
        gone = 0
        for kind in kinds:
            gone += self._scope.select(f"SELECT count() FROM ({_latest(kind, condition)})", **named)[0][0]
            values = {"tenant": self._scope.tenant, **named}
            self._store.command(f"DELETE FROM {kind.table} WHERE {TENANT}{condition}", values, mutated=kind.table)
        return gone

    def finding(self, finding_id: str) -> Finding | None:
        """The finding of that id, of any state."""
        sql = f"SELECT {FINDING_SELECT} FROM findings FINAL WHERE {TENANT} AND Id = {{id:String}} LIMIT 1"
        return next(map(read_finding, self._scope.select(sql, id=finding_id)), None)

    def queue(self, query: QueueQuery) -> Sequence[QueueItem]:
        """Up to `limit` runs that the annotator has not reviewed, in the order in which to look at them."""
        return label_queue.queue(self._scope, query)

    def strata(self, since: int, until: int, service: str = "") -> Sequence[Stratum]:
        """The strata of the judged runs that arrived in [since, until), by name."""
        return label_queue.strata(self._scope, since, until, service)

    def quality(
        self,
        since: int,
        until: int,
        service: str = "",
        strata: Sequence[Stratum] | None = None,
    ) -> Sequence[JudgeQuality]:
        """How judges fare against the labels of runs that arrived in [since, until), by name."""

        def known() -> Sequence[Stratum]:
            return self.strata(since, until, service) if strata is None else strata

        return quality_of(list(labelled_runs(self._scope, self, known, since, until, service)))

    def _of_traces(self, kind: _Kind[Label], trace_ids: Sequence[str]) -> list[Label]:
        sql = _latest(kind, "AND TraceId IN {trace_ids:Array(String)}") + " WHERE NOT Withdrawn"
        return [kind.columns.read(row) for row in self._scope.select(sql, trace_ids=list(trace_ids))]

    def _find(self, kind: _Kind[Label], query: LabelQuery) -> list[Label]:
        asked, values = conditions(LABEL_FILTERS, query)
        inner, outer = "".join(f" AND {text}" for text in asked), "1"
        values["limit"] = query.limit
        for name in sorted(kind.filters):
            if value := getattr(query, name):
                outer += f" AND {ANNOTATIONS.column_of(name)} = {{{name}:String}}"
                values[name] = str(value)
        if not query.withdrawn:
            outer += " AND NOT Withdrawn"
        if query.since:
            outer += " AND ChangedAt >= {since:UInt64}"
            values["since"] = query.since
        if at := query.before or query.after:
            outer += f" AND (ChangedAt, Place) {'<' if query.before else '>'} ({{time:UInt64}}, {{place:String}})"
            values |= {"time": at.time, "place": at.id}
        order = "ChangedAt, Place" if query.after else "ChangedAt DESC, Place DESC"
        sql = f"{_latest(kind, inner)} WHERE {outer} ORDER BY {order} LIMIT {{limit:UInt64}}"
        return [kind.columns.read(row) for row in self._scope.select(sql, **values)]


def _latest(kind: _Kind[Any], condition: str) -> str:
    """The last change of each label; what may change with it must be asked of these.

    An opinion that names another span than before is another row of the table, and still the same label.
    """
    columns = ", ".join(kind.columns.names)
    return (
        f"SELECT {columns}, Place FROM (SELECT {columns}, {kind.place} AS Place FROM {kind.table} FINAL "
        f"WHERE {TENANT} {condition} ORDER BY ChangedAt DESC, Withdrawn DESC LIMIT 1 BY TraceId, Place)"
    )
