"""Requests that are only written down: found whatever language and framework, and look-alikes stay clean."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from captured_faults import Traces, joined, step_of
from omitted_calls import (
    ANNOUNCEMENTS,
    ASIDES,
    COMPUTING,
    LOOKUPS,
    PRINTING,
    REMARKS,
    by_code,
    said_before,
    said_with,
    written_and_called,
    written_down,
)
from sizes import sized
from trajectories import FRAMEWORKS, load

from tracejury.judges.echoes import only_prints
from tracejury.judges.registry import suite_of
from tracejury.schemas.findings import Finding
from tracejury.schemas.profiles import threshold
from tracejury.schemas.trajectory import Trace

SUITE = suite_of(())
LABELS = sorted(p.parent.name for p in FRAMEWORKS.glob("*/S1.zip"))[:: sized(4, 1)] if FRAMEWORKS.exists() else []


def announced(traces: Sequence[Trace]) -> list[Finding]:
    """Balanced findings of a call that was only announced."""
    found = [f for trace in traces for f in SUITE.judge(trace).findings]
    return [f for f in found if f.judge.startswith("intent-") and f.confidence >= threshold("balanced")]


@pytest.mark.parametrize("code", [code.replace("{tool}", "search") for code in (*PRINTING, *REMARKS)])
def test_code_that_only_prints_its_own_words(code: str) -> None:
    """By any name, however it is put together."""
    assert only_prints(code)


@pytest.mark.parametrize(
    "code",
    [
        *COMPUTING,
        "",
        "task = 'What is the length of the Rhine?'",
        "print('x')",
        "print(search('length of the Rhine'))",
        "import os\nprint('the length of the Rhine')",
        "for line in text: print('the length of the Rhine')",
        "print('the length of the Rhine'",
        "x" * 30_000,
    ],
)
def test_other_code_does_more_or_less(code: str) -> None:
    """It calls, computes, imports, loops, says nothing, or cannot be read."""
    assert not only_prints(code)


@pytest.mark.parametrize("name", LOOKUPS)
@pytest.mark.parametrize("text", ANNOUNCEMENTS)
def test_a_request_that_is_printed_is_an_announced_call(name: str, text: str) -> None:
    """In any language where the code names whom it asks; one that is made is none."""
    assert [f.span_id for f in announced([written_down(name, text, PRINTING[1], PRINTING[2])])] == ["a0", "a1"]
    assert announced([written_and_called(name, text)]) == []


@pytest.mark.parametrize("code", REMARKS[:-1])
@pytest.mark.parametrize("text", ASIDES)
def test_a_tool_that_is_rightly_not_called(text: str, code: str) -> None:
    """The agent prints what it has decided."""
    assert announced([written_down("search", text, code)]) == []


@pytest.mark.parametrize("label", LABELS)
def test_a_call_taken_out_of_a_capture(label: str) -> None:
    """One claim at its step; none where the step calls as well, the next one does, or the code computes."""
    traces: Traces = load(FRAMEWORKS / label / "S1.zip")
    step = step_of(traces)
    if step is None or step.turn.llm is None or not step.run.tools:
        pytest.skip("what the model asked for is not recorded")
    if any(c.name == step.call.name for t in step.run.turns[step.turn.index + 1 :] for c in t.tool_calls):
        pytest.skip("the next step calls the same tool")
    text = ANNOUNCEMENTS[0].replace("{tool}", step.call.name)
    code = PRINTING[0]
    faulty = joined(by_code(traces, step, "python_interpreter", text, code))
    assert [f.span_id for f in announced(faulty)] == [step.turn.llm.span_id]
    assert announced(joined(said_before(traces, step, text))) == []
    assert announced(joined(said_with(traces, step, text))) == []
    assert announced(joined(by_code(traces, step, "python_interpreter", text, COMPUTING[0]))) == []
