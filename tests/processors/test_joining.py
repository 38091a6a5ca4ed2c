"""Runs over several traces: what ties them, what does not, and what is rebuilt of their union."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from trajectories import FRAMEWORKS, fixture_spans, load, misplaced, normalise_all

from tracejury.processors import joining
from tracejury.processors.joining import groups_of, join_keys, rebuild_joined
from tracejury.processors.rebuild import rebuild
from tracejury.schemas.normalized import NormalizedSpan
from tracejury.schemas.spans import SpanLink

AGENT = {"openinference.span.kind": "AGENT"}


def trace(name: str, *entries: dict[str, Any], links: Sequence[str] = ()) -> dict[str, list[NormalizedSpan]]:
    """One trace of that id; the first span links to the traces `links`."""
    spans = [replace(s, trace_id=name) for s in fixture_spans({"spans": list(entries)})[0]]
    spans[0] = replace(spans[0], links=tuple(SpanLink(t, "x") for t in links))
    return {name: normalise_all(spans)}


def call(span_id: str, start: int, sent: Sequence[str] = (), asked: str = "", session: str = "") -> dict[str, Any]:
    """A client's LLM call: ids of the tool results that it was sent, and of the tool call that it asked for."""
    attributes: dict[str, Any] = {"openinference.span.kind": "LLM"}
    attributes |= {"llm.input_messages.0.message.role": "system", "llm.input_messages.0.message.content": "You find."}
    for i, call_id in enumerate(sent, start=1):
        attributes[f"llm.input_messages.{i}.message.role"] = "tool"
        attributes[f"llm.input_messages.{i}.message.content"] = f"result of {call_id}"
        attributes[f"llm.input_messages.{i}.message.tool_call_id"] = call_id
    if asked:
        attributes["llm.output_messages.0.message.tool_calls.0.tool_call.id"] = asked
        attributes["llm.output_messages.0.message.tool_calls.0.tool_call.function.name"] = "search"
    else:
        attributes["llm.output_messages.0.message.content"] = "Done."
    if session:
        attributes["session.id"] = session
    return {"id": span_id, "start": start, "attributes": attributes}


def test_links_tie_traces() -> None:
    """Also through a third one; each trace's own id is a key, so that what links to it can be found."""
    traces = trace("a", {"id": "s1", "attributes": AGENT}) | trace("b", {"id": "s2", "start": 5}, links=["a"])
    traces |= trace("c", {"id": "s3", "start": 9, "attributes": AGENT}, links=["b"]) | trace("d", {"id": "s4"})
    assert groups_of(traces) == [("a", "b", "c"), ("d",)]
    assert join_keys(traces["b"]) == {"trace:a", "trace:b"}
    assert [t.trace_id for t in rebuild_joined(traces)] == ["a", "d"]


def test_a_batch_ties_nothing() -> None:
    """A span that links to several traces gathered them; they are not one run."""
    traces = trace("a", {"id": "s1"}) | trace("b", {"id": "s2"}) | trace("c", {"id": "s3"}, links=["a", "b"])
    assert len(groups_of(traces)) == 3


def test_a_clients_calls_are_one_run_by_the_ids_of_their_tool_calls() -> None:
    """One trace a call: request and result join them; nothing joins another run of the same program at the time."""
    traces = trace("a", call("s1", 1, asked="call_one_run_1")) | trace("b", call("s2", 2, asked="call_two_run_1"))
    traces |= trace("c", call("s3", 5, ["call_one_run_1"])) | trace("d", call("s4", 6, ["call_two_run_1"]))
    assert groups_of(traces) == [("a", "c"), ("b", "d")]
    one, _ = rebuild_joined(traces)
    (run,) = one.runs
    assert [t.llm.span_id for t in run.turns if t.llm] == ["s1", "s3"]
    assert run.turns[0].tool_calls[0].executed
    assert one.remainder == ()


def test_a_clients_session_is_one_run() -> None:
    """Where an id allows it, per client; an agent's traces of one conversation stay turns of their own."""
    traces = trace("a", call("s1", 1, asked="call_one_run_1", session="x")) | trace("b", call("s2", 2, session="x"))
    traces |= trace("c", call("s3", 3, session="y"))
    assert groups_of(traces) == [("a", "b"), ("c",)]
    agents = trace("a", {"id": "s1", "attributes": AGENT | {"session.id": "x"}})
    agents |= trace("b", {"id": "s2", "attributes": AGENT | {"session.id": "x"}})
    assert len(groups_of(agents)) == 2


