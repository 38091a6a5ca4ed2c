"""Human labels in the store: kept without limit of time, the latest change of each wins. All of it blocks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Final

from tracejury.collector.queries.reader import LabelT
from tracejury.collector.store.findings import read_finding
from tracejury.collector.store.inserting import insert_rows, storing
from tracejury.collector.store.scope import TENANT, TenantRows
from tracejury.judges.measures.quality import quality_of
from tracejury.schemas.annotations import LABELS, TRACE_LABELS, Annotation, Label, LabelOfSessions, TraceLabel
from tracejury.schemas.columns import columns_of
from tracejury.schemas.filters import ANNOTATION_FILTERS, LABEL_FILTERS, conditions, label_filters
from tracejury.schemas.findings import Finding
from tracejury.schemas.judged_rows import FINDING_SELECT
from tracejury.schemas.queries.labels import JudgeQuality, Labelled, LabelQuery, QueueItem, QueueQuery, Stratum

from . import queue as label_queue
from .labelled_runs import labelled_runs

_FILTERED: Final = frozenset(one.target for one in (*LABEL_FILTERS, *ANNOTATION_FILTERS) if not one.column)
"""Fields of a query that may change with a label."""


class StoredLabels(TenantRows):
    """Labels of one tenant. Methods raise RetryableError for what may pass, StoreError for the rest."""

    def save(self, labels: Iterable[Label]) -> None:
        """Keep new or changed labels; the same again, or an older change after a newer one, changes nothing.

        Raises:
            RetryableError, StoreError: the store failed.
        """
        by_kind: dict[type[Label], list[Label]] = {}
        for label in labels:
            by_kind.setdefault(type(label), []).append(label)
        with storing("labels"):
            for kind, of_kind in by_kind.items():
                columns = columns_of(kind)
                insert_rows(self._store, kind.table, columns.names, map(columns.row, of_kind))

    def annotations_of(self, trace_ids: Sequence[str]) -> Sequence[Annotation]:
        """The annotations that hold, by span."""
        return self._of_traces(Annotation, trace_ids) if trace_ids else ()

    def of_traces(self, trace_ids: Sequence[str]) -> Mapping[str, Labelled]:
        """The labels that hold, by trace id, each kind in the order of spans or runs."""
        by_trace: dict[str, list[TraceLabel]] = {}
        for kind in TRACE_LABELS if trace_ids else ():
            for label in self._of_traces(kind, trace_ids):
                by_trace.setdefault(label.trace_id, []).append(label)
        return {trace_id: Labelled.of(labels) for trace_id, labels in by_trace.items()}

    def find(self, kind: type[LabelT], query: LabelQuery) -> Sequence[LabelT]:
        """Up to `limit` labels of one kind, latest change first."""
        names = {field.name for field in fields(kind)}
        if any(getattr(query, name) and name not in names for name in ("trace_id", "session_id")):
            return []
        if query.service and not issubclass(kind, TraceLabel | LabelOfSessions):
            return []
        columns = columns_of(kind)
        asked, values = conditions(label_filters(kind), query)
        inner, outer = "".join(f" AND {text}" for text in asked), "1"
        if query.session_id:
            inner += f" AND {_has(kind, 'session_id')}"
            values["session_id"] = query.session_id
        values["limit"] = query.limit
        for field in fields(kind):
            if field.name in _FILTERED and (value := getattr(query, field.name)):
                outer += f" AND {columns.column_of(field.name)} = {{{field.name}:String}}"
                values[field.name] = str(value)
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
        return [columns.read(row) for row in self._scope.select(sql, **values)]

    def delete(self, query: LabelQuery) -> int:
        """Delete what it names by id, trace, run, session and annotator, withdrawn or not; returns how many labels.

        Raises:
            ValueError: it names nothing.
        """
        named = {name: getattr(query, name) for name in ("trace_id", "id", "agent_run_id", "session_id", "annotator")}
        named = {name: value for name, value in named.items() if value}
        if not named:
            raise ValueError("labels to delete must be named")
        gone = 0
        for kind in (kind for kind in LABELS if named.keys() <= {field.name for field in fields(kind)}):
            condition = "".join(f" AND {_has(kind, name)}" for name in named)
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

    def _of_traces(self, kind: type[LabelT], trace_ids: Sequence[str]) -> list[LabelT]:
        sql = _latest(kind, "AND TraceId IN {trace_ids:Array(String)}") + " WHERE NOT Withdrawn"
        found = map(columns_of(kind).read, self._scope.select(sql, trace_ids=list(trace_ids)))
        return sorted(found, key=lambda label: (getattr(label, "span_id", ""), label.place))


def _has(kind: type[Label], name: str) -> str:
    """The condition that a label has the value of that parameter as its field; of a session, as any of its sessions."""
    names = kind.sessions if issubclass(kind, LabelOfSessions) and name in kind.sessions else (name,)
    return f"({' OR '.join(f'{columns_of(kind).column_of(one)} = {{{name}:String}}' for one in names)})"


def _latest(kind: type[Label], condition: str) -> str:
    """The last change of each label; what may change with it must be asked of these.

    An opinion that names another span than before is another row of the table, and still the same label.
    """
    columns = columns_of(kind)
    place = ", ".join(columns.column_of(name) for name in kind.key)
    return (
        f"SELECT {columns.select}, Place FROM (SELECT {columns.select}, concatWithSeparator('/', {place}) AS Place "
        f"FROM {kind.table} FINAL "
        f"WHERE {TENANT} {condition} ORDER BY ChangedAt DESC, Withdrawn DESC LIMIT 1 BY Place)"
    )
