"""Answers as data: what a word of a scale, or a criterion, says of its finding; and what needs no quote."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from check_cases import asked_of, check, check_case, only
from check_replies import reply
from pydantic import ValidationError

from tracejury.judges.checks.case import AskedCheck
from tracejury.judges.checks.check_types import Check
from tracejury.judges.packs import sources
from tracejury.schemas.checks import CheckItem
from tracejury.schemas.taxonomy import Severity

SCALE = {
    "fine": "nothing is wrong",
    "odd": {"meaning": "it is odd", "category": "oddity", "severity": "LOW", "confidence": 0.2},
    "wrong": "it is wrong",
}


def of_criteria(**changes: Any) -> AskedCheck:
    """A check of two criteria with its items."""
    criteria = {"polite": "it is polite", "brief": {"text": "it is brief", "category": "length", "severity": "HIGH"}}
    made = check(sources.CRITERIA, subject="session", criteria=criteria, **changes)
    return AskedCheck(made, tuple(CheckItem(f"{n}: {t}") for n, t in made.criteria_texts().items()), "pack")


def test_an_answer_names_category_severity_and_confidence_of_its_finding() -> None:
    states = check(sources.STATES, scale=SCALE)
    told = {"label": "E2.S2", "quote": "I look at Rome now.", "reason": "It is so."}
    for word, expected in {
        "odd": ("oddity", Severity.LOW, 0.2),
        "wrong": (states.category, states.severity, states.confidence),
    }.items():
        given = {1: {"answer": "fine"}, 2: {"answer": word} | told}
        said, client = asked_of(check_case(1, states), partial(reply, changed=given))
        (found,) = said.findings
        assert (found.category, found.severity, found.confidence) == expected
        assert "- `odd`: it is odd\n- `wrong`: it is wrong" in client.prompts[0].messages[-1].text
    assert states.categories == {"oddity": "it is odd", states.category: states.explain}


def test_a_criterion_names_category_and_severity_of_its_finding() -> None:
    told = {"answer": "no", "label": "E2.S2", "quote": "I look at Rome now.", "reason": "No."}
    said, _ = asked_of(check_case(None, of_criteria()), lambda p: reply(p, {1: told, 2: told}))
    assert {(f.category, f.severity, f.title) for f in said.findings} == {
        ("unsound criteria", Severity.MEDIUM, "Unsound criteria: polite: it is polite"),
        ("length", Severity.HIGH, "it is brief"),
    }


def test_what_was_not_done_is_at_fault_at_the_answer_without_a_quote() -> None:
    """Two such items are two errors; where a step shows it, the quote counts."""
    asked = of_criteria(quoted=False)
    case = check_case(None, asked)
    said, client = asked_of(case, lambda p: reply(p, {n: {"answer": "no", "reason": "No."} for n in (1, 2)}))
    assert "are not needed" in client.prompts[0].messages[-1].text
    last = case.record.exchanges[-1]
    answered = next(step for step in case.record.transcript.steps if step.label == last.answered)
    assert {f.span_id for f in said.findings} == {answered.span_id}
    assert {f.category for f in said.findings} == {"polite: it is polite", "length"}
    assert len({f.id for f in said.findings}) == 2
    assert [item.grounded for item in only(said).items] == [True, True]
    shown = {"answer": "no", "label": "E2.S2", "quote": "I look at Rome now.", "reason": "No."}
    (found,) = asked_of(case, lambda p: reply(p, {1: shown}))[0].findings
    assert (found.evidence, found.category) == ("I look at Rome now.", "polite: it is polite")


def test_what_the_card_says_stands_beside_the_items_as_data() -> None:
    asked = of_criteria(shows=["instruction"])
    asked = AskedCheck(asked.check, asked.items, "pack", shown={"instruction": "Count.\n=== end of items"})
    _, client = asked_of(check_case(None, asked))
    text = client.prompts[0].messages[-1].text
    assert "card: instruction\n Count.\n === end of items\n1\n" in text


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"scale": {str(number): "so" for number in range(41)}}, "mapping of 2 to 40 answers"),
        ({"scale": {"a": {"meaning": "so", "colour": 1}, "b": "c"}}, "colour"),
        ({"runs": 2}, "must be an odd number from 1 to 25"),
        ({"runs": -1}, "must be an odd number"),
        ({"settles": "first"}, "'best' or 'worst'"),
        ({"settles": "best"}, "settles: only items of a session"),
        ({"of": ["a-b"]}, "items: say where they are from, or `of`"),
        ({"category": ""}, "category"),
    ],
)
def test_what_a_check_cannot_be(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        check(sources.STATES, **changes)


def test_numbers_are_words_of_a_scale() -> None:
    strength = check(sources.STATES, scale={0: "not at all", **{n: f"strength {n}" for n in range(1, 11)}})
    assert isinstance(strength, Check)
    said, _ = asked_of(check_case(1, strength), lambda p: reply(p, {1: {"answer": "0"}, 2: {"answer": 0}}))
    assert only(said).value == 1.0
