"""The label of a session by the strengths of rubrics: by hand, and what must hold of any set."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracejury.judges.rubrics.rubric_set import Label, Rubric, RubricSet
from tracejury.judges.rubrics.session_label import Weighing, found_label


def side(label: Label, weights: list[int], make_or_break: int = 0) -> list[Rubric]:
    return [
        Rubric(name=f"{label}-{i}", text=f"{label} {i}", label=label, weight=w, make_or_break=i < make_or_break)
        for i, w in enumerate(weights)
    ]


def scope(good: list[Rubric], bad: list[Rubric]) -> RubricSet:
    return RubricSet(method="scope", rubrics=(*good, *bad))


MEAN_OF_7_4 = [7] * 7 + [8] * 5 + []
"""Twelve weights with a mean of 7.4, but for rounding: 89 of 12."""
TWELVE = scope(side("good", MEAN_OF_7_4), side("bad", [5] * 12, 12))
ALL_GOOD = {rubric.name: 10 for rubric in TWELVE.of("good")}


@pytest.mark.parametrize(
    ("rubrics", "strengths", "veto", "averages", "label"),
    [
        (TWELVE, {"bad-0": 10}, 0, (0, 8.333), "bad"),
        (TWELVE, ALL_GOOD | {"bad-0": 10}, 0, (7.417, 8.333), "bad"),
        (TWELVE, ALL_GOOD | {"bad-0": 5}, 0, (7.417, 4.167), "good"),
        (TWELVE, ALL_GOOD | {"bad-0": 5}, 5, (7.417, 4.167), "bad"),
        (TWELVE, ALL_GOOD | {"bad-0": 4}, 5, (7.417, 3.333), "good"),
        (scope(side("good", [10] * 12), side("bad", [5] * 10, 1)), ALL_GOOD | {"bad-0": 10}, 0, (10, 10), "bad"),
        (scope(side("good", [10] * 12), side("bad", [5] * 9, 1)), ALL_GOOD | {"bad-0": 10}, 0, (10, 11.111), "bad"),
        (TWELVE, {}, 0, (0, 0), "bad"),
    ],
)
def test_scope_by_hand(
    rubrics: RubricSet, strengths: dict[str, int], veto: int, averages: tuple[float, float], label: Label
) -> None:
    found = found_label(rubrics, strengths, Weighing(veto=veto))
    assert (found.good, found.bad) == pytest.approx(averages, abs=5e-4)
    assert found.label == label


def test_spur_by_hand() -> None:
    """Sums of impacts: 7 + 5 against 12 is no excess."""
    spur = RubricSet(method="spur", rubrics=(*side("good", [5] * 3), *side("bad", [5] * 3)))
    found = found_label(spur, {"good-0": 7, "good-1": 5, "bad-0": 10, "bad-1": 2})
    assert (found.good, found.bad, found.label) == (12, 12, "bad")
    assert found_label(spur, {"good-0": 7, "bad-0": 6}).label == "good"


WEIGHTS = st.lists(st.integers(1, 5), min_size=1, max_size=12)


@given(st.data(), WEIGHTS, WEIGHTS, st.integers(0, 12), st.integers(0, 10))
def test_what_holds_of_any_set(
    data: st.DataObject, good: list[int], bad: list[int], make_or_break: int, veto: int
) -> None:
    """More of a good rubric never makes bad, of a bad one never good; order and doubled weights change nothing."""
    rubrics = scope(side("good", good), side("bad", bad, make_or_break))
    strengths = {r.name: data.draw(st.integers(0, 10)) for r in rubrics.rubrics}
    weighing = Weighing(veto=veto)
    found = found_label(rubrics, strengths, weighing)
    rubric = data.draw(st.sampled_from(rubrics.rubrics))
    more = found_label(rubrics, strengths | {rubric.name: data.draw(st.integers(strengths[rubric.name], 10))}, weighing)
    assert more.label in {found.label, rubric.label}

    mixed = rubrics.model_copy(update={"rubrics": tuple(data.draw(st.permutations(rubrics.rubrics)))})
    assert found_label(mixed, strengths, weighing) == replace(
        found, vetoed_by=found_label(mixed, strengths, weighing).vetoed_by
    )

    plain = Weighing(make_or_break=False, veto=veto)
    doubled = rubrics.model_copy(
        update={"rubrics": tuple(r.model_copy(update={"weight": 2 * r.weight}) for r in rubrics.rubrics)}
    )
    assert found_label(doubled, strengths, plain).label == found_label(rubrics, strengths, plain).label
    if any(r.make_or_break and strengths[r.name] for r in rubrics.of("bad")):
        assert found_label(rubrics, strengths, Weighing(veto=1)).label == "bad"
