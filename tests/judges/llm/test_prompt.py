"""What is put to the judges: rules, record, question; and what of it stays the same while a run goes on."""

from __future__ import annotations

from dataclasses import replace

import pytest
from prompt_cases import case, finding, ours, record_lines, step, transcript

from tracejury.judges.llm.case import ServiceDescription, Stage
from tracejury.judges.llm.client import Prompt
from tracejury.judges.llm.criteria import load_set
from tracejury.judges.llm.members import LlmJudges, llm_judges_of
from tracejury.judges.llm.prompt import MOST_REPLY, Part, prompts, repair
from tracejury.judges.llm.record import BLOCK, MOST_LISTED
from tracejury.schemas.transcript import Chapter, PlanView, Transcript

PANEL = llm_judges_of(load_set("production"), "gpt-x", max_answer_tokens=1234)
SEPARATE = replace(PANEL, mode="separate")
SCHEMA = {"type": "object"}
ALL = tuple(j.name for j in PANEL.judges)
RUN = ("plan-adherence", "logical-consistency", "execution-efficiency", "tool-selection", "tool-calling")


def texts(prompt: Prompt) -> list[str]:
    """The messages' texts."""
    return [m.text for m in prompt.messages]


def question(prompt: Prompt) -> str:
    """What follows the record."""
    return prompt.messages[-1].text.rpartition("===\n")[2].strip()


def test_a_prompt_says_for_whom_it_is() -> None:
    """Schema and bound as given; the spend is booked on the service, trace and run."""
    asked = case(transcript("one"), RUN)
    (prompt,) = prompts(asked, PANEL, schema=SCHEMA, schema_name="panel")
    assert (prompt.schema, prompt.schema_name, prompt.max_tokens) == (SCHEMA, "panel", 1234)
    assert (prompt.purpose, prompt.service) == ("closing", asked.trace.service)
    assert (prompt.trace_id, prompt.run_id) == (asked.trace.trace_id, "r1")


def test_the_record_holds_what_is_known_in_order() -> None:
    """Architecture, header, steps, closing, then the list of earlier findings, all between the fence."""
    asked = case(
        transcript("one", "two", closing="End of the run: finished."),
        RUN,
        description=ServiceDescription("A manager\nwith helpers."),
        provisional=(finding("s1", "quoted", "wrong"),),
        detected=(finding("s2", "seen and said", "odd"), finding("elsewhere", "x", "y")),
    )
    (prompt,) = prompts(asked, PANEL, schema=SCHEMA)
    assert record_lines(prompt) == [
        "about the service:",
        " A manager",
        " with helpers.",
        "Run, a manager.",
        "first message:",
        " Find it.",
        "S1 llm",
        " one",
        "S2 llm",
        " two",
        "End of the run: finished.",
        "provisional findings of earlier looks, to confirm or retract:",
        ' 1. S1 TC, EE, Formatting Errors, MEDIUM: "quoted": wrong',
    ]


@pytest.mark.parametrize("panel", [PANEL, SEPARATE], ids=["panel", "separate"])
def test_what_the_operator_wrote_of_the_service_is_told_by_us(panel: LlmJudges) -> None:
    """In the system message, after rules that stay the same; a derived text, in the same words, is data."""
    told = "Refunds need a ticket.\u202e"
    plain, derived, own = (
        next(iter(prompts(case(transcript("one"), RUN, description=by), panel, schema=SCHEMA)))
        for by in (ServiceDescription(), ServiceDescription(told), ServiceDescription(told, by_operator=True))
    )
    assert texts(own)[0].startswith(texts(plain)[0])
    assert texts(own)[0].endswith("an instruction to them.\nRefunds need a ticket.")
    assert texts(own)[1:] == texts(plain)[1:]
    assert texts(derived)[0] == texts(plain)[0]
    assert " Refunds need a ticket." in record_lines(derived)


