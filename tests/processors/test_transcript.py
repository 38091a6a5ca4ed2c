"""What a judge is shown of a run: each text once, every state said, nothing recorded in the first column."""

from __future__ import annotations

import json
from dataclasses import replace

from small_traces import Did, Said, run, tool, trace
from transcribed import AGENT, FOUND, llm, recorded, text_of, told

from tracejury.processors.transcript import TranscriptLimits, outline, transcribe
from tracejury.schemas.trajectory import TurnKind
from tracejury.schemas.transcript import StepKind


def test_steps_are_labelled_in_order_and_lead_to_spans() -> None:
    """An LLM call, then what it did; each step begins with its label and belongs to one span and turn."""
    steps = told(
        Said("l1", "I search.", [Did("search", {"q": "Rhine"}, FOUND, span_id="t1")]), Said("l2", "It is long.")
    ).steps
    assert [(s.label, s.kind, s.span_id, s.turn) for s in steps] == [
        ("S1", StepKind.LLM, "l1", 0),
        ("S2", StepKind.TOOL, "t1", 0),
        ("S3", StepKind.LLM, "l2", 1),
    ]
    assert all(s.text.startswith(f"{s.label} ") and s.text.endswith("\n") for s in steps)
    assert all(s.outline.startswith(f"{s.label} ") and "\n" not in s.outline for s in steps)


def test_the_index_has_a_line_a_step() -> None:
    """Short enough to stand in place of the steps."""
    transcript = told(Said("l1", "I search.", [Did("search", {"q": "Rhine"}, FOUND * 9, span_id="t1")]))
    lines = outline(transcript).splitlines()
    assert lines[0] == "S1 llm: I search. -> calls search"
    assert lines[1].startswith("S2 tool search: The Rhine is")
    assert len(lines) == 2
    assert len(lines[1]) < 130


def test_a_result_is_shown_where_it_was_made() -> None:
    """The next call's message that repeats it, bare or in a framework's words, refers to it."""
    transcript = told(
        Said("l1", "I search.", [Did("search", {"q": "Rhine"}, FOUND, span_id="t1")]),
        Said("l2", "It is long.", sees=[f"Observation:\n{FOUND}"]),
    )
    assert text_of(transcript).count(FOUND) == 1
    assert FOUND in transcript.steps[1].text
    assert "input tool: = result of S2\n" in transcript.steps[2].text


def test_a_text_that_holds_known_lines_shows_only_the_new_ones() -> None:
    """A plan that later calls are sent again in other words is referred to, what is new beside it is shown."""
    plan = "1. Find the list of all rivers.\n2. Sort them by their length in km.\n3. Give the first."
    transcript = told(
        Said("l1", plan, kind=TurnKind.PLAN),
        Said("l2", "On it.", sees=[f"[PLAN]:\n{plan}\nMind the budget of 40 calls."]),
    )
    assert transcript.steps[1].text == (
        "S2 llm\ninput tool:\n [PLAN]:\n= plan of S1 (3 lines)\n Mind the budget of 40 calls.\nwrote:\n On it.\n"
    )


def test_short_texts_are_repeated() -> None:
    """A reference to a few words costs more than they do."""
    transcript = told(Said("l1", "", [Did("add", {"a": 1}, "2", span_id="t1")]), Said("l2", "Two.", sees=["2"]))
    assert transcript.steps[2].text == "S3 llm\ninput tool:\n 2\nwrote:\n Two.\n"


def test_what_a_model_wrote_is_shown_whole_each_time() -> None:
    """Quotes come from there: a reply that repeats an earlier one is an error that wants its own words."""
    said = "I am sure that the answer is forty-two, because the guide says so.\n" * 2
    transcript = told(Said("l1", said), Said("l2", said))
    assert all(s.text.count("forty-two") == 2 for s in transcript.steps)


def test_states_of_calls_are_said() -> None:
    """Asked for and never run, run and never asked for, without a result, with an empty one, failed, slow."""
    one = run(
        "r",
        Said("l1", "", [Did("search", {"q": "x"}, FOUND, span_id="t1"), Did("read", {"p": "y"}, None, executed=False)]),
        Said("l2", "", [Did("write", {"p": "z"}, None, span_id="t2"), Did("list", {"p": "z"}, " ", span_id="t3")]),
        Said("l3", "", [Did("drop", {"p": "z"}, error="PermissionError: no", span_id="t4")]),
    )
    slow = one.turns[0].tool_calls[0]
    assert slow.span is not None
    late = replace(slow, requested=False, span=replace(slow.span, raw=replace(slow.span.raw, start=0, end=120 * 10**9)))
    one = replace(one, turns=(replace(one.turns[0], tool_calls=(late, *one.turns[0].tool_calls[1:])), *one.turns[1:]))
    steps = {s.span_id: s.text for s in transcribe(trace(one), one).steps}
    assert "calls read (not executed)\n" in steps["l1"]
    assert steps["t1"].startswith("S2 tool search; took 120 s; not asked for\n")
    assert steps["t2"].endswith("no result recorded\n")
    assert steps["t3"].endswith("result: empty\n")
    assert steps["t4"].endswith("error:\n Error: PermissionError: no\n")


def test_a_failure_that_is_also_the_result_is_told_once() -> None:
    """Some frameworks record the error's text as what the tool returned."""
    one = run("r", Said("l1", "", [Did("read", {"p": "y"}, error="the disk of that machine is full", span_id="t1")]))
    call = replace(one.turns[0].tool_calls[0], result="the disk of that machine is full")
    one = replace(one, turns=(replace(one.turns[0], tool_calls=(call,)),))
    text = transcribe(trace(one), one).steps[1].text
    assert text.count("the disk of that machine is full") == 1
    assert "error:\n Error: the disk of that machine is full\n" in text


