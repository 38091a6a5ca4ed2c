"""Calls that are made again and again: found at the third, and never taken back."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from looping import BEGAN, CONVENTIONS, SECOND, Convention, Made, normal, now
from sizes import sized

from tracejury.judges.registry import suite_of
from tracejury.processors.rebuild import rebuild
from tracejury.schemas.findings import Finding
from tracejury.schemas.trajectory import KnownRuns, TraceState

LOOPS = {"identical-call", "identical-cycle", "identical-failure"}
SUITE = suite_of(())

every_convention = pytest.mark.parametrize("convention", CONVENTIONS.values(), ids=CONVENTIONS.keys())


def looks(made: Sequence[Made], convention: Convention) -> Iterator[tuple[int, set[tuple[str, str]]]]:
    """How many calls the spans of a prefix hold, and the loops that are found in it: rules and spans."""
    spans, known = normal(convention(made)), KnownRuns()
    for seen in range(1, len(spans) + 1):
        trace = rebuild(spans[:seen], state=TraceState.OPEN, known=known)
        calls = max((len([t for t in run.turns if t.tool_calls]) for run in trace.runs), default=0)
        yield calls, places(SUITE.judge(trace, known).findings)
    yield len(made), places(SUITE.judge(rebuild(spans, state=TraceState.SETTLED)).findings)


def places(findings: Sequence[Finding]) -> set[tuple[str, str]]:
    return {(f.judge, f.span_id) for f in findings if f.judge in LOOPS}


def first_seen(made: Sequence[Made], convention: Convention) -> int | None:
    """With how many calls a loop is found first, None for never; what is found once stays where it is."""
    first, before = None, set[tuple[str, str]]()
    for calls, found in looks(made, convention):
        assert before <= found
        before = found
        if found and first is None:
            first = calls
    return first


@every_convention
@pytest.mark.parametrize("times", [10, 30, 100])
@pytest.mark.parametrize("fails", [False, True])
def test_a_loop_is_found_by_its_fifth_call_and_stays(convention: Convention, times: int, *, fails: bool) -> None:
    result = "Error running the tool: the service refused" if fails else '{"orders": []}'
    first = first_seen([Made(result=result, fails=fails)] * times, convention)
    assert first is not None
    assert first <= 5


@every_convention
@pytest.mark.parametrize(
    "after",
    [
        Made(result="Tool call limit reached.", own_span=False),
        Made(result="This call was not executed.", own_span=False),
        Made(result='{"orders": [7]}'),
        Made(name="give_up", arguments={"why": "nothing there"}),
    ],
)
def test_what_comes_after_it_takes_it_not_back(convention: Convention, after: Made) -> None:
    if convention is CONVENTIONS["tools alone"] and not after.own_span:
        pytest.skip("what a harness turns down has no span")
    assert first_seen([*[Made()] * 5, *[after] * 3], convention) is not None


@every_convention
@pytest.mark.parametrize("period", [2, 3, 4, 5])
def test_a_cycle_is_found_in_its_third_round(convention: Convention, period: int) -> None:
    cycle = [Made(arguments={"page": number}, result=f"page {number}") for number in range(period)]
    first = first_seen([*cycle * 3, Made("other")], convention)
    assert first is not None
    assert first <= 3 * period + 1
    assert first_seen(cycle * 2, convention) is None


def _fresh(number: int) -> dict[str, str]:
    stamp = datetime.fromtimestamp(now(number), UTC).isoformat()
    return {"customer": "Ada", "request_id": str(uuid.UUID(int=Random(number).getrandbits(128))), "at": stamp}  # noqa: S311


@every_convention
def test_ids_and_times_of_the_call_make_no_other_call(convention: Convention) -> None:
    found = first_seen([Made(arguments=_fresh(n)) for n in range(4)], convention)
    # Where nothing that the agent was sent is recorded, it may have been given the ids.
    assert found == (None if convention is CONVENTIONS["tools alone"] else 4)


@every_convention
@pytest.mark.parametrize(
    "made",
    [
        lambda n: Made(arguments={"order": str(uuid.UUID(int=n + 1))}, result="[]"),
        lambda n: Made(arguments={"from": f"2027-03-0{n + 1}T10:00:00"}, result="no room"),
        lambda n: Made(arguments={"page": n}, result="[]"),
        lambda n: Made("write", {"text": f"{3000 * 'a'}{n}{3000 * 'b'}"}, "written"),
        lambda n: Made(arguments={"job": 1}, result=f'{{"progress": {n}0}}'),
        lambda n: Made(arguments={"job": 1}, result='{"state": "running"}') if n < 8 else Made(result="done"),
        lambda n: Made(name="get_status", arguments={"job": 1}, result="none") if n < 4 else Made(arguments={"n": n}),
        lambda _: Made(arguments={"job": 1}, result="no mail", pause=10),
        lambda n: Made(arguments={"job": 1}) if n % 3 else Made(name="edit", arguments={"line": n}),
    ],
    ids=["objects", "slots", "pages", "long texts", "progress", "pending", "status", "patience", "edits between"],
)
def test_work_is_no_loop(convention: Convention, made: Callable[[int], Made]) -> None:
    """Other things are asked for, or something is waited for."""
    calls = [made(number) for number in range(9)]
    if "order" in (calls[0].arguments or {}):  # the ids were found before
        calls.insert(0, Made(name="list_orders", result=" ".join(str((c.arguments or {})["order"]) for c in calls)))
    assert first_seen(calls, convention) is None


@every_convention
@pytest.mark.parametrize(
    "made",
    [Made(result='{"state": "running"}'), Made(name="get_status", result="open")],
    ids=["pending", "status"],
)
def test_twenty_equal_answers_in_twenty_seconds_are_no_waiting(convention: Convention, made: Made) -> None:
    first = first_seen([made] * 20, convention)
    assert first is not None
    assert first <= 11  # the tenth call is closed


@settings(max_examples=sized(40, 1000), deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.booleans(), st.booleans()), min_size=3, max_size=14),
    st.sampled_from(sorted(CONVENTIONS)),
)
def test_nothing_found_is_taken_back(drawn: list[tuple[int, int, bool, bool]], convention: str) -> None:
    """Whatever calls come in whatever order."""
    made = [
        Made(f"tool_{tool}", {"x": 1}, f"ValueError: {result}" if fails else f"result {result}", fails, own_span=ran)
        for tool, result, fails, ran in drawn
    ]
    first_seen(made, CONVENTIONS[convention])


@pytest.mark.parametrize(("apart", "found"), [(0.01, False), (0.5, True)])
def test_one_reply_recorded_several_times_is_one_call(apart: float, *, found: bool) -> None:
    """Records of one time with one call id; a client that numbers each reply's calls anew makes one call a reply."""
    first, *others = CONVENTIONS["genai"]([Made(), Made(name="give_up")])
    records = [
        replace(
            first,
            span_id=f"{first.span_id}-{i}",
            start=first.start + (nanos := int(i * apart * SECOND)),
            end=first.end + nanos,
        )
        for i in range(1, 4)
    ]
    trace = rebuild(normal([first, *records, *others]), state=TraceState.SETTLED)
    assert bool(places(SUITE.judge(trace).findings)) is found


@pytest.mark.parametrize(
    ("fails", "apart", "found"), [(True, True, {"identical-failure"}), (True, False, set()), (False, True, set())]
)
def test_where_no_arguments_are_recorded_failures_in_a_row_are_a_loop(
    found: set[str], *, fails: bool, apart: bool
) -> None:
    """Not those of one time, which may be of different things; equal results say nothing."""
    made = [Made(result="HTTP 503: Service Unavailable", fails=fails)] * 4
    spans = []
    for one in CONVENTIONS["tools alone"](made):
        bare = replace(one, attributes={key: value for key, value in one.attributes.items() if key != "input.value"})
        at_once = one.parent_span_id and not apart
        spans.append(replace(bare, start=BEGAN, end=BEGAN + 3 * SECOND) if at_once else bare)
    assert {rule for rule, _ in places(SUITE.judge(rebuild(normal(spans), state=TraceState.SETTLED)).findings)} == found
