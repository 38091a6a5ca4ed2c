"""Facts of runs: roles of calls, failures and where they are read, plans in force."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from small_traces import Did, Said, run, tool, trace

from tracejury.judges.base import Context
from tracejury.judges.facts import RunFacts
from tracejury.judges.names import Role, find_name, hands_back, hints, named, role_of
from tracejury.schemas.normalized import Message
from tracejury.schemas.trajectory import AgentRun, TraceState, TurnKind

SEARCH = tool("web_search", ("query",), query="string")
PLAN, FACTS = TurnKind.PLAN, TurnKind.FACTS


def facts(*turns: Said, **more: object) -> RunFacts:
    """The facts of one run."""
    agent_run = run("r1", *turns, **more)  # type: ignore[arg-type]  # fields of run()
    return of(agent_run)


def of(*runs: AgentRun) -> RunFacts:
    """The facts of the first of these runs."""
    return Context(trace(*runs)).run(runs[0])


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("final_answer", Role.FINAL),
        ("FinalAnswer", Role.FINAL),
        ("final-result", Role.FINAL),
        ("finish", Role.FINAL),
        ("python_interpreter", Role.COMPUTE),
        ("web_search", Role.ACCESS),
        ("finish_order", Role.ACCESS),
        ("", Role.ACCESS),
    ],
)
def test_names_tell_what_a_call_is_for(name: str, role: Role) -> None:
    """Whatever the case and the separators; only the whole name counts."""
    assert role_of(name) is role


@pytest.mark.parametrize(
    ("text", "at"), [("use search now", 4), ("research and search", 13), ("search_agent", -1), ("search", 0), ("", -1)]
)
def test_names_are_found_as_whole_words(text: str, at: int) -> None:
    """A name inside a longer one is another name."""
    assert find_name(text, "search") == at


def test_names_come_in_order_of_mention() -> None:
    """The first tool of a plan is the first that it names."""
    assert named("use b_tool, then a_tool", ["a_tool", "b_tool", "c_tool"]) == ["b_tool", "a_tool"]
    assert hints("ask the researcher", ["ask_researcher"])
    assert not hints("ask them", ["ask_me"])


def test_a_failure_is_read_by_the_next_turn_that_is_sent_it() -> None:
    """By the error's own text, by that without the exception's type, or by the result; not by one's own words."""
    error = "ValueError: the backend is down for today"
    first = Said("a1", "", [Did("web_search", {"query": "x"}, None, error, "t1")])
    for seen in (f"Error: {error}", "Error executing tool: the backend is down for today"):
        found = facts(first, Said("a2", ""), Said("a3", "", sees=["other", seen]))
        reading = found.turns[0].read
        assert reading is not None
        assert (reading.position, reading.text[reading.offset :]) == (2, seen[reading.offset :])
    assert facts(first, Said("a2", "", sees=["all is well"])).turns[0].read is None
    whole = run("r1", first, Said("a2", "", sees=[error]))
    own_words = replace(whole.turns[1], new_messages=(Message("assistant", error),))
    assert of(replace(whole, turns=(whole.turns[0], own_words))).turns[0].read is None


def test_a_result_that_reports_a_failure_is_one() -> None:
    """Tools that soften their errors into results fail as well; an error page does not fail the turn."""
    softened = facts(Said("a1", "", [Did("look", {"q": 1}, "Error: backend down", None, "t1")])).turns[0]
    page = facts(Said("a1", "", [Did("look", {"q": 1}, "Title: Error 403", None, "t1")])).turns[0]
    assert softened.failure is not None
    assert not softened.succeeded
    assert page.failure is None
    assert page.calls[0].failure is not None
    assert page.calls[0].failure.page
    assert not page.succeeded


@pytest.mark.parametrize(("answer", "succeeded"), [("It is 42.", True), ("I was unable to find it.", False)])
def test_a_delegation_succeeds_if_the_delegate_answers(answer: str, *, succeeded: bool) -> None:
    """A sub-agent that gave up has brought nothing, although its call worked."""
    manager = run("r1", Said("a1", "", [Did("helper", {"task": "x"}, answer, None, "t1", sub_run_id="r2")]))
    helper = run("r2", Said("b1", answer), role="sub-agent", answer=answer)
    turn = of(manager, helper).turns[0]
    assert (turn.attempted, turn.succeeded, bool(turn.gave_up)) == (True, succeeded, not succeeded)


