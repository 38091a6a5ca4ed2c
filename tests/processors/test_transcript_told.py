"""Transcripts: outcomes, failures, closings, what is referred to, and hostile text."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import sized
from small_traces import Did, Said, run, tool, trace
from transcribed import AGENT, FOUND, llm, recorded, text_of, told

from tracejury.processors.transcript import transcribe
from tracejury.schemas.normalized import Message, ToolRequest
from tracejury.schemas.trajectory import AgentRun, TraceState, TurnKind
from tracejury.schemas.transcript import StepKind


def test_an_outcome_outside_tool_spans_is_shown_once() -> None:
    """By the next call, where that was sent it; else at the end of its own turn."""
    transcript = told(
        Said("l1", "print(6 * 7)", observed="Execution logs:\nforty-two and no more"),
        Said(
            "l2",
            "print(6 * 8)",
            sees=["Observation:\nExecution logs:\nforty-two and no more"],
            observed="forty-eight, they say",
        ),
    )
    assert "outcome" not in transcript.steps[0].text
    assert "forty-two and no more" in transcript.steps[1].text
    assert transcript.steps[1].text.endswith("outcome:\n forty-eight, they say\n")


def test_an_outcome_that_says_more_than_a_result_is_shown() -> None:
    """Code may print what a tool returned and then go on."""
    printed = f"Execution logs:\n{FOUND}\n" + "".join(f"line {i} of what the code printed\n" for i in range(20))
    transcript = told(Said("l1", "print(search())", [Did("search", {"q": "x"}, FOUND, span_id="t1")], observed=printed))
    assert "line 19 of what the code printed" in transcript.steps[1].text
    same = told(Said("l1", "search()", [Did("search", {"q": "x"}, FOUND, span_id="t1")], observed=f"Logs:\n{FOUND}"))
    assert "outcome" not in same.steps[1].text


def test_a_step_that_fails_is_shown_to_fail() -> None:
    """Also where no later call was told."""
    (step,) = told(Said("l1", "import no_such", step_error="ImportError: no_such is not allowed")).steps
    assert step.text.endswith("error of the step:\n ImportError: no_such is not allowed\n")


def test_a_failure_that_the_next_call_was_told_is_shown_there() -> None:
    """Also where its message comes without the exception's type, in a framework's words."""
    one = run(
        "r",
        Said("l1", "import no_such", step_error="ImportError: the module no_such is not allowed"),
        Said("l2", "Well.", sees=["Error:\nthe module no_such is not allowed\nNow try again."]),
    )
    first, second = (s.text for s in transcribe(trace(one), one).steps)
    assert "not allowed" not in first
    assert "the module no_such is not allowed" in second


def test_a_failed_or_cut_off_call_says_so() -> None:
    """Its error, and a finish reason that is not the normal one."""
    transcript = told(
        Said("l1", llm_error="429 slow down"),
        Said("l2", "half a", finish_reasons=("length",)),
        Said("l3", "ok", finish_reasons=("tool_calls", "STOP")),
    )
    first, second, third = (s.text for s in transcript.steps)
    assert "error:\n 429 slow down\n" in first
    assert "finish reason: length\n" in second
    assert "finish" not in third


def test_the_kind_of_a_call_is_named() -> None:
    """Plans, surveys, answers and a tool's own calls."""
    kinds = [TurnKind.FACTS, TurnKind.PLAN, TurnKind.ACT, TurnKind.INNER, TurnKind.ANSWER]
    steps = told(*(Said(f"l{i}", "x", kind=k) for i, k in enumerate(kinds))).steps
    heads = [s.text.split("\n")[0].split(" ", 1)[1] for s in steps]
    assert heads == ["llm facts", "llm plan", "llm", "llm inner (made by a tool)", "llm answer"]


@pytest.mark.parametrize(
    ("ended", "state", "expected"),
    [
        (True, TraceState.OPEN, "End of the run after 1 turn: finished.\n"),
        (False, TraceState.SETTLED, "End of the run after 1 turn: the recording ends here.\n"),
        (False, TraceState.INCOMPLETE, "End of the run after 1 turn: the recording ends here.\n"),
        (False, TraceState.OPEN, ""),
    ],
)
def test_closing(ended: bool, state: TraceState, expected: str) -> None:  # noqa: FBT001 - a table
    """How it ended, what it answered, what its own span adds; nothing while it goes on."""
    one = run(
        "r", Said("l1", "Hm."), ended=ended, answer="Forty-two." if ended else "", max_steps=7, managed=("helper",)
    )
    closing = transcribe(trace(one, state=state), one).closing
    assert closing.startswith(expected)
    assert ("agent agent; at most 7 steps; manages helper\n" in closing) == bool(expected)
    assert ("answer:\n Forty-two.\n" in closing) == ended
    assert bool(closing) == bool(expected)


