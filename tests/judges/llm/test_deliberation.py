"""Deliberations: who is asked what, in which order, and what is made of the answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from deliberations import ALL, LC, PANEL, PLAN, REST, SEPARATE, TRACE, about, batches, judged, verdicts, whole
from panel_cases import case
from small_traces import without_content

from tracejury.judges.llm.case import Deliberation, Stage
from tracejury.judges.llm.client import Prompt, Reply
from tracejury.judges.llm.members import LlmJudges
from tracejury.judges.llm.ruling import NO_PLAN
from tracejury.judges.llm.scripted import Line, answer, finding
from tracejury.schemas.errors import LlmError, OverBudgetError, RetryableError, TracejuryError
from tracejury.schemas.verdicts import SubjectKind


def test_in_panel_mode_one_prompt_asks_all_and_each_plan_has_its_own() -> None:
    """All in one batch."""
    ((first, second, whole_run),) = batches(case(TRACE, PANEL), PANEL)
    assert [about(p) for p in (first, second, whole_run)] == ["plan", "plan", "closing"]
    assert first.schema == second.schema != whole_run.schema


def test_in_separate_mode_each_judge_has_its_own_prompt() -> None:
    """All in one batch, with one schema, so that they begin alike."""
    (batch,) = batches(case(TRACE, SEPARATE), SEPARATE)
    assert [about(p) for p in batch] == ["plan"] * 2 + ["closing"] * len(REST)
    run_prompts = [p for p in batch if about(p) == "closing"]
    assert all(p.schema == run_prompts[0].schema for p in run_prompts)
    assert all(p.messages[:-1] == run_prompts[0].messages[:-1] for p in run_prompts)


@pytest.mark.parametrize("by", [PANEL, SEPARATE], ids=["panel", "separate"])
def test_every_judge_gives_a_verdict(by: LlmJudges) -> None:
    """With its score, its version, the model that answered, and how probable it was that it was asked."""
    asked = case(TRACE, by, probability=0.25)
    said, _ = judged(lambda p: answer(p, scores={LC: 0, "tool-calling": None}), asked, by)
    given = verdicts(said)
    assert tuple(given) == ALL
    assert {name: v.score for name, v in given.items()} == dict.fromkeys(ALL, 2) | {LC: 0, "tool-calling": None}
    assert [name for name, v in given.items() if v.not_applicable] == ["tool-calling"]
    assert all((v.version, v.model) == (by.version(name), "scripted") for name, v in given.items())
    assert {v.sampling_probability for v in said.verdicts} == {0.25}
    assert {(v.subject.kind, v.subject.id) for v in said.verdicts} == {(SubjectKind.AGENT_RUN, "r1")}
    assert (said.failures, said.models, said.known) == ({}, ("scripted",), False)


@pytest.mark.parametrize(
    ("quotes", "marked"),
    [
        ((), set()),
        (("It is forty-two.",), set()),
        (("Nobody said this.",), {LC}),
        (("Nobody said this.", "It is forty-two."), set()),
    ],
)
def test_a_verdict_whose_quotes_all_stand_nowhere_is_marked(quotes: tuple[str, ...], marked: set[str]) -> None:
    """It has no finding that would show its reason; another judge's verdict is not concerned."""
    found = [finding("S5", quote) for quote in quotes]
    said, _ = judged(lambda p: answer(p, found if about(p) == "closing" else (), scores={LC: 0}), case(TRACE, PANEL))
    assert {v.judge for v in said.verdicts if v.quote_dropped} == marked
    assert len(said.findings) == ("It is forty-two." in quotes)


def test_plan_quality_is_that_of_the_worst_plan() -> None:
    """Its reasons name each."""
    scores = iter([3, 1])
    said, _ = judged(lambda p: answer(p, scores={PLAN: next(scores)} if about(p) == "plan" else {}))
    verdict = verdicts(said)[PLAN]
    assert verdict.score == 1
    assert verdict.reasons.splitlines() == [
        "S1: 3. What plan-quality looked at.",
        "S4 (re-plan): 1. What plan-quality looked at.",
    ]


