"""A trace that grows, judged with the runs that are known from before: as if it were judged anew each time."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from forests import agent_entries, entries
from hypothesis import given, settings
from hypothesis import strategies as st
from large_trace import large_trace
from sizes import sized
from small_traces import Did, Said, run, trace
from trajectories import FRAMEWORKS, TRAIL, fixture_spans, load, normalise_all

from tracejury.judges.base import Context
from tracejury.judges.facts import RunFacts
from tracejury.judges.registry import suite_of
from tracejury.judges.rule import Hit, RunRule, rule
from tracejury.judges.suite import Suite
from tracejury.processors.normalize import normalize
from tracejury.processors.open_trace import OpenTrace
from tracejury.processors.rebuild import rebuild
from tracejury.schemas.normalized import NormalizedSpan
from tracejury.schemas.spans import STATUS_ERROR, Span
from tracejury.schemas.trajectory import AgentRun, KnownRuns, Trace, TraceState

SUITE = suite_of(())
TRACES = [*sorted(TRAIL.glob("*")), *sorted(FRAMEWORKS.glob("*/*.zip"))]

captured = pytest.mark.skipif(not TRACES, reason="the shared captures are not on this machine")


class Growing:
    """One trace, rebuilt and judged at each pass; every pass is compared with one that knows nothing of the others."""

    def __init__(self) -> None:
        self._known = KnownRuns()

    def check(self, spans: Sequence[NormalizedSpan], state: TraceState) -> Trace:
        """What these spans show, the same from what was kept and from scratch."""
        wanted = rebuild(spans, state=state)
        grown = rebuild(spans, state=state, known=self._known)
        assert grown == wanted
        assert SUITE.judge(grown, self._known) == SUITE.judge(wanted)
        return grown


def passes(
    spans: Sequence[NormalizedSpan], cuts: Iterable[int]
) -> Iterator[tuple[Sequence[NormalizedSpan], TraceState]]:
    """The spans as they arrive, open up to the last pass, which comes twice."""
    for cut in sorted({c for c in cuts if 0 < c < len(spans)}):
        yield spans[:cut], TraceState.OPEN
    yield spans, TraceState.OPEN
    yield spans, TraceState.SETTLED


forests = st.lists(entries(), min_size=1, max_size=24) | agent_entries()


@settings(max_examples=sized(40, 2000), deadline=None)
@given(forests, st.randoms(use_true_random=False), st.sets(st.integers(1, 40), max_size=8))
def test_any_order_of_arrival(drawn: list[dict[str, object]], chance: random.Random, cuts: set[int]) -> None:
    """Late spans, parents after their children, ids that come again with other contents."""
    chance.shuffle(drawn)
    growing = Growing()
    for spans, state in passes(normalise_all(fixture_spans({"spans": drawn})[0]), cuts):
        growing.check(spans, state)


@settings(max_examples=sized(30, 1000), deadline=None)
@given(agent_entries(), st.randoms(use_true_random=False), st.integers(1, 9))
def test_spans_that_end_later(drawn: list[dict[str, object]], chance: random.Random, size: int) -> None:
    """Announced ones are replaced as they end, some with another parent; logs change nothing that was not read anew."""
    whole = fixture_spans({"spans": drawn})[0]
    begun = [replace(span, pending=True, end=span.start, status_code=0, attributes=_opening(span)) for span in whole]
    moved = [replace(s, parent_span_id=chance.choice(whole).span_id, end=s.end + 1) for s in whole[-2:]]
    arriving = [*begun, *whole]
    chance.shuffle(arriving)
    trace, growing = OpenTrace(("", "t"), 0, 0), Growing()
    for at in range(0, len(arriving), size):
        for span in arriving[at : at + size]:
            trace.add_span(span)
        growing.check(list(trace.spans.values()), TraceState.OPEN)
    for span in moved:
        trace.add_span(span)
    growing.check(list(trace.spans.values()), TraceState.SETTLED)


def _opening(span: Span) -> dict[str, str]:
    return {key: value for key, value in span.attributes.items() if "output" not in key}


@settings(max_examples=sized(12, 400), deadline=None)
@given(st.randoms(use_true_random=False), st.integers(5, 30))
def test_one_long_run(chance: random.Random, size: int) -> None:
    """Calls fail, to be mended later or not; some repeat; spans are announced, end, and come too late."""
    whole = [_with_trouble(span, chance) for span in large_trace(100, text=20)]
    begun = [replace(s, pending=True, end=s.start, status_code=0, attributes=_opening(s)) for s in whole]
    announced = [(span.start, span) for span in begun if chance.random() < 0.3]
    ended = [(s.end + chance.choice([0, 0, 0, 10**9]), s) for s in whole]
    arriving = [span for _, span in sorted([*announced, *ended], key=lambda one: one[0])]
    trace, growing = OpenTrace(("", "t"), 0, 0), Growing()
    for at in range(0, len(arriving), size):
        for span in arriving[at : at + size]:
            trace.add_span(span)
        growing.check(list(trace.spans.values()), TraceState.OPEN)
    found = growing.check(list(trace.spans.values()), TraceState.SETTLED)
    assert max(len(run.turns) for run in found.runs) > size


def _with_trouble(span: Span, chance: random.Random) -> Span:
    if span.attributes.get("openinference.span.kind") != "TOOL" or chance.random() < 0.4:
        return span
    if chance.random() < 0.5:
        return replace(span, status_code=STATUS_ERROR, status_message="ConnectionError: the service answers 503")
    return replace(span, attributes={**span.attributes, "input.value": '{"query": "a b c"}', "output.value": "[]"})


@settings(max_examples=sized(12, 400), deadline=None)
@given(agent_entries(), agent_entries(), st.integers(1, 30))
def test_a_trace_that_joins_and_leaves(one: list[dict[str, object]], other: list[dict[str, object]], cut: int) -> None:
    """Spans of a trace that is no longer one with it are gone."""
    own = normalise_all(fixture_spans({"spans": one})[0])
    theirs = [
        normalize(replace(s, span_id=f"o{s.span_id}", trace_id="b" * 32)) for s in fixture_spans({"spans": other})[0]
    ]
    growing = Growing()
    for spans in (own[:cut], [*own[:cut], *theirs], [*own, *theirs[:cut]], own, [*theirs, *own]):
        growing.check(spans, TraceState.OPEN)


@captured
@pytest.mark.parametrize("path", sorted(TRACES, key=lambda p: -p.stat().st_size)[: sized(4, 400)], ids=lambda p: p.name)
def test_captured_traces(path: Path) -> None:
    """In order of start, of end, and of nothing."""
    chance = random.Random(path.name)  # noqa: S311 - which spans are known when, not a secret
    for spans in load(path).values():
        starts = sorted(spans, key=lambda s: (s.raw.start, s.span_id))
        ends = sorted(spans, key=lambda s: (s.raw.end, s.span_id))
        for arriving in (starts, ends, chance.sample(spans, len(spans))):
            growing = Growing()
            for known, state in passes(arriving, chance.sample(range(len(spans) + 1), min(6, len(spans)))):
                growing.check(known, state)


def counting(seen: list[str], scope: str) -> RunRule:
    """A rule that finds nothing, and notes what it looks at."""

    def find(facts: RunFacts, _: Context) -> Iterator[Hit]:
        seen.append(facts.run.id)
        yield from ()

    return rule("counting", "Resource Abuse", "EE", "LOW", find, scope=scope)


@pytest.mark.parametrize(("scope", "again"), [("turn", []), ("run", []), ("trace", ["r1", "r2"])])
def test_a_rule_of_one_run_looks_once_at_a_run_that_stays(scope: str, again: list[str]) -> None:
    """One of the whole trace looks at every run each time."""
    seen: list[str] = []
    suite, known = Suite([counting(seen, scope)]), KnownRuns()
    whole = trace(run("r1", Said("a1", "One.")), run("r2", Said("b1", "Two."), parent_id="r1"))
    suite.judge(whole, known)
    suite.judge(replace(whole, state=TraceState.OPEN), known)
    assert seen == ["r1", "r2", *again]


SUB = run(
    "r2", Said("b1", "I was unable to find it."), parent_id="r1", name="helper", answer="I was unable to find it."
)
ABOVE = run("r1", Said("a1", "", [Did("helper", {"task": "x"}, "x", None, "t1", sub_run_id="r2")]), name="manager")


@pytest.mark.parametrize(
    ("runs", "again"),
    [
        ([ABOVE, replace(SUB)], ["r2"]),
        ([ABOVE, replace(SUB, answer="It is 42.")], ["r1", "r2"]),
        ([ABOVE, replace(SUB, name="searcher")], ["r1", "r2"]),
        ([ABOVE], ["r1"]),
        ([replace(ABOVE, name="leader"), SUB], ["r1", "r2"]),
        ([replace(ABOVE, answer="None."), SUB], ["r1"]),
    ],
)
def test_a_run_is_looked_at_again_where_it_or_what_it_is_read_by_is_another(
    runs: list[AgentRun], again: list[str]
) -> None:
    """By the same object; of the others count the name above, and names and answers of those that it started."""
    seen: list[str] = []
    suite, known = Suite([counting(seen, "run")]), KnownRuns()
    suite.judge(trace(ABOVE, SUB), known)
    seen.clear()
    suite.judge(trace(*runs), known)
    assert seen == again


def test_a_rule_that_failed_is_run_again() -> None:
    broken = [True]

    def find(_: RunFacts, __: Context) -> Iterator[Hit]:
        if broken:
            raise ValueError("not now")
        yield from ()

    suite, known = Suite([rule("failing", "Resource Abuse", "EE", "LOW", find, scope="run")]), KnownRuns()
    whole = trace(SUB)
    assert suite.judge(whole, known).failures == (("failing", "ValueError: not now"),)
    broken.clear()
    assert suite.judge(whole, known).failures == ()