def test_a_session_that_all_runs_of_a_program_state_makes_them_no_one_run() -> None:
    """A call without history begins anew where calls before it were sent theirs; else only the session tells."""
    sent = [call("a1", 1, [], "call_aaa1", "default"), call("a2", 5, ["call_aaa1"], session="default")]
    sent += [call("b1", 9, [], "call_bbb1", "default"), call("b2", 13, ["call_bbb1"], session="default")]
    for seed in range(4):
        parts = [trace(f"t{at}", one) for at, one in enumerate(sent)]
        random.Random(seed).shuffle(parts)  # noqa: S311  an order of arrival
        (joined,) = rebuild_joined({name: spans for part in parts for name, spans in part.items()})
        assert [[turn.llm.span_id for turn in run.turns if turn.llm] for run in joined.runs] == [
            [s.span_id for s in (*parts_of(parts, "t0"), *parts_of(parts, "t1"))],
            [s.span_id for s in (*parts_of(parts, "t2"), *parts_of(parts, "t3"))],
        ]


def parts_of(parts: Sequence[dict[str, list[NormalizedSpan]]], name: str) -> list[NormalizedSpan]:
    """The spans of the trace with that name."""
    return next(part[name] for part in parts if name in part)


@pytest.mark.parametrize("call_id", ["call_1", "call_that_every_mock_gives"])
def test_ids_that_are_not_unique_join_nothing(call_id: str) -> None:
    """Short ones, and those that several calls gave out."""
    traces = trace("a", call("s1", 1, asked=call_id)) | trace("b", call("s2", 2, asked=call_id))
    traces |= trace("c", call("s3", 5, [call_id]))
    assert len(groups_of(traces)) == 3


def test_calls_without_an_id_stay_single() -> None:
    """One service, one prompt, one time: no evidence. Each is a run of its own and nothing is lost."""
    traces = trace("a", call("s1", 1)) | trace("b", call("s2", 2))
    rebuilt = rebuild_joined(traces)
    assert [([(r.id, r.inferred) for r in t.runs], t.remainder) for t in rebuilt] == [
        ([("s1", True)], ()),
        ([("s2", True)], ()),
    ]


def test_stated_tasks_tie_and_part() -> None:
    """The same task id joins whatever the traces are; different ones part even linked traces."""
    traces = trace("a", {"id": "s1", "attributes": AGENT | {"tracejury.task.id": "t"}})
    traces |= trace("b", {"id": "s2", "attributes": AGENT | {"tracejury.task.id": "t"}})
    traces |= trace("c", {"id": "s3", "attributes": AGENT | {"tracejury.task.id": "u"}}, links=["a"])
    assert groups_of(traces) == [("a", "b"), ("c",)]


def test_a_task_that_several_sessions_try_ties_those_of_one_session() -> None:
    """One that states no session belongs to the first."""

    def stated(name: str, start: int, session: str) -> dict[str, list[NormalizedSpan]]:
        attributes = AGENT | {"tracejury.task.id": "t1"} | ({"session.id": session} if session else {})
        return trace(name, {"id": f"s{name}", "start": start, "attributes": attributes})

    traces = stated("a", 1, "one") | stated("b", 2, "two") | stated("c", 3, "one") | stated("d", 4, "two")
    assert groups_of(traces) == [("a", "c"), ("b", "d")]
    assert groups_of(traces | stated("e", 5, ""))[0] == ("a", "c", "e")


def test_traces_with_the_same_span_ids_are_not_mixed() -> None:
    """Span ids are unique within a trace only."""
    traces = trace("a", {"id": "s1"}) | trace("b", {"id": "s1", "start": 5}, links=["a"])
    assert len(groups_of(traces)) == 2


def part(start: int = 5, parent: str = "s1", name: str = "b") -> dict[str, list[NormalizedSpan]]:
    """A trace whose topmost span has its parent elsewhere."""
    return trace(name, call(f"l{name}", start) | {"parent": parent})


WHOLE = trace("a", {"id": "s1", "start": 2, "end": 9, "attributes": AGENT | {"agent.name": "clerk"}})


@pytest.mark.parametrize("links", [(), ("a",)])
def test_a_trace_below_a_span_of_another_one_is_a_part_of_it(links: Sequence[str]) -> None:
    """Its call is the agent's, in whatever order they come; a link says the same."""
    traces = WHOLE | trace("b", call("s2", 5) | {"parent": "s1"}, {"id": "s3", "start": 6, "parent": "s2"}, links=links)
    traces |= part(7, "s3", "c")
    (joined,) = rebuild_joined(traces)
    assert [joined] == rebuild_joined(dict(reversed(traces.items())))
    (run,) = joined.runs
    assert (run.name, [t.llm.span_id for t in run.turns if t.llm]) == ("clerk", ["s2", "lc"])
    assert misplaced(joined) == []


