"""The figures on TRAIL's annotated traces: what was aimed at, and what holds on traces that the table has not seen."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from ranker_fit import fit_logistic

from tracejury.collector.evaluation.folder import TrailFolder, load
from tracejury.collector.evaluation.predictions import Predictions
from tracejury.collector.evaluation.run import judge_directly
from tracejury.collector.evaluation.score import DetectorEvaluation, annotated, evaluate
from tracejury.collector.judging.detect.direct import normalized, stored, traces
from tracejury.judges.base import Context
from tracejury.judges.detectors import BUILT_IN
from tracejury.judges.features import family, features, places
from tracejury.judges.ranker import LogisticRanker
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


def test_balanced_reaches_its_goals() -> None:
    """Seven of ten errors found, at the exact span, with few findings a trace that are mostly right."""
    found = scored("balanced").agreement
    assert found.all.localised >= 0.70
    assert found.valid.localised >= 0.75
    assert found.all.span_precision >= 0.72
    assert found.all.findings_per_trace <= 6
    assert found.all.joint_accuracy >= 0.45


def test_recall_reaches_its_goals() -> None:
    """For those who look through everything."""
    found = scored("recall").agreement
    assert found.all.localised >= 0.78
    assert found.valid.localised >= 0.85
    assert found.all.span_precision >= 0.57


def test_strict_reaches_its_goals() -> None:
    """For those who are woken up by a finding."""
    found = scored("strict").agreement
    assert found.all.localised >= 0.50
    assert found.all.span_precision >= 0.80


@pytest.mark.parametrize("profile", ["strict", "balanced", "recall"])
def test_the_documents_state_what_is_measured(profile: str) -> None:
    """The README and the page of detectors agree with each other and with the command."""
    found = scored(profile).agreement
    root = Path(__file__).parents[2]
    readme, page = (_row(root / name, profile) for name in ("README.md", "docs/detectors.md"))
    localised = f"{_two(found.all.localised)} ({_two(found.valid.localised)})"
    findings, precision = f"{found.all.findings_per_trace:.1f}", _two(found.all.span_precision)
    joint = _two(found.all.joint_accuracy)
    assert readme == [localised, precision, findings, joint]
    assert page == [findings, localised, precision, _two(found.all.span_f1), joint]


def _row(document: Path, profile: str) -> list[str]:
    """The cells of the first row of that profile that is about all figures, beside its name."""
    rows = (line for line in document.read_text().splitlines() if re.match(rf"\| \**{profile}\**[ |]", line))
    return [cell.strip() for cell in next(rows).strip("|").split("|")[1:]]


def _two(share: float) -> str:
    return f"{share:.2f}".removeprefix("0")


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


@dataclass(frozen=True)
class Spot:
    """A span at which some rule fires."""

    trace: str
    span_id: str
    seen: Mapping[str, float]
    marked: bool


@cache
def _spots() -> tuple[Spot, ...]:
    """All spans with a rule of the calibration, and whether a valid annotation marks them."""
    received = stored(_folder().requests)
    gold = {
        (_folder().names[s.trace_id], a.span_id)
        for s in received.spans
        for a in _valid().get(_folder().names[s.trace_id], ())
    }
    found = []
    for whole in traces(normalized(received.spans, received.logs)):
        name = _folder().names[whole.trace_id]
        context = Context(whole)
        fired: defaultdict[str, list[str]] = defaultdict(list)
        for rule in BUILT_IN:
            for draft in rule.detect(whole, context):
                if family(draft.judge):
                    fired[draft.span_id].append(draft.judge)
        where = places(context)
        found += [Spot(name, i, features(rules, where.get(i)), (name, i) in gold) for i, rules in sorted(fired.items())]
    return tuple(found)


@cache
def _valid() -> Mapping[str, Sequence[Marked]]:
    marks: defaultdict[str, list[Marked]] = defaultdict(list)
    for a in annotated(_folder(), stored(_folder().requests).spans):
        if not a.invalid:
            marks[a.trace_id].append(Marked(a.span_id))
    return dict(marks)


@dataclass(frozen=True)
class Marked:
    """One valid annotation."""

    span_id: str


FOLDS = 7


def held_out(profile: str, seed: int) -> tuple[float, float]:
    """(localised of the valid errors, span precision by valid annotations), each trace by a table fitted without it."""
    names = sorted(_folder().annotations)
    random.Random(seed).shuffle(names)  # noqa: S311 - reproducible folds, no secret
    shown: set[tuple[str, str]] = set()
    right = 0
    for fold in range(FOLDS):
        out = set(names[fold::FOLDS])
        train = [s for s in _spots() if s.trace not in out]
        table = LogisticRanker(*fit_logistic([s.seen for s in train], [s.marked for s in train]))
        chosen = [s for s in _spots() if s.trace in out and table.probability(s.seen) >= threshold(profile)]
        shown |= {(s.trace, s.span_id) for s in chosen}
        right += sum(s.marked for s in chosen)
    errors = [(name, m.span_id) for name, marks in _valid().items() for m in marks]
    return sum(e in shown for e in errors) / len(errors), right / len(shown)


@pytest.mark.parametrize(
    ("profile", "localised", "precision"), [("strict", 0.58, 0.80), ("balanced", 0.74, 0.69), ("recall", 0.83, 0.55)]
)
def test_the_calibration_holds_on_unseen_traces(profile: str, localised: float, precision: float) -> None:
    """Seven-fold over traces, three shufflings: what a reader of other traces of this kind may expect at least."""
    runs = [held_out(profile, seed) for seed in range(3)]
    assert sum(found for found, _ in runs) / len(runs) >= localised
    assert sum(right for _, right in runs) / len(runs) >= precision
