"""Task completion by the first source that decides it."""

from __future__ import annotations

from typing import Any

import pytest

from tracejury.judges.packs.cards.task_cards import Done, Terms
from tracejury.judges.packs.completion import completion
from tracejury.schemas.checks import CheckItem
from tracejury.schemas.spans import Span
from tracejury.schemas.verdicts import Subject, SubjectKind, Verdict

TRACE = "t" * 32
ITEM = CheckItem("the task is completed", "E2.S4", TRACE, "answer")
REFUNDED = Terms(done=Done(attribute="shop.refunded", equals=True))


def span(span_id: str, end: int, **attributes: str) -> Span:
    return Span(TRACE, span_id, "", "chat", 1, end, {k.replace("__", "."): v for k, v in attributes.items()})


def verdict(score: int | None) -> Verdict:
    subject = Subject(SubjectKind.AGENT_RUN, "run", TRACE)
    return Verdict("goal-fulfilment", "v", subject, score, reasons="No refund was made.")


def test_the_attribute_that_was_set_last_decides() -> None:
    spans = [span("late", 9, shop__refunded="true"), span("early", 5, shop__refunded="false")]
    found = completion(ITEM, spans, card=REFUNDED)
    assert found is not None
    assert (found.answer.answer, found.answer.best, found.answer.span_id) == ("yes", True, "late")
    assert found.reason == "done attribute of the task card: shop.refunded is 'true' at span late"


def test_a_task_that_is_not_done_names_span_and_value() -> None:
    found = completion(ITEM, [span("late", 9, shop__refunded="false")], card=REFUNDED, fulfilment=verdict(3))
    assert found is not None
    assert not found.answer.best
    assert (found.answer.trace_id, found.answer.span_id, found.answer.label) == (TRACE, "late", "")
    assert found.answer.quote == "false"
    assert found.reason == "done attribute of the task card: shop.refunded is 'false' at span late"


def test_the_card_goes_before_the_service_and_both_before_goal_fulfilment() -> None:
    spans = [span("answer", 9, a="1", b="1")]
    card, service = Terms(done=Done(attribute="a", equals=1)), Terms(done=Done(attribute="b", equals=2))
    both = completion(ITEM, spans, card=card, service=service, fulfilment=verdict(0))
    assert both is not None
    assert both.answer.best
    assert both.answer.label == "E2.S4"
    alone = completion(ITEM, spans, service=service, fulfilment=verdict(3))
    assert alone is not None
    assert (alone.source, alone.answer.best) == ("done attribute of the service settings", False)


def test_an_attribute_that_no_span_has_decides_nothing() -> None:
    found = completion(ITEM, [span("answer", 9)], card=REFUNDED, fulfilment=verdict(3))
    assert found is not None
    assert found.source == "goal fulfilment of the last exchange"


@pytest.mark.parametrize(("score", "done"), [(3, True), (2, False), (1, False), (0, False)])
def test_goal_fulfilment_of_3_is_done(score: int, done: bool) -> None:  # noqa: FBT001  a parameter
    found = completion(ITEM, [], fulfilment=verdict(score))
    assert found is not None
    assert found.answer.best is done
    assert found.answer.span_id == "answer"
    assert found.reason == f"goal fulfilment of the last exchange: {score} of 3. No refund was made."


def test_without_a_source_nothing_is_decided() -> None:
    assert completion(ITEM, [], card=REFUNDED) is None
    assert completion(ITEM, [], card=Terms(), fulfilment=verdict(None)) is None


@pytest.mark.parametrize(
    ("wanted", "stored", "same"),
    [
        ("yes", "yes", True),
        ("yes", "Yes", False),
        (True, "true", True),
        (True, "True", True),
        (False, "false", True),
        (True, "1", False),
        (2, "2", True),
        (2, "2.0", True),
        (0.5, "0.5", True),
        (2, "two", False),
    ],
)
def test_values_of_every_type_compare(wanted: Any, stored: str, same: bool) -> None:  # noqa: FBT001  a parameter
    card = Terms(done=Done(attribute="a", equals=wanted))
    found = completion(ITEM, [span("x", 1, a=stored)], card=card)
    assert found is not None
    assert found.answer.best is same
