"""PIPA's formulas: by hand, and what holds for any answers."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracejury.judges.checks.formula import Formula, measured
from tracejury.judges.packs.pipa.measures import FORMULAS
from tracejury.schemas.checks import ItemAnswer

STATE, TOOLS, OBSERVED, POLICY, DONE = FORMULAS.values()
Answers = list[list[ItemAnswer]]


def answers(*best: int) -> list[ItemAnswer]:
    return [ItemAnswer(f"item {number}", "", bool(one)) for number, one in enumerate(best)]


@pytest.mark.parametrize(
    ("formula", "exchanges", "value"),
    [
        (STATE, [answers(1), answers(1, 0, 0)], 0.5),
        (OBSERVED, [answers(1), answers(1, 0, 0)], 2 / 3),
        (OBSERVED, [answers(1), [], answers(1, 0, 0)], 2 / 3),
        (TOOLS, [answers(1, 1, 1, 1), answers(0, 0, 1, 1)], 0.6),
        (TOOLS, [answers(*[1] * 19, 0)], 19 / 21),
        (TOOLS, [answers(0, 0, 0)], 0),
        (POLICY, [answers(1, 1, 0, 1, 1)], 0.8),
        (POLICY, [answers(1, 1, 0, 1, 1), answers(1, 1, 0, 1, 1)], 0.8),
        (DONE, [answers(1)], 1),
        (DONE, [answers(0)], 0),
    ],
)
def test_by_hand(formula: Formula, exchanges: Answers, value: float) -> None:
    assert formula(exchanges).value == pytest.approx(value)


@pytest.mark.parametrize("formula", FORMULAS.values())
@pytest.mark.parametrize("exchanges", [[], [[]], [[], []]])
def test_without_items_a_measure_is_not_applicable(formula: Formula, exchanges: Answers) -> None:
    assert formula(exchanges).value is None


def test_ungrounded_items_count_as_failed_in_raw_alone() -> None:
    exchanges = [answers(1, 1, 0)]
    exchanges[0].append(replace(exchanges[0][2], item="another", grounded=False))
    found = measured(STATE, exchanges)
    assert (found.verified.value, found.raw.value, found.ungrounded) == (2 / 3, 0.5, 1)


one = st.builds(ItemAnswer, st.text(min_size=1, max_size=3), st.just(""), st.booleans())
sessions = st.lists(st.lists(one, max_size=6), max_size=6)


@pytest.mark.parametrize("formula", FORMULAS.values())
@given(drawn=sessions, order=st.randoms(use_true_random=False))
def test_bounds_hold_and_order_changes_nothing(formula: Formula, drawn: Answers, order: random.Random) -> None:
    found = formula(drawn)
    assert found.value is None or 0 <= found.value <= 1
    shuffled = [order.sample(exchange, len(exchange)) for exchange in drawn]
    order.shuffle(shuffled)
    assert formula(shuffled) == found


@pytest.mark.parametrize("formula", FORMULAS.values())
@given(drawn=sessions, data=st.data())
def test_a_worse_answer_never_raises_a_measure(formula: Formula, drawn: Answers, data: st.DataObject) -> None:
    places = [(i, j) for i, exchange in enumerate(drawn) for j in range(len(exchange))]
    if not places:
        return
    i, j = data.draw(st.sampled_from(places))
    worse = [list(exchange) for exchange in drawn]
    worse[i][j] = replace(worse[i][j], best=False)
    assert _value(formula, worse) <= _value(formula, drawn) + 1e-12


@given(drawn=sessions)
def test_one_more_failed_call_never_raises_tool_efficiency(drawn: Answers) -> None:
    if TOOLS(drawn).denominator:
        assert _value(TOOLS, [*drawn, answers(0)]) <= _value(TOOLS, drawn)


def _value(formula: Formula, exchanges: Sequence[Sequence[ItemAnswer]]) -> float:
    value = formula(exchanges).value
    assert value is not None
    return value