@pytest.mark.parametrize(
    "apart",
    [
        pytest.param(trace("d", {"id": "s1", "start": 1}), id="two traces have the id"),
        pytest.param(trace("a", {"id": "s1", "start": 6 * 10**9}), id="begun before its parent"),
        pytest.param(part(86_401 * 10**9), id="begun a day later"),
        pytest.param(part(parent="s9"), id="nobody has the id"),
        pytest.param(trace("b", {"id": "r"}, call("s2", 5) | {"parent": "s1"}), id="a root of its own"),
        pytest.param(
            trace("b", {"id": "r", "parent": "s8"}, call("s2", 5) | {"parent": "s1"}), id="a lost parent, too"
        ),
        pytest.param(
            trace("d", {"id": "s4"}) | trace("b", {"id": "r", "parent": "s4"}, call("s2", 5) | {"parent": "s1"}),
            id="parents in two traces",
        ),
    ],
)
def test_a_parents_id_alone_joins_nothing_where_it_may_be_anothers(apart: dict[str, list[NormalizedSpan]]) -> None:
    """The traces stay apart."""
    traces = WHOLE | part() | apart
    assert len(groups_of(traces)) == len(traces)


@pytest.mark.parametrize(
    ("tools", "start", "home"),
    [
        ([(3, 6)], 4, "t0"),
        ([(3, 6), (4, 8)], 5, ""),
        ([(3, 6), (4, 8)], 7, "t1"),
        ([(3, 4)], 5, "agent"),
        ([(3, 6)], 60, ""),
        ([(3, 6)], 6, "agent"),
    ],
)
def test_what_names_a_parent_of_another_trace_is_placed_by_its_own(
    tools: list[tuple[int, int]], start: int, home: str
) -> None:
    """Below the call in whose time it began, else the agent's; nowhere where two calls were at work."""
    agent = {"id": "agent", "start": 1, "end": 50, "attributes": AGENT | {"agent.name": "clerk"}}
    kind = {"openinference.span.kind": "TOOL"}
    calls = [
        {"id": f"t{i}", "start": a, "end": b, "parent": "agent", "attributes": kind} for i, (a, b) in enumerate(tools)
    ]
    stray = {"id": "flow", "start": start, "end": start + 1, "parent": "s1"}
    traces = WHOLE | trace("b", agent, call("l1", 2) | {"parent": "agent"}, *calls, stray)
    (whole,) = (t for t in rebuild_joined(traces) if "flow" in t.spans)
    assert whole.spans["flow"].raw.parent_span_id == (home or "s1")
    assert ("flow" in {s.span_id for s in whole.remainder}) is (not home)


def test_size_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """What ties more traces than any run has is no run."""
    monkeypatch.setattr(joining, "MOST_TRACES", 3)
    traces: dict[str, list[NormalizedSpan]] = {}
    for i in range(10):
        traces |= trace(f"t{i}", {"id": f"s{i}", "start": i}, links=[f"t{i - 1}"] if i else [])
    assert max(map(len, groups_of(traces))) == 3


@pytest.mark.skipif(not FRAMEWORKS.exists(), reason="the shared framework captures are absent")
def test_a_swarm_over_41_traces_is_one_run_in_any_order() -> None:
    """Tied by links only; two such runs at once do not merge; a trace alone is what `rebuild` makes of it."""
    one, two = (load(FRAMEWORKS / "autogen_swarm" / f"{s}.zip") for s in ("S1", "S2"))
    for seed in range(2):
        order = [*one.items(), *two.items()]
        random.Random(seed).shuffle(order)  # noqa: S311 - arrival orders, no secrets
        with_agents = [t for t in rebuild_joined(dict(order)) if t.runs]
        assert [[(r.name, r.role) for r in t.runs] for t in with_agents] == [
            [("manager", "manager"), ("researcher", "sub-agent"), ("researcher", "sub-agent")]
        ] * 2
        assert [misplaced(t) for t in with_agents] == [[], []]
    single = load(FRAMEWORKS / "smolagents" / "S1.zip")
    assert rebuild_joined(single) == [rebuild(spans) for spans in single.values()]
