"""Lists of traces: every filter alone and together, every order, cursors, and text, against a naive filter."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from listed_traces import SECOND, Listed, Mark, expected, store_all
from sizes import sized

from tracejury.collector.store.lists import SessionLists, TraceLists
from tracejury.collector.store.shared_store import SharedStore
from tracejury.schemas.findings import FindingState
from tracejury.schemas.queries.listing import Sort
from tracejury.schemas.queries.reader import Confidence, Position, TraceQuery
from tracejury.schemas.taxonomy import Dimension, Severity
from tracejury.schemas.trajectory import TraceState

ALL = Confidence(0.0, 0.0)
HALF = Confidence(0.5, 0.5)
HIGH = Mark(severity=Severity.HIGH, category="Tool-related", judge="tools", dimension=Dimension.TOOL_CALLING)
UNSURE = replace(HIGH, confidence=0.3)
GONE = replace(HIGH, state=FindingState.RETRACTED)
AT_TOOL = Mark(severity=Severity.MEDIUM, agent="helper", at_tool=True)

TRACES = [
    Listed(1, received=10, start=900, length=5 * SECOND, tokens=100, usd=0.5, marks=(HIGH,)),
    Listed(2, received=20, start=800, service="desk", version="2", prompt="greet", marks=(UNSURE, Mark())),
    Listed(3, received=30, start=700, state=TraceState.OPEN, goal="plan a Journey", length=9 * SECOND, tokens=7),
    Listed(
        4,
        received=40,
        start=600,
        model="claude",
        tool="book",
        prompt="greet@2",
        marks=(AT_TOOL, Mark(), Mark()),
        usd=0.25,
        tokens=9,
    ),
    Listed(
        5,
        received=50,
        start=500,
        helper="scout",
        inferred=True,
        session="s-1",
        state=TraceState.INCOMPLETE,
        marks=(GONE,),
    ),
    Listed(6, received=50, start=500, session="s-1", usd=0.0, tokens=100, marks=(HIGH, HIGH, AT_TOOL)),
    Listed(7, received=60, start=400, session="s-2", answer="Grüße an\n  die ÖFFENTLICHKEIT, 100%_sicher \\ [a-z]+"),
    Listed(8, received=70, joined_to="f" * 32, marks=(HIGH,)),
]


def find(store: SharedStore, **query: Any) -> list[str]:
    fields: dict[str, Any] = {"confidence": ALL, "limit": 100}
    return [row.trace_id for row in TraceLists(store).find(TraceQuery(**fields | query))]


def naive(traces: list[Listed], **query: Any) -> list[str]:
    fields: dict[str, Any] = {"confidence": ALL, "limit": 100}
    return expected(traces, TraceQuery(**fields | query))


FILTERS: list[dict[str, Any]] = [
    {},
    {"service": "desk"},
    {"service": "des"},
    {"version": "2"},
    {"session_id": "s-1"},
    {"since": 40},
    {"until": 40},
    {"since": 20, "until": 50},
    {"state": TraceState.OPEN},
    {"state": TraceState.INCOMPLETE},
    {"severity": Severity.LOW},
    {"severity": Severity.MEDIUM},
    {"severity": Severity.HIGH},
    {"severity": Severity.HIGH, "confidence": HALF},
    {"category": "Tool-related"},
    {"category": "trail/Tool-related"},
    {"category": "house/Tool-related"},
    {"taxonomy": "trail"},
    {"taxonomy": "house"},
    {"judge": "tools"},
    {"dimension": "TC"},
    {"judge": "loops", "severity": Severity.HIGH},
    {"tool": "book"},
    {"tool": "search", "severity": Severity.LOW},
    {"tool": "search", "severity": Severity.MEDIUM},
    {"prompt": "greet"},
    {"prompt": "greet@2"},
    {"prompt": "gree"},
    {"model": "claude"},
    {"role": "sub-agent"},
    {"role": "sub-agent", "model": "claude"},
    {"agent": "scout"},
    {"inferred": "yes"},
    {"inferred": "no"},
    {"inferred": "no", "agent": "scout"},
    {"inferred": "yes", "severity": Severity.LOW},
    {"agent": "helper", "severity": Severity.LOW},
    {"agent": "planner", "category": "Tool-related"},
    {"agent": "planner", "role": "sub-agent"},
    {"min_duration": 9 * SECOND},
    {"min_duration": 9 * SECOND + 1},
    {"text": "journey"},
    {"text": "JOURN"},
    {"text": "öffentlichkeit"},
    {"text": "grüße an die öffentlich"},
    {"text": "100%_sicher \\ [a-z]+"},
    {"text": "%"},
    {"text": "_"},
    {"text": "it is"},
    {"text": "is"},
    {"text": "three times the same"},
    {"text": "again"},
    {"text": "nobody said this"},
    {"text": Listed(4).trace_id[:9]},
    {"limit": 2},
]


@pytest.fixture
def listed(store: SharedStore) -> SharedStore:
    """The traces above, stored."""
    store_all(store, TRACES)
    return store


def test_every_filter(listed: SharedStore) -> None:
    """Each filter shows the traces that a look at one after the other shows."""
    for query in FILTERS:
        assert find(listed, **query) == naive(TRACES, **query), query


@pytest.mark.parametrize("text", ["İstanbul", "Straße", "300 K", "ΟΔΟΣ", "ǅungla", "ﬁn", "ÅNGSTRÖM", "ẞ"])
def test_a_text_finds_itself_wherever_it_stands(store: SharedStore, text: str) -> None:
    """Whatever its letters become without case: in what was said, in an open trace, in a finding, as an id's start."""
    said = [
        Listed(1, goal=f"to {text} now"),
        Listed(2, goal=f"to {text} now", state=TraceState.OPEN),
        Listed(3, marks=(Mark(evidence=f"at {text} then"),)),
        Listed(4, session=f"{text} and on"),
        Listed(5),
    ]
    store_all(store, said)
    assert set(find(store, text=text)) == {t.trace_id for t in said[:4]}


