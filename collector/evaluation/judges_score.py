"""Scores of LLM judges: against annotators, against human scores, and between repetitions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from tracejury.judges.agreement import Annotated
from tracejury.judges.measures.consistency import Consistency, Embedder, semantic_consistency
from tracejury.judges.measures.finding_precision import PrecisionRow, finding_precision
from tracejury.judges.measures.judge_agreement import JudgeAgreement, judge_agreement
from tracejury.judges.measures.kappa import Kappa, matcher_kappa
from tracejury.judges.measures.matching import Match
from tracejury.judges.measures.outcome_correlation import OutcomeCorrelation, outcome_correlations
from tracejury.judges.measures.reliability import Reliability, by_repetition, reliability
from tracejury.judges.measures.scales import SPLIT, ScaleAgreement, ScaleRating, scale_agreement
from tracejury.judges.verification import answered
from tracejury.schemas.detector_opinions import DetectorOpinion
from tracejury.schemas.findings import Finding
from tracejury.schemas.profiles import threshold

from .judges_result import WHOLE_TRACE, TraceResult, trace_scores
from .matches import Matches, Sides
from .predictions import Predictions, predicted
from .rebuilt import RebuiltFolder
from .score import DetectorEvaluation, evaluate


@dataclass(frozen=True, slots=True)
class AgainstAnnotators:
    """Agreement over all annotated errors and over the `valid` ones, and precision over findings.

    `traces`: how many took part: those with annotations, where there is a matcher only those that it looked at.
    `kappa`: of the adjudicator with people, where both are there.
    """

    traces: int
    all: JudgeAgreement
    valid: JudgeAgreement
    precision: tuple[PrecisionRow, ...]
    kappa: Kappa | None


def against_annotators(
    rebuilt: RebuiltFolder, findings: Iterable[Finding], profile: str, matches: Matches | None, human: Matches | None
) -> AgainstAnnotators:
    """Judge by judge, over the findings that `profile` shows.

    Without `matches` the `human` ones decide what is caught; without either only what is localised is caught.

    Raises:
        ConfigError: no such profile.
    """
    decided = matches if matches is not None else human
    names = set(rebuilt.folder.annotations) if decided is None else set(rebuilt.folder.annotations) & decided.keys()
    errors = [e for e in rebuilt.errors if e.trace_id in names]
    shown = [
        f
        for f in findings
        if f.confidence >= threshold(profile)
        and (name := rebuilt.folder.names[f.trace_id]) in names
        and rebuilt.folder.scored(name, f.agent_run_id)
    ]
    said = [predicted(f, rebuilt.folder.names[f.trace_id]) for f in shown]
    sides = Sides(errors, said)
    pairs = None if decided is None else list(sides.decisions(decided))
    kappa = None
    if matches is not None and human is not None:
        kappa = matcher_kappa(sides.decisions(matches), sides.decisions(human))
    valid, valid_pairs = _valid(errors, pairs)
    return AgainstAnnotators(
        traces=len(names),
        all=judge_agreement(errors, said, pairs),
        valid=judge_agreement(valid, said, valid_pairs),
        precision=finding_precision(errors, said, pairs),
        kappa=kappa,
    )


def _valid(errors: Sequence[Annotated], pairs: Sequence[Match] | None) -> tuple[list[Annotated], list[Match] | None]:
    """Errors that blame an error, and the pairs with them."""
    valid = [(place, error) for place, error in enumerate(errors) if not error.invalid]
    now = {place: number for number, (place, _) in enumerate(valid)}
    kept = None if pairs is None else [replace(m, error=now[m.error]) for m in pairs if m.error in now]
    return [error for _, error in valid], kept


def by_source(
    rebuilt: RebuiltFolder, findings: Sequence[Finding], profile: str, opinions: Iterable[DetectorOpinion] = ()
) -> dict[str, DetectorEvaluation]:
    """The figures over spans of the judges alone, the detectors alone, and both together.

    `opinions`: what the judges say of the detectors' findings; it counts in the last.

    Raises:
        ConfigError: no such profile.
    """
    detected = [f for own in rebuilt.detected.values() for f in own]
    sources = {"judges": findings, "detectors": detected, "both": [*findings, *answered(detected, opinions)]}
    return {source: over_spans(rebuilt, own, profile) for source, own in sources.items()}


def over_spans(rebuilt: RebuiltFolder, findings: Iterable[Finding], profile: str) -> DetectorEvaluation:
    """The figures over spans of any findings."""
    found = Predictions(tuple(map(predicted, findings)), rebuilt.failures, rebuilt.folder.received.refused)
    return evaluate(rebuilt.folder, found, profile=profile, protocol="direct")


def against_people(
    results: Iterable[TraceResult], labels: Sequence[ScaleRating], split: int = SPLIT
) -> tuple[ScaleAgreement, ...]:
    """Scores beside those that people gave, of runs, of whole traces, or both, as people scored."""
    wanted = {bool(label.run) for label in labels}
    scored: list[ScaleRating] = []
    for result in results:
        if False in wanted:
            scored += [ScaleRating(result.name, WHOLE_TRACE, j, score) for j, score in trace_scores(result).items()]
        if True in wanted:
            scored += [
                ScaleRating(result.name, run.run_id, v.judge, v.score)
                for run, v in result.verdicts
                if v.score is not None
            ]
    return scale_agreement(scored, labels, split)


def against_outcomes(results: Sequence[TraceResult], outcomes: Mapping[str, float]) -> tuple[OutcomeCorrelation, ...]:
    """Each judge's mean score of a trace's runs beside the trace's outcome; none where no outcome is known."""
    if not outcomes:
        return ()
    judges = sorted({v.judge for result in results for _, v in result.verdicts if v.score is not None})
    means = {judge: _means(results, judge)[0] for judge in judges}
    scores = {judge: {name: s for name, s in own.items() if s is not None} for judge, own in means.items()}
    return outcome_correlations(scores, outcomes)


@dataclass(frozen=True, slots=True)
class Repeatability:
    """One judge over several repetitions: of its scores (per trace), and of its reasons (per run)."""

    scores: Reliability
    reasons: Consistency


def repeatability(results: Sequence[TraceResult], embedder: Embedder) -> dict[str, Repeatability]:
    """By judge. A trace's score is the mean of its runs' scores. `embedder`: of reasons."""
    judges = sorted({v.judge for result in results for _, v in result.verdicts})
    return {
        judge: Repeatability(
            reliability(by_repetition(_means(results, judge))),
            semantic_consistency(_reasons(results, judge), embedder),
        )
        for judge in judges
    }


def _means(results: Iterable[TraceResult], judge: str) -> list[dict[str, float | None]]:
    """Of each repetition, trace to mean score."""
    repetitions: defaultdict[int, dict[str, float | None]] = defaultdict(dict)
    for result in results:
        scores = [v.score for _, v in result.verdicts if v.judge == judge and v.score is not None]
        repetitions[result.repetition][result.name] = fmean(scores) if scores else None
    return [repetitions[number] for number in sorted(repetitions)]


def _reasons(results: Iterable[TraceResult], judge: str) -> dict[str, list[str]]:
    said: defaultdict[str, list[str]] = defaultdict(list)
    for result in results:
        for run, verdict in result.verdicts:
            if verdict.judge == judge and not verdict.not_applicable:
                said[f"{result.name}/{run.run_id}"].append(verdict.reasons)
    return dict(said)
