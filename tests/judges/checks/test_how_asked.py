"""Versions of checks: what makes stored answers out of date."""

from __future__ import annotations

from typing import Any

import pytest
from check_cases import CALLS, STATES

from tracejury.judges.checks.how_asked import check_version


def version(check: Any = STATES, **changes: Any) -> str:
    fields: dict[str, Any] = {"pack": "pipa", "model": "m", "parameters": {"temperature": 0}}
    return check_version(check, **fields | changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"check": STATES.model_copy(update={"question": "Is it so?"})},
        {"check": STATES.model_copy(update={"best": "it is so"})},
        {"check": STATES.model_copy(update={"confidence": 0.9})},
        {"pack": "other"},
        {"model": "n"},
        {"parameters": {"temperature": 1}},
        {"mode": "separate"},
        {"max_answer_tokens": 1},
    ],
)
def test_whatever_may_change_an_answer_changes_the_version(changes: dict[str, Any]) -> None:
    """Twelve hex digits."""
    assert version(**changes) != version()
    assert len(version()) == 12


def test_texts_for_people_change_nothing() -> None:
    """Nor does the order of parameters."""
    told = {"title": "Soundness", "definition": "Sound ones of all.", "explain": "Look elsewhere."}
    assert version(STATES.model_copy(update=told)) == version()
    assert version(parameters={"a": 1, "b": 2}) == version(parameters={"b": 2, "a": 1})


def test_what_structure_answers_does_not_depend_on_the_model() -> None:
    """A new model does not judge it again."""
    assert version(CALLS) == version(CALLS, model="n", parameters={}, mode="separate")
    assert version(CALLS) != version(CALLS, pack="other")
