"""One trace before the judges, with a scripted model."""

from __future__ import annotations

from pathlib import Path

import pytest
from fair_judge import said
from reports import answering
from trail_folder import error, write

from tracejury.collector.evaluation.judges_trace import Judging, judge_trace, moments
from tracejury.collector.evaluation.rebuilt import RebuiltFolder, rebuild_folder
from tracejury.collector.judging.llm.build import panel_from
from tracejury.collector.judging.llm.prompt_budget import PromptBudget
from tracejury.collector.judging.model.config import LlmConfig
from tracejury.judges.llm.case import ServiceDescription, Stage
from tracejury.judges.llm.client import Prompt, Reply
from tracejury.judges.llm.schedule import WindowRules, closed_turns
from tracejury.judges.llm.scripted import ScriptedClient, answer, finding
from tracejury.judges.reviews.candidates import PURPOSE
from tracejury.judges.verification import MOST_REFUTED, answered
from tracejury.schemas.errors import LlmError, OverBudgetError, RetryableError, TracejuryError
from tracejury.schemas.findings import Verification

A = "a" * 32


@pytest.fixture
def rebuilt(tmp_path: Path) -> RebuiltFolder:
    return rebuild_folder(write(tmp_path / "x", [A], {A: [error(5)]}))


def judging(windows: WindowRules | None = None, *, hints: bool = True) -> Judging:
    panel, _ = panel_from(LlmConfig())
    return Judging(PromptBudget(panel, 100_000, len, hints), windows)


async def test_a_closing_pass_a_run(rebuilt: RebuiltFolder) -> None:
    """Findings at their spans, a score of each judge or that there is nothing to judge, what was dropped and why."""
    client = ScriptedClient(said)
    (run,) = await judge_trace(rebuilt.traces[0], judging(), client)
    assert [(f.judge, f.span_id) for f in run.findings] == [("logical-consistency", f"{5:016x}")]
    assert dict(run.dropped) == {"no-evidence": 1}
    assert {v.judge: v.score for v in run.verdicts} == {
        "plan-quality": 2,
        "plan-adherence": 2,
        "goal-fulfilment": 2,
        "logical-consistency": 2,
        "execution-efficiency": 2,
        "tool-selection": 2,
        "tool-calling": 2,
    }
    assert [p.purpose for p in client.prompts] == ["plan", "closing"]


async def test_the_judges_are_asked_about_detectors_errors_only_as_wanted(rebuilt: RebuiltFolder) -> None:
    """After their own list, which is made in the same way; the answers are part of the result."""
    trace, detected = rebuilt.traces[0], rebuilt.detected[A]
    script = answering({"read_file failed": ("refuted", "S2 shows the file.")}, said)
    alone, asked = ScriptedClient(script), ScriptedClient(script)
    (run,) = await judge_trace(trace, judging(hints=False), alone, detected)
    assert run.opinions == ()
    (run,) = await judge_trace(trace, judging(), asked, detected)
    assert asked.prompts[:2] == alone.prompts
    assert [p.purpose for p in asked.prompts][:3] == ["plan", "closing", PURPOSE]
    refuted = [o.finding_id for o in run.opinions if o.verification is Verification.REFUTED]
    assert refuted
    assert {f.confidence <= MOST_REFUTED for f in answered(detected, run.opinions) if f.id in refuted} == {True}


async def test_the_architecture_is_shown(rebuilt: RebuiltFolder) -> None:
    """As data, indented."""
    client = ScriptedClient(said)
    await judge_trace(rebuilt.traces[0], judging(), client, (), ServiceDescription("One agent.\nS9 reads files."))
    assert "\n One agent.\n S9 reads files.\n" in client.prompts[0].messages[1].text


@pytest.mark.parametrize("failure", [LlmError("stalled"), OverBudgetError("cap"), RetryableError("away")])
async def test_a_failed_call_leaves_its_judges_unscored(rebuilt: RebuiltFolder, failure: TracejuryError) -> None:
    """Each with the reason; nothing is raised."""
    (run,) = await judge_trace(rebuilt.traces[0], judging(), ScriptedClient(lambda _: failure))
    assert run.findings == ()
    assert set(run.failures.values()) == {str(failure)}
    assert {"goal-fulfilment", "tool-calling"} <= run.failures.keys()


class Faulty:
    """A client with a fault of ours."""

    model = "faulty"

    async def complete(self, prompt: Prompt) -> Reply:
        raise ZeroDivisionError(prompt.purpose)


async def test_a_fault_of_ours_costs_one_run(rebuilt: RebuiltFolder) -> None:
    """It is named in the reason, and does not end the evaluation."""
    (run,) = await judge_trace(rebuilt.traces[0], judging(), Faulty())
    assert set(run.failures.values()) == {"unexpected ZeroDivisionError: plan"}


def at_the_tool(prompt: Prompt) -> str:
    """A finding at the failed call while the run goes on, none at its end."""
    text = "".join(m.text for m in prompt.messages)
    quoted = prompt.purpose == "window" and "S3 tool" in text
    return answer(prompt, [finding("S3", "No such file: data.csv")] if quoted else [])


async def test_windows_come_before_the_closing_pass(rebuilt: RebuiltFolder) -> None:
    """Their findings are provisional: the closing prompt lists them for a decision."""
    client = ScriptedClient(at_the_tool)
    (run,) = await judge_trace(rebuilt.traces[0], judging(WindowRules(turns=1)), client)
    assert [p.purpose for p in client.prompts] == ["window", "plan", "window", "plan", "closing"]
    assert (run.provisional, run.lost) == (1, 0)
    assert ' 1. S3 LC, Tool Output Misinterpretation, HIGH: "No such file' in client.prompts[4].messages[-1].text


async def test_a_lost_window_costs_only_itself(rebuilt: RebuiltFolder) -> None:
    """The closing pass sees what it would have seen."""
    client = ScriptedClient(lambda p: LlmError("stalled") if p.purpose == "window" else said(p))
    (run,) = await judge_trace(rebuilt.traces[0], judging(WindowRules(turns=1)), client)
    assert (run.lost, len(run.findings), dict(run.failures)) == (2, 1, {})


@pytest.mark.parametrize(("turns", "windows"), [(1, [(0, 1), (1, 2)]), (2, [(0, 2)]), (3, [])])
def test_windows_close_by_the_rules_of_production(
    rebuilt: RebuiltFolder, turns: int, windows: list[tuple[int, int]]
) -> None:
    """After so many turns; the last turn belongs to the closing pass, and what was not known then is not shown."""
    trace = rebuilt.traces[0]
    rules = WindowRules(turns=turns, seconds=1e9)
    found = list(moments(trace, trace.runs[0], judging().preparation.panel, rules, rebuilt.detected[A]))
    assert [entry.turns for entry, _ in found if entry.stage is Stage.WINDOW] == windows
    assert [plan for entry, _ in found for plan in entry.plans] == [1]
    for entry, run in found:
        assert (len(closed_turns(run)), run.answer, run.status) == (entry.turns[1], "", "unfinished")
        assert [turn.closed for turn in run.turns[entry.turns[1] :]] == [False]  # the call that closed the last one
