"""What ends a call is cut off by the provider: no judge may miss it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracejury.judges.llm.gate import missed_stop

STOPS = ("<end_plan>", "Observation:")


@pytest.mark.parametrize(
    "why",
    [
        "The plan does not end with the required '<end_plan>' tag.",
        "Missing <end_plan>.",
        "The plan is missing the required `\\n<end_plan>` tag",
        "did not terminate the plan with the '\n<end_plan>' tag",
        "The <end_plan> tag was omitted.",
        "The plan ended without the required closing tag.",
        "fails to include the <END_PLAN> marker",
        "No <end_plan> tag at the end.",
        "<end_plan> is not present",
        "The plan lacks the closing '<end_plan>' tag that the prompt asks for.",
        "The output never writes `<end_plan>`.",
        "There is no Observation: after the call.",
    ],
)
def test_a_missing_stop_sequence_is_recognised(why: str) -> None:
    """By its name, in front of it or behind it, or as the closing tag; without that stop sequence it is an error."""
    assert missed_stop(STOPS, why)
    assert not missed_stop(("\n\n",), why)
    assert not missed_stop((), why)


@pytest.mark.parametrize(
    "why",
    [
        "The plan ends with <end_plan> but never verifies the answer.",
        "There is no search step before <end_plan>.",
        "It misses a closing tag </div> in the HTML that it writes.",
        "The plan is missing a verification step, and ends with <end_plan>.",
        "It never uses the tool; the <end_plan> tag is right.",
        "<end_plan> is written twice.",
        "The agent did not open the page.",
        "Nothing is closed.",
    ],
)
def test_other_claims_pass(why: str) -> None:
    """Those that name the stop sequence in passing, or miss another tag."""
    assert not missed_stop(STOPS, why)


@given(st.lists(st.text(max_size=12), max_size=3), st.text(max_size=200))
def test_any_stop_sequence_is_text(stops: list[str], why: str) -> None:
    """Whatever a trace records as one is no pattern."""
    assert missed_stop(stops, why) in {True, False}