def test_a_plan_that_got_no_answer_leaves_plan_quality_unscored() -> None:
    """Whatever the other plan is worth: the worst is not known."""
    plans = iter([None, LlmError("no reply")])
    said, _ = judged(lambda p: (next(plans) if about(p) == "plan" else None) or answer(p))
    assert verdicts(said)[PLAN].unscored_reason == said.failures[PLAN] == "no reply"
    assert verdicts(said)[PLAN].score is None
    assert verdicts(said)[LC].score == 2


def test_without_a_plan_judges_of_plans_have_nothing_to_judge() -> None:
    """They are not asked."""
    said, client = judged(asked=case(TRACE, PANEL, plans=()))
    assert len(client.prompts) == 1
    reasons = {name: v.reasons for name, v in verdicts(said).items() if v.not_applicable}
    assert reasons == dict.fromkeys((PLAN, "plan-adherence"), NO_PLAN)
    assert "plan-adherence" not in client.prompts[0].messages[-1].text.rpartition("=== end")[2]


@pytest.mark.parametrize("stage", Stage)
def test_without_captured_content_nobody_is_asked(stage: Stage) -> None:
    """Missing instrumentation is not the agent's error."""
    bare = without_content(TRACE)
    said, client = judged(asked=case(bare, PANEL, stage))
    assert client.prompts == []
    assert {v.reasons for v in said.verdicts} == (set() if stage is Stage.WINDOW else {"no content captured"})
    assert all(v.not_applicable for v in said.verdicts)
    assert (said.failures, said.known) == ({}, False)


@pytest.mark.parametrize(("score", "applies"), [(1, True), (None, False)])
def test_the_goal_of_an_unfinished_run_may_stay_open(score: int | None, *, applies: bool) -> None:
    """A panel may score it; where it says nothing of it, that is no failure, and nothing to repair."""
    unfinished = whole(ended=False)

    def without_goal(prompt: Prompt) -> str:
        made = json.loads(answer(prompt, scores={"goal-fulfilment": score}))
        made["verdicts"] = [v for v in made["verdicts"] if applies or v["judge"] != "goal-fulfilment"]
        return json.dumps(made)

    said, client = judged(without_goal, case(unfinished, PANEL))
    verdict = verdicts(said)["goal-fulfilment"]
    assert (verdict.score, verdict.not_applicable) == (score, not applies)
    assert applies or verdict.reasons == "the run did not finish"
    assert (said.failures, len(client.prompts)) == ({}, 3)


def test_a_window_has_findings_and_no_verdicts() -> None:
    """At its own steps; judges of plans and goals are asked elsewhere."""
    asked = case(TRACE, PANEL, Stage.WINDOW, first="S3", judges=PANEL.asked("manager", Stage.WINDOW, has_plan=True))
    said, client = judged(
        lambda p: answer(p, [finding("S5", "It is forty-two."), finding("S2", "I look it up.")]), asked
    )
    assert [f.span_id for f in said.findings] == ["a2"]
    assert (said.verdicts, said.dropped, len(client.prompts)) == ((), {"outside-window": 1}, 1)


def test_a_plan_is_judged_by_itself_while_the_run_goes_on() -> None:
    """Its verdict is about its turn; findings elsewhere are outside."""
    asked = case(TRACE, PANEL, Stage.PLAN)
    asked = replace(asked, judges=(PLAN,), plans=asked.plans[1:])
    replied = [
        finding("S4", "1. Answer anyway.", dimensions=["PQ"]),
        finding("S1", "1. Look it up.", dimensions=["PQ"]),
    ]
    said, client = judged(lambda p: answer(p, replied), asked)
    assert [f.span_id for f in said.findings] == ["p2"]
    assert [f.judge for f in said.findings] == [PLAN]
    assert (len(client.prompts), said.dropped) == (1, {"outside-window": 1})
    assert [(v.subject.kind, v.subject.id) for v in said.verdicts] == [(SubjectKind.TURN_WINDOW, "r1:2-2")]


# Repair and failure


def scripted_run(*lines: Any) -> tuple[Deliberation, list[Prompt]]:
    """Plans answered well; the run's prompt and its repair by `lines` in turn (a function makes one of the prompt)."""
    left = iter(lines)

    def script(prompt: Prompt) -> Line:
        if about(prompt) == "plan":
            return answer(prompt)
        line = next(left)
        made: Line = line(prompt) if callable(line) else line
        return made

    said, client = judged(script)
    return said, [p for p in client.prompts if about(p) != "plan"]


