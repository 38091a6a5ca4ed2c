"""Sessions: traces of one service that name one id, listed by the same filters and read as a conversation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from listed_traces import SECOND, Listed, Mark, store_all
from measured_sessions import a_value, of_session, save
from store_parts import TRACE_ID, a_finding, a_judged_trace, a_run

from tracejury.collector.queries.stored_reader import stored_session
from tracejury.collector.store.errors import StoredErrors
from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.lists import SessionLists, TraceLists
from tracejury.collector.store.scope import Scope
from tracejury.collector.store.shared_store import SharedStore
from tracejury.schemas.queries.listing import SessionRow, Sort
from tracejury.schemas.queries.reader import Confidence, ErrorQuery, Position, TraceQuery
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.trajectory import Exchange, TraceState, Turn, TurnKind
from tracejury.schemas.verdicts import Subject, SubjectKind

ALL = Confidence(0.0, 0.0)
HIGH = Mark(severity=Severity.HIGH)
UNSURE = Mark(severity=Severity.MEDIUM, confidence=0.2)

FIRST = Listed(1, session="a", received=10, start=100, length=50, tokens=5, usd=0.5, goal="hello", answer="hi")
SECOND_TURN = Listed(2, session="a", received=30, start=200, length=70, tokens=7, usd=0.25, marks=(HIGH, UNSURE))
ELSEWHERE = Listed(3, session="a", service="desk", received=20, start=150, tokens=9, usd=None)
OTHER = Listed(4, session="b", received=5, start=50, length=9 * SECOND, state=TraceState.OPEN, helper="scout")
ALONE = Listed(5, received=99, marks=(HIGH,))
COPY = Listed(6, session="a", received=40, joined_to=FIRST.trace_id, marks=(replace(HIGH, evidence="of the copy"),))
TRACES = [FIRST, SECOND_TURN, ELSEWHERE, OTHER, ALONE, COPY]


@pytest.fixture
def talks(store: SharedStore) -> SharedStore:
    """The traces above, stored."""
    store_all(store, TRACES)
    return store


def find(store: SharedStore, **query: Any) -> list[SessionRow]:
    fields: dict[str, Any] = {"confidence": ALL, "limit": 100}
    return SessionLists(store).find(TraceQuery(**fields | query))


def names(rows: list[SessionRow]) -> list[tuple[str, str]]:
    return [(row.session_id, row.service) for row in rows]


def test_calls_that_recorded_no_tokens_are_counted(store: SharedStore) -> None:
    """In the rows of the traces, of each service's session, and of all of them together."""
    store_all(store, [Listed(n, session="a", tokens=5, usd=0.5, lacking=n) for n in (1, 2)])
    store_all(store, [Listed(3, session="a", service="desk", tokens=5, usd=0.5, lacking=4)])
    assert {r.service: r.calls_without_usage for r in find(store)} == {"shop": 3, "desk": 4}
    view = stored_session(Scope(store), "a", ALL)
    assert view is not None
    assert view.session.calls_without_usage == 7
    assert sorted(one.calls_without_usage for one in view.exchanges if one.usd is not None) == [1, 2, 4]
    rows = TraceLists(store).find(TraceQuery(ALL, 10))
    assert sorted(row.calls_without_usage for row in rows) == [1, 2, 4]


def test_a_row_sums_its_traces_once(talks: SharedStore) -> None:
    """Joined copies are not traces of their own, but what was found in them counts; no session, no row."""
    row, desk, _ = find(talks)
    assert names([row, desk]) == [("a", "shop"), ("a", "desk")]
    assert (row.traces, row.turns, list(row.agents)) == (2, 4, ["helper", "planner"])
    assert (row.start, row.end, row.first_received, row.received) == (100, 270, 10, 30)
    assert (row.tokens, row.usd, row.state) == (12, 0.75, TraceState.SETTLED)
    assert row.errors == {Severity.HIGH: 2, Severity.MEDIUM: 1, Severity.LOW: 0}
    assert (desk.tokens, desk.usd) == (9, None)


