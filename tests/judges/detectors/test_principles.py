"""Principles that hold for every agent, on generated runs: each with a twin that breaks it and is found."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest
from faulty_traces import FAULTY, final
from healthy_traces import HEALTHY
from hypothesis import given
from hypothesis import strategies as st
from small_traces import Did, Said, run, tool, trace

from tracejury.judges.base import Context
from tracejury.judges.facts import RunFacts
from tracejury.judges.names import reads
from tracejury.judges.registry import suite_of
from tracejury.judges.rule import Hit, rule
from tracejury.judges.suite import Suite
from tracejury.schemas.normalized import Message
from tracejury.schemas.trajectory import AgentRun, Trace, TurnKind

SUITE = suite_of(())
WORD = st.text("abcdefghijklmnopqrstuvwxyz", min_size=3, max_size=12)
NAME = st.builds("{}_{}".format, WORD, WORD)
READERS = st.builds("{}_{}".format, st.sampled_from(["get", "search", "find", "read", "list", "fetch"]), WORD)
WRITERS = st.builds("{}_{}".format, st.sampled_from(["cancel", "update", "send", "delete", "refund", "book"]), WORD)
REFUSALS = st.sampled_from(
    ["Error: a pending order cannot be returned", "Error: the booking is closed", "ValueError: the item is sold out"]
)
RESULTS = st.sampled_from(['{"id": "A-17", "state": "open"}', "The river is 1230 km long.", "[3, 4, 5]"])


def fired(whole: Trace) -> set[str]:
    """The rules that find anything in a trace, at every level of confidence."""
    result = SUITE.judge(whole)
    assert (result.failures, result.dropped) == ((), 0)
    return {f.judge for f in result.findings}


def told(agent_run: AgentRun, *messages: Message) -> AgentRun:
    """The run, its first call sent these messages from before."""
    first = agent_run.turns[0]
    return replace(agent_run, turns=(replace(first, new_messages=messages), *agent_run.turns[1:]))


@given(
    name=NAME, key=WORD, indent=st.sampled_from([None, 2]), fenced=st.booleans(), lead=st.sampled_from(["", "Ok.\n"])
)
def test_a_value_of_a_structured_reply_is_no_announcement(
    name: str, key: str, *, indent: int | None, fenced: bool, lead: str
) -> None:
    """The framework decides after it; the same in a sentence announces a call that nobody made."""
    value = {f"{key}_key": {"reason": f"I will ask {name} next", "answer": name}, "done": False}
    text = json.dumps(value, indent=indent)
    reply = f"{lead}```json\n{text}\n```" if fenced else lead + text
    for said, announces in ((reply, False), (f"Next I will use {name} for it.", True), (f"next_{key}: {name}", False)):
        whole = trace(run("r1", Said("a1", said), Said("a2", "It is so."), tools=[tool(name, ("q",), q="string")]))
        assert ("intent-without-call" in fired(whole)) is announces


def _ungrounded(whole: Trace) -> bool:
    return any(name.startswith("ungrounded") for name in fired(whole))


@given(name=READERS, result=RESULTS, role=st.sampled_from(["tool", "tool-response", "function"]))
def test_what_was_observed_belongs_to_the_conversation(name: str, result: str, role: str) -> None:
    """A result of an earlier turn of the user, in the call's own input, supports what a later one says."""
    failing = Said("a1", "", [Did(name, {"q": "x"}, None, "ConnectionError: no route", "t1")])
    agent_run = run("r1", failing, Said("a2", "The order A-17 was sent on 13 May by parcel."))
    known = run("r1", failing, Said("a2", f"As I said before, it is so: {result}"))
    history = (Message("user", "Where is it?"), Message("assistant", "Let me see."), Message(role, result))
    assert _ungrounded(trace(agent_run))
    assert not _ungrounded(trace(told(known, *history)))
    assert _ungrounded(trace(told(agent_run, *history)))  # its own look-up failed, and the 13th stands nowhere
    assert _ungrounded(trace(told(agent_run, Message("user", "Where?"), Message(role, "Error: nothing is up"))))


@given(name=READERS, result=RESULTS)
def test_what_another_run_obtained_and_told_counts_as_seen(name: str, result: str) -> None:
    """In a group chat one agent looks up and another goes on; if nobody obtained anything, nothing was seen."""
    answer = "The order A-17 was sent on 3 May."
    for obtained, error in ((result, None), (None, "ConnectionError: no route")):
        looks = Said("a1", "", [Did(name, {"q": "x"}, obtained, error, "t1")])
        first = run("r1", looks, Said("a2", answer), answer=answer)
        failing = Said("b1", "", [Did(name, {"q": "y"}, None, "ConnectionError: no route", "t2")])
        goes_on = Said("b2", "So it came by parcel on a Monday, and Ann Miller took it.")
        second = run("r2", failing, goes_on, parent_id="r1", role="sub-agent")
        findings = SUITE.judge(trace(first, told(second, Message("user", answer)))).findings
        unsupported = any(f.judge.startswith("ungrounded") and f.agent_run_id == "r2" for f in findings)
        assert unsupported is (obtained is None)


