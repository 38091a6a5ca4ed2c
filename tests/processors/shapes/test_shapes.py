"""Shapes of telemetry made after public reports come out as their senders expect."""

from __future__ import annotations

import pytest
from expected_reports import REPORTS_EXPECTED
from expected_senders import SENDERS_EXPECTED
from expected_shapes import SHAPES_EXPECTED
from shapes import REPORTS, SHAPES, ExpectedShape, differences, through_json

from tracejury.collector.otlp.codec.signals import Signal
from tracejury.schemas.errors import PermanentError

pytestmark = pytest.mark.skipif(not SHAPES.exists(), reason="the shared shapes are not on this machine")

EXPECTED = (*SHAPES_EXPECTED, *SENDERS_EXPECTED, *REPORTS_EXPECTED)


def cases() -> list[object]:
    """Each shape; those that do not come out yet must fail."""
    return [
        pytest.param(s, id=s.name, marks=[pytest.mark.xfail(reason=s.unread, strict=True)] if s.unread else [])
        for s in EXPECTED
    ]


@pytest.mark.parametrize("shape", cases())
def test_shape(shape: ExpectedShape) -> None:
    """Runs, turns, calls, goal, answer, tokens, session and errors."""
    assert differences(shape) == []


def test_every_body_is_expected() -> None:
    """No file of the shared folder is left out, but for those of `test_unreadable_bodies` and metrics."""
    told = {file for shape in EXPECTED for file in shape.files}
    told |= {f"reports/ids-base64-json/{n}.traces.json" for n in ("06", "07", "08")}
    there = {str(p.relative_to(SHAPES)) for p in SHAPES.rglob("*.json") if ".metrics." not in p.name}
    assert there - told == set()
    assert told - there == set()


@pytest.mark.parametrize(
    "number",
    [
        6,
        7,
        8,
    ],
)
def test_unreadable_bodies(number: int) -> None:
    """A body whose keys are in snake_case, or that is a list, is read or refused, never acknowledged and dropped."""
    body = (REPORTS / "ids-base64-json" / f"{number:02}.traces.json").read_bytes()
    try:
        rebuilt, refused = through_json([(Signal.TRACES, body)])
    except PermanentError:
        return
    assert refused or [run.name for trace in rebuilt.traces for run in trace.runs] == ["courier"]