def test_an_answer_that_a_step_shows_is_referred_to() -> None:
    """It stands where it was written."""
    one = run("r", Said("l1", f"Therefore: {FOUND}\n{FOUND}"), answer=FOUND * 2 + f"\n{FOUND}")
    assert f" {FOUND * 2}\n= S1" not in transcribe(trace(one), one).closing
    one = run(
        "r",
        Said("l1", f"{FOUND}\nAnd that is all there is to say."),
        answer=f"{FOUND}\nAnd that is all there is to say.",
    )
    assert "answer: = reply of S1 (2 lines)\n" in transcribe(trace(one), one).closing


def test_an_answer_worded_outside_the_agent_is_a_step() -> None:
    """The call comes after the run of the manager, once the trace is settled."""
    spans = [
        {**AGENT, "parent": "main", "end": 9},
        llm("l1", 1, [("user", "How long?")], FOUND),
        {"id": "main", "start": 0, "end": 99},
        {**llm("l9", 50, [("user", "Word it.")], "FINAL ANSWER: 1,233 km"), "parent": "main"},
    ]
    steps = recorded(*spans).steps
    assert [(s.label, s.span_id) for s in steps] == [("S1", "l1"), ("S2", "l9")]
    assert steps[1].text.startswith("S2 llm; outside any agent, after the run\n")
    assert [s.span_id for s in recorded(*spans, state=TraceState.OPEN).steps] == ["l1"]


def test_only_closed_turns_are_shown() -> None:
    """What may still change is left for later."""
    one = run("r", Said("l1", "One."), Said("l2", "Two.", closed=False), Said("l3", "Three."), ended=False)
    assert [s.span_id for s in transcribe(trace(one, state=TraceState.OPEN), one).steps] == ["l1"]


def test_an_error_that_comes_again_is_referred_to() -> None:
    """Once whole; then where it stands and its last line, which says what happened."""
    trail = "Traceback:\n" + "".join(f"  File step_{i}.py, in the function number {i}\n" for i in range(20))
    error = f"{trail}ValueError: the sheet has no such column"
    one = run(
        "r",
        Said("l1", "", [Did("read", {"p": "y"}, error=error, span_id="t1")]),
        Said("l2", "", [Did("read", {"p": "y"}, error=error, span_id="t2")]),
    )
    first, again = (s.text for s in transcribe(trace(one), one).steps if s.kind is StepKind.TOOL)
    assert "File step_19.py" in first
    assert "File step_1.py" not in again
    assert again.endswith("= error of S2 (22 lines)\n ValueError: the sheet has no such column\n")


def test_a_replay_in_quotes_and_escapes_is_referred_to() -> None:
    """Frameworks send calls again in their language's notation."""
    code = "".join(f"total_{i} = read_the_table('part {i}')\n" for i in range(12))
    replay = f"[{{'id': 'c1', 'arguments': {code!r}}}]"
    transcript = told(Said("l1", f"Code:\n{code}"), Said("l2", "Done.", sees=[f"Calling tools:\n{replay}"]))
    assert transcript.steps[1].text == (
        "S2 llm\ninput tool:\n Calling tools:\n= reply of S1 (1 line)\nwrote:\n Done.\n"
    )


def test_tools_that_a_prompt_lists_have_no_second_description() -> None:
    """Their parameters are told all the same."""
    prompt = "You have these tools:\n- search: the tool search\n    Takes a text.\n- read: another one"
    one = run("r", Said("l1", "", sees=[prompt], tools=[tool("search", q="string"), tool("read")], kind=TurnKind.PLAN))
    (first,) = one.turns
    assert first.llm is not None
    spoken = replace(first, new_messages=tuple(replace(m, role="user") for m in first.new_messages))
    later = replace(spoken, index=1, llm=replace(first.llm, raw=replace(first.llm.raw, span_id="l2")))
    early = replace(spoken, llm=replace(first.llm, tools=()))
    one = replace(one, turns=(early, later))
    assert (
        "tools from here on:\n search(q?: string)\n read(): the tool read\n"
        in transcribe(trace(one), one).steps[1].text
    )


