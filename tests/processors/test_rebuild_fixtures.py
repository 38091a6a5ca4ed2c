"""Shapes of traces as data: what frameworks send, and the agent runs, turns and tool calls that it means."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from trajectories import differences, fixture_spans, misplaced, normalise_all, outline

from tracejury.processors.rebuild import rebuild
from tracejury.schemas.trajectory import TraceState

FIXTURES = sorted((Path(__file__).parent / "fixtures").glob("*.json"))


@pytest.fixture(params=FIXTURES, ids=lambda path: path.stem)
def case(request: pytest.FixtureRequest) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(request.param.read_text())
    return data


def test_the_shape_is_understood(case: dict[str, Any]) -> None:
    """Each fixture says in its description which rule it shows, and what is expected."""
    spans, logs = fixture_spans(case)
    trace = rebuild(normalise_all(spans, logs), state=TraceState(case.get("state", "settled")))
    assert differences(outline(trace), case["expected"]) == []
    assert misplaced(trace) == []


def test_order_and_repetition_do_not_matter(case: dict[str, Any]) -> None:
    """Spans and log records in any order, some of them twice, give the same trace."""
    spans, logs = fixture_spans(case)
    expected = rebuild(normalise_all(spans, logs))
    for seed in range(5):
        chance = random.Random(seed)  # noqa: S311 - arrival orders, no secrets
        some = spans + chance.sample(spans, len(spans) // 2)
        chance.shuffle(some)
        chance.shuffle(logs)
        assert rebuild(normalise_all(some, logs)) == expected


def test_every_prefix_is_a_trace(case: dict[str, Any]) -> None:
    """While spans arrive, nothing is lost and nothing raises."""
    spans, logs = fixture_spans(case)
    normalised = normalise_all(spans, logs)
    for order in (normalised, normalised[::-1]):
        for count in range(len(order) + 1):
            trace = rebuild(order[:count], state=TraceState.OPEN)
            assert misplaced(trace) == []
            assert len(trace.spans) == len({s.span_id for s in order[:count]})
