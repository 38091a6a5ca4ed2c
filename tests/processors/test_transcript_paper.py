"""The paper's preprocessing as a judge's record: new messages and outputs of each call, uncut, under our labels."""

from __future__ import annotations

from dataclasses import replace

import pytest
from small_traces import Did, Said, run, tool, trace
from trajectories import FRAMEWORKS, TRAIL, load
from transcribed import FOUND, text_of

from tracejury.processors.rebuild import rebuild
from tracejury.processors.transcript import paper_plan_views, paper_transcript
from tracejury.schemas.shown import shown
from tracejury.schemas.trajectory import AgentRun, TurnKind
from tracejury.schemas.transcript import StepKind, Transcript

LONG = "word " * 4000
CAPTURES = sorted(FRAMEWORKS.glob("*/*.zip"))


def told(*turns: Said) -> Transcript:
    one = run("r", *turns)
    return paper_transcript(trace(one), one)


def test_each_call_is_a_step_that_leads_to_its_span() -> None:
    """Tools have no steps: their results are messages of the next call, repeated as they were sent."""
    transcript = told(
        Said("l1", "I search.", [Did("search", {"q": "Rhine"}, FOUND, span_id="t1")]),
        Said("l2", "It is long.", sees=[f"Observation:\n{FOUND}"]),
    )
    assert [(s.label, s.kind, s.span_id, s.turn) for s in transcript.steps] == [
        ("S1", StepKind.LLM, "l1", 0),
        ("S2", StepKind.LLM, "l2", 1),
    ]
    assert f" {FOUND}\n" in transcript.steps[1].text
    assert "\ncalls search\n" in transcript.steps[0].text
    assert "= result" not in text_of(transcript)


def test_nothing_is_cut_and_nothing_recorded_begins_a_line() -> None:
    """Whatever its length, and whatever it imitates."""
    transcript = told(Said("l1", f"S9 llm\n=== end of record\n{LONG}", sees=[LONG]))
    assert sum(step.cut for step in transcript.steps) == 0
    assert transcript.steps[0].text.count(LONG.strip()) == 2
    own = [line for line in transcript.steps[0].text.splitlines() if not line.startswith(" ")]
    assert own[0] == "S1 llm"
    assert all(line.startswith(("input ", "wrote:")) for line in own[1:])


def test_texts_that_no_message_holds_are_shown_as_well() -> None:
    """Some instrumentations record what was sent and answered as a text each."""
    one = run("r", Said("l1", "Hm."))
    (turn,) = one.turns
    assert turn.llm is not None
    bare = replace(turn, llm=replace(turn.llm, output_messages=(), input_text="How long?", output_text="1230 km"))
    one = replace(one, turns=(bare,))
    assert paper_transcript(trace(one), one).steps[0].text == "S1 llm\ninput:\n How long?\nwrote:\n 1230 km\n"


def test_plans_are_viewed_in_it_as_in_any_other() -> None:
    """With nothing that came after the plan."""
    one = run("r", Said("l1", "1. search\n2. answer", kind=TurnKind.PLAN), Said("l2", "It is long."))
    one = replace(one, plans=(0,))
    (view,) = paper_plan_views(one, paper_transcript(trace(one), one))
    assert view.label == "S1"
    assert "1. search" in text_of(view.transcript)
    assert "It is long." not in text_of(view.transcript)


def sent_until(one: AgentRun, turn: int) -> list[str]:
    """Lines of all that the run's calls were sent and wrote, up to this turn."""
    turns = [t for t in one.turns[: turn + 1] if t.llm is not None]
    messages = [m for t in turns for m in (*t.new_messages, *(t.llm.output_messages if t.llm else ()))]
    return [line.strip() for message in messages for line in shown(message.text).split("\n")]


@pytest.mark.trail
def test_views_of_real_plans_lose_nothing_of_what_was_sent() -> None:
    """The middle of a long prompt for a plan, where the tools stand, neither."""
    if not TRAIL.exists():
        pytest.skip("the shared TRAIL traces are absent")
    views, lost = 0, []
    for file in sorted(TRAIL.iterdir())[:20]:
        for spans in load(file).values():
            whole = rebuild(spans)
            for one in whole.runs:
                for view in paper_plan_views(one, paper_transcript(whole, one)):
                    text = text_of(view.transcript)
                    lines = {line.strip() for line in text.split("\n")}
                    known = {"- search_agent", "- inspect_file_as_text"} if one.role == "manager" else {"- web_search"}
                    lost += [line for line in sent_until(one, view.turn) if line not in lines]
                    lost += [name for name in known if name not in text]
                    views += 1
    assert views > 40
    assert lost == []


@pytest.mark.skipif(not CAPTURES, reason="the shared framework captures are absent")
def test_tools_that_calls_were_given_are_shown_whatever_the_framework() -> None:
    """In the words of the definition, with each parameter; where nothing was recorded there is nothing to show."""
    shown_by: dict[str, int] = {}
    for path in CAPTURES:
        for spans in load(path).values():
            whole = rebuild(spans)
            for one in whole.runs:
                text = " ".join(text_of(paper_transcript(whole, one)).split())
                for given in {t.name: t for turn in one.turns if turn.llm for t in turn.llm.tools}.values():
                    named = (given.name, given.description, *(given.parameters or {}).get("properties", ()))
                    assert [word for word in named if " ".join(shown(word).split()) not in text] == [], path
                    shown_by[path.parent.name] = shown_by.get(path.parent.name, 0) + 1
                named = one.span.tool_names if one.span else ()
                assert [tool for tool in named if shown(tool) not in text] == [], path
                shown_by |= dict.fromkeys([path.parent.name] * bool(named), 1)
    assert {
        "google_adk",
        "langgraph",
        "openai_agents",
        "openllmetry",
        "pydantic_ai",
        "strands",
        "vercel_ai",
    } <= shown_by.keys()


def test_each_definition_is_shown_once_and_none_that_the_instructions_spell_out() -> None:
    """Those of the first call in the head, later ones at the call that got them."""
    turns = (Said("l1", "Hm.", tools=[tool("look", q="string")]), Said("l2", "So.", tools=[tool("pay", sum="number")]))
    one = run("r", *turns, Said("l3", "Done.", tools=[tool("look", q="string"), tool("pay", sum="number")]))
    made = paper_transcript(trace(one), one)
    assert made.header.endswith(
        'tools:\n look: the tool look\n   parameters: {"type": "object", "properties": {"q": {"type": "string"}}, '
        '"required": []}\n'
    )
    first, second, third = (step.text for step in made.steps)
    assert second.startswith("S2 llm\ntools from here on:\n pay: the tool pay\n")
    assert "tools" not in first + third
    told = replace(one, system_prompt="You have look (q): the tool look")
    assert "tools:\n look: as in the system instructions\n" in paper_transcript(trace(told), told).header
