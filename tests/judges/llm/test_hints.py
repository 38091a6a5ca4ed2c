"""Detectors' findings as hints: a line a step, for those who may report such errors."""

from __future__ import annotations

from dataclasses import replace

import pytest
from prompt_cases import finding, step

from tracejury.judges.llm.hints import MOST_A_STEP, MOST_HINTS, told
from tracejury.schemas.findings import Finding
from tracejury.schemas.profiles import PROFILES
from tracejury.schemas.taxonomy import Dimension

STEPS = tuple(step(number, "text") for number in range(1, 4))
ALL = tuple(Dimension)


def hint(
    span_id: str, why: str, confidence: float = 0.5, *dimensions: Dimension, evidence: str = "seen there"
) -> Finding:
    """A detector's finding; without dimensions those of `finding`."""
    found = replace(finding(span_id, evidence, why), confidence=confidence)
    return replace(found, dimensions=dimensions) if dimensions else found


def test_reports_of_one_step_are_one_line() -> None:
    """The surest first, the same words once, with all dimensions; steps in order."""
    hints = (
        hint("s2", "no call", 0.4, Dimension.TOOL_SELECTION, evidence="I will search"),
        hint("s1", "not parsed"),
        hint("s2", "invented", 0.9, Dimension.LOGICAL_CONSISTENCY, Dimension.TOOL_SELECTION, evidence="I found that"),
        hint("s2", "no call", 0.3, Dimension.PLAN_ADHERENCE),
    )
    assert told(hints, ALL, STEPS) == [
        'S1 TC, EE: "seen there": not parsed',
        'S2 LC, TS, PA: "I found that": invented / no call',
    ]


def test_one_failure_is_told_once() -> None:
    """At the step where it is surest, of those that its detector links; alike sure, at each."""
    made, read = (
        replace(hint(s, "failed", c), id=s, linked=(o,)) for s, o, c in (("s1", "s2", 0.4), ("s2", "s1", 0.9))
    )
    assert told((made, read), ALL, STEPS) == ['S2 TC, EE: "seen there": failed']
    assert told((made, read), ALL, STEPS[:1]) == ['S1 TC, EE: "seen there": failed']
    assert len(told((made, replace(read, confidence=0.4)), ALL, STEPS)) == 2


def test_what_nobody_is_shown_is_no_hint() -> None:
    """A finding below the lowest reading profile is mostly wrong."""
    least = min(PROFILES.values())
    assert told((hint("s1", "odd", least), hint("s2", "odd", least - 0.01)), ALL, STEPS) == [
        'S1 TC, EE: "seen there": odd'
    ]


def test_only_dimensions_asked_are_named() -> None:
    """A hint of nobody's is left out; one without any dimension is everybody's."""
    hints = (
        hint("s1", "no look-up", 0.5, Dimension.PLAN_QUALITY, Dimension.PLAN_ADHERENCE),
        hint("s2", "no tool named", 0.5, Dimension.PLAN_QUALITY),
        replace(hint("s3", "odd"), dimensions=()),
    )
    assert told(hints, ("PA", "refund-policy"), STEPS) == ['S1 PA: "seen there": no look-up', 'S3: "seen there": odd']


def test_steps_that_are_not_asked_about_have_no_hints() -> None:
    """Nor have spans that are no step; a span of two steps is named by the first."""
    hints = (hint("s1", "early"), hint("s2", "late"), hint("elsewhere", "odd"))
    assert told(hints, ALL, STEPS[1:]) == ['S2 TC, EE: "seen there": late']
    assert told(hints[:1], ALL, (STEPS[0], replace(STEPS[1], span_id="s1"))) == ['S1 TC, EE: "seen there": early']


@pytest.mark.parametrize(
    ("evidence", "quote"),
    [
        ("Thought:\nI will now search the web.\nCode:", "I will now search the web."),
        ("  much   white\tspace  ", "much white space"),
        ("x" * 500, "x" * 120),
        ("word " * 100, ("word " * 24).strip()),
        ("short\nlines", ""),
        ("a\u200b line\u2028that is broken", "that is broken"),
    ],
)
def test_a_quote_is_one_line_that_can_be_copied(evidence: str, quote: str) -> None:
    """Uncut marks, no line break; none rather than a word that stands everywhere."""
    (line,) = told((hint("s1", "why", evidence=evidence),), ALL, STEPS)
    assert line == (f'S1 TC, EE: "{quote}": why' if quote else "S1 TC, EE: why")


def test_hints_are_bounded() -> None:
    """However many there are, of a step and in all, and however long."""
    steps = tuple(step(number, "text") for number in range(1, MOST_HINTS + 9))
    many = tuple(hint(s.span_id, f"{n} {'w' * 5000}") for s in steps for n in range(MOST_A_STEP + 3))
    lines = told(many, ALL, steps)
    assert len(lines) == MOST_HINTS
    assert all(line.count(" / ") == MOST_A_STEP - 1 for line in lines)
    assert max(map(len, lines)) < 150 + MOST_A_STEP * 210
