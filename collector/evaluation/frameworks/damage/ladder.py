"""`tracejury evaluate frameworks --damage`: each capture on each rung of the ladder."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tracejury.collector.evaluation.frameworks.capture import Capture, load, paths
from tracejury.collector.evaluation.frameworks.export import export_of, export_of_rows
from tracejury.collector.evaluation.frameworks.rebuilt import decoded, from_batches
from tracejury.judges.registry import default_suite
from tracejury.judges.suite import Suite
from tracejury.processors.log_spans import with_log_spans
from tracejury.schemas.batch import Batch

from .measure import DamagedCapture, measure, reference
from .recording import recording
from .rungs import RUNGS, Rung


@dataclass(frozen=True, slots=True)
class DamageEvaluation:
    """What is left of the captures on each rung, by its name; a capture that a rung does not apply to is missing."""

    captures: int
    left: Mapping[str, Sequence[DamagedCapture]]


def evaluate_damage(
    folder: Path, *, label: str = "", progress: Callable[[int, int], None] = lambda _done, _total: None
) -> DamageEvaluation:
    """Damage the captures in a folder and measure what is rebuilt and found all the same.

    Raises:
        BrokenFileError: the folder does not hold what it should; names the file.
    """
    archives = paths(folder, label)
    suite = default_suite()
    left: dict[str, list[DamagedCapture]] = {rung.name: [] for rung in RUNGS}
    for done, capture in enumerate(load(archives)):
        progress(done, len(archives))
        for rung, found in climb(capture, suite):
            left[rung.name].append(found)
    progress(len(archives), len(archives))
    return DamageEvaluation(len(archives), left)


def climb(capture: Capture, suite: Suite, rungs: Sequence[Rung] = RUNGS) -> list[tuple[Rung, DamagedCapture]]:
    """One capture on each rung that applies to it."""
    batches, _ = decoded(capture.requests)
    whole = from_batches(batches, suite)
    of = reference(capture, export_of(capture.requests), whole)
    recorded = recording(batches, whole.traces)
    found = []
    for rung in rungs:
        batch = rung.damage(recorded)
        if batch is not None:
            found.append((rung, measure(of, export_of_rows(batch), from_batches([_stored(batch)], suite))))
    return found


def _stored(batch: Batch) -> Batch:
    """With the spans that log records stand for."""
    logs, made = with_log_spans(batch.logs)
    return Batch([*batch.spans, *made], logs) if made else batch
