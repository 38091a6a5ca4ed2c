"""What a plan is judged by: its prompt and what was known then, nothing that came after."""

from __future__ import annotations

import pytest
from small_traces import Did, Said, run, tool, trace

from tracejury.processors.transcript import plan_views, transcribe
from tracejury.schemas.trajectory import TurnKind
from tracejury.schemas.transcript import PlanView

PLAN = "1. Look for a list of rivers.\n2. Sort it by length.\n3. Answer."


def views(*turns: Said) -> tuple[PlanView, ...]:
    one = run("r", *turns)
    return plan_views(one, transcribe(trace(one), one))


def text_of(view: PlanView) -> str:
    return view.transcript.header + "".join(s.text for s in view.transcript.steps) + view.transcript.closing


def test_a_labelled_plan_is_viewed_with_what_stood_before_it() -> None:
    """The survey, the plan's prompt, the plan; not what was done then."""
    (view,) = views(
        Said("l1", "Facts: none.", kind=TurnKind.FACTS),
        Said("l2", PLAN, sees=["Write a plan, with the tools search and sort."], kind=TurnKind.PLAN),
        Said("l3", "I do something else."),
    )
    assert (view.label, view.turn, view.replan) == ("S2", 1, False)
    assert [s.label for s in view.transcript.steps] == ["S1", "S2"]
    assert "Facts: none." in text_of(view)
    assert "with the tools search and sort" in text_of(view)
    assert "something else" not in text_of(view)
    assert view.transcript.closing == ""


def test_a_replan_shows_the_last_plan_and_what_was_done_since() -> None:
    """Of the plan before it the words, what was done since as it is, of what was long before that the line."""
    done = [
        Said(
            f"a{i}",
            f"I try {i}.\nAnd think at length about it.",
            [Did("search", {"q": str(i)}, f"nothing {i}", span_id=f"t{i}")],
        )
        for i in range(4)
    ]
    turns = (Said("p1", PLAN, kind=TurnKind.PLAN), *done, Said("p2", PLAN + " Again.", kind=TurnKind.PLAN))
    first, second = views(*turns)
    assert (first.replan, second.replan) == (False, True)
    one = run("r", *turns)
    full = {s.label: s.text for s in transcribe(trace(one), one).steps}
    told = {s.label: s.text for s in second.transcript.steps}
    assert second.label == "S10"
    assert all(told[label] == full[label] for label in ("S1", "S2", "S4", "S8", "S10"))
    assert told["S9"] == "S9 tool search\nresult:\n nothing 3\n"  # its arguments stand in S8
    assert "called so far: search 4\n" in second.transcript.header
    third = views(*turns, *done[:1], Said("p3", PLAN, kind=TurnKind.PLAN))[2]
    assert third.transcript.steps[1].text == "S2 llm: I try 0. And think at length about it. -> calls search\n"
    assert third.transcript.steps[9].text.startswith("S10 llm plan\nwrote:\n")


def test_of_a_long_history_only_the_recent_part_is_told() -> None:
    """A view stays small however late its plan comes; what is left out is counted."""
    done = [Said(f"a{i}", "word " * 400) for i in range(200)]
    view = views(Said("p1", PLAN, kind=TurnKind.PLAN), *done, Said("p2", PLAN, kind=TurnKind.PLAN))[1]
    assert len(text_of(view)) < 9_000
    assert "earlier steps …]\n" in text_of(view)


@pytest.mark.parametrize("executed", [False, None])
def test_an_acting_turn_is_viewed_without_what_came_of_its_calls(executed: bool | None) -> None:  # noqa: FBT001 - a table
    """Neither a result nor that there was none."""
    lost = Did("search", {"q": "x"}, None, executed=executed)
    (view,) = views(Said("l1", "First I search.", [lost]), Said("l2", "Done.", [Did("read", {}, span_id="t")]))
    assert text_of(view).endswith('S1 llm\nwrote:\n First I search.\ncalls search\n {"q": "x"}\n')


def test_a_second_plan_before_anything_was_done_is_no_replan() -> None:
    """A first thought that plans in more detail answers no failure."""
    first, second = views(Said("p1", PLAN, kind=TurnKind.PLAN), Said("p2", PLAN, kind=TurnKind.PLAN))
    assert (first.replan, second.replan) == (False, False)
    todo = Did("write_todos", {"todos": ["read", "sort"]}, "ok", span_id="t1")
    more = Did("write_todos", {"todos": ["read", "count", "sort"]}, "ok", span_id="t2")
    noted = views(Said("l1", "", [todo]), Said("l2", "", [more]))
    assert [v.replan for v in noted] == [False, False]


def test_a_replan_shows_the_means_at_hand_and_their_use() -> None:
    """Tools that earlier prompts list, as far as the plan's own prompt does not, and what was called, with failures."""
    tools = [tool("search", q="string"), tool("helper")]
    turns = (
        Said("p1", PLAN, kind=TurnKind.PLAN),
        Said("a1", "", [Did("search", {"q": "x"}, error="no network", span_id="t1")], tools=tools),
        Said("a2", "", [Did("search", {"q": "x"}, "a list", span_id="t2")], tools=tools),
        Said("p2", PLAN, kind=TurnKind.PLAN),
    )
    first, second = views(*turns)
    assert "called so far" not in first.transcript.header
    assert second.transcript.header.endswith(
        "tools and agents that earlier prompts list:\n"
        " search(q?: string): the tool search\n helper(): the tool helper\n"
        "called so far: search 2 (1 failed)\n"
    )
