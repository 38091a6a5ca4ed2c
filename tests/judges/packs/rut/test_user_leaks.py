"""Steps in parts, and LEAK by code."""

from __future__ import annotations

from itertools import chain
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracejury.judges.packs.cards.oracle import Oracle
from tracejury.judges.packs.rut.users.leaks import leaks
from tracejury.judges.packs.rut.users.parts import default_turns, in_parts


def oracle(**more: Any) -> Oracle:
    step = {"id": "s", "tool": "get_order", "arguments": {"order_id": "A-1042", "city": "Ulm", "how": {"payBack": 1}}}
    return Oracle.model_validate({"steps": [step], **more})


@given(st.integers(0, 40), st.integers(1, 3))
def test_parts_are_contiguous_and_even(steps: int, turns: int) -> None:
    parts = in_parts(range(steps), turns)
    assert [*chain(*parts)] == [*range(steps)]
    sizes = [len(part) for part in parts]
    assert len(sizes) == turns
    assert max(sizes) - min(sizes) <= 1


def test_turns_follow_the_number_of_steps() -> None:
    assert [default_turns(steps) for steps in (0, 1, 2, 3, 4, 5, 6, 300)] == [1, 1, 1, 2, 2, 3, 3, 3]


@pytest.mark.parametrize(
    ("turn", "leaked"),
    [
        ("Please call get_order.", "get_order"),
        ("Please call GET_ORDER now", "get_order"),
        ("Please call get_\u200border now", "get_order"),
        ("my order_id is unknown", "order_id"),
        ("set payBack to 1", "payBack"),
        ("order A-1042, please", "A-1042"),
        ("and delete_account at once", "delete_account"),
        ("like cancel-all does", "cancel-all"),
        ("Please get my order for Ulm; I pay back.", ""),
        ("I bought 1042 of them", ""),
        ("forget_orders", ""),
    ],
)
def test_what_a_user_cannot_know_is_a_leak(turn: str, leaked: str) -> None:
    found = leaks(oracle(forbidden=[{"tool": "delete_account"}], writes=["cancel-all"]), "", ["Hello.", turn])
    assert found.startswith(f'turn 2 says "{leaked}", ') if leaked else not found


def test_what_the_instruction_shows_is_no_leak() -> None:
    assert leaks(oracle(), "They want order a-1042 by get_order.", ["get_order A-1042"]) == ""
    assert "order_id" in leaks(oracle(), "They want order A-1042.", ["the order_id A-1042"])


@pytest.mark.parametrize("value", ["Ulm", "2026-11-23", "2026-11-23T10:00", "A4", "10am", 20, "New York 10001", True])
def test_everyday_values_are_no_identifiers(value: object) -> None:
    card = Oracle.model_validate({"steps": [{"id": "s", "tool": "go", "arguments": {"to": value, "list": [value]}}]})
    assert leaks(card, "", [f"Go to {value}."]) == ""


@pytest.mark.parametrize("value", ["ord_x", "SKU99", "3f2504e0-4f89-11d3", 881200])
def test_values_that_name_records_are_identifiers(value: object) -> None:
    card = Oracle.model_validate({"steps": [{"id": "s", "tool": "go", "arguments": {"to": [{"deep": value}]}}]})
    assert f'"{value}", an identifier' in leaks(card, "", [f"Go to {value}."])


def test_keys_of_the_state_are_leaks_but_numbers_in_its_path_are_not() -> None:
    card = oracle(state=[{"path": "orders.7.payment_status", "equals": "paid"}])
    assert leaks(card, "", ["order 7 is paid"]) == ""
    assert "payment_status" in leaks(card, "", ["the payment_status of order 7"])