def test_every_order(listed: SharedStore) -> None:
    """Each order in both directions, over everything, over a filter, and over a text."""
    for sort in Sort:
        for ascending in (False, True):
            for query in ({}, {"service": "shop", "severity": Severity.LOW}, {"text": "milk"}):
                asked = {**query, "sort": sort, "ascending": ascending}
                assert find(listed, **asked) == naive(TRACES, **asked), asked


_names = st.sampled_from
_traces = st.builds(
    Listed,
    number=st.integers(1, 10**6),
    service=_names(["shop", "desk"]),
    version=_names(["", "1", "2"]),
    session=_names(["", "s"]),
    state=_names(list(TraceState)),
    model=_names(["", "gpt"]),
    tool=_names(["search", "book"]),
    helper=_names(["helper", "planner"]),
    prompt=_names(["", "greet", "greet@1", "greet@2", "greeting"]),
    goal=_names(["buy milk", "plan a journey"]),
    received=st.integers(1, 4),
    start=st.integers(0, 3),
    length=st.integers(0, 3),
    tokens=st.none() | st.integers(0, 3),
    usd=st.none() | st.floats(0, 3),
    marks=st.lists(
        st.builds(
            Mark,
            judge=_names(["loops", "tools"]),
            severity=_names(list(Severity)),
            confidence=_names([0.3, 0.9]),
            agent=_names(["planner", "helper"]),
            at_tool=st.booleans(),
            state=_names([FindingState.CURRENT, FindingState.PROVISIONAL, FindingState.RETRACTED]),
        ),
        max_size=3,
    ).map(tuple),
    joined_to=_names(["", "", "", "f" * 32]),
)
_queries = st.fixed_dictionaries(
    {"sort": _names(list(Sort)), "ascending": st.booleans(), "confidence": _names([ALL, HALF])},
    optional={
        "service": _names(["shop", "desk"]),
        "version": _names(["1", "2"]),
        "session_id": st.just("s"),
        "state": _names(list(TraceState)),
        "severity": _names(list(Severity)),
        "judge": _names(["loops", "tools"]),
        "category": st.just("Resource Abuse"),
        "tool": _names(["search", "book"]),
        "prompt": _names(["greet", "greet@2"]),
        "agent": _names(["planner", "helper"]),
        "role": _names(["manager", "sub-agent"]),
        "model": st.just("gpt"),
        "since": st.integers(1, 4),
        "until": st.integers(1, 4),
        "min_duration": st.integers(0, 3),
        "text": _names(["milk", "journey", "a journ"]),
    },
)


@settings(max_examples=sized(6, 30), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(_traces, max_size=8, unique_by=lambda t: t.number), st.lists(_queries, min_size=2, max_size=5))
def test_filters_compose(store: SharedStore, traces: list[Listed], queries: list[dict[str, Any]]) -> None:
    """Any filters together, over any traces, show what a look at one after the other shows; so do pages of two."""
    for table in ("traces", "findings", "texts", "judgements", "errors", "run_facts"):
        store.command(f"TRUNCATE TABLE {table}")
    store_all(store, traces)
    for query in queries:
        assert find(store, **query) == naive(traces, **query), query
        assert paged(store, 2, **query) == naive(traces, **query), query


def paged(store: SharedStore, size: int, **query: Any) -> list[str]:
    seen: list[str] = []
    before: Position | None = None
    while rows := TraceLists(store).find(TraceQuery(**{"confidence": ALL, **query, "limit": size, "before": before})):
        seen += [row.trace_id for row in rows]
        before = Position(rows[-1].place, rows[-1].order_id)
    return seen