FILTERS: list[tuple[dict[str, Any], list[str]]] = [
    ({}, ["a shop", "a desk", "b shop"]),
    ({"service": "desk"}, ["a desk"]),
    ({"session_id": "b"}, ["b shop"]),
    ({"severity": Severity.HIGH}, ["a shop"]),
    ({"severity": Severity.HIGH, "service": "desk"}, []),
    ({"agent": "scout"}, ["b shop"]),
    ({"state": TraceState.OPEN}, ["b shop"]),
    ({"state": TraceState.SETTLED}, ["a shop", "a desk"]),
    ({"min_duration": SECOND}, ["b shop"]),
    ({"min_duration": 170}, ["a shop", "b shop"]),
    ({"since": 15, "until": 25}, ["a desk"]),
    ({"text": "hello"}, ["a shop"]),
    ({"sort": Sort.START}, ["a desk", "a shop", "b shop"]),
    ({"sort": Sort.START, "ascending": True}, ["b shop", "a shop", "a desk"]),
    ({"sort": Sort.COST}, ["a shop"]),
    ({"sort": Sort.TOKENS, "limit": 2}, ["a shop", "a desk"]),
    ({"sort": Sort.SEVERITY, "limit": 1}, ["a shop"]),
    ({"sort": Sort.DURATION}, ["b shop", "a shop", "a desk"]),
    ({"limit": 1}, ["a shop"]),
]


def test_filters_and_orders(talks: SharedStore) -> None:
    """A session shows where one of its traces has all that is asked of one; the order is its own."""
    for query, expected in FILTERS:
        found = [" ".join(name) for name in names(find(talks, **query))]
        assert (found[: len(expected)] if query.get("sort") is Sort.COST else found) == expected, query


@pytest.mark.parametrize("sort", list(Sort))
@pytest.mark.parametrize("ascending", [False, True])
def test_pages_are_complete(talks: SharedStore, sort: Sort, ascending: bool) -> None:  # noqa: FBT001  a parameter of a test
    """Page by page each session is listed once, in the order of the whole."""
    seen: list[SessionRow] = []
    before: Position | None = None
    while rows := find(talks, limit=1, sort=sort, ascending=ascending, before=before):
        before = Position(rows[-1].place, rows[-1].order_id)
        seen += rows
    assert names(seen) == names(find(talks, sort=sort, ascending=ascending))
    assert len(seen) == 3


def test_a_row_names_its_worst_error(store: SharedStore) -> None:
    """The most severe that is sure enough, of several the surest, in whichever trace; None where there is none."""
    low, high = Mark(evidence="low", confidence=0.99), replace(HIGH, evidence="high", confidence=0.6)
    surer = replace(high, confidence=0.8)
    store_all(
        store,
        [
            Listed(1, session="a", received=10, marks=(low, high)),
            Listed(2, session="a", received=20, marks=(low, surer)),
            Listed(3, session="b", received=30),
        ],
    )
    (none, named) = find(store)
    assert none.worst is None
    assert named.worst is not None
    assert (named.worst.severity, named.worst.trace_id) == (Severity.HIGH, Listed(2).trace_id)
    (error,) = StoredErrors(store).find(ErrorQuery(ALL, 10, trace_id=Listed(2).trace_id, severity=Severity.HIGH))
    assert (named.worst.id, named.worst.span_id, named.worst.title) == (
        error.error.id,
        error.error.span_id,
        error.error.title,
    )
    (named,) = find(store, confidence=Confidence(0.9, 0.9), session_id="a")
    assert named.worst is not None
    assert (named.worst.severity, sum(named.errors.values())) == (Severity.LOW, 2)
    (named,) = find(store, confidence=Confidence(1.0, 1.0), session_id="a")
    assert (named.worst, sum(named.errors.values())) == (None, 0)


def test_a_conversation_in_order_of_time(talks: SharedStore) -> None:
    """What the user said and the agents answered, findings and those of joined copies at their exchange."""
    view = stored_session(Scope(talks), "a", Confidence(0.5, 0.5), "shop")
    assert view is not None
    assert [(e.goal, e.answer, e.agent) for e in view.exchanges] == [
        ("hello", "hi", "planner"),
        ("buy milk", "it is bought", "planner"),
    ]
    assert [sorted(e.agents.values()) for e in view.exchanges] == [["helper", "planner"], ["helper", "planner"]]
    assert [[f.evidence for f in e.findings] for e in view.exchanges] == [["of the copy"], ["again and again"]]
    assert [
        [(e.error.evidence, e.severity, e.whole, e.service, e.agent) for e in x.errors] for x in view.exchanges
    ] == [
        [("of the copy", Severity.HIGH, FIRST.trace_id, "shop", "planner")],
        [("again and again", Severity.HIGH, SECOND_TURN.trace_id, "shop", "planner")],
    ]
    assert (view.services, view.left, view.session.errors[Severity.HIGH]) == (["shop"], 0, 2)


def test_an_id_of_several_services(talks: SharedStore) -> None:
    """Without a service all that name the id stand together; what one does not know of its cost nobody knows."""
    view = stored_session(Scope(talks), "a", ALL)
    assert view is not None
    assert list(view.services) == ["desk", "shop"]
    assert [e.trace_id for e in view.exchanges] == [FIRST.trace_id, ELSEWHERE.trace_id, SECOND_TURN.trace_id]
    assert (view.session.traces, view.session.tokens, view.session.usd) == (3, 21, None)
    assert stored_session(Scope(talks), "nobody's", ALL) is None
    assert stored_session(Scope(talks), "a", ALL, "nobody") is None


