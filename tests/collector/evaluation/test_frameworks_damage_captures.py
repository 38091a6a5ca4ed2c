"""Damaged captures of real frameworks are rebuilt alike in any order, and span by span as in one go."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Collection
from functools import cache

import pytest
from sizes import sized
from trajectories import FRAMEWORKS, normalise_all

from tracejury.collector.evaluation.frameworks.capture import load, paths
from tracejury.collector.evaluation.frameworks.damage.recording import Recording, recording
from tracejury.collector.evaluation.frameworks.damage.rungs import RUNGS, Rung
from tracejury.collector.evaluation.frameworks.rebuilt import decoded, from_batches
from tracejury.judges.suite import Suite
from tracejury.processors.joining import groups_of, rebuild_joined
from tracejury.processors.parents_elsewhere import parents_elsewhere
from tracejury.processors.rebuild import rebuild
from tracejury.schemas.batch import Batch
from tracejury.schemas.normalized import NormalizedSpan
from tracejury.schemas.spans import Span
from tracejury.schemas.trajectory import KnownRuns, Trace

pytestmark = pytest.mark.skipif(not FRAMEWORKS.exists(), reason="the shared framework captures are not on this machine")

CAPTURES = sized(3, 152)
MOST_SPANS = sized(40, 200)  # each prefix is rebuilt


@cache
def sampled() -> list[Recording]:
    """As many captures as the profile asks for, of as many labels."""
    archives = random.Random(CAPTURES).sample(paths(FRAMEWORKS), CAPTURES)  # noqa: S311 - a seed
    found = []
    for capture in load(archives):
        batches, _ = decoded(capture.requests)
        found.append(recording(batches, from_batches(batches, Suite([])).traces))
    small = [of for of in found if len(of.spans) <= MOST_SPANS]
    assert small
    return small


def by_trace(batch: Batch) -> dict[str, list[NormalizedSpan]]:
    """The rows that stand in the end, normalised, by trace."""
    rows: dict[tuple[str, str], Span] = {}
    for span in batch.spans:
        rows.setdefault((span.trace_id, span.span_id), span)
    traces: defaultdict[str, list[NormalizedSpan]] = defaultdict(list)
    for read in normalise_all(rows.values(), batch.logs):
        traces[read.raw.trace_id].append(read)
    return dict(traces)


def span_by_span(spans: list[NormalizedSpan], elsewhere: Collection[str]) -> Trace:
    """The last of many rebuilds, each with what the one before it left; `elsewhere`: see `rebuild`."""
    known: KnownRuns = {}
    for arrived in range(1, len(spans) + 1):
        trace = rebuild(spans[:arrived], known=known, elsewhere=elsewhere)
    return trace


@pytest.mark.parametrize("rung", RUNGS, ids=lambda rung: rung.name)
def test_order_and_pace_change_nothing(rung: Rung) -> None:
    """Shuffled spans and traces, and spans one after the other, give the trace that all spans give."""
    for number, of in enumerate(sampled()):
        batch = rung.damage(of)
        if batch is None:
            continue
        traces = by_trace(batch)
        whole = rebuild_joined(traces)
        mixed = random.Random(number)  # noqa: S311 - a seed
        shuffled = {
            trace: mixed.sample(traces[trace], len(traces[trace]))
            for trace in mixed.sample(sorted(traces), len(traces))
        }
        assert rebuild_joined(shuffled) == whole
        for group, trace in zip(groups_of(traces), whole, strict=True):
            elsewhere = {parent for found in parents_elsewhere(traces).values() for parent in found}
            assert span_by_span([span for member in group for span in shuffled[member]], elsewhere) == trace
