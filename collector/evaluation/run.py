"""`tracejury evaluate trail`: read a folder, judge its traces, score the findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from tracejury.collector.judging.detect.direct import stored
from tracejury.collector.otlp.client import shuffled
from tracejury.collector.otlp.codec.groups import Request
from tracejury.judges.grouping import standing_errors
from tracejury.judges.registry import default_suite
from tracejury.judges.suite import Suite
from tracejury.schemas.errors import ConfigError
from tracejury.schemas.profiles import threshold

from .folder import load
from .people import People
from .predictions import Predictions, predicted, predicted_error
from .score import DetectorEvaluation, evaluate

DIRECT = "direct"
"""Instead of a protocol: the judging alone, in this process, without transport and store."""


def evaluate_trail(
    path: Path,
    *,
    profile: str = "balanced",
    protocol: str = "grpc",
    shuffle: int | None = None,
    people: People | None = None,
    progress: Callable[[str], None] = lambda _stage: None,
) -> DetectorEvaluation:
    """Agreement of the findings in a TRAIL folder's traces with its annotations.

    The traces go over `protocol` (see `replay.PROTOCOLS`, or DIRECT) into a collector with a temporary store; with a
    seed to `shuffle`, in requests of 32 spans in random order over all traces. what `people` marked, instead of the
    folder's annotations. `progress` is told the stage.

    Raises:
        BrokenFileError: the folder does not hold what it should; names the file.
        ConfigError: no such profile or protocol, or labels are nothing but scores.
        RetryableError, PermanentError: see `judge_through_collector`.
    """
    threshold(profile)  # a typing error should not cost a run
    progress("reading traces")
    if people is not None and people.reviewed is None:
        raise ConfigError("scores by people are for LLM judges: add --judges and --model")
    folder = load(path, people=people)
    requests = folder.requests if shuffle is None else shuffled(folder.requests, shuffle)
    if protocol == DIRECT:
        progress("judging")
        judged = judge_directly(requests, default_suite())
    else:
        from .through import judge_through_collector

        judged = judge_through_collector(requests, protocol, progress)
    progress("scoring")
    return evaluate(folder, judged, profile=profile, protocol=protocol, shuffle=shuffle)


def judge_directly(requests: Iterable[Request], suite: Suite) -> Predictions:
    """All findings of a suite in the traces of the requests."""
    received = stored(requests)
    built = received.traces()
    results = [suite.judge(trace) for trace in built]
    judged = zip(built, results, strict=True)
    errors = (e for trace, result in judged for e in standing_errors(result.findings, trace.runs))
    return Predictions(
        findings=tuple(predicted(finding) for result in results for finding in result.findings),
        failures={name: why for result in results for name, why in result.failures},
        refused=received.refused,
        errors=tuple(map(predicted_error, errors)),
    )
