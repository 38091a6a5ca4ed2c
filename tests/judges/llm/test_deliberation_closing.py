"""Deliberations that close a run: provisional findings decided, long runs read in chapters."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from deliberations import LC, PANEL, PLAN, REST, SEPARATE, TRACE, about, judged, rehearse
from panel_cases import case
from small_traces import Said, run, trace

from tracejury.judges.llm.case import Case, Deliberation, Stage
from tracejury.judges.llm.client import Prompt
from tracejury.judges.llm.deliberation import deliberate
from tracejury.judges.llm.members import LlmJudges
from tracejury.judges.llm.record import MOST_LISTED
from tracejury.judges.llm.scripted import ScriptedClient, answer, finding
from tracejury.processors.transcript import split
from tracejury.schemas.errors import LlmError
from tracejury.schemas.findings import Finding
from tracejury.schemas.transcript import Chapter


def provisional(by: LlmJudges, *quotes: tuple[str, str, str]) -> tuple[Finding, ...]:
    """What a window said: (label, quote, code) each."""
    asked = case(TRACE, by, Stage.WINDOW, judges=by.asked("manager", Stage.WINDOW, has_plan=True))
    said, _ = judged(lambda p: answer(p, [finding(label, q, dimensions=[c]) for label, q, c in quotes]), asked, by)
    return said.findings


QUOTES = (("S2", "I look it up.", "LC"), ("S5", "It is forty-two.", "TC"))
BEFORE = provisional(PANEL, *QUOTES)


def closed(by: LlmJudges = PANEL, before: tuple[Finding, ...] = BEFORE, **said: Any) -> Deliberation:
    """A closing pass over a run with these findings, with the fields of its answer."""
    findings = said.pop("findings", ())
    asked = case(TRACE, by, provisional=before)
    return judged(lambda p: answer(p) if about(p) == "plan" else answer(p, findings, **said), asked, by)[0]


def test_what_is_confirmed_stands_as_it_was() -> None:
    """With its identity and evidence; what is retracted, or passed over, does not."""
    assert [f.judge for f in BEFORE] == [LC, "tool-calling"]
    assert closed(confirmed=[1, 2]).findings == BEFORE
    assert closed(confirmed=[2], retracted=[{"number": 1, "why": "no"}]).findings == BEFORE[1:]
    assert closed(confirmed=[1]).findings == BEFORE[:1]
    assert closed(confirmed=[3, 99]).findings == ()


@pytest.mark.parametrize("said", [{}, {"confirmed": [1]}])
def test_what_is_found_again_stands_as_it_was(said: dict[str, Any]) -> None:
    """At the same span and in the same category, in other words: once, with the identity it had."""
    again = [finding("S2", "look it up", why="Again.")]
    assert closed(findings=again, **said).findings == BEFORE[:1]
    other = [finding("S2", "look it up", category="Resource Abuse")]
    found = closed(findings=other, **said).findings
    assert [f.category for f in found if f.evidence == "look it up"] == ["Resource Abuse"]
    assert (BEFORE[0] in found) == bool(said)


def test_what_is_retracted_and_claimed_in_new_words_is_new() -> None:
    """The judge has withdrawn the one and stands by the other."""
    found = closed(findings=[finding("S2", "look it up")], retracted=[{"number": 1, "why": "no"}]).findings
    assert [f.evidence for f in found] == ["look it up"]


def test_a_judge_that_fails_takes_nothing_back() -> None:
    """Its failure is not a verdict."""
    asked = case(TRACE, PANEL, provisional=BEFORE)
    said, _ = judged(lambda p: answer(p) if about(p) == "plan" else LlmError("gone"), asked)
    assert said.findings == BEFORE
    assert set(said.failures) == set(REST)


def test_in_separate_mode_each_judge_decides_on_its_own() -> None:
    """Another judge's word on a finding does not count."""
    before = provisional(SEPARATE, *QUOTES)
    assert [f.judge for f in before] == [LC, "tool-calling"]

    def script(prompt: Prompt) -> str:
        mine = "as LC" in prompt.messages[-1].text
        return answer(prompt) if about(prompt) == "plan" else answer(prompt, confirmed=[1, 2] if mine else [])

    said, _ = judged(script, case(TRACE, SEPARATE, provisional=before), SEPARATE)
    assert said.findings == before[:1]