@pytest.mark.parametrize(
    ("status", "end"), [("ok", "The run is over and shown to its end."), ("unfinished", "The recording ends here")]
)
def test_the_closing_question(status: str, end: str) -> None:
    """Whole run, every judge scored, and whether what is missing may still have come."""
    asked = case(transcript("one", "two"), ("goal-fulfilment", *RUN))
    asked = replace(asked, run=replace(asked.run, status=status))
    (prompt,) = prompts(asked, PANEL, schema=SCHEMA)
    said = question(prompt)
    assert said.startswith(end)
    assert said.endswith("at S1 to S2, as GF, PA, LC, EE, TS, TC. Give verdicts for GF, PA, LC, EE, TS, TC.")
    (prompt,) = prompts(replace(asked, provisional=(finding("s1", "q", "w"),)), PANEL, schema=SCHEMA)
    assert question(prompt).startswith(f"{said} Check the provisional findings against what came later: in `confirmed`")
    assert "`retracted`, the others, with `why`" in question(prompt)


def test_the_window_question() -> None:
    """The new steps only, no verdicts, nothing that may still come."""
    (prompt,) = prompts(case(transcript("1", "2", "3"), RUN, Stage.WINDOW, first="S2"), PANEL, schema=SCHEMA)
    assert question(prompt).startswith("The run goes on. Report findings at S2 to S3 only, as PA, LC, EE, TS, TC;")
    assert "report no absence. No verdicts now." in question(prompt)
    (prompt,) = prompts(case(transcript("1", "2", "3"), RUN, Stage.WINDOW, first="S3"), PANEL, schema=SCHEMA)
    assert "findings at S3 only" in question(prompt)


def test_how_to_decide_is_told_only_where_there_is_something_to_decide() -> None:
    """The system message is one for windows and closing pass, so the rules for it stand in the question."""
    shown_run = transcript("1")
    (window,) = prompts(case(shown_run, RUN, Stage.WINDOW, first="S1"), PANEL, schema=SCHEMA)
    (bare,) = prompts(case(shown_run, RUN), PANEL, schema=SCHEMA)
    (full,) = prompts(case(shown_run, RUN, provisional=(finding("s1", "q", "w"),)), PANEL, schema=SCHEMA)
    assert texts(window)[0] == texts(bare)[0] == texts(full)[0]
    assert "stay empty unless asked for" in texts(full)[0]
    assert ["in `confirmed`, the numbers" in question(p) for p in (window, bare, full)] == [False, False, True]


@pytest.mark.parametrize("panel", [PANEL, SEPARATE], ids=["panel", "separate"])
@pytest.mark.parametrize("stage", [Stage.WINDOW, Stage.CLOSING])
def test_no_prompt_shows_what_detectors_found(panel: LlmJudges, stage: Stage) -> None:
    """The judges make their own list first."""
    asked = case(
        transcript("1"), ("tool-selection", "tool-calling"), stage, first="S1" if stage is Stage.WINDOW else ""
    )
    knowing = replace(asked, detected=(finding("s1", "seen and said", "odd"),))
    assert prompts(knowing, panel, schema=SCHEMA) == prompts(asked, panel, schema=SCHEMA)


def test_a_window_is_not_asked_about_earlier_findings() -> None:
    """They wait for the closing pass."""
    asked = case(transcript("1"), RUN, Stage.WINDOW, first="S1", provisional=(finding("s1", "q", "w"),))
    (prompt,) = prompts(asked, PANEL, schema=SCHEMA)
    assert "provisional" not in prompt.messages[-1].text


def test_a_plan_is_asked_by_its_view_alone() -> None:
    """One prompt a plan; the same at the end as when the plan closed, so that its answer is known then."""
    views = (
        PlanView(transcript("facts", "plan"), "S2", 1, replan=False),
        PlanView(transcript("facts", "plan", "failed", "plan again"), "S4", 3, replan=True),
    )
    early = case(transcript("facts", "plan"), ("plan-quality",), Stage.PLAN, plans=views[:1])
    later = case(
        transcript("facts", "plan", "failed", "plan again", "done", closing="over"),
        ALL,
        Stage.PLAN,
        plans=views,
        provisional=(finding("s1", "q", "w"),),
        detected=(finding("s1", "q", "w"),),
    )
    first, second = prompts(later, PANEL, schema=SCHEMA)
    assert prompts(early, PANEL, schema=SCHEMA) == (first,)
    assert "S3 llm" not in ours(first)
    assert "earlier plan" not in question(first)
    assert question(first).startswith("Judge the plan at S2, by what stands before it, as PQ.")
    assert "Findings at S4 only. An earlier plan stands before it:" in question(second)
    assert "## PQ plan-quality" in first.messages[0].text
    assert "## TC" not in first.messages[0].text


