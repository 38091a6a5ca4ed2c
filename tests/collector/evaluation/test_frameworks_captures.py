"""The measure on the shared captures of real frameworks: what must always hold, and how much they state."""

from __future__ import annotations

from functools import cache

import pytest
from trajectories import FRAMEWORKS

from tracejury.collector.evaluation.frameworks.items import Measure
from tracejury.collector.evaluation.frameworks.report import rows
from tracejury.collector.evaluation.frameworks.run import ReconstructionEvaluation, evaluate_frameworks

pytestmark = pytest.mark.skipif(not FRAMEWORKS.exists(), reason="the shared framework captures are not on this machine")


@cache
def evaluated(shuffle: int | None = None) -> ReconstructionEvaluation:
    """All captures, in their order or another."""
    return evaluate_frameworks(FRAMEWORKS, shuffle=shuffle)


@pytest.mark.parametrize("shuffle", [None, 1])
def test_nothing_is_lost_and_nothing_crashes(shuffle: int | None) -> None:
    """No span, no trace that stays open, in any order of arrival."""
    assert [i for i in evaluated(shuffle).items if i.measure is Measure.FAULTS] == []


def test_happy_runs_are_clean() -> None:
    """As few findings as the goal asks for."""
    assert [r for r in rows(evaluated()) if "happy" in r.measure and not r.met] == []


def test_the_order_of_arrival_changes_nothing() -> None:
    """Each item comes out the same."""
    assert evaluated(1).items == evaluated().items


@pytest.mark.parametrize("measure", [Measure.AGENTS, Measure.PARENTS, Measure.TOOL_CALLS])
def test_most_captures_state_the_truth(measure: Measure) -> None:
    """The rules leave out no more than about one capture in six."""
    items = [i for i in evaluated().items if i.measure is measure]
    untold = {i.capture for i in items if not i.stated}
    assert 0 < len(untold) <= len(evaluated().scenarios) / 5
