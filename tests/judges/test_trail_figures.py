"""The figures on TRAIL's annotated traces: bounds, and that the documents state what is measured."""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

from tracejury.collector.evaluation.folder import TrailFolder, load
from tracejury.collector.evaluation.predictions import Predictions
from tracejury.collector.evaluation.run import judge_directly
from tracejury.collector.evaluation.score import DetectorEvaluation, evaluate
from tracejury.collector.evaluation.steps_run import CLAIMS, evaluate_steps
from tracejury.collector.judging.detect.direct import normalized, stored
from tracejury.judges.measures.step_figures import StepFigures
from tracejury.judges.registry import suite_of
from tracejury.processors.rebuild import rebuild
from tracejury.schemas.normalized import NormalizedSpan
from tracejury.schemas.profiles import threshold
from tracejury.schemas.trajectory import TraceState

FOLDER = Path(__file__).parents[3] / "shared" / "data" / "trail" / "gaia-dev"

pytestmark = [
    pytest.mark.trail,
    pytest.mark.skipif(not FOLDER.exists(), reason="the shared TRAIL traces are not on this machine"),
]


@cache
def _folder() -> TrailFolder:
    return load(FOLDER)


@cache
def _judged() -> Predictions:
    return judge_directly(_folder().requests, suite_of(()))


def scored(profile: str) -> DetectorEvaluation:
    """The built-in suite's findings against the annotations."""
    return evaluate(_folder(), _judged(), profile=profile, protocol="direct")


@cache
def figures(profile: str) -> StepFigures:
    """The errors that a profile shows, against the valid annotations."""
    return evaluate_steps([FOLDER], profile=profile).figures[CLAIMS][FOLDER.name]


@pytest.mark.parametrize(
    ("profile", "localised", "precision", "named"),
    [("strict", 0.50, 0.70, 0.72), ("balanced", 0.50, 0.70, 0.72), ("recall", 0.64, 0.62, 0.86)],
)
def test_a_profile_reaches_its_bounds(profile: str, localised: float, precision: float, named: float) -> None:
    """By the primary span of each error, and by any that it names; what only these traces support shows in recall."""
    found = figures(profile)
    assert (found.localisation or 0) >= localised
    assert (found.localisation_any or 0) >= named
    assert (found.precision or 0) >= precision


@pytest.mark.parametrize("profile", ["strict", "balanced", "recall"])
def test_the_documents_state_what_is_measured(profile: str) -> None:
    """The README and the page of detectors agree with the command."""
    found = figures(profile)
    cells = [
        f"{found.claims / found.traces:.1f}",
        f"{_two(found.localisation)}, {_two(found.precision)}",
        f"{_two(found.localisation_any)}, {_two(found.precision_any)}",
    ]
    root = Path(__file__).parents[2]
    assert [_row(root / name, profile) for name in ("README.md", "docs/detectors.md")] == [cells, cells]


def _row(document: Path, profile: str) -> list[str]:
    """The cells of the first row of that profile that is about all figures, beside its name."""
    rows = (line for line in document.read_text().splitlines() if re.match(rf"\| \**{profile}\**[ |]", line))
    return [cell.strip() for cell in next(rows).strip("|").split("|")[1:]]


def _two(share: float | None) -> str:
    return f"{share or 0:.2f}".removeprefix("0")


def test_every_finding_points_at_something() -> None:
    """At every level its span exists and its quote stands in that span; no rule fails on real traces."""
    found = scored("0")
    assert (found.grounding.span_exists, found.grounding.evidence_in_span) == (1.0, 1.0)
    assert found.failures == {}


def test_a_growing_trace_is_judged_soundly_and_nothing_sure_is_taken_back() -> None:
    """Spans in the order of their ends: no rule fails, no quote gets lost, and what balanced shows goes on to hold."""
    suite = suite_of(())
    received = stored(_folder().requests)
    spans: defaultdict[str, list[NormalizedSpan]] = defaultdict(list)
    for span in sorted(normalized(received.spans, received.logs), key=lambda s: s.raw.end):
        spans[span.raw.trace_id].append(span)
    for whole in sorted(spans.values(), key=len)[:20]:
        shown: set[str] = set()
        for arrived in [*range(1, len(whole), 4), len(whole)]:
            state = TraceState.OPEN if arrived < len(whole) else TraceState.SETTLED
            result = suite.judge(rebuild(whole[:arrived], state=state))
            assert result.failures == ()
            assert result.dropped == 0
            now = {f.id for f in result.findings if f.confidence >= threshold("balanced")}
            assert shown <= now
            shown = now
