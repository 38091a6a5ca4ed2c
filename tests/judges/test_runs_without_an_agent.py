"""Runs of a program that only asks a model, and runs whose own span is lost: what detectors say, and do not say."""

from __future__ import annotations

from dataclasses import replace

import pytest
from small_traces import Did, Said, run, tool, trace

from tracejury.judges.registry import suite_of
from tracejury.schemas.trajectory import AgentRun, TurnKind

SUITE = suite_of(())
PLAN = Said("a1", "Plan:\n1. Search the web for the length of the Rhine.\n2. Say how long it is.", kind=TurnKind.PLAN)
CLAIM = Said("a2", "I searched, and the web confirmed it: the Rhine is 1230 km long.")


def found(agent_run: AgentRun) -> set[str]:
    """Rules that find anything in a trace of this run, at every level of confidence; none raises."""
    result = SUITE.judge(trace(agent_run))
    assert result.failures == ()
    return {f.judge for f in result.findings}


def _ungrounded(agent_run: AgentRun) -> bool:
    return any(name.startswith("ungrounded") for name in found(agent_run))


@pytest.mark.parametrize("turns", [(CLAIM,), (PLAN, CLAIM), (replace(PLAN, kind=TurnKind.FACTS), CLAIM)])
def test_who_can_only_write_left_nothing_out(turns: tuple[Said, ...]) -> None:
    """A chain of prompts has no tools: that it looked nothing up was nobody's choice."""
    assert found(replace(run("r1", *turns, answer=CLAIM.text), inferred=True)) == set()


@pytest.mark.parametrize(
    "free",
    [
        pytest.param(replace(run("r1", PLAN, CLAIM, tools=[tool("search")]), inferred=True), id="tools"),
        pytest.param(replace(run("r1", PLAN, CLAIM, managed=("searcher",)), inferred=True), id="agents"),
        pytest.param(run("r1", PLAN, CLAIM), id="an agent"),
        pytest.param(
            replace(
                run("r1", PLAN, Said("a0", "", [Did("search", {"q": "Rhine"}, None, "no route", "t1")]), CLAIM),
                inferred=True,
            ),
            id="a call",
        ),
    ],
)
def test_who_could_have_looked_it_up_did_not(free: AgentRun) -> None:
    assert _ungrounded(free)


def test_a_run_whose_span_is_lost_is_over_when_it_hands_over_its_answer() -> None:
    """By a call or in words; a run that goes on may still look up what it says."""
    looks = [tool("search", ("q",), q="string")]
    for closing, status in ((True, "ok"), (False, "ok"), (True, "unfinished")):
        hands = Said("a2", "", [Did("final_answer", {"answer": CLAIM.text}, CLAIM.text, None, "t1")])
        lost = replace(run("r1", PLAN, hands, tools=looks, ended=False), status=status)
        first, last = lost.turns
        (call,) = last.tool_calls
        ended = replace(lost, turns=(first, replace(last, tool_calls=(replace(call, closing=closing),))))
        assert _ungrounded(ended) is (closing and status == "ok")


def test_a_run_of_replies_that_only_word_answers_reads_its_failures() -> None:
    """A retold prompt may word every call as a closing one: no turn acts, and none of the rules fails for that."""
    error = "SearchError: search backend returned 503"
    fails = Said("a1", "", [Did("search", {"q": "Elbe"}, None, error, "t1")], kind=TurnKind.ANSWER)
    told = Said("a2", "The search is down.", sees=[error], kind=TurnKind.ANSWER)
    assert "service-error" in found(run("r1", fails, told))
    more = Said("a3", "Then I guess: 1094 km.", kind=TurnKind.ANSWER)
    assert "service-error-read" in found(run("r1", fails, told, more)) | found(
        run("r1", fails, replace(told, text="It is 1094 km long."), more)
    )