@pytest.mark.parametrize(
    ("plan", "wants"),
    [
        ("1. Use web_search.", True),
        ("1. Look up the year on Wikipedia.", True),
        ("1. Add the numbers.\n2. Divide.", False),
        ("1. Use final_answer.", False),
    ],
)
def test_a_plan_asks_for_data_or_not(plan: str, *, wants: bool) -> None:
    """By a tool that it names or a look-up that it words; the tool that hands over the answer does not count."""
    final = tool("final_answer", answer="string")
    found = facts(Said("p1", plan, kind=PLAN), Said("a1", "Well."), tools=[SEARCH, final])
    assert found.wants_data == (False, wants)
    assert found.plan_at == (-1, 0)


@pytest.mark.parametrize(("text", "wants"), [("Plan:\n1. web_search it.", True), ("I like web_search.", False)])
def test_a_plan_may_open_an_answer(text: str, *, wants: bool) -> None:
    """Agents without a planning call plan in what they say."""
    assert facts(Said("a1", text), tools=[SEARCH]).wants_data == (wants,)


def test_the_latest_plan_is_in_force() -> None:
    """A re-plan replaces the plan; a survey counts only without one."""
    found = facts(
        Said("f1", "Look it up with web_search.", kind=FACTS),
        Said("p1", "1. Use web_search.", kind=PLAN),
        Said("p2", "1. Think.", kind=PLAN),
        Said("a1", "Well."),
        tools=[SEARCH],
    )
    assert found.wants_data == (True, True, True, False)
    assert found.plan_at == (-1, -1, 1, 2)


@pytest.mark.parametrize("ended", [True, False])
@pytest.mark.parametrize("state", list(TraceState))
def test_an_absence_means_something_once_the_run_has_ended(state: TraceState, *, ended: bool) -> None:
    """A killed process leaves runs without an end: what they lack is nobody's error."""
    agent_run = run("r1", Said("a1", "Well."), ended=ended)
    context = Context(trace(agent_run, state=state))
    assert context.finished(agent_run) is context.run(agent_run).settled is ended


@pytest.mark.parametrize(
    ("name", "arguments", "above", "back"),
    [
        ("transfer_to_manager", {}, "manager", True),
        ("handoff", {"to_agent": "Manager", "reason": "done"}, "manager", True),
        ("transfer_to_researcher", {}, "manager", False),
        ("search", {"query": "what the manager said"}, "manager", False),
        ("search", {"query": "a"}, "", False),
    ],
)
def test_giving_the_word_back_brings_no_data(name: str, arguments: dict[str, str], above: str, *, back: bool) -> None:
    """By the name of the agent above; so the turn that does it has tried nothing."""
    assert hands_back(name, arguments, above) is back
    sub = run("r2", Said("w1", "It is 1112 km.", [Did(name, arguments, "ok", span_id="t1")]), parent_id="r1")
    assert of(sub, run("r1", Said("a1", "x"), name=above)).turns[0].attempted is not back


def test_a_run_without_a_span_is_over_when_it_answers() -> None:
    """A bare client's run ends with a reply that asks for nothing; what asks for a tool goes on."""
    bare = run("r1", Said("a1", "1937."), ended=False)
    assert not of(bare).settled
    assert of(replace(bare, status="ok")).settled
    asking = run("r1", Said("a1", "Searching.", [Did("web_search", {"query": "year"}, "a page")]), ended=False)
    assert not of(replace(asking, status="ok")).settled


def test_several_rules_that_look_for_the_same_in_a_run_look_once() -> None:
    """What is found is kept for the pass, run by run; another run is another question."""
    runs = run("r1", Said("a1", "One.")), run("r2", Said("b1", "Two."))
    ctx = Context(trace(*runs))
    looked: list[str] = []

    def texts(found: RunFacts) -> Iterator[str]:
        looked.append(found.run.id)
        yield from (turn.text for turn in found.turns)

    assert [ctx.run(one).once(texts) for one in (*runs, *runs)] == [("One.",), ("Two.",)] * 2
    assert looked == ["r1", "r2"]
