"""Which annotations blame a tag that the call had to stop at, and what categories annotators meant."""

from __future__ import annotations

import pytest

from tracejury.judges.annotations import canonical_category, missing_stop_sequence

STOPS = ("Observation:", "<end_plan>")
PLAN = "1. Search the web.\n2. Answer.\n\n"


@pytest.mark.parametrize(
    "text",
    [
        "The system failed to include the required `<end_plan>` tag at the end of the plan.",
        "The output ends with step 7 || It does not end with '<end_plan>' as asked.",
        "The output ends with a blank line instead of\n<end_plan>",
        "(No '<END_PLAN>' follows)",
        "the end_plan marker is missing",
        "The plan doesn't stop at <end_plan>",
        "The plan doesn\u2019t stop at <end_plan>",
        "write the '<end_plan>' tag and stop there || The tag was omitted by the model.",
        "The required end tag was left out.",
        "It ends with a blank line rather than with <end_plan>",
    ],
)
def test_a_missing_stop_sequence_is_not_the_models_error(text: str) -> None:
    """Whatever the words for absence: the provider cut the tag off."""
    assert missing_stop_sequence(text, STOPS, PLAN) == "<end_plan>"


@pytest.mark.parametrize(
    ("text", "stops", "output"),
    [
        pytest.param("The plan failed to name a tool.", STOPS, PLAN, id="no tag named"),
        pytest.param("It did not include <end_plan>.", (), PLAN, id="no stop sequences"),
        pytest.param("It did not include <end_code>.", STOPS, PLAN, id="another tag"),
        pytest.param("It did not stop at <end_plan>.", STOPS, PLAN + "<end_plan> and on", id="the tag was written"),
        pytest.param("It did not wait for Observation: lines.", STOPS, PLAN, id="a stop sequence that is no tag"),
        pytest.param("The plan before <end_plan> has seven steps. It is not short.", STOPS, PLAN, id="no absence"),
        pytest.param("Agents fail to stop.", ("<stop>",), PLAN, id="a bare word is not the tag"),
        pytest.param("The plan is not good. Write the '<end_plan>' and stop", STOPS, PLAN, id="blames another thing"),
        pytest.param("The HTML tag was missing.", STOPS, PLAN, id="an unnamed tag"),
        pytest.param("", STOPS, "", id="no words"),
    ],
)
def test_other_annotations_stand(text: str, stops: tuple[str, ...], output: str) -> None:
    """The rule needs all three: a tag as stop sequence, a clause of its absence, and its absence in truth."""
    assert missing_stop_sequence(text, stops, output) == ""


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("Formatting Errors", "Formatting Errors"),
        ("formatting errors ", "Formatting Errors"),
        ("GoalDeviation", "Goal Deviation"),
        ("Instruction", "Instruction Non-compliance"),
        ("Rate Limit", "Rate Limiting"),
        ("Made up", "Made up"),
        ("", ""),
    ],
)
def test_categories_as_the_benchmark_reads_them(written: str, meant: str) -> None:
    """Case and blanks do not matter, a part of a leaf's name is that leaf, anything else stays as it is."""
    assert canonical_category(written) == meant
