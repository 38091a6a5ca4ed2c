"""`tracejury evaluate frameworks`: read captures, rebuild them, score what came out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tracejury.collector.otlp.client import shuffled
from tracejury.judges.registry import default_suite
from tracejury.judges.suite import Suite

from . import score_agents, score_calls, score_failures
from .capture import Capture, load, paths
from .export import export_of
from .items import CaptureCase, ScoredFact
from .rebuilt import through_collector
from .stated import stated

CHUNK = 4
"""Spans or log records in a request of a shuffled capture."""


@dataclass(frozen=True, slots=True)
class ReconstructionEvaluation:
    """All items of the captures in a folder; `scenarios` by capture, `shuffle` the seed of the order (None: theirs)."""

    items: tuple[ScoredFact, ...]
    scenarios: dict[str, str]
    spans: int
    shuffle: int | None = None


def evaluate_frameworks(
    folder: Path,
    *,
    label: str = "",
    shuffle: int | None = None,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> ReconstructionEvaluation:
    """Score the captures in a folder; `progress` is told (captures done, captures).

    With a seed to `shuffle`, each capture's spans and log records come a few at a time in random order.

    Raises:
        BrokenFileError: the folder does not hold what it should; names the file.
    """
    archives = paths(folder, label)
    suite = default_suite()
    items: list[ScoredFact] = []
    scenarios: dict[str, str] = {}
    spans = 0
    for done, capture in enumerate(load(archives)):
        progress(done, len(archives))
        scenarios[capture.id] = capture.truth.scenario
        found, count = score(capture, suite, shuffle)
        items += found
        spans += count
    progress(len(archives), len(archives))
    return ReconstructionEvaluation(tuple(items), scenarios, spans, shuffle)


SCORERS: Final[tuple[Callable[[CaptureCase], Iterator[ScoredFact]], ...]] = (
    score_agents.agents,
    score_agents.parents,
    score_agents.llm_calls,
    score_calls.tool_calls,
    score_failures.failures,
    score_failures.happy,
    score_failures.faults,
)


def score(capture: Capture, suite: Suite, shuffle: int | None = None) -> tuple[list[ScoredFact], int]:
    """All items of one capture, and how many spans it has."""
    requests = capture.requests if shuffle is None else shuffled(capture.requests, shuffle, CHUNK)
    export = export_of(capture.requests)
    case = CaptureCase(capture, export, through_collector(requests, suite), stated(export, capture.truth))
    return [fact for scorer in SCORERS for fact in scorer(case)], case.rebuilt.spans
