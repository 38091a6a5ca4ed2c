"""The recorded sessions of a coding agent on rungs of the ladder, against what their replay shows undamaged."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache

import pytest
from trajectories import SHARED

from tracejury.collector.evaluation.frameworks.damage.recording import Recording, recording
from tracejury.collector.evaluation.frameworks.damage.rungs import RUNGS
from tracejury.collector.evaluation.frameworks.rebuilt import RebuiltCapture, decoded, from_batches
from tracejury.collector.otlp.files import read
from tracejury.judges.suite import Suite
from tracejury.processors.log_spans import with_log_spans
from tracejury.schemas.batch import Batch
from tracejury.schemas.normalized import Kind

SESSIONS = sorted((SHARED / "coding").glob("*/session.stream.jsonl.gz"))
pytestmark = pytest.mark.skipif(not SESSIONS, reason="the recorded sessions are not on this machine")
NO_SUITE = Suite([])
DAMAGE = {rung.name: rung.damage for rung in RUNGS}


@cache
def recordings() -> list[tuple[RebuiltCapture, Recording]]:
    """Each session as its replay shows it, and as it is stored."""
    found = []
    for path in SESSIONS:
        batches, faults = decoded(source.request for source in read([path]))
        assert not faults
        whole = from_batches(batches, NO_SUITE)
        found.append((whole, recording(batches, whole.traces)))
    return found


def calls(of: RebuiltCapture) -> Counter[tuple[str, str, bool, bool]]:
    """Name, arguments, whether there is a result, and whether it failed, of each call."""
    turns = [turn for trace in of.traces for run in trace.runs for turn in run.turns]
    return Counter(
        (c.name, json.dumps(c.arguments, sort_keys=True), bool(c.result), c.error is not None)
        for turn in turns
        for c in turn.tool_calls
    )


def turns(of: RebuiltCapture) -> int:
    """Turns with a call of the model."""
    return sum(1 for trace in of.traces for run in trace.runs for turn in run.turns if turn.llm)


@pytest.mark.parametrize(
    ("rung", "turns_right", "calls_right"),
    [
        ("agent spans dropped", 1.0, 1.0),
        ("roots dropped", 1.0, 1.0),
        ("parents dropped", 1.0, 1.0),
        ("parent in another trace", 1.0, 1.0),
        ("tool spans dropped", 1.0, 0.75),
        ("exported twice, same ids", 1.0, 1.0),
        ("exported twice, new ids", 0.9, 1.0),
        ("no call ids", 1.0, 0.99),
        ("content in log records", 1.0, 1.0),
        ("log records alone", 1.0, 0.75),
        ("calls as text, tags", 1.0, 0.7),
    ],
)
def test_sessions_on_the_ladder(rung: str, turns_right: float, calls_right: float) -> None:
    """At least so much of the turns and calls is left, and nothing of a model or a tool is outside of runs."""
    right, every, kept, made = 0, 0, 0, 0
    for whole, recorded in recordings():
        batch = DAMAGE[rung](recorded)
        if batch is None:
            continue
        logs, stand_ins = with_log_spans(batch.logs)
        left = from_batches([Batch([*batch.spans, *stand_ins], logs)], NO_SUITE)
        expected, got = calls(whole), calls(left)
        right, every = right + (expected & got).total(), every + max(expected.total(), got.total())
        kept, made = kept + min(turns(whole), turns(left)), made + max(turns(whole), turns(left))
        outside = [s for trace in left.traces for s in trace.remainder if s.kind in {Kind.LLM, Kind.TOOL}]
        assert not outside
        assert not left.faults
    print(f"{rung}: turns {kept} of {made}, calls {right} of {every}")  # noqa: T201 - the figures of the docs
    assert every
    assert kept >= turns_right * made
    assert right >= calls_right * every
