"""Plan quality and adherence are asked of agents that may have planned, however and in whatever language."""

from __future__ import annotations

import pytest
from deliberations import rehearse, verdicts
from panel_cases import panel
from planning_agents import ANSWER, FOUND, IDLERS, PLANNERS, SEARCH, SHAPES, TOOLS, UNEQUIPPED, Call, recorded, todo

from tracejury.collector.evaluation.judges_trace import moments
from tracejury.collector.judging.llm.judge_queue import JudgeTask
from tracejury.collector.judging.llm.judge_request import judge_requests
from tracejury.collector.judging.llm.prompt_budget import PromptBudget
from tracejury.judges.llm.case import Deliberation, ServiceDescription, Stage
from tracejury.judges.llm.client import Prompt
from tracejury.judges.llm.deliberation import deliberate
from tracejury.judges.llm.schedule import WindowRules
from tracejury.judges.llm.scripted import ScriptedClient, answer
from tracejury.schemas.trajectory import Trace

PANEL = panel()
JUDGES = tuple(judge.name for judge in PANEL.judges)
BUDGET = PromptBudget(PANEL, 100_000, lambda text: len(text) // 4)
PLANS = ("plan-quality", "plan-adherence")
EVERY_SHAPE = pytest.mark.parametrize("shape", SHAPES)
LOOKED = "What plan-quality looked at."


def closing(trace: Trace, score: int | None = 3) -> tuple[Deliberation, list[str], str]:
    """The closing pass of the only run: the answer, the records and questions about plans, the question on the run."""
    (run,) = trace.runs
    task = JudgeTask(("", trace.trace_id), run.id, Stage.CLOSING, JUDGES, "", 1.0)
    (request,) = judge_requests(task, trace, run, BUDGET, (), (), ServiceDescription())
    client = ScriptedClient(lambda prompt: answer(prompt, scores=dict.fromkeys(PLANS, score)))
    said = rehearse(deliberate(request.case, PANEL, request.chapters), client)
    told = {prompt.purpose: prompt.messages[-1].text for prompt in client.prompts}
    return said, [_record(p) for p in client.prompts if p.purpose == Stage.PLAN], told[Stage.CLOSING]


def _record(prompt: Prompt) -> str:
    return "".join(message.text for message in prompt.messages[1:])


@EVERY_SHAPE
@pytest.mark.parametrize("way", PLANNERS)
def test_a_plan_is_put_before_both_judges(way: str, shape: str) -> None:
    """Plan quality once, with the plan in its record and nothing that came of it; adherence with the run."""
    words, calls = PLANNERS[way]
    said, records, question = closing(recorded(shape, calls))
    assert len(records) == 1
    assert words in records[0]
    assert ANSWER.text not in records[0]
    assert (FOUND in records[0]) is (calls[0].text == calls[0].thinks == "" and calls[0].tools == (SEARCH,))
    assert "as PA," in question
    assert {verdicts(said)[judge].score for judge in PLANS} == {3}


@EVERY_SHAPE
@pytest.mark.parametrize("kind", IDLERS)
def test_without_a_plan_both_are_not_applicable(kind: str, shape: str) -> None:
    """Where the agent had a choice and said anything, the judge looks and says where; elsewhere nobody is asked."""
    asked, calls = IDLERS[kind]
    said, records, question = closing(recorded(shape, calls, tools=() if kind in UNEQUIPPED else TOOLS), None)
    assert len(records) == asked
    assert ("as PA," in question) is asked
    told = verdicts(said)
    assert all(told[judge].not_applicable and not told[judge].unscored_reason for judge in PLANS)
    assert (LOOKED in told["plan-quality"].reasons) is asked
    assert told["plan-quality"].reasons


@EVERY_SHAPE
@pytest.mark.parametrize("way", PLANNERS)
def test_windows_of_a_live_run_ask_about_its_plan(way: str, shape: str) -> None:
    """Plan quality as soon as the plan's turn is over, adherence from then on: as at the end."""
    trace = recorded(shape, PLANNERS[way][1])
    (run,) = trace.runs
    tasks = [task for task, _ in moments(trace, run, PANEL, WindowRules(turns=1), ())]
    assert [plan for task in tasks for plan in task.plans] == [*run.plans]
    assert all("plan-adherence" in task.judges for task in tasks if task.turns[1] > run.plans[0])


NO_PLACE = {"find_the_serial_number": "pending", "search_the_manual": "in_progress", "check_the_warranty": "pending"}
DONE = NO_PLACE | {"find_the_serial_number": "in_progress", "search_the_manual": "completed"}
LAST = DONE | {"find_the_serial_number": "completed", "check_the_warranty": "in_progress"}
RENEWED = LAST | {"check_the_warranty": "completed", "ask_the_shop_for_a_receipt": "pending"}


@EVERY_SHAPE
@pytest.mark.parametrize(("states", "asked"), [([NO_PLACE, DONE, LAST], 1), ([NO_PLACE, DONE, RENEWED], 2)])
def test_a_list_is_a_new_plan_where_its_items_changed(states: list[dict[str, str]], asked: int, shape: str) -> None:
    """Ticking off is none. The judge of the new plan is told what changed and what to weigh."""
    calls = [call for each in states for call in (Call(tools=(todo(**each),)), Call(tools=(SEARCH,)))]
    said, records, _ = closing(recorded(shape, [*calls, ANSWER]))
    assert len(records) == asked
    for record in records[1:]:
        assert "against the list before (3 stayed):\n added: ask the shop for a receipt\n" in record
        assert "An earlier plan stands before it" in record
        assert "whether a way that failed is taken again" in record
        assert ", search 2\n" in record
    assert verdicts(said)["plan-quality"].reasons.count("(re-plan)") == asked - 1