@pytest.mark.parametrize("sort", list(Sort))
def test_pages_stay_whole_while_traces_arrive(listed: SharedStore, sort: Sort) -> None:
    """Whatever arrives between two pages, those that were there are listed once each."""
    seen: list[str] = []
    before: Position | None = None
    number = 100
    while rows := TraceLists(listed).find(TraceQuery(ALL, 2, sort=sort, before=before)):
        seen += [row.trace_id for row in rows]
        before = Position(rows[-1].place, rows[-1].order_id)
        if number < 106:
            store_all(listed, [Listed(number, received=1000 + number, start=number * 7, tokens=number, marks=(HIGH,))])
            number += 1
    there = naive(TRACES, sort=sort)
    assert [i for i in seen if i in there] == there
    assert len(set(seen)) == len(seen)


@pytest.mark.parametrize("sort", [Sort.RECEIVED, Sort.TOKENS])
@pytest.mark.parametrize("ascending", [False, True])
def test_a_batch_is_in_order_of_its_starts(store: SharedStore, sort: Sort, ascending: bool) -> None:  # noqa: FBT001  a parameter of a test
    """To the nanosecond, whatever the ids: traces and sessions that arrived together, page by page."""
    starts = [7, 3, 9, 1, 5, 10**18, 8]
    same = {"received": 1000, "tokens": 5}
    store_all(store, [Listed(n, start=at, session=f"s{n}", **same) for n, at in enumerate(starts, 1)])  # type: ignore[arg-type]
    expected = sorted(starts, reverse=not ascending)
    for lists in (TraceLists(store), SessionLists(store)):
        seen: list[int] = []
        before = None
        while rows := lists.find(TraceQuery(ALL, 2, sort=sort, ascending=ascending, before=before)):
            seen += [row.start for row in rows]
            before = Position(rows[-1].place, rows[-1].order_id)
        assert seen == expected, lists


HOSTILE = (
    "' OR 1=1 --", '"', "%", "_", "\\", "\\'", "(a+)+$", "a\x00b", "\ud800", "{x:String}", "%s", "x" * 1_000_000, "\n",
)  # fmt: skip


def test_hostile_values_are_only_values(listed: SharedStore) -> None:
    """Whatever is typed into a filter finds what has just that, and breaks nothing."""
    for hostile in HOSTILE:
        for name in {name for query in FILTERS for name, value in query.items() if type(value) is str} - {"text"}:
            assert find(listed, **{name: hostile}) == [], (name, hostile[:20])
        assert set(find(listed, text=hostile)) <= {t.trace_id for t in TRACES}, hostile[:20]
        assert not TraceLists(listed).facets(0, 0, hostile).services, hostile[:20]
        assert SessionLists(listed).find(TraceQuery(ALL, 10, session_id=hostile)) == [], hostile[:20]
        assert find(listed, attributes=[(hostile, hostile)]) == [], hostile[:20]


def test_a_row_says_what_a_page_shows(listed: SharedStore) -> None:
    """Goal of the manager, models, turns, tokens, cost, and errors that are sure enough."""
    row = TraceLists(listed).find(TraceQuery(HALF, 1, session_id="s-1", service="shop", sort=Sort.COST))[0]
    assert (row.goal, list(row.models), row.turns, row.version) == ("buy milk", ["gpt"], 2, "1")
    assert (row.input_tokens, row.output_tokens, row.usd) == (100, 0, 0.0)
    assert row.errors == {Severity.HIGH: 2, Severity.MEDIUM: 1, Severity.LOW: 0}


def test_findings_of_a_joined_run_count_at_its_own_trace(store: SharedStore) -> None:
    """What was found in another of its traces counts, filters and sorts where the run shows; the copy is not listed."""
    whole = Listed(1, received=1)
    store_all(store, [whole, Listed(2, received=2, joined_to=whole.trace_id, marks=(HIGH,)), Listed(3, received=3)])
    assert find(store, severity=Severity.HIGH) == [whole.trace_id]
    assert find(store, sort=Sort.SEVERITY)[0] == whole.trace_id
    assert find(store, text="again and again") == [whole.trace_id]
    assert TraceLists(store).find(TraceQuery(ALL, 10))[-1].errors[Severity.HIGH] == 1


def test_short_words_are_found_whole(store: SharedStore) -> None:
    """Up to three letters of ASCII alone are looked for as a word; longer ones, and other scripts, in words, too."""
    store_all(store, [Listed(1, goal="use AI now", received=1), Listed(2, goal="the rain 東京駅", received=2)])
    assert find(store, text="ai") == [Listed(1).trace_id]
    assert find(store, text="rain") == [Listed(2).trace_id]
    assert find(store, text="京") == [Listed(2).trace_id]


def test_facets_suggest_what_is_there(listed: SharedStore) -> None:
    """Names of traces of that time with how many have them, most first; nothing of joined copies."""
    facets = TraceLists(listed).facets(20, 60, "")
    assert facets.services == [("shop", 4), ("desk", 1)]
    assert facets.tools == [("search", 4), ("book", 1)]
    assert ("scout", 1) in facets.agents
    assert facets.models == [("gpt", 4), ("claude", 1)]
    assert [name for name, _ in facets.categories] == ["Resource Abuse", "Tool-related"]
