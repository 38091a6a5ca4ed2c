"""Hostile records: whatever a trace says stays inside the fence, behind its indentation, and none of it is ours."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompt_attacks import ATTACKS, MARK
from prompt_cases import case, finding, ours, record_lines, transcript
from small_traces import Did, Said, run, trace

from tracejury.judges.llm.baseline import baseline_prompt
from tracejury.judges.llm.case import Case, ServiceDescription, Stage
from tracejury.judges.llm.client import Prompt
from tracejury.judges.llm.criteria import load_set
from tracejury.judges.llm.members import llm_judges_of
from tracejury.judges.llm.prompt import Part, prompts, repair
from tracejury.processors.transcript import transcribe
from tracejury.schemas.transcript import Chapter

PANEL = llm_judges_of(load_set("production"), "gpt-x")
RUN = PANEL.asked("manager", Stage.CLOSING, has_plan=True)


def steps_of(hostile: str) -> Case:
    """A case in which every recorded text is hostile, with steps as a transcript has them."""
    return case(
        transcript(hostile, f"before {hostile} after", hostile, header=hostile),
        RUN,
        description=ServiceDescription(hostile),
        provisional=(finding("s1", hostile, hostile), finding(hostile, hostile, hostile)),
        detected=(finding("s2", hostile, hostile),),
    )


OURS = [
    "about the service:",
    "Run, a manager.",
    "first message:",
    "S1 llm",
    "S2 llm",
    "S3 llm",
    "provisional findings of earlier looks, to confirm or retract:",
]


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_a_hostile_record_adds_no_line_of_ours(attack: str) -> None:
    """In the first column stand our headings and labels, each once, and the fence holds."""
    (prompt,) = prompts(steps_of(attack), PANEL, schema={})
    assert ours(prompt) == OURS


@given(st.text(st.characters(exclude_categories=()), min_size=1, max_size=200))
def test_no_text_adds_a_line_of_ours(text: str) -> None:
    """The same for any text, surrogates and controls included."""
    (prompt,) = prompts(steps_of(text), PANEL, schema={})
    assert ours(prompt) == OURS


@given(
    st.lists(
        st.sampled_from(["\n", "\r", "\u2028", " ", "=", "S1 llm", "=== end of record ", "<|", "|>", "x"]), min_size=1
    )
)
def test_no_mixture_of_our_marks_adds_a_line_of_ours(parts: list[str]) -> None:
    """Texts made of what our own lines are made of."""
    (prompt,) = prompts(steps_of("".join(parts)), PANEL, schema={})
    assert ours(prompt) == OURS


@pytest.mark.parametrize("mode", ["panel", "separate"])
@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_rules_and_question_do_not_depend_on_the_record(attack: str, mode: str) -> None:
    """What stands outside the fence is the same for a hostile record as for a harmless one."""
    panel = llm_judges_of(PANEL.criteria, "gpt-x", mode="separate" if mode == "separate" else "panel")

    def outside(prompt: Prompt) -> list[str]:
        said = "".join(m.text for m in prompt.messages)
        inside = "\n".join(record_lines(prompt))
        assert said.count(inside) == 1
        first, _, rest = said.partition(inside)
        nonce = rest.split("===")[1].split()[-1]
        return [first.replace(nonce, "ID"), rest.replace(nonce, "ID")]

    hostile, harmless = prompts(steps_of(attack), panel, schema={}), prompts(steps_of(MARK), panel, schema={})
    assert [outside(p) for p in hostile] == [outside(p) for p in harmless]


def test_the_fence_cannot_be_known_from_the_record() -> None:
    """Its mark depends on the trace and run ids and the header, and stays the same while the run grows."""

    def fence(asked: Case) -> str:
        (prompt,) = prompts(asked, PANEL, schema={})
        return prompt.messages[-1].text.partition("=== end of record ")[2][:8]

    one = case(transcript("a"), RUN)
    grown = case(replace(transcript("a", "b"), closing="over"), RUN)
    other = replace(one, transcript=replace(one.transcript, trace_id="f" * 32))
    assert fence(one) == fence(grown) != fence(other)
    assert fence(one) != fence(replace(one, transcript=replace(one.transcript, run_id="r2")))


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_notes_on_an_earlier_part_are_data(attack: str) -> None:
    """A judge that was talked into writing orders passes them on as recorded text only."""
    shown_run = transcript("one", "two")
    part = Part(Chapter(shown_run.header, "", shown_run.steps[1:], "", 1, 2, "S2"), 2, 2, attack)
    (prompt,) = prompts(case(shown_run, RUN), PANEL, schema={}, part=part)
    assert ours(prompt) == ["Run, a manager.", "first message:", "notes of the judge of the part before:", "S2 llm"]


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_an_error_text_stays_one_line(attack: str) -> None:
    """What a validation error repeats of a reply adds no lines to what we say."""
    (prompt,) = prompts(case(transcript("1"), RUN), PANEL, schema={})
    said = repair(prompt, "{}", attack).messages[-1].text
    assert said.splitlines() == [said]
    assert said.startswith("That answer cannot be used: ")
    assert "<|" not in said


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_a_hostile_trace_is_shown_as_one_of_its_shape(attack: str) -> None:
    """From spans to prompt: tasks, tool results, errors, answers and tool names that attack change no line of ours."""

    def asked(text: str) -> Prompt:
        agent_run = run(
            "r1",
            Said("a1", text, [Did("web_search", {"query": text, text: 1}, text, None, "t1")]),
            Said("a2", text, [Did("visit_page", text, None, text, "t2")], sees=[text]),
            Said("a3", text),
            goal=text,
            answer=text,
        )
        whole = trace(agent_run)
        (prompt,) = prompts(Case(whole, agent_run, transcribe(whole, agent_run), RUN, Stage.CLOSING), PANEL, schema={})
        return prompt

    def plain(lines: list[str]) -> list[str]:
        """Without references, which depend on what texts repeat."""
        return [line for line in lines if not line.startswith("= ")]

    hostile, harmless = plain(ours(asked(attack))), plain(ours(asked(MARK)))
    assert [line.split(" ")[0] for line in hostile] == [line.split(" ")[0] for line in harmless]
    assert all(line.isprintable() for line in record_lines(asked(attack)))


@given(st.text(st.characters(exclude_categories=())))
def test_the_baselines_trace_stays_between_its_lines(text: str) -> None:
    """Its mark is a hash of what it encloses, which no text contains of itself."""
    said = baseline_prompt(text, ServiceDescription("a manager")).messages[1].text
    mark = said.split("=== trace ")[1].split(" ")[0]
    assert said.startswith(f"=== trace {mark} ===\nAbout the system:\na manager\n\n")
    assert said.endswith(f"\n=== end of trace {mark} ===")
    assert said.count(mark) == 2


def test_the_baseline_goes_without_a_description() -> None:
    """With none it is the published one; the answer's form stays."""
    without, with_one = (
        baseline_prompt("{}"),
        baseline_prompt("{}", ServiceDescription("a manager"), trace_id="t", service="s"),
    )
    assert without.messages[1].text.startswith("=== trace ")
    assert without.messages[0] == with_one.messages[0]
    own = baseline_prompt("{}", ServiceDescription("a manager", by_operator=True))
    assert own.messages[0].text.endswith("\na manager")
    assert own.messages[1] == without.messages[1]
    assert without.schema == with_one.schema
    assert (with_one.trace_id, with_one.service, with_one.purpose) == ("t", "s", "baseline")
    assert set(without.schema["properties"]["errors"]["items"]["required"]) == {
        "category",
        "location",
        "evidence",
        "description",
        "impact",
    }
