"""The latest findings and errors: a list that ends early has what a look at everything would show first."""

from __future__ import annotations

import random
import time
from dataclasses import replace
from typing import Any

import pytest
from sizes import sized
from store_parts import a_finding, a_judged_trace

from tracejury.collector.store.errors import StoredErrors
from tracejury.collector.store.inserting import insert_rows
from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.reading import StoredReading
from tracejury.collector.store.shared_store import SharedStore
from tracejury.judges.grouping import group
from tracejury.schemas.agent_errors import summary
from tracejury.schemas.findings import Finding, FindingState
from tracejury.schemas.judged_rows import ERROR_COLUMNS, error_row
from tracejury.schemas.queries.reader import Confidence, ErrorQuery, Position, TraceQuery
from tracejury.schemas.taxonomy import Severity

TRACES = [f"{n:032x}" for n in range(1, 41)]
ALL = 10_000
SECOND = 10**9


@pytest.fixture
def filled(store: SharedStore) -> SharedStore:
    """Findings of forty traces, each an error, half of them stored again since: changed, or gone."""
    judging, now = StoredJudging(store), time.time_ns()
    chosen = random.Random(7)  # noqa: S311 - the same rows each time
    first = [
        a_finding(
            trace_id=trace_id, evidence=str(n), first_seen=chosen.randrange(1000), confidence=chosen.random(),
            severity=chosen.choice(list(Severity)), judge=chosen.choice("ab"),
        )
        for trace_id in TRACES for n in range(6)
    ]  # fmt: skip
    again = [one for one in first if chosen.random() < 0.5]
    for at, findings in ((1, first), (2, [changed(one, chosen) for one in again])):
        judging.save([
            a_judged_trace(
                *(one for one in findings if one.trace_id == trace_id), trace_id=trace_id, judged_at=at,
                received=now + at if int(trace_id, 16) % 3 else at, service="few" if int(trace_id, 16) < 8 else "most",
                conventions=("genai",) if int(trace_id, 16) % 4 else (),
            )
            for trace_id in TRACES
        ])  # fmt: skip
        rows = [
            error_row(summary(group([one], ())[0]), one.trace_id, int(one.confidence < 0.1), at, now + at)
            for one in (replace(f, state=FindingState.CURRENT) for f in findings)
        ]
        insert_rows(store, "errors", ERROR_COLUMNS, rows)
    return store


def changed(finding: Finding, chosen: random.Random) -> Finding:
    return replace(
        finding,
        first_seen=chosen.choice([finding.first_seen, chosen.randrange(1000)]),
        state=chosen.choice([FindingState.RETRACTED, finding.state]),
        confidence=chosen.choice([finding.confidence, 0.0]),
    )


QUERIES = (
    ErrorQuery(Confidence(0.0, 0.0), ALL),
    ErrorQuery(Confidence(0.3, 0.7), ALL),
    ErrorQuery(Confidence(0.3, 0.7), ALL, service="few"),
    ErrorQuery(Confidence(0.0, 0.0), ALL, agent="planner", judge="a"),
    ErrorQuery(Confidence(0.1, 0.2), ALL, severity=Severity.HIGH, since=200),
    ErrorQuery(Confidence(0.0, 0.0), ALL, before=Position(400)),
)


def test_a_short_list_of_findings_begins_as_the_whole_one(filled: SharedStore) -> None:
    """Whatever is asked for, and however few rows that leaves."""
    reading = StoredReading(filled)
    for query in QUERIES:
        everything = reading.find_findings(query)
        assert everything, query
        assert len(everything) == reading.count_findings(query), query
        for limit in (1, 3, 10, 40):
            assert reading.find_findings(replace(query, limit=limit)) == everything[:limit], query


def test_a_short_list_of_errors_begins_as_the_whole_one(filled: SharedStore) -> None:
    """The same of errors; from the other end, what came after a moment is all that did."""
    errors = StoredErrors(filled)
    for query in QUERIES:
        everything = errors.find(query)
        assert everything, query
        for limit in (1, 3, 10, 40):
            assert errors.find(replace(query, limit=limit)) == everything[:limit], query
        later = [one for one in everything if one.position.time >= 300]
        assert errors.find(replace(query, after=Position(299, "~"))) == later[::-1], query


SURE = Confidence(0.0, 0.0)


def test_a_short_list_of_traces_begins_as_the_whole_one(filled: SharedStore) -> None:
    """Also page by page, of traces whose rows were replaced by later ones, and of what other rows tell."""
    reading, since = StoredReading(filled), time.time_ns() - 3600 * SECOND
    filters: list[dict[str, Any]] = [
        {}, {"service": "few"}, {"since": since}, {"agent": "planner"}, {"severity": Severity.HIGH}
    ]  # fmt: skip
    for query in (TraceQuery(SURE, ALL, **one) for one in filters):
        everything = reading.find_traces(query)
        assert everything, query
        for limit in (1, 3, 10, 40):
            assert reading.find_traces(replace(query, limit=limit)) == everything[:limit], query
        for at, row in list(enumerate(everything))[:: sized(5, 1)]:
            place = Position(row.place, row.order_id)
            assert reading.find_traces(replace(query, limit=2, before=place)) == everything[at + 1 : at + 3], query


def test_a_list_of_traces_has_the_row_that_was_written_last(store: SharedStore) -> None:
    """Of traces that are judged again with an earlier last arrival, one of them as the part of another."""
    judging, now = StoredJudging(store), time.time_ns()
    for at, received in ((1, now + 50), (2, now)):  # what arrived last was deleted in between
        traces = [a_judged_trace(trace_id=i, judged_at=at, received=received) for i in TRACES[:20]]
        judging.save(
            [replace(one, trace=replace(one.trace, joined_to=TRACES[1])) if at == 2 else one for one in traces[:1]]
        )
        judging.save(traces[1:])
    found = StoredReading(store).find_traces(TraceQuery(SURE, 3))
    assert [(row.trace_id, row.place) for row in found] == [(i, now) for i in TRACES[19:16:-1]]
    assert TRACES[0] not in {row.trace_id for row in StoredReading(store).find_traces(TraceQuery(SURE, ALL))}
