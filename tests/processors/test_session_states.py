"""The states of an exchange: thoughts and actions of the manager, in order, without the answer."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sessions import Asked, Layout, session
from small_traces import Did, Said, run, trace

from tracejury.processors.exchanges import find_exchanges
from tracejury.processors.session_states import states
from tracejury.processors.transcript import session_record
from tracejury.schemas.normalized import Message
from tracejury.schemas.trajectory import AgentRun, Trace, TurnKind


def listed(*turns: Said, answer: str = "", below: tuple[AgentRun, ...] = ()) -> list[str]:
    """Label and text of each state of a run with these turns."""
    return of(run("r", *turns, answer=answer), *below)


def of(*runs: AgentRun) -> list[str]:
    whole = replace(trace(*runs), exchanges=find_exchanges(runs))
    return [f"{s.label} {s.text}" for s in states(session_record("s", [whole]), 0, whole)]


SEARCH = Did("search", {"q": "Rhine"}, "1,233 km", span_id="t1")
ANSWER = Said("l9", "It is 1,233 km long.")


def test_thoughts_and_actions_are_states_and_the_answer_is_none() -> None:
    assert listed(Said("l1", "I look it up.", [SEARCH]), ANSWER, answer="It is 1,233 km long.") == [
        "E1.S1 thought: I look it up.",
        'E1.S1 action: search({"q": "Rhine"})',
    ]


def test_each_call_is_an_action() -> None:
    two = [SEARCH, replace(SEARCH, arguments={"q": "Elbe"}, span_id="t2")]
    assert listed(Said("l1", "", two), ANSWER, answer="It is 1,233 km long.") == [
        'E1.S1 action: search({"q": "Rhine"})',
        'E1.S1 action: search({"q": "Elbe"})',
    ]


def test_reasoning_is_a_thought_even_beside_the_answer() -> None:
    one = run("r", ANSWER, answer=ANSWER.text)
    (turn,) = one.turns
    assert turn.llm is not None
    reply = Message("assistant", ANSWER.text, reasoning="The atlas says so.")
    turn = replace(turn, llm=replace(turn.llm, output_messages=(reply,)))
    assert of(replace(one, turns=(turn,))) == ["E1.S1 thought: The atlas says so."]


def test_how_the_answer_is_handed_over_is_no_state() -> None:
    """Neither by a tool nor in code; the words beside it are a thought."""
    handed = Did("final_answer", {"answer": "1,233 km"}, "1,233 km", span_id="t1")
    one = run("r", Said("l1", "I know it.", [handed]), answer="1,233 km")
    calls = tuple(replace(c, closing=True) for c in one.turns[0].tool_calls)
    assert of(replace(one, turns=(replace(one.turns[0], tool_calls=calls),))) == ["E1.S1 thought: I know it."]
    code = Said("l1", "Thought: I know it.\n<code>\nfinal_answer('1,233 km')\n</code>", observed="1,233 km")
    assert listed(code, answer="1,233 km") == ["E1.S1 thought: Thought: I know it."]


def test_code_that_the_harness_runs_is_one_action() -> None:
    """With all that it calls; code that nothing ran is words."""
    text = "I add them.\n```py\nprint(search(q='Rhine'))\n```"
    ran = Said("l1", text, [replace(SEARCH, arguments=None)], observed="1,233 km")
    assert listed(ran, ANSWER, answer=ANSWER.text) == [
        "E1.S1 thought: I add them.",
        "E1.S1 action: print(search(q='Rhine'))",
    ]
    assert listed(Said("l1", text), ANSWER, answer=ANSWER.text) == [
        "E1.S1 thought: I add them. ```py print(search(q='Rhine')) ```"
    ]


def test_a_sub_agents_run_is_one_action_of_its_caller() -> None:
    below = run("sub", Said("l5", "I search.", [SEARCH]), parent_id="r", role="sub-agent", name="clerk")
    asks = Did("ask_clerk", {"task": "Rhine"}, "1,233 km", span_id="t2", sub_run_id="sub")
    assert listed(Said("l1", "", [asks]), ANSWER, answer=ANSWER.text, below=(below,)) == [
        'E1.S1 action: ask_clerk({"task": "Rhine"})'
    ]


def test_an_agent_that_the_harness_started_unasked_is_no_action() -> None:
    below = run("sub", Said("l5", "I check."), parent_id="r", role="sub-agent", name="critic")
    unasked = Did("critic", None, "Fine.", sub_run_id="sub")
    assert listed(Said("l1", "I think.", [unasked]), ANSWER, answer=ANSWER.text, below=(below,)) == [
        "E1.S1 thought: I think."
    ]


def test_a_structured_dialogue_state_counts_also_where_it_holds_the_answer() -> None:
    state = '{"area": "centre", "reply": "There are two hotels in the centre."}'
    assert listed(Said("l1", state), answer="There are two hotels in the centre.") == [f"E1.S1 thought: {state}"]


def test_plans_count_and_calls_that_a_tool_made_of_a_model_do_not() -> None:
    plan = Said("l1", "1. Search.\n2. Answer.", kind=TurnKind.PLAN)
    inner = Said("l2", "A summary.", kind=TurnKind.INNER)
    assert listed(plan, inner, ANSWER, answer=ANSWER.text) == ["E1.S1 thought: 1. Search. 2. Answer."]


def test_states_of_an_exchange_stand_at_its_own_steps() -> None:
    said = [Asked(f"How many in town {i}?", f"There are {i}.", ["7"], "I count.") for i in range(3)]
    for layout in Layout:
        traces = session(said, layout)
        record = session_record("s", traces)
        by_id = {t.trace_id: t for t in traces}
        for number, recorded in enumerate(record.exchanges):
            found = states(record, number, by_id[recorded.trace_id])
            assert [s.text for s in found] == ["thought: I count.", f'action: stock({{"town": "town {number} 0"}})']
            spans = record.transcript.spans
            assert {(s.label, s.span_id) for s in found} == {(f"E{number + 1}.S1", spans[f"E{number + 1}.S1"])}
            assert {s.trace_id for s in found} == {recorded.trace_id}


HOSTILE = st.text() | st.sampled_from(["<|im_start|>system\n", "\u202e\x1b[31m", "a\nE1.S2 llm\n", "\U000e0041" * 9])


@settings(max_examples=50, deadline=None)
@given(text=HOSTILE, argument=HOSTILE)
def test_hostile_texts_stay_on_one_bounded_line(text: str, argument: str) -> None:
    calls = [Did(text, {"q": argument}, span_id="t1")]
    for line in listed(Said("l1", text * 50, calls), ANSWER, answer=ANSWER.text):
        assert len(line) <= 206
        assert not {"\n", "\r", "\x1b", "\u202e", "\u2028"} & set(line)
        assert "<|" not in line


def test_an_open_turn_has_no_states_yet() -> None:
    whole: Trace = session([Asked("How many?", "Two.", ["7"])], Layout.ONE_TRACE)[0]
    unseen = replace(whole, runs=tuple(replace(r, turns=(replace(r.turns[0], closed=False),)) for r in whole.runs))
    exchange = replace(unseen.exchanges[0], last=0)
    unseen = replace(unseen, exchanges=(exchange,))
    assert states(session_record("s", [unseen]), 0, unseen) == ()


@pytest.mark.parametrize("count", [3, 30])
def test_many_states_are_all_listed(count: int) -> None:
    turns = [
        Said(f"l{i}", f"Step {i}.", [replace(SEARCH, arguments={"q": str(i)}, span_id=f"t{i}")]) for i in range(count)
    ]
    assert len(listed(*turns, Said("end", "Done."), answer="Done.")) == 2 * count
