"""JSON values of any shape are compared, and none breaks a comparison."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tracejury.judges.packs.cards.oracle import OracleStep, StateAssertion
from tracejury.judges.packs.cards.values import contains, same
from tracejury.judges.packs.emitted_states import States
from tracejury.judges.packs.rut.calls import OracleCall
from tracejury.judges.packs.rut.matching import matches
from tracejury.judges.packs.rut.state import holds

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.floats(-2, 2) | st.text("ab.0", max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab.0", max_size=2), inner, max_size=3),
    max_leaves=8,
)
OBJECT = st.dictionaries(st.text("ab", min_size=1, max_size=2), JSON, max_size=3)


@given(JSON, JSON)
def test_values_equal_themselves_and_equality_has_no_direction(one: Any, other: Any) -> None:
    assert same(one, one)
    assert contains(one, one)
    assert same(one, other) == same(other, one)
    assert contains(one, other) or not same(one, other)


@given(OBJECT, OBJECT)
def test_a_call_matches_what_it_was_called_with_whatever_its_schema_says(arguments: dict[str, Any], odd: Any) -> None:
    step = OracleStep(id="s", tool="t", arguments=arguments)
    for schema in (odd, {"properties": odd, "required": odd}, {"properties": list(odd), "required": list(odd)}):
        assert matches(step, OracleCall("t", arguments, schema=schema))


@given(JSON, JSON, st.text("ab.0", max_size=5), st.sampled_from(["equals", "added", "removed"]), JSON)
def test_any_state_is_looked_at_by_any_path(before: Any, after: Any, path: str, kind: str, value: Any) -> None:
    found = holds(StateAssertion.model_validate({"path": path, kind: value}), States(before, after), ())
    assert found in (True, False)
    if kind != "equals":
        unchanged = holds(StateAssertion.model_validate({"path": path, kind: value}), States(before, before), ())
        assert unchanged is False
