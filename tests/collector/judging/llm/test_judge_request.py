"""Requests to judges: whole where the model can read them at once, else in parts that it can."""

from __future__ import annotations

from dataclasses import replace

import pytest
from small_traces import Said, run, tool, trace

from tracejury.collector.judging.llm.judge_queue import JudgeTask
from tracejury.collector.judging.llm.judge_request import JudgeRequest, judge_requests
from tracejury.collector.judging.llm.prompt_budget import PromptBudget
from tracejury.judges.llm.case import NO_DESCRIPTION, Stage
from tracejury.judges.llm.criteria import load_set
from tracejury.judges.llm.members import TranscriptForm, llm_judges_of
from tracejury.schemas.trajectory import TurnKind
from tracejury.schemas.transcript import Transcript

LONG = "What I have read so far says nothing on that. " * 400
PLAN = "1. Ask the keeper of the mill.\n2. Answer."


def request(form: TranscriptForm, budget: int) -> JudgeRequest:
    """The closing pass of a run that plans anew after much reading, for a model that reads `budget` tokens."""
    read = [Said(f"l{n}", LONG, tools=[tool("ask")]) for n in range(3)]
    planned = run("r", Said("p1", PLAN, kind=TurnKind.PLAN), *read, Said("p2", f"{PLAN} Soon.", kind=TurnKind.PLAN))
    one = replace(planned, plans=(0, 4))
    panel = llm_judges_of(load_set("paper"), "m", transcript=form)
    how = PromptBudget(panel, budget, lambda text: len(text) // 4)
    names = tuple(judge.name for judge in panel.of_run(one.role))
    task = JudgeTask(("", "t"), one.id, Stage.CLOSING, names, "h", 1.0)
    (made,) = judge_requests(task, trace(one), one, how, (), (), NO_DESCRIPTION)
    return made


def text_of(transcript: Transcript) -> str:
    return transcript.header + "".join(step.text for step in transcript.steps)


@pytest.mark.parametrize("form", ["compact", "paper"])
def test_whatever_is_asked_fits_the_model(form: TranscriptForm) -> None:
    """The run in chapters, a plan by the last of what stood before it; the plan itself is whole."""
    small = request(form, 4_000)
    assert len(small.chapters) > 1
    assert small.longest(lambda text: len(text) // 4) <= 4_000
    replan = text_of(small.case.plans[1].transcript)
    assert f" {PLAN.replace(chr(10), chr(10) + ' ')} Soon.\n" in replan
    assert small.case.plans[1].transcript.steps[-1].label == "S5"


def test_the_papers_form_is_whole_where_it_fits() -> None:
    """All that stood before a plan, with the tools; of what cannot be read at once the steps before have a line."""
    whole, small = (text_of(request("paper", room).case.plans[1].transcript) for room in (100_000, 4_000))
    assert whole.count(LONG.strip()) == 3
    assert " ask: the tool ask\n" in whole
    assert "Steps before this part, in brief:\n" in small
    assert "S1 llm: 1. Ask the keeper of the mill." in small