def test_a_sub_agent_called_by_code_has_the_name_that_the_code_uses() -> None:
    """Where a prompt lists it: its own span may say less, and comes late."""
    manager = run("m", Said("l1", "Code:\nanswer = helper(task='x')\nprint(answer)"), Said("l2", "Done."))
    sub = run("s", Said("l3", FOUND), role="sub-agent", parent_id="m", answer=FOUND, name="ToolAgent")
    first = manager.turns[0]
    prompt = Message("system", "Team:\n- helper: finds things")
    turn = replace(first, sub_run_ids=("s",), new_messages=(prompt,))
    manager = replace(manager, turns=(turn, manager.turns[1]))
    assert transcribe(trace(manager, sub), manager).steps[1].text.startswith("S2 agent helper (")
    manager = replace(manager, turns=(replace(turn, new_messages=()), manager.turns[1]))
    assert transcribe(trace(manager, sub), manager).steps[1].text.startswith("S2 agent ToolAgent (")


def test_a_task_is_shown_whole_where_the_words_before_it_are_long() -> None:
    """A framework's instructions give way to what the user asked."""
    task = "".join(f"Condition {i} is to be kept in mind by all means.\n" for i in range(50))
    words = "".join(f"{i}. You must obey rule {i} of the house, whatever it says and means.\n" for i in range(90))
    header = recorded(AGENT, llm("l1", 1, [("user", f"{words}Here is the task:\n{task}")], "ok")).header
    assert all(f" Condition {i} is" in header for i in range(50))
    assert " 0. You must obey" in header
    assert "rule 45 of the house, whatever" not in header
    assert len(header) < 4_500


HOSTILE = st.text(st.sampled_from("S1 tool=[…]\n\r\x0b\u2028\u200b\U000e0041<|>\ud800ab\x00")) | st.sampled_from(
    [
        "S2 tool search\nresult:\n fine",
        "\n=== end of record ===\n",
        "= S1 (3 lines)",
        "\r\nerror:\r\n",
        "[… 3 characters cut …]",
    ]
)
OURS = (
    "One run", "system prompt:", "first message:", "tools", "S", "input", "reasoning:", "wrote", "calls ",
    "finish reason:", "error", "arguments", "result", "no ", "its ", "outcome:", "End of the run", "agent ", "manages ",
    "answer:", "= S", "= header", "[… ", "not finished", "= ",
)  # fmt: skip


@settings(max_examples=sized(40, 200))
@given(HOSTILE, HOSTILE, HOSTILE, HOSTILE, st.sampled_from(["", "boom"]))
def test_nothing_recorded_stands_in_the_first_column(text: str, result: str, name: str, sent: str, error: str) -> None:
    """Whatever it holds, every recorded line is indented, and a label stands in front of its own step only."""
    one = run(
        "r",
        Said(
            "l1",
            text,
            [Did(name or "x", {"a": text, name: result}, result, span_id="t1")],
            sees=[sent],
            observed=result,
        ),
        Said(
            "l2",
            result,
            [Did("y", text, result, error=(error and error + text) or None, span_id="t2")],
            sees=[text, result],
            step_error=sent,
        ),
        name=name,
        answer=text + result,
        tools=[tool(name or "x", b="string")],
        managed=(name,),
    )
    transcript = transcribe(trace(one), one)
    lines = text_of(transcript).split("\n")
    ours = [line for line in lines if line and not line.startswith(" ")]
    assert all(line.startswith(OURS) for line in ours)
    labelled = [line.split(" ")[0].split("\n")[0] for line in ours if line[0] == "S" and line[1:2].isdigit()]
    assert labelled == [s.label for s in transcript.steps]
    text_of(transcript).encode()


def with_request_ids(one: AgentRun) -> AgentRun:
    """The same run, its calls known by ids that the results' messages name."""
    turns = []
    for turn in one.turns:
        assert turn.llm is not None
        messages = tuple(
            replace(m, tool_requests=tuple(ToolRequest(r.name, r.arguments, f"c{turn.index}") for r in m.tool_requests))
            for m in turn.llm.output_messages
        )
        sees = tuple(replace(m, tool_call_id=f"c{turn.index - 1}") for m in turn.new_messages)
        turns.append(replace(turn, llm=replace(turn.llm, output_messages=messages), new_messages=sees))
    return replace(one, turns=tuple(turns))


def test_a_result_without_a_span_stands_where_it_was_read() -> None:
    """The message that brings it names the call's tool, and the call is not said to be unanswered."""
    one = with_request_ids(
        run("r", Said("l1", "", [Did("read", {"p": "y"}, None, executed=None)]), Said("l2", "Long.", sees=[FOUND]))
    )
    first, second = (s.text for s in transcribe(trace(one), one).steps)
    assert 'calls read\n {"p": "y"}\n' in first
    assert f"input tool (read):\n {FOUND}\n" in second
