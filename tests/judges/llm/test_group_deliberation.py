"""Short runs of one trace in one call: each with its own verdicts, every mistake at the run that made it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from panel_cases import panel
from small_traces import Did, Said, run, trace

from tracejury.judges.llm.case import Case, Deliberation, Stage
from tracejury.judges.llm.client import Prompt
from tracejury.judges.llm.group_deliberation import UnreadableTogetherError, deliberate_together
from tracejury.judges.llm.groups import groups
from tracejury.judges.llm.scripted import Line, ScriptedClient, answer, finding
from tracejury.judges.llm.scripted import runs as labels_of
from tracejury.processors.transcript import UNCUT, group_record, plan_views, transcribe
from tracejury.schemas.errors import LlmError, TracejuryError
from tracejury.schemas.trajectory import AgentRun, Trace

PANEL = panel()


def conversation() -> Trace:
    """Two exchanges with a clerk, and a sub-agent of the second."""
    first = run("r1", Said("a1", "There are four hens.", [Did("count", {"of": "hens"}, "3 hens", span_id="t1")]))
    second = run("r2", Said("a2", "As I said, four hens."), goal="How many hens again?", answer="four")
    below = run("r3", Said("a3", "I found no cow."), parent_id="r2", role="sub-agent", goal="Look for cows.")
    return trace(first, second, below)


def cases(whole: Trace, *only: str) -> list[Case]:
    """The closing cases of its runs."""
    made = []
    for each in whole.runs:
        shown = transcribe(whole, each)
        judges = tuple(judge.name for judge in PANEL.of_run(each.role))
        one = Case(whole, each, shown, judges, Stage.CLOSING, plans=plan_views(each, shown))
        made.append(replace(one, probability=0.5))
    return [one for one in made if not only or one.run.id in only]


def judged(
    script: Callable[[Prompt], Line], asked: Sequence[Case] | None = None, runs: Sequence[AgentRun] = ()
) -> tuple[dict[str, Deliberation], ScriptedClient]:
    """What was said of each run, by its id."""
    client = ScriptedClient(script)
    asked = cases(conversation()) if asked is None else asked
    whole = asked[0].trace
    shown = runs or whole.runs
    session = deliberate_together(
        asked, group_record(whole, shown), PANEL, full=lambda: group_record(whole, shown, UNCUT).transcript
    )
    try:
        batch = next(session)
        while True:
            replies: list[Any] = []
            for prompt in batch:
                try:
                    replies.append(client.reply(prompt))
                except TracejuryError as error:
                    replies.append(error)
            batch = session.send(replies)
    except StopIteration as end:
        return {case.run.id: said for case, said in zip(asked, end.value, strict=True)}, client


def test_one_call_gives_every_run_its_own_verdicts() -> None:
    """Of each judge that looks at such a run, with the run as its subject."""
    said, client = judged(answer)
    assert len(client.prompts) == 1
    assert labels_of(client.prompts[0]) == ["R1", "R2", "R3"]
    for case in cases(conversation()):
        verdicts = said[case.run.id].verdicts
        assert [v.judge for v in verdicts] == list(case.judges)
        assert {v.subject.id for v in verdicts} == {case.run.id}
        assert {v.score for v in verdicts if not v.not_applicable} == {2}


def test_a_mistake_belongs_to_the_run_of_its_step_and_relays_are_listed() -> None:
    """A quote that stands at another run's step moves there."""
    wrong = finding("S1", "There are four hens.", also_at=["S3"])
    moved = finding("S1", "I found no cow.", category="Goal Deviation")
    said, _ = judged(lambda prompt: answer(prompt, [wrong, moved]))
    (found,) = said["r1"].findings
    assert (found.agent_run_id, found.span_id, found.also_at) == ("r1", "a1", ("a2",))
    assert said["r2"].findings == ()
    assert [f.span_id for f in said["r3"].findings] == ["a3"]


def test_runs_that_are_not_asked_are_context() -> None:
    """They are shown; what is said of them is dropped, and they get no verdict."""
    claims = [finding("S1", "There are four hens."), finding("S3", "As I said, four hens.")]
    said, client = judged(lambda prompt: answer(prompt, claims), cases(conversation(), "r2"))
    assert list(said) == ["r2"]
    assert [f.span_id for f in said["r2"].findings] == ["a2"]
    question = client.prompts[0].messages[-1].text
    assert "There are four hens." in question
    assert "Report findings at steps of R2, as" in question


def test_a_verdict_that_names_no_run_is_nobodys_and_the_answer_is_repaired() -> None:
    """After the repair, what is missing is a failure of that run and judge alone."""

    def forgetful(prompt: Prompt) -> str:
        return answer(prompt).replace('"run": "R2"', '"run": "somewhere"')

    said, client = judged(forgetful)
    assert len(client.prompts) == 2
    assert not said["r1"].failures
    assert set(said["r2"].failures) == {v.judge for v in said["r2"].verdicts if not v.not_applicable}


def test_an_unusable_reply_is_told_and_a_refused_call_fails_every_run() -> None:
    """The caller judges each by itself where a reply cannot be used."""
    with pytest.raises(UnreadableTogetherError):
        judged(lambda _: "no JSON")
    said, _ = judged(lambda _: LlmError("the server says no"))
    assert all(each.failures and not each.answered for each in said.values())


def test_provisional_findings_of_several_runs_are_decided_by_one_list() -> None:
    """Numbers run through; each run keeps its own."""
    early, _ = judged(
        lambda prompt: answer(prompt, [finding("S1", "There are four hens."), finding("S3", "four hens.")])
    )
    asked = [replace(case, provisional=early[case.run.id].findings) for case in cases(conversation())]
    said, _ = judged(lambda prompt: answer(prompt, confirmed=[1], retracted=[{"number": 2, "why": "no"}]), asked)
    assert [f.id for f in said["r1"].findings] == [f.id for f in early["r1"].findings]
    assert said["r2"].findings == ()


def test_what_belongs_to_the_call_is_counted_once() -> None:
    """Dropped claims stand at one run."""
    said, _ = judged(lambda prompt: answer(prompt, [finding("S1", "nowhere said"), finding("S99", "nor this")]))
    assert sum(sum(each.dropped.values()) for each in said.values()) == 2


@pytest.mark.parametrize("count", [1, 5, 30])
def test_groups_hold_each_short_run_once_and_are_bounded(count: int) -> None:
    """The last one is open while the trace is."""
    whole = trace(*(run(f"r{n}", Said(f"l{n}", f"yard {n}")) for n in range(count)))
    found = groups(whole)
    assert sorted(r.id for group in found for r in group) == sorted(r.id for r in whole.runs)
    assert max(map(len, found)) <= 12
