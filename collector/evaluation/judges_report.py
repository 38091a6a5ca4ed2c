"""An evaluation of LLM judges, scored."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tracejury.judges.measures.consistency import Embedder, TfIdf
from tracejury.judges.measures.outcome_correlation import OutcomeCorrelation
from tracejury.judges.measures.scales import ScaleAgreement
from tracejury.schemas.errors import ConfigError
from tracejury.schemas.profiles import threshold

from .decisive_score import DecisiveFigures, decisive_figures
from .judges_options import JudgesOptions
from .judges_result import TraceResult
from .judges_run import JudgingResults, Progress, judge_folder
from .judges_score import (
    AgainstAnnotators,
    Repeatability,
    against_annotators,
    against_outcomes,
    against_people,
    by_source,
    over_spans,
    repeatability,
)
from .matches import Matches, load_matches
from .people import named, read_people
from .rebuilt import RebuiltFolder, rebuild_folder
from .score import DetectorEvaluation
from .spend import Usage
from .verification_figures import VerificationFigures, verification_figures


@dataclass(frozen=True, slots=True)
class Answered:
    """The numbers of questions with and without an answer.

    `scored` verdicts; `unscored` ones by judge, with `failures` (reason to number); `not_applicable` by judge; claims
    `dropped` by reason; `lost` windows or plans without an answer; `provisional` findings of windows.
    """

    scored: int
    unscored: Counter[str]
    failures: Counter[str]
    not_applicable: Counter[str]
    dropped: Counter[str]
    provisional: int
    lost: int

    @classmethod
    def of(cls, results: Iterable[TraceResult]) -> Answered:
        """Counted over all runs of the results."""
        runs = [run for result in results for run in result.runs]
        verdicts = [verdict for run in runs for verdict in run.verdicts]
        return cls(
            scored=sum(v.score is not None for v in verdicts),
            unscored=Counter(judge for run in runs for judge in run.failures),
            failures=Counter(why for run in runs for why in run.failures.values()),
            not_applicable=Counter(v.judge for v in verdicts if v.not_applicable),
            dropped=sum((Counter(run.dropped) for run in runs), Counter()),
            provisional=sum(run.provisional for run in runs),
            lost=sum(run.lost for run in runs),
        )


@dataclass(frozen=True, slots=True)
class ScoredRepetition:
    """One judging of all traces (a repetition, a baseline) against the annotators."""

    evaluation: DetectorEvaluation
    answered: Answered
    spend: Mapping[str, Usage]


@dataclass(frozen=True, slots=True)
class ScoredBaseline(ScoredRepetition):
    """The baseline with one call a trace.

    `agreement`: on the judges' basis; None where people decide what is caught and read none of its findings.
    """

    agreement: AgainstAnnotators | None


@dataclass(frozen=True, slots=True)
class JudgesReport:
    """All that is reported.

    Agreement, precision and scales are of the first repetition; `repetitions` holds each one's figures over spans.
    `sources`: those of the judges alone and, unless left out, of the detectors alone and both together.
    `verification`: what the verifier said, none where it was not asked.
    `decisive`: answers to which error decided, and baselines, none where nobody was asked.
    `outcomes`: scores beside the traces' outcomes, none where none is known.
    `unadjudicated`: traces whose matching has a batch without an answer.
    """

    options: JudgesOptions
    rebuilt: RebuiltFolder
    sessions: JudgingResults
    agreement: AgainstAnnotators
    sources: Mapping[str, DetectorEvaluation]
    repetitions: Sequence[ScoredRepetition]
    scales: Sequence[ScaleAgreement]
    outcomes: Sequence[OutcomeCorrelation]
    repeatability: Mapping[str, Repeatability]
    baseline: Mapping[str, ScoredBaseline]
    matches: Matches | None
    unadjudicated: int
    verification: VerificationFigures
    decisive: Mapping[str, DecisiveFigures]


def evaluate_judges(options: JudgesOptions, progress: Progress, rebuilt: RebuiltFolder | None = None) -> JudgesReport:
    """Judge a folder's traces with LLM judges and score what they said; runs its own event loop.

    `rebuilt`: the folder where it has been read already, without `labels`.

    Raises:
        BrokenFileError, PermanentError: the folder or a file does not hold what it should; names it.
        ConfigError: the judges, the model, the cassette or the profile cannot be used.
        PromptsLeftError: prompts wait for replies in a folder.
    """
    threshold(options.profile)  # a typing error should not cost a run
    human = load_matches(options.human) if options.human else None
    people = read_people(options.labels) if options.labels else None
    progress("reading", 0, 0)
    rebuilt = rebuilt or rebuild_folder(options.folder, limit=options.limit, people=people)
    sessions = asyncio.run(judge_folder(options, rebuilt, progress))
    progress("scoring", 0, 0)
    by_repetition = [[r for r in sessions.results if r.repetition == number] for number in range(options.runs)]
    repetitions = [_judged(rebuilt, own, options.profile) for own in by_repetition]
    first = by_repetition[0]
    findings = [f for result in first for f in result.findings]
    opinions = [o for result in first for run in result.runs for o in run.opinions]
    matches = {name: a.pairs for name, a in sessions.adjudicated.items()} if options.adjudicate else None
    return JudgesReport(
        options=options,
        rebuilt=rebuilt,
        sessions=sessions,
        agreement=against_annotators(rebuilt, findings, options.profile, matches, human),
        sources=by_source(rebuilt, findings, options.profile, opinions)
        if options.detectors
        else {"judges": repetitions[0].evaluation},
        repetitions=repetitions,
        scales=against_people(first, named(people.scores, rebuilt.folder.names), options.split) if people else (),
        outcomes=against_outcomes(first, rebuilt.folder.outcomes),
        repeatability=repeatability(sessions.results, _embedder()) if options.runs > 1 else {},
        baseline={name: _baseline(name, sessions, rebuilt, options, human) for name in sessions.baseline},
        matches=matches,
        unadjudicated=sum(bool(a.failed) for a in sessions.adjudicated.values()),
        verification=verification_figures(rebuilt, findings, matches if matches is not None else human),
        decisive=decisive_figures(rebuilt, first),
    )


def _judged(rebuilt: RebuiltFolder, results: Sequence[TraceResult], profile: str) -> ScoredRepetition:
    findings = [f for result in results for f in result.findings]
    return ScoredRepetition(over_spans(rebuilt, findings, profile), Answered.of(results), total(results))


def _baseline(
    name: str, sessions: JudgingResults, rebuilt: RebuiltFolder, options: JudgesOptions, human: Matches | None
) -> ScoredBaseline:
    judged = _judged(rebuilt, sessions.baseline[name], options.profile)
    findings = [f for result in sessions.baseline[name] for f in result.findings]
    adjudicated = sessions.adjudicated_baseline.get(name)
    matches = None if adjudicated is None else {trace: a.pairs for trace, a in adjudicated.items()}
    read = {finding for pairs in (human or {}).values() for _, finding in pairs}
    comparable = options.adjudicate or human is None or any(f.id in read for f in findings)
    agreement = against_annotators(rebuilt, findings, options.profile, matches, human) if comparable else None
    return ScoredBaseline(judged.evaluation, judged.answered, judged.spend, agreement)


def total(results: Iterable[TraceResult]) -> dict[str, Usage]:
    """Spend by purpose of the calls."""
    spent: defaultdict[str, Usage] = defaultdict(Usage)
    for result in results:
        for purpose, spend in result.spend.items():
            spent[purpose] += spend
    return dict(sorted(spent.items()))


def _embedder() -> Embedder:
    """The sentence embedder where its extra is installed, else one without a model."""
    from .embedding import embedder

    try:
        return embedder()
    except ConfigError:
        return TfIdf()