def lacking(*judges: str) -> Callable[[Prompt], str]:
    """An answer without the verdicts of these, with one finding."""

    def made(prompt: Prompt) -> str:
        full = json.loads(answer(prompt, [finding("S5", "It is forty-two.")]))
        full["verdicts"] = [v for v in full["verdicts"] if v["judge"] not in judges]
        return json.dumps(full)

    return made


def test_an_unreadable_answer_is_repaired_once() -> None:
    """The second prompt goes on from the first: the reply, and in one line what is wrong with it."""
    said, (first, second) = scripted_run("no JSON", answer)
    assert said.failures == {}
    assert second.messages[: len(first.messages)] == first.messages
    reply, wrong = second.messages[len(first.messages) :]
    assert (reply.role, reply.text) == ("assistant", "no JSON")
    assert "the answer must be one JSON object" in wrong.text


@pytest.mark.parametrize(
    ("lines", "why", "calls"),
    [
        (["no JSON", "none either"], "no usable answer: the answer must be one JSON object", 2),
        (["no JSON", LlmError("it\nbroke")], "it broke", 2),
        ([LlmError("the model is gone")], "the model is gone", 1),
        ([TracejuryError("")], "TracejuryError", 1),
    ],
)
def test_a_second_failure_leaves_its_judges_unscored(lines: list[Line], why: str, calls: int) -> None:
    """With the reason, in the verdict and among the failures; plans had their own answers."""
    said, asked = scripted_run(*lines)
    assert said.failures == dict.fromkeys(REST, why)
    given = verdicts(said)
    assert {v.unscored_reason for name, v in given.items() if name in REST} == {why}
    assert all(v.score is None and not v.not_applicable for name, v in given.items() if name in REST)
    assert given[PLAN].score == 2
    assert len(asked) == calls


@pytest.mark.parametrize(
    ("second", "unscored"),
    [
        (answer, set()),
        (lacking(LC), {LC}),
        (lacking(LC, "tool-calling"), {LC}),  # the first was better
        ("no JSON", {LC}),
        (LlmError("gone"), {LC}),
    ],
)
def test_one_missing_score_is_asked_for_again_and_costs_no_other(second: Any, unscored: set[str]) -> None:
    """The better of both answers counts."""
    said, asked = scripted_run(lacking(LC), second)
    assert len(asked) == 2
    assert "logical-consistency: the answer has no score of it" in asked[1].messages[-1].text
    assert set(said.failures) == unscored
    assert {name for name, v in verdicts(said).items() if v.unscored_reason} == unscored


def test_an_answer_that_was_cut_off_is_told_so() -> None:
    """A syntax error at its end would say nothing of the reason."""
    _, asked = scripted_run(Reply('{"findings": [', "m", output_tokens=4096, finish_reason="length"), answer)
    assert "cut off at its limit of 4096 tokens" in asked[1].messages[-1].text


def test_findings_that_are_all_unsound_are_asked_for_again() -> None:
    """If they stay so, they are counted, and the scores count."""
    unsound = finding("S5", "It is forty-two.", severity="AWFUL")
    said, asked = scripted_run(lambda p: answer(p, [unsound]), lambda p: answer(p, [unsound, unsound]))
    assert '"severity"' in asked[1].messages[-1].text
    assert (said.dropped, said.failures) == ({"unsound": 2}, {})


@pytest.mark.parametrize("error", [OverBudgetError("the cap is reached"), RetryableError("the store is away")])
@pytest.mark.parametrize("at", [0, 2])
def test_what_can_be_had_later_ends_it(error: TracejuryError, at: int) -> None:
    """Whichever prompt it comes for."""
    count = iter(range(10))
    with pytest.raises(type(error)) as raised:
        judged(lambda p: error if next(count) == at else answer(p))
    assert raised.value is error


def test_it_is_known_only_if_every_answer_was() -> None:
    """The ledger's "cached"."""
    known = iter([True, True, True, True, True, False])
    script = [lambda p: Reply(answer(p), "m", known=next(known))] * 2
    assert [judged(one)[0].known for one in script] == [True, False]


# Provisional findings
