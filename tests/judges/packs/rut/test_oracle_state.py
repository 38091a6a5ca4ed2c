"""Assertions on state, by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from oracles import call, case

from tracejury.judges.packs.cards.oracle import StateAssertion
from tracejury.judges.packs.emitted_states import UNOBSERVED, States, emitted
from tracejury.judges.packs.rut.outcome import judge
from tracejury.judges.packs.rut.rules import Mode
from tracejury.judges.packs.rut.state import holds
from tracejury.schemas.spans import Span

OLD: dict[str, Any] = {"orders": {"7": {"status": "open", "eur": 20}}, "log": [], "tags": ["a", "a"]}
NEW: dict[str, Any] = {
    "orders": {"7": {"status": "refunded", "eur": 20.0}, "x91": {"status": "new", "item": "lamp"}},
    "log": [{"id": 1, "what": "refund"}],
    "tags": ["a"],
}


@pytest.mark.parametrize(
    ("assertion", "true"),
    [
        ({"path": "orders.7.status", "equals": "refunded"}, True),
        ({"path": ["orders", 7, "status"], "equals": "refunded"}, True),
        ({"path": "orders.7", "equals": {"eur": 20}}, True),
        ({"path": "orders.7", "equals": {"eur": 21}}, False),
        ({"path": "orders.8.status", "equals": "refunded"}, False),
        ({"path": "orders.8", "equals": None}, False),
        ({"path": "log.0.what", "equals": "refund"}, True),
        ({"path": "log.1.what", "equals": "refund"}, False),
        ({"path": "log.x", "equals": "refund"}, False),
        ({"path": "", "equals": {"tags": ["a"]}}, True),
        ({"path": "", "equals": {"tags": ["a", "a"]}}, False),
        ({"path": "orders.7.status", "changed": {"old": "open", "new": "refunded"}}, True),
        ({"path": "orders.7.status", "changed": {"old": "paid", "new": "refunded"}}, False),
        ({"path": "orders.8.status", "changed": {"old": None, "new": "refunded"}}, False),
        ({"path": "orders", "added": {"item": "lamp"}}, True),
        ({"path": "orders", "added": {"item": "chair"}}, False),
        ({"path": "orders", "added": {"eur": 20}}, False),
        ({"path": "log", "added": {"what": "refund"}}, True),
        ({"path": "none", "added": {"what": "refund"}}, False),
        ({"path": "tags", "removed": "a"}, True),
        ({"path": "orders", "removed": {"status": "open"}}, True),
        ({"path": "orders", "removed": {"item": "lamp"}}, False),
    ],
)
def test_what_holds_of_an_emitted_state(assertion: dict[str, Any], true: bool) -> None:  # noqa: FBT001  a parameter
    assert holds(StateAssertion.model_validate(assertion), States(OLD, NEW), ()) is true


REFUNDED = {"path": "status", "of": {"tool": "get_order", "arguments": {"id": 7}}, "equals": "refunded"}


def result(text: str, *, ok: bool = True, id: int = 7) -> Any:  # noqa: A002  the tool's argument
    return replace(call("get_order", ok=ok, id=id), result=text)


@pytest.mark.parametrize(
    ("results", "true"),
    [
        ([result('{"status": "open"}'), result('{"status": "refunded"}')], True),
        ([result('{"status": "refunded"}'), result('{"status": "open"}')], False),
        ([result('{"status": "refunded"}'), result('{"status": "open"}', id=8)], True),
        ([result('{"status": "refunded"}'), result('{"status": "open"}', ok=False)], True),
        ([result('{"status": "refunded"}'), result("no JSON")], True),
        ([result("no JSON")], None),
        ([result("[" * 100_000)], None),
        ([], None),
    ],
)
def test_what_holds_of_the_last_result_of_a_tool(results: list[Any], true: bool | None) -> None:  # noqa: FBT001  a parameter
    assert holds(StateAssertion.model_validate(REFUNDED), UNOBSERVED, results) is true


def test_a_change_needs_two_results() -> None:
    changed = StateAssertion.model_validate(
        {"path": "status", "of": REFUNDED["of"], "changed": {"old": "open", "new": "refunded"}}
    )
    first, last = result('{"status": "open"}'), result('{"status": "refunded"}')
    assert holds(changed, UNOBSERVED, [first, last]) is True
    assert holds(changed, UNOBSERVED, [last]) is None


def test_the_state_that_a_harness_emits_is_of_the_first_and_the_last_span() -> None:
    def span(start: int, end: int, **state: Any) -> Span:
        attributes = {f"tracejury.state.{key}": json.dumps(value) for key, value in state.items()}
        return Span("t", f"s{start}", "", "turn", start, end, attributes)

    spans = [span(5, 9, before=2, after=3), span(1, 4, before=1, after=2), span(10, 11)]
    assert emitted(spans) == States(1, 3)
    assert emitted([]) is not None
    assert emitted([span(1, 2)]) == UNOBSERVED


@pytest.mark.parametrize(
    ("states", "success"),
    [(States(OLD, NEW), True), (States(OLD, OLD), False), (UNOBSERVED, None), (States(OLD), None)],
)
def test_a_state_that_was_not_observed_is_never_a_success(states: States, success: bool | None) -> None:  # noqa: FBT001  a parameter
    oracle = {
        "steps": [{"id": "pay", "tool": "refund", "write": True}],
        "state": [{"path": "orders.7.status", "equals": "refunded"}],
    }
    found = judge(case(oracle, call("refund"), states=states))
    assert found.success is success
    if success is False:
        assert (found.mode, found.sure) == (Mode.PARAMETER, False)
        assert found.call is not None
    if success is None:
        assert found.reason == "the state at 'orders.7.status' was not observed"
    assert judge(case(oracle, states=states)).mode is Mode.PREMATURE