def test_findings_about_plans_are_decided_by_their_own_prompts() -> None:
    """They are not listed for the others; found again they stand."""
    quote = finding("S1", "1. Look it up.", dimensions=["PQ"])
    asked = case(TRACE, PANEL, Stage.PLAN)
    (old,) = judged(lambda p: answer(p, [quote]), replace(asked, judges=(PLAN,), plans=asked.plans[:1]))[0].findings
    again = [old, *BEFORE]
    for script, stands in [
        (lambda p: answer(p, [quote] if about(p) == "plan" else [], confirmed=[1, 2]), again),
        (lambda p: answer(p) if about(p) == "plan" else answer(p, confirmed=[1, 2]), list(BEFORE)),
    ]:
        said, client = judged(script, case(TRACE, PANEL, provisional=(old, *BEFORE)))
        assert list(said.findings) == stands
        (prompt,) = [p for p in client.prompts if about(p) == "closing"]
        assert '1. Look it up."' not in prompt.messages[-1].text


def test_findings_beyond_those_listed_stand() -> None:
    """Nobody was asked about them."""
    many = tuple(replace(BEFORE[0], id=f"{i:032}", fingerprint=f"{i:032}") for i in range(MOST_LISTED + 3))
    assert len(closed(before=many, retracted=[{"number": 1, "why": "no"}]).findings) == 3


# Chapters


def long_run() -> tuple[Case, tuple[Chapter, ...]]:
    made = trace(run("r1", *(Said(f"a{i}", f"Step number {i} says {'word ' * 400}") for i in range(12))))
    asked = case(made, PANEL)
    chapters = split(asked.transcript, 3000, lambda text: len(text) // 4)
    assert len(chapters) > 2
    return asked, chapters


def test_chapters_are_read_one_after_another_with_a_summary() -> None:
    """Findings of all count once, scores are those of the last."""
    asked, chapters = long_run()

    def script(prompt: Prompt) -> str:
        last = "Give verdicts" in prompt.messages[-1].text
        number = len(client.prompts)
        quotes = [finding(step.label, f"Step number {i}") for i, step in enumerate(asked.transcript.steps)]
        return answer(prompt, quotes, dict.fromkeys(REST, 3 if last else 0), summary=f"notes {number}.")

    client = ScriptedClient(script)
    said = rehearse(deliberate(asked, PANEL, chapters), client)
    assert len(client.prompts) == len(chapters)
    for number, prompt in enumerate(client.prompts):
        text = "".join(m.text for m in prompt.messages)
        assert (f"notes {number}." in text) == (number > 0)
    assert len(said.findings) == 12
    assert {v.score for v in said.verdicts if not v.not_applicable} == {3}


def test_a_chapter_without_an_answer_ends_the_reading() -> None:
    """Findings of the chapters before stand; the judges are unscored."""
    asked, chapters = long_run()
    lines = iter([None, LlmError("gone")])
    client = ScriptedClient(lambda p: next(lines) or answer(p, [finding("S1", "Step number 0")]))
    said = rehearse(deliberate(asked, PANEL, chapters), client)
    assert len(client.prompts) == 2
    assert [f.span_id for f in said.findings] == ["a0"]
    assert "gone" in {v.unscored_reason for v in said.verdicts}


def test_one_chapter_is_the_whole() -> None:
    """Its prompt is the same as without chapters."""
    asked = case(TRACE, PANEL)
    plain, once = ScriptedClient(answer), ScriptedClient(answer)
    rehearse(deliberate(asked, PANEL), plain)
    rehearse(deliberate(asked, PANEL, split(asked.transcript, 10**6, len)), once)
    assert once.prompts == plain.prompts