@given(writer=WRITERS, reader=READERS, refusal=REFUSALS)
def test_a_refused_change_is_no_failed_look_up(writer: str, reader: str, refusal: str) -> None:
    """What follows it speaks of the change; after a failed look-up the same words lack support."""
    for name, looked_up in ((writer, False), (reader, True)):
        act = Said("a1", "", [Did(name, {"order": "A-17"}, None, refusal, "t1")])
        whole = trace(run("r1", act, Said("a2", "A-17 has 14 items of 3 kg, and it belongs to Ann Miller of Leeds.")))
        assert _ungrounded(whole) is looked_up


@given(name=NAME.filter(lambda name: reads(name) is None), error=REFUSALS, number=st.integers(100, 9999))
def test_a_tool_named_after_data_is_looked_up_in_where_a_number_follows(name: str, error: str, number: int) -> None:
    """Nobody can tell by such a name; a number that nothing holds tells. Other words, or one that was sent, do not."""
    for words, sent, unsupported in (
        (f"It is {number} EUR.", "order A-17", True),
        (f"It is {number} EUR.", f"order A-17 over {number} EUR", False),
        ("It was sent to Ann.", "order A-17", False),
    ):
        act = Said("a1", "", [Did(name, {"order": sent}, None, error, "t1")], sees=[sent])
        whole = trace(run("r1", act, Said("a2", words, sees=[error])))
        assert _ungrounded(whole) is unsupported


@given(name=NAME, error=REFUSALS)
def test_a_failure_that_is_only_told_to_the_user_is_an_error_where_it_was_made(name: str, error: str) -> None:
    """Whoever reads it and ends with words has not made it; every finding stands at the call."""
    act = Said("a1", "Doing it.", [Did(name, {"order": "A-17"}, None, error, "t1")])
    whole = trace(run("r1", act, Said("a2", f"That did not work: {error}. Shall I do something else?", sees=[error])))
    found = SUITE.judge(whole).findings
    assert {f.span_id for f in found} <= {"a1", "t1"}
    assert "raised-error" in {f.judge for f in found}


@given(name=NAME, other=NAME, error=REFUSALS)
def test_a_reading_names_the_call_that_failed(name: str, other: str, error: str) -> None:
    """So that both belong to one error."""
    act = Said("a1", "Doing it.", [Did(name, {"order": "A-17"}, None, error, "t1")])
    again = Said("a2", "Now this.", [Did(other, {"order": "A-18"}, "done", None, "t2")], sees=[error])
    found = SUITE.judge(trace(run("r1", act, again, final("z1", "Done.", "done")))).findings
    read = [f for f in found if f.judge.endswith("-read")]
    made = {f.id for f in found if f.span_id == "a1"}
    assert read
    assert all(f.tool_span_id == "t1" and set(f.linked) & made for f in read)


@given(name=NAME, other=NAME, error=REFUSALS, planned=st.booleans())
def test_adapting_to_an_error_is_right(name: str, other: str, error: str, *, planned: bool) -> None:
    """Another way that is taken after a failure is no fault, plan or not; to leave the plan and try nothing is one."""
    plan = [Said("p1", f"1. Use {name}.\n2. Answer.", kind=TurnKind.PLAN)] if planned else []
    act = Said("a1", "Doing it.", [Did(name, {"order": "A-17"}, None, error, "t1")])
    for did, taken in (([Did(other, {"order": "A-17"}, "done", None, "t2")], True), ([], False)):
        switch = Said("a2", "I will try a different approach instead.", did, sees=[error])
        whole = trace(run("r1", *plan, act, switch, final("z1", "Four.", "4", "4 rows")))
        assert ("approach-switch" in fired(whole)) is (planned and not taken)


@given(name=NAME, numbers=st.lists(st.integers(1000, 9999), min_size=2, max_size=4, unique=True))
def test_the_same_action_on_different_things_is_no_churn(name: str, numbers: list[int]) -> None:
    """Arguments that name different things are different actions; the same thing again is one."""
    reason = "it is no longer needed"
    for ids, churns in ((numbers, False), ([numbers[0]] * len(numbers), True)):
        calls = [
            Said(f"a{i}", "Next.", [Did(name, {"order_id": f"W{n}", "reason": reason}, f"result {i}", None, f"t{i}")])
            for i, n in enumerate(ids)
        ]
        assert any(r.startswith("query-churn") for r in fired(trace(run("r1", *calls, Said("z1", "Ok."))))) is churns


def _nameless(facts: RunFacts, _: Context) -> Iterator[Hit]:
    for turn in facts.turns:
        for span in turn.turn.spans:
            yield Hit(span.span_id, "", "A rule without a quote.")
            yield Hit(span.span_id, span.raw.name, "A rule that quotes the name.")


@pytest.mark.parametrize("name", sorted(FAULTY) + sorted(HEALTHY))
def test_evidence_is_never_only_a_name_where_there_is_content(name: str) -> None:
    """Whatever a rule hands over: what the span put out, asked for or failed with is quoted, and stands in it."""
    whole = FAULTY.get(name) or HEALTHY[name]
    result = Suite([rule("nameless", "Goal Deviation", "PA", "LOW", _nameless)]).judge(whole)
    assert result.dropped == 0
    for finding in result.findings:
        span = whole.spans[finding.span_id]
        held = span.output or span.tool_requests or span.tool_result or span.error_text
        assert finding.evidence != span.raw.name or not held