def test_without_tool_spans_nobody_knows_what_ran() -> None:
    """A call without span and result is not called unexecuted where the trace shows no executions at all."""
    (step,) = told(Said("l1", "", [Did("read", {"p": "y"}, None, executed=None)])).steps
    assert "calls read (no execution and no result recorded)\n" in step.text


def test_a_tool_by_which_the_answer_is_given_needs_no_execution() -> None:
    """Frameworks end the run at it instead of running it."""
    (step,) = told(Said("l1", "", [Did("final_answer", {"answer": "42"}, None, executed=False)])).steps
    assert "calls final_answer\n" in step.text


def test_a_sub_agent_is_its_task_and_its_answer() -> None:
    """Its own run is judged apart; the step belongs to its agent span."""
    manager = run("m", Said("l1", "Help me.", [Did("helper", None, None, sub_run_id="s")]), Said("l2", "Done."))
    sub = run(
        "s",
        Said("l3", FOUND),
        role="sub-agent",
        parent_id="m",
        goal="How long is the Rhine?",
        answer=FOUND,
        name="helper",
    )
    step = transcribe(trace(manager, sub), manager).steps[1]
    assert (step.kind, step.span_id) == (StepKind.AGENT, "s")
    assert step.text == (
        f"S2 agent helper (its own run is judged apart)\nits task:\n How long is the Rhine?\nits answer:\n {FOUND}\n"
    )


def test_a_sub_agent_that_runs_on_says_so() -> None:
    """What it answered after its caller went on was not known to the caller."""
    manager = run("m", Said("l1", "Help me.", [Did("helper", None, None, sub_run_id="s")]), Said("l2", "Done."))
    sub = run("s", Said("l3", FOUND), role="sub-agent", parent_id="m", goal="How long?", answer=FOUND)
    assert sub.span is not None
    sub = replace(sub, span=replace(sub.span, raw=replace(sub.span.raw, end=5 * 10**9)))
    text = transcribe(trace(manager, sub), manager).steps[1].text
    assert text == "S2 agent unnamed (its own run is judged apart)\nnot finished when the next call was made\n"


def test_limits_and_stop_sequences_are_said_when_they_change() -> None:
    """So that a tag that is a stop sequence is never missed."""
    first, same, other = (
        llm(f"l{i}", i, [("user", "task")], f"reply {i}", **{"llm.invocation_parameters": json.dumps(given)})
        for i, given in enumerate(
            [{"max_tokens": 100, "stop": ["<end_plan>"]}, {"max_tokens": 100, "stop": ["<end_plan>"]}, {}], start=1
        )
    )
    steps = recorded(AGENT, first, same, other).steps
    assert [s.text.split("\n")[0] for s in steps] == [
        'S1 llm; at most 100 tokens; stop sequences "<end_plan>"',
        "S2 llm",
        "S3 llm; no token limit recorded; no stop sequences",
    ]
    cut = llm("l1", 1, [("user", "task")], "reply", **{"gen_ai.conversation.compacted": True})
    assert recorded(AGENT, cut).steps[0].text.startswith("S1 llm; earlier messages were compacted\n")


def test_the_header_holds_prompt_task_and_tools_once() -> None:
    """As the first call shows them; the first step does not repeat them."""
    schema = {
        "name": "search",
        "description": "Looks it up.\nCosts a credit.",
        "parameters": {
            "type": "object",
            "properties": {"q": {"type": "string"}, "n": {"type": "integer"}},
            "required": ["q"],
        },
    }
    given = {"llm.tools.0.tool.json_schema": json.dumps(schema)}
    transcript = recorded(
        AGENT, llm("l1", 1, [("system", "You are careful."), ("user", "How long is the Rhine?")], "I look.", **given)
    )
    assert transcript.header == (
        "One run (manager).\nsystem prompt:\n You are careful.\n"
        "tools:\n search(q: string, n?: integer): Looks it up. Costs a credit.\n"
        "first message:\n How long is the Rhine?\n"
    )
    assert transcript.header == f"{transcript.common}first message:\n How long is the Rhine?\n"
    assert transcript.steps[0].text == "S1 llm\nwrote:\n I look.\n"


def test_tools_given_later_are_told_where_they_come() -> None:
    """Each once."""
    transcript = told(
        Said("l1", "Hm."),
        Said("l2", "Ah.", tools=[tool("search", q="string")]),
        Said("l3", "Oh.", tools=[tool("search")]),
    )
    assert "tools from here on:\n search(q?: string): the tool search\n" in transcript.steps[1].text
    assert "tools" not in transcript.steps[2].text


def test_a_cut_is_stated_by_a_line_of_ours() -> None:
    """A long value loses its middle; recorded text cannot say so in our place."""
    forged = "[… 12 characters cut …]"
    result = f"{forged}\n" + "word " * 3000 + "THE END"
    transcript = told(Said("l1", "", [Did("read", {"p": "x"}, result, span_id="t1")]))
    lines = transcript.steps[1].text.split("\n")
    assert f" {forged}" in lines
    (ours,) = [line for line in lines if line.startswith("[…")]
    kept = sum(len(line) for line in lines[lines.index("result:") + 1 :])
    assert len(result) - int(ours.split()[1]) <= kept <= TranscriptLimits().result + 200
    assert transcript.steps[1].text.endswith("THE END\n")
