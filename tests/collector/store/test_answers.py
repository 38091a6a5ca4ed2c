"""Answers of models: given again while they are fresh, and counted whatever becomes of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tracejury.collector.store.answers import DAY, HOUR, StoredAnswers
from tracejury.collector.store.client import Store
from tracejury.judges.llm.client import Reply
from tracejury.schemas.errors import StoreError
from tracejury.schemas.llm_rows import AnswerRow, Spend

NOW = 1_795_169_386_000_000_000
ROW = AnswerRow(
    "k" * 32, "some/model", '{"score": 3}', "stop", 1000, 400, 50, 0.25, NOW, "shop", "t" * 32, "r", "panel"
)


def answers(store: Store, now: int = NOW, max_age: int = 30 * DAY) -> StoredAnswers:
    return StoredAnswers(store, max_age=max_age, clock=lambda: now)


def test_an_answer_is_given_again_at_no_cost(store: Store) -> None:
    """The text as it was, marked as known; of several the latest; under another key there is none."""
    kept = answers(store)
    kept.keep([replace(ROW, text="old", at=NOW - 1), ROW])
    known = Reply('{"score": 3}', "some/model", 1000, 400, 50, 0.0, "stop", known=True)
    assert kept.answer(ROW.key) == known
    assert kept.answer("x" * 32) is None


@pytest.mark.parametrize(("age", "max_age", "found"), [(DAY, DAY, True), (DAY + 1, DAY, False), (0, 0, False)])
def test_an_old_answer_is_not_given(store: Store, age: int, max_age: int, *, found: bool) -> None:
    """Up to its greatest age, to the nanosecond; an age of 0 gives none."""
    answers(store).keep([ROW])
    assert (answers(store, NOW + age, max_age).answer(ROW.key) is not None) == found


@pytest.mark.parametrize("finish", ["length", "content_filter"])
def test_what_was_cut_off_or_withheld_is_asked_again(store: Store, finish: str) -> None:
    """Else a judgement that failed for it could never be had; what it cost counts."""
    kept = answers(store)
    kept.keep([replace(ROW, finish_reason=finish)])
    assert kept.answer(ROW.key) is None
    assert kept.spend(0) == [Spend(NOW - NOW % HOUR, "shop", 0.25, 1050, 1, 0, "panel")]


def test_an_answer_without_a_key_spares_no_call(store: Store) -> None:
    """It is kept for spend and audit."""
    kept = answers(store)
    kept.keep([replace(ROW, key="")])
    assert kept.answer("") is None
    assert len(kept.spend(0)) == 1


def test_spend_is_by_hour_service_and_purpose(store: Store) -> None:
    """Dollars and tokens of each; those of unknown price apart; what was kept twice counts once."""
    hour = NOW - NOW % HOUR
    rows = [
        replace(ROW, at=hour), replace(ROW, at=hour + 1, cost=None), replace(ROW, at=hour - 1),
        replace(ROW, at=hour + 2, service="desk", cost=1.0), replace(ROW, at=hour + 3, purpose="lookup"),
    ]  # fmt: skip
    kept = answers(store)
    kept.keep(rows)
    kept.keep(rows[:2])
    later = [
        Spend(hour, "desk", 1.0, 1050, 1, 0, "panel"),
        Spend(hour, "shop", 0.25, 1050, 1, 0, "lookup"),
        Spend(hour, "shop", 0.25, 2100, 2, 1050, "panel"),
    ]
    assert kept.spend(hour) == later
    assert kept.spend(0) == [Spend(hour - HOUR, "shop", 0.25, 1050, 1, 0, "panel"), *later]
    assert kept.spend(hour + HOUR) == []
    assert StoredAnswers(store, "other").spend(0) == []


def test_nothing_to_keep(store: Store) -> None:
    """An empty list is stored as nothing."""
    answers(store).keep([])
    assert answers(store).spend(0) == []


def test_an_answer_that_no_engine_takes_is_a_store_error(store: Store) -> None:
    """A lone surrogate is not retried forever."""
    with pytest.raises(StoreError):
        answers(store).keep([replace(ROW, text="\ud800")])