def test_long_messages_are_cut(store: SharedStore) -> None:
    """A conversation shows the beginning of what is too long for a page."""
    store_all(store, [Listed(1, session="a", goal="é" * 100_000)])
    view = stored_session(Scope(store), "a", ALL)
    assert view is not None
    assert view.exchanges[0].goal == "é" * 20_000


def test_ids_that_are_long_together_are_listed(store: SharedStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within what a server takes of a parameter, 128 KiB."""
    store_all(store, [Listed(n, session=f"{n:03}".ljust(256, "\n"), received=n) for n in range(1, 301)])
    longest = 0
    ask_store = store.rows

    def noted(sql: str, *values: dict[str, Any]) -> Any:
        nonlocal longest
        longest = max([longest, *(len(repr(value)) for given in values for value in given.values())])
        return ask_store(sql, *values)

    monkeypatch.setattr(store, "rows", noted)
    rows = find(store, limit=1000)
    assert sorted(int(row.session_id) for row in rows) == list(range(1, 301))
    assert longest < 128 * 1024


def test_a_cost_tells_of_how_many_traces_it_is(store: SharedStore) -> None:
    """Traces without recorded tokens are not in the sum; several services together count theirs together."""
    priced = [Listed(n, session="a", tokens=5, usd=0.25) for n in (1, 2)]
    silent = [Listed(n, session="a") for n in (3, 4, 5)]
    store_all(store, [*priced, *silent, Listed(6, session="a", service="desk", tokens=5, usd=0.5)])
    desk, shop = sorted(find(store), key=lambda row: row.service)
    assert (shop.usd, shop.priced_traces, shop.traces) == (0.5, 2, 5)
    assert (desk.usd, desk.priced_traces, desk.traces) == (0.5, 1, 1)
    view = stored_session(Scope(store), "a", ALL)
    assert view is not None
    assert (view.session.usd, view.session.priced_traces, view.session.traces) == (1.0, 3, 6)


def test_a_run_in_which_the_user_writes_again_shows_as_several_exchanges(store: SharedStore) -> None:
    """Each with its words and what was found in its turns, or in runs that they caused; the counts add up."""
    turns = tuple(Turn(i, TurnKind.ACT, None) for i in range(4))
    runs = (
        a_run(id="p", goal="A chair?", answer="Yes, too.", turns=turns, name="clerk"),
        a_run(id="h", role="sub-agent", parent_id="p", parent_turn=2, turns=turns[:1], name="stock"),
        a_run(id="q", goal="And you?", answer="Fine.", name="other", turns=()),
    )
    told = (
        Exchange("p", 0, 1, "A table?", "Yes."),
        Exchange("p", 2, 3, "A chair?", "Yes, too."),
        Exchange("q", -1, -1, "And you?", "Fine."),
    )
    of_turns = [
        a_finding(span_id=f"{turn:016x}", id=f"f{turn}", agent_run_id="p", turn=turn, explanation=f"in {turn}")
        for turn in (1, 3)
    ]
    below = a_finding(span_id="b" * 16, id="f9", agent_run_id="h", turn=0, explanation="below")
    judged = a_judged_trace(*of_turns, below, session_id="s", runs=runs, exchanges=told, service="shop")
    StoredJudging(store).save([judged])
    subjects = [Subject(SubjectKind.EXCHANGE, one.id, TRACE_ID) for one in told]
    values = [a_value("states", subject, at / 4) for at, subject in enumerate(subjects)]
    whole = a_value("states", of_session("shop", "s"), 0.5)
    gone = a_value("states", Subject(SubjectKind.EXCHANGE, "p:0-0", TRACE_ID), 0)
    save(store, *values, whole, gone, a_value("states", of_session("shop", "other"), 0), received=1)
    view = stored_session(Scope(store), "s", ALL)
    assert view is not None
    assert [list(e.verdicts) for e in view.exchanges] == [[one] for one in values]
    assert view.verdicts == [whole]
    assert [(e.goal, e.answer, e.first_turn, e.turns) for e in view.exchanges] == [
        ("A table?", "Yes.", 0, 2),
        ("A chair?", "Yes, too.", 2, 3),
        ("And you?", "Fine.", 0, 0),
    ]
    assert [sorted(f.explanation for f in e.findings) for e in view.exchanges] == [["in 1"], ["below", "in 3"], []]
    assert [len(e.errors) for e in view.exchanges] == [1, 2, 0]
