"""Lists of traces and findings: every filter, the order, paging, and the confidence that is asked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from store_parts import SPAN_ID, TRACE_ID, a_finding, a_judged_trace, a_run, a_span

from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.reading import StoredReading
from tracejury.collector.store.shared_store import SharedStore
from tracejury.schemas.findings import Finding, FindingState
from tracejury.schemas.queries.listing import order_id
from tracejury.schemas.queries.reader import Confidence, ErrorQuery, Position, TraceQuery
from tracejury.schemas.rows import SPAN_COLUMNS, span_columns
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.trajectory import TraceState

ALL = Confidence(0.0, 0.0)
OTHER = "f" * 32


def errors(store: SharedStore, **query: Any) -> list[Finding]:
    fields: dict[str, Any] = {"confidence": ALL, "limit": 100}
    found = StoredReading(store).find_findings(ErrorQuery(**fields | query))
    return [located.finding for located in found]


def traces(store: SharedStore, **query: Any) -> list[str]:
    fields: dict[str, Any] = {"confidence": ALL, "limit": 100}
    found = StoredReading(store).find_traces(TraceQuery(**fields | query))
    return [row.trace_id for row in found]


@pytest.fixture
def two_traces(store: SharedStore) -> list[Finding]:
    """Six findings: three in a trace of the shop's planner and buyer, three in one of the desk's planner."""
    first = [
        a_finding(judge="loops", first_seen=10, severity=Severity.LOW, agent_run_id="p"),
        a_finding(judge="tools", first_seen=20, severity=Severity.MEDIUM, agent_run_id="b", category="Tool-related"),
        a_finding(judge="goal", first_seen=30, severity=Severity.HIGH, agent_run_id="", span_id="c" * 16),
    ]
    second = [
        replace(a_finding(trace_id=OTHER, judge=f.judge, evidence="other", category=f.category), severity=f.severity,
                first_seen=f.first_seen + 5, agent_run_id="p")
        for f in first
    ]  # fmt: skip
    runs = (a_run(id="p", name="planner"), a_run(id="b", name="buyer", parent_id="p", role="sub-agent"))
    StoredJudging(store).save([
        a_judged_trace(*first, runs=runs),
        a_judged_trace(*second, trace_id=OTHER, service="desk", runs=runs[:1]),
    ])  # fmt: skip
    return first + second


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, [5, 2, 4, 1, 3, 0]),
        ({"trace_id": TRACE_ID}, [2, 1, 0]),
        ({"span_id": "c" * 16}, [2]),
        ({"span_id": SPAN_ID}, [5, 4, 1, 3, 0]),
        ({"span_id": SPAN_ID, "trace_id": OTHER}, [5, 4, 3]),
        ({"service": "desk"}, [5, 4, 3]),
        ({"service": "des"}, []),
        ({"agent": "planner"}, [5, 4, 3, 0]),
        ({"agent": "buyer"}, [1]),
        ({"agent": "buyer", "service": "desk"}, []),
        ({"judge": "tools"}, [4, 1]),
        ({"category": "Tool-related"}, [4, 1]),
        ({"severity": Severity.LOW}, [5, 2, 4, 1, 3, 0]),
        ({"severity": Severity.MEDIUM}, [5, 2, 4, 1]),
        ({"severity": Severity.HIGH}, [5, 2]),
        ({"since": 25}, [5, 2, 4]),
        ({"since": 26}, [5, 2]),
        ({"limit": 2}, [5, 2]),
        ({"judge": "'; DROP TABLE findings; --"}, []),
        ({"service": "%", "agent": "{x}"}, []),
    ],
)
def test_filters_of_findings(
    store: SharedStore, two_traces: list[Finding], query: dict[str, Any], expected: list[int]
) -> None:
    """Each filter, alone and with others; latest first sight first; what a user types is never more than a value."""
    assert errors(store, **query) == [two_traces[n] for n in expected]


def test_a_located_finding_names_service_and_agent(store: SharedStore, two_traces: list[Finding]) -> None:
    """From the trace as it was last judged; no agent for a finding outside any run."""
    found = StoredReading(store).find_findings(ErrorQuery(ALL, 100))
    assert {(s.finding.judge, s.service, s.agent) for s in found} == {
        ("loops", "shop", "planner"), ("tools", "shop", "buyer"), ("goal", "shop", ""),
        ("loops", "desk", "planner"), ("tools", "desk", "planner"), ("goal", "desk", "planner"),
    }  # fmt: skip
    assert len(found) == len(two_traces)
    assert StoredReading(store, "someone else").find_findings(ErrorQuery(ALL, 100)) == []


def test_an_agents_name_may_come_later(store: SharedStore) -> None:
    """A run is known before its own span is: the finding need not be written again to be found by the name."""
    finding = a_finding(agent_run_id="p")
    StoredJudging(store).save([a_judged_trace(finding, judged_at=1, runs=(a_run(id="p", name=""),))])
    assert errors(store, agent="planner") == []
    later = a_judged_trace(judged_at=2, runs=(a_run(id="p", name="planner"),))
    StoredJudging(store).save([later])
    assert errors(store, agent="planner") == [finding]


def test_only_what_holds_shows(store: SharedStore) -> None:
    """Current and provisional findings; the others are history."""
    StoredJudging(store).save([a_judged_trace(*(a_finding(judge=s.value, state=s) for s in FindingState))])
    assert {f.state for f in errors(store)} == {FindingState.CURRENT, FindingState.PROVISIONAL}


@pytest.mark.parametrize("narrow", [{}, {"trace_id": TRACE_ID}, {"span_id": SPAN_ID}])
@pytest.mark.parametrize(
    ("conventions", "confidence", "shown"),
    [
        (("openinference",), 0.54, False),
        (("openinference",), 0.55, True),
        (("openinference",), 0.79, True),
        ((), 0.55, False),
        ((), 0.79, False),
        ((), 0.80, True),
    ],
)
def test_confidence_by_convention(
    store: SharedStore, conventions: tuple[str, ...], confidence: float, narrow: dict[str, str], *, shown: bool
) -> None:
    """A trace of no recognised convention shows only what is surer; at and above the threshold, not below."""
    StoredJudging(store).save([a_judged_trace(a_finding(confidence=confidence), conventions=conventions)])
    sure = Confidence(recognised=0.55, unrecognised=0.80)
    assert bool(errors(store, confidence=sure, **narrow)) == shown
    (row,) = StoredReading(store).find_traces(TraceQuery(sure, 10))
    assert row.errors == {Severity.LOW: 0, Severity.MEDIUM: 0, Severity.HIGH: int(shown)}


def test_paging_backwards_through_findings(store: SharedStore) -> None:
    """Pages by `before` give every finding once, also where many were first seen at one instant."""
    findings = [a_finding(judge=f"j{n}", first_seen=100 + n // 4) for n in range(23)]
    StoredJudging(store).save([a_judged_trace(*findings)])
    seen: list[Finding] = []
    before: Position | None = None
    while page := errors(store, limit=5, before=before):
        seen += page
        before = Position(page[-1].first_seen, page[-1].id)
    assert seen == sorted(findings, key=lambda f: (f.first_seen, f.id), reverse=True)


def test_following_findings(store: SharedStore) -> None:
    """With `after` the earliest come first, and only what comes after that place."""
    findings = sorted(
        (a_finding(judge=f"j{n}", first_seen=100 + n // 4) for n in range(9)), key=lambda f: (f.first_seen, f.id)
    )
    StoredJudging(store).save([a_judged_trace(*findings)])
    assert errors(store, after=Position(0)) == findings
    assert errors(store, after=Position(0), limit=3) == findings[:3]
    assert errors(store, after=Position(findings[2].first_seen, findings[2].id)) == findings[3:]
    assert errors(store, after=Position(10**18)) == []


def test_findings_between_two_places(store: SharedStore) -> None:
    """As a tail counts those that it does not show; the limit of what is listed does not cut the count."""
    findings = sorted(
        (a_finding(judge=f"j{n}", first_seen=100 + n // 4) for n in range(9)), key=lambda f: (f.first_seen, f.id)
    )
    StoredJudging(store).save([a_judged_trace(*findings)])
    first, last = (Position(f.first_seen, f.id) for f in (findings[1], findings[7]))
    assert errors(store, after=first, before=last) == findings[2:7]
    reading = StoredReading(store)
    assert reading.count_findings(ErrorQuery(ALL, 1, after=first, before=last)) == 5
    assert reading.count_findings(ErrorQuery(ALL, 1, after=first)) == 7
    assert reading.count_findings(ErrorQuery(ALL, 1)) == 9


def test_filters_of_traces(store: SharedStore) -> None:
    """By service, session, agent and time of arrival; the latest arrival first."""
    saved = [
        a_judged_trace(trace_id=f"{n:032x}", received=n, service=service, session_id=session, runs=(a_run(name=agent),))
        for n, service, session, agent in [
            (1, "a", "s1", "x"),
            (2, "b", "s1", "x"),
            (3, "a", "", "y"),
            (4, "a", "s2", "x"),
        ]
    ]
    StoredJudging(store).save(saved)
    ids = [f"{n:032x}" for n in range(5)]
    assert traces(store) == [ids[4], ids[3], ids[2], ids[1]]
    assert traces(store, service="a") == [ids[4], ids[3], ids[1]]
    assert traces(store, session_id="s1") == [ids[2], ids[1]]
    assert traces(store, agent="y") == [ids[3]]
    assert traces(store, since=3) == [ids[4], ids[3]]
    assert traces(store, limit=1) == [ids[4]]
    assert traces(store, before=Position(3, order_id(0, ids[3]))) == [ids[2], ids[1]]
    assert traces(store, before=Position(3, order_id(0, ids[4]))) == [ids[3], ids[2], ids[1]]
    assert StoredReading(store, "someone else").find_traces(TraceQuery(ALL, 100)) == []


def test_a_row_of_a_trace(store: SharedStore) -> None:
    """The summary that was written when it was last judged, with the errors that hold counted by severity."""
    findings = [a_finding(judge="a"), a_finding(judge="b"), a_finding(turn=3, span_id="d" * 16, severity=Severity.LOW)]
    runs = (a_run(id="p", name="planner"), a_run(id="b", name=""))
    StoredJudging(store).save([
        a_judged_trace(*findings, runs=runs, session_id="s", start=5, end=2**64 - 1, received=7, state=TraceState.OPEN)
    ])  # fmt: skip
    (row,) = StoredReading(store).find_traces(TraceQuery(ALL, 10))
    assert (row.trace_id, row.session_id, row.service, row.state) == (TRACE_ID, "s", "shop", TraceState.OPEN)
    assert (row.start, row.end, row.received, tuple(row.agents)) == (5, 2**64 - 1, 7, ("planner", ""))
    assert row.errors == {Severity.LOW: 1, Severity.MEDIUM: 0, Severity.HIGH: 1}


@pytest.mark.parametrize(
    ("trace_id", "span_id", "known"),
    [
        (TRACE_ID, "", True),
        ("", SPAN_ID, True),
        (TRACE_ID, SPAN_ID, True),
        (OTHER, SPAN_ID, False),
        (TRACE_ID, "9" * 16, False),
        (OTHER, "", False),
        ("", "9" * 16, False),
        ("", "", False),
    ],
)
def test_which_ids_are_known(store: SharedStore, trace_id: str, span_id: str, *, known: bool) -> None:
    """A trace, a span anywhere, or a span of that very trace; judged or not."""
    store.insert("spans", SPAN_COLUMNS, span_columns([a_span(), a_span(trace_id="a" * 32, span_id="a" * 16)], 1))
    assert StoredReading(store).knows(trace_id, span_id) == known
    assert not StoredReading(store, "someone else").knows(trace_id, span_id)


def test_the_traces_of_a_span_id(store: SharedStore) -> None:
    """Span ids are unique within a trace only."""
    store.insert("spans", SPAN_COLUMNS, span_columns([a_span(), a_span(), a_span(trace_id=OTHER)], 1))
    assert StoredReading(store).span_trace_ids(SPAN_ID) == sorted([TRACE_ID, OTHER])
    assert StoredReading(store).span_trace_ids("9" * 16) == []
