"""Rebuilt traces are held once, the latest revision of each, as long as there is room."""

from __future__ import annotations

from dataclasses import replace

from small_traces import Said, run, trace

from tracejury.collector.judging.llm.traces_to_judge import TracesToJudge
from tracejury.schemas.trajectory import Trace

ONE = trace(run("m", Said("l", "x")))


def named(name: str, part: str = "") -> Trace:
    """A trace whose spans are of `part`."""
    spans = {i: replace(s, raw=replace(s.raw, trace_id=part or name)) for i, s in ONE.spans.items()}
    return replace(ONE, trace_id=name, spans=spans)


def held(recent: TracesToJudge) -> str:
    """The names of the traces that are held."""
    return "".join(name for name in "abc" if recent.get(("", name)) is not None)


def test_the_least_recently_used_goes_first_and_a_revision_counts_once() -> None:
    recent = TracesToJudge(max_bytes=5000)
    for name in "aab":
        recent.keep(named(name), ())
    assert (held(recent), recent.held_bytes) == ("ab", 2 * (2000 + 1))
    recent.get(("", "a"))
    recent.keep(named("c"), ())
    assert held(recent) == "ac"


def test_one_that_is_larger_than_the_room_is_not_held() -> None:
    recent = TracesToJudge(max_bytes=1000)
    recent.keep(named("a"), ())
    assert (held(recent), recent.held_bytes) == ("", 0)


def test_a_deleted_trace_is_forgotten_also_as_a_part_of_a_joined_one() -> None:
    recent = TracesToJudge()
    recent.keep(named("a", part="b"), ())
    recent.keep(named("c"), ())
    recent.forget([("other", "c"), ("", "b")])
    assert held(recent) == "c"