def test_judges_of_another_stage_are_not_asked() -> None:
    """A closing pass does not judge plans, a window neither plans nor the goal; with none left nothing is asked."""
    (closing,) = prompts(case(transcript("1"), ALL), PANEL, schema=SCHEMA)
    assert "as PA, GF, LC, EE, TS, TC." in question(closing)
    (window,) = prompts(case(transcript("1"), ALL, Stage.WINDOW, first="S1"), PANEL, schema=SCHEMA)
    assert "as PA, LC, EE, TS, TC;" in question(window)
    assert prompts(case(transcript("1"), ("plan-quality",)), PANEL, schema=SCHEMA) == ()
    assert prompts(case(transcript("1"), ()), PANEL, schema=SCHEMA) == ()


def test_a_judge_that_does_not_sit_is_an_error() -> None:
    """It must not be asked by mistake."""
    with pytest.raises(KeyError):
        prompts(case(transcript("1"), ("tone",)), PANEL, schema=SCHEMA)


def growing(count: int, size: int = BLOCK // 5) -> Transcript:
    """A run of so many long steps."""
    return transcript(*(f"{i} " + "x" * size for i in range(count)))


def cached(prompt: Prompt) -> list[tuple[str, str]]:
    """Its messages up to the last mark of a cached prefix."""
    last = max(i for i, m in enumerate(prompt.messages) if m.cache)
    return [(m.role, m.text) for m in prompt.messages[: last + 1]]


def test_a_later_prompt_begins_as_the_earlier_ones_did() -> None:
    """Message by message, whatever came since: windows, then the closing pass with more judges and longer lists."""
    windows = [
        prompts(case(growing(n), RUN, Stage.WINDOW, first=f"S{n}"), PANEL, schema=SCHEMA)[0] for n in (2, 7, 12, 30)
    ]
    shown_run = replace(growing(33), closing="over")
    asked = case(shown_run, ("goal-fulfilment", *RUN), provisional=(finding("s1", "q", "w"),))
    (closing,) = prompts(asked, PANEL, schema=SCHEMA)
    for earlier, later in zip(windows, [*windows[1:], closing], strict=True):
        known = cached(earlier)
        assert known == [(m.role, m.text) for m in later.messages[: len(known)]]
    assert [len(cached(w)) for w in windows] == [1, 2, 3, 6]


def test_nothing_is_lost_between_blocks() -> None:
    """The blocks together are the record."""
    shown_run = growing(30)
    (prompt,) = prompts(case(shown_run, RUN), PANEL, schema=SCHEMA)
    steps = "".join(s.text for s in shown_run.steps)
    assert shown_run.header + steps in "".join(texts(prompt)[1:])
    assert all(len(t) < BLOCK + BLOCK // 4 for t in texts(prompt)[1:])


def test_separate_judges_share_all_but_their_criteria() -> None:
    """One prompt a judge, in the order asked; criteria and question follow the common, cached prefix."""
    asked = case(growing(12), RUN)
    made = prompts(asked, SEPARATE, schema=SCHEMA)
    assert len(made) == len(RUN)
    assert len({tuple(cached(p)) for p in made}) == 1
    for name, prompt in zip(RUN, made, strict=True):
        judge = PANEL.judge(name)
        assert len(cached(prompt)) == len(prompt.messages) - 1
        assert prompt.messages[-1].text.startswith(f"## {judge.code} {name}\n")
        assert prompt.messages[-1].text.endswith(f"as {judge.code}. Give verdicts for {judge.code}.")
        assert "## " not in prompt.messages[0].text


def test_separate_judges_decide_on_their_own_findings() -> None:
    """All see the whole list, which is part of the common prefix."""
    asked = case(transcript("1"), ("tool-selection", "tool-calling"), provisional=(finding("s1", "q", "w"),))
    other, own = prompts(asked, SEPARATE, schema=SCHEMA)
    assert "Check the provisional findings whose first code is TS against" in question(other)
    assert "Check the provisional findings against" in question(own)


def test_a_part_of_a_long_run() -> None:
    """Index and notes stand before its steps; verdicts and lists wait for the last part, notes are asked before."""
    steps = tuple(step(i, f"text {i}") for i in range(1, 7))
    whole = replace(transcript("x"), steps=steps, closing="over")
    index = "Steps before this part, in brief:\nS1 llm: …\n"
    first = Part(Chapter(whole.header, "", steps[:3], "", 0, 3, "S1"), 1, 2)
    last = Part(Chapter(whole.header, index, steps[1:], "over", 1, 6, "S4"), 2, 2, "S2 failed\nS9 llm")
    asked = case(whole, RUN, provisional=(finding("s1", "q", "w"),), detected=(finding("s5", "q", "w"),))
    (one,) = prompts(asked, PANEL, schema=SCHEMA, part=first)
    (two,) = prompts(asked, PANEL, schema=SCHEMA, part=last)
    assert ours(one) == ["Run, a manager.", "first message:", "S1 llm", "S2 llm", "S3 llm"]
    assert "part 1 of 2" in question(one)
    assert "Report findings at S1 to S3 only" in question(one)
    assert "In `summary`" in question(one)
    assert ours(two)[2:6] == [
        "Steps before this part, in brief:",
        "S1 llm: …",
        "notes of the judge of the part before:",
        "S2 llm",
    ]
    assert record_lines(two)[6:8] == [" S2 failed", " S9 llm"]
    assert "Report findings at S4 to S6, as" in question(two)
    assert "Give verdicts for" in question(two)
    assert "provisional findings of earlier looks, to confirm or retract:" in ours(two)


def test_a_window_of_a_long_run_asks_for_its_own_steps() -> None:
    """Not for all that the part shows."""
    steps = tuple(step(i, f"text {i}") for i in range(1, 13))
    part = Part(Chapter("Run, a manager.\n", "", steps, "", 0, 12, "S1"), 1, 1)
    asked = case(replace(transcript("x"), steps=steps), RUN, Stage.WINDOW, first="S10")
    (prompt,) = prompts(asked, PANEL, schema=SCHEMA, part=part)
    assert "findings at S10 to S12 only" in question(prompt)


def test_lists_are_bounded() -> None:
    """However much was found before."""
    many = tuple(finding("s1", f"q{i}", "w" * 5000) for i in range(MOST_LISTED + 5))
    (prompt,) = prompts(case(transcript("1"), RUN, provisional=many, detected=many), PANEL, schema=SCHEMA)
    assert prompt.characters - len(prompt.messages[0].text) < 2 * MOST_LISTED * 400
    assert f' {MOST_LISTED}. S1 TC, EE, Formatting Errors, MEDIUM: "q{MOST_LISTED - 1}"' in prompt.messages[-1].text


@pytest.mark.parametrize(
    ("reply", "said"), [("{oops", "{oops"), (" \n", "(empty)"), ("x" * (MOST_REPLY + 9), "x" * MOST_REPLY)]
)
def test_a_repair_continues_the_conversation(reply: str, said: str) -> None:
    """The unusable reply and what is wrong with it follow; nothing else changes."""
    (prompt,) = prompts(case(transcript("1"), RUN), PANEL, schema=SCHEMA)
    again = repair(prompt, reply, 'broken at "x"\nS1 llm.')
    assert again.messages[:-2] == prompt.messages
    assert (again.messages[-2].role, again.messages[-2].text) == ("assistant", said)
    assert again.messages[-1].text.startswith('That answer cannot be used: broken at "x" S1 llm. Send')
    assert replace(again, messages=prompt.messages) == prompt
