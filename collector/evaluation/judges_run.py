"""`tracejury evaluate trail DIR --judges ...`: a folder's traces before the judges, many calls at a time, resumable.

The decisive error of a trace that people know to have failed is asked as in production once its runs are judged.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from tracejury.collector.judging.llm.build import panel_from, windows_from
from tracejury.collector.judging.llm.decisive.decisive_answer import decisive_answer
from tracejury.collector.judging.llm.decisive.version import decisive_versions
from tracejury.collector.judging.llm.prompt_budget import PromptBudget, prompt_budget
from tracejury.collector.judging.llm.run_prompts import run_jobs
from tracejury.collector.judging.model.build import shows_pictures
from tracejury.judges.llm.case import Deliberation
from tracejury.judges.llm.client import Client
from tracejury.judges.llm.members import LlmJudges
from tracejury.judges.reviews.decisive import decisive_case
from tracejury.judges.reviews.wrong_outcome import wrong_outcome
from tracejury.judges.verification import answered
from tracejury.processors.transcript.trace_record import trace_record
from tracejury.schemas.decisive import DECISIVE
from tracejury.schemas.errors import TracejuryError
from tracejury.schemas.findings import Finding
from tracejury.schemas.profiles import threshold
from tracejury.schemas.trajectory import Trace
from tracejury.schemas.verdicts import Subject, SubjectKind

from .adjudicate import Adjudicated, ReportedError, adjudicate
from .architecture import ServiceDescriptions
from .baseline import judge_baseline
from .folder import AnnotatedError
from .judges_client import EvaluationModels, open_models
from .judges_options import NO_ARCHITECTURE, JudgesOptions
from .judges_result import RunResult, TraceResult
from .judges_trace import Judging, judge_trace
from .rebuilt import RebuiltFolder
from .spend import Ledger, MeteredClient, Usage

Job = TypeVar("Job")
Made = TypeVar("Made")
JudgeTrace = Callable[[Trace, Client, Client], Awaitable[tuple[RunResult, ...]]]
"""Judges a trace, by the judges' model and the verifier's."""
Progress = Callable[[str, int, int], None]
"""Told (stage, done, of)."""

FAILED: Final = "people checked the outcome and found it wrong"
"""How it is known, where the judges of the runs do not say so."""

Both = tuple[list[ReportedError], list[ReportedError]]
"""Annotated errors and findings of one trace."""


@dataclass(frozen=True, slots=True)
class JudgingResults:
    """All that was said in an evaluation.

    `results`: of every trace and repetition; `baseline` by variant ("without-architecture", "with-architecture").
    `adjudicated` by name of the trace, of the first repetition, `adjudicated_baseline` the same by variant;
    `adjudication`: what both cost. `troubles`: a line for each judge of an installed package that cannot be had.
    """

    panel: LlmJudges
    troubles: tuple[str, ...]
    models: tuple[str, str]
    results: tuple[TraceResult, ...]
    baseline: dict[str, tuple[TraceResult, ...]]
    adjudicated: dict[str, Adjudicated]
    adjudicated_baseline: dict[str, dict[str, Adjudicated]]
    adjudication: Usage


async def judge_folder(options: JudgesOptions, rebuilt: RebuiltFolder, progress: Progress) -> JudgingResults:
    """Put every trace before the judges, as often as asked; calls that fail leave their judges unscored.

    Raises:
        ConfigError: the judges, the model or the cassette cannot be used at all.
        PromptsLeftError: prompts wait for replies in a folder.
    """
    architecture = ServiceDescriptions.of(options.architecture, rebuilt.traces)
    panel_from(options.llm)  # what is wrong with the criteria should not cost a look at the model
    async with open_models(options) as models:
        model = models.judges.llm
        llm = options.llm.model_copy(update={"model": model.model})
        panel, troubles = panel_from(llm)
        images = shows_pictures(llm, sees=model.sees and models.verifier.llm.sees)
        room = prompt_budget(panel, model.max_input_tokens, model.count_tokens, hints=llm.hints, images=images)
        how = Judging(room, windows_from(llm) if llm.streaming else None, llm.verify)
        run = _JudgingRun(options, rebuilt, models, progress)
        results = await run.decide(how, await run.judge(how, architecture))
        adjudicated, cost = await run.match(results) if options.adjudicate else ({}, Usage())
        baseline = await run.judge_baseline(architecture) if options.baseline else {}
        matched: dict[str, dict[str, Adjudicated]] = {}
        for name, said in baseline.items() if options.adjudicate else ():
            matched[name], more = await run.match(said)
            cost += more
        names = model.model, models.adjudicator.llm.model
        return JudgingResults(panel, troubles, names, results, baseline, adjudicated, matched, cost)


@dataclass(frozen=True, slots=True)
class _JudgingRun:
    options: JudgesOptions
    rebuilt: RebuiltFolder
    models: EvaluationModels
    progress: Progress

    async def judge(self, how: Judging, architecture: ServiceDescriptions) -> tuple[TraceResult, ...]:
        def judge(trace: Trace, client: Client, verifier: Client) -> Awaitable[tuple[RunResult, ...]]:
            detected = self.rebuilt.detected.get(trace.trace_id, ())
            return judge_trace(trace, how, client, detected, architecture.of_service(trace), verifier=verifier)

        return await self._results("judging", self.options.runs, judge)

    async def decide(self, how: Judging, results: Sequence[TraceResult]) -> tuple[TraceResult, ...]:
        """The results with the decisive errors of the traces of which people said where theirs is.

        All else is answered by then: what is asked depends on it.
        """
        version = decisive_versions(self.options.llm).get(DECISIVE)
        asked = [] if version is None else [r for r in results if r.name in self.rebuilt.decided]
        if version is None or not asked:
            return tuple(results)
        traces = {trace.trace_id: trace for trace in self.rebuilt.traces}

        async def one(result: TraceResult) -> TraceResult:
            ledger: Ledger = defaultdict(Usage, result.spend)
            client = MeteredClient(self.models.judges.client, ledger, result.repetition)
            detected = self.rebuilt.detected.get(result.trace_id, ())
            trace = traces[result.trace_id]
            said = await judge_decisive(trace, result, detected, how.preparation, version, client)
            return replace(result, decisive=said, spend=dict(ledger))

        decided = {(r.trace_id, r.repetition): r for r in await self._all("decisive errors", asked, one)}
        return tuple(decided.get((r.trace_id, r.repetition), r) for r in results)

    async def judge_baseline(self, architecture: ServiceDescriptions) -> dict[str, tuple[TraceResult, ...]]:
        variants = {"without-architecture": ServiceDescriptions.of(NO_ARCHITECTURE, ())}
        if architecture.shown:
            variants["with-architecture"] = architecture
        return {name: await self._baseline(variant) for name, variant in variants.items()}

    async def _baseline(self, architecture: ServiceDescriptions) -> tuple[TraceResult, ...]:
        async def judge(trace: Trace, client: Client, _: Client) -> tuple[RunResult, ...]:
            return (await judge_baseline(trace, architecture.of_service(trace), client),)

        return await self._results("baseline", 1, judge)

    async def _results(self, stage: str, repetitions: int, judge: JudgeTrace) -> tuple[TraceResult, ...]:
        """Every trace judged as often as asked, with what that took."""

        async def one(job: tuple[int, Trace]) -> TraceResult:
            repetition, trace = job
            ledger: Ledger = defaultdict(Usage)
            asked = (self.models.judges, self.models.verifier)
            runs = await judge(trace, *(MeteredClient(model.client, ledger, repetition) for model in asked))
            return TraceResult(self.rebuilt.name(trace), trace.trace_id, repetition, runs, dict(ledger))

        jobs = [(repetition, trace) for repetition in range(repetitions) for trace in self.rebuilt.traces]
        return tuple(await self._all(stage, jobs, one))

    async def match(self, results: Sequence[TraceResult]) -> tuple[dict[str, Adjudicated], Usage]:
        findings: defaultdict[str, list[Finding]] = defaultdict(list)
        for result in results:
            if result.repetition == 0:
                findings[result.name] += result.findings
        ledger: Ledger = defaultdict(Usage)
        client = MeteredClient(self.models.adjudicator.client, ledger)
        sides = adjudication_sides(self.rebuilt, findings)

        async def one(name: str) -> Adjudicated:
            try:
                return await adjudicate(name, sides[name][0], sides[name][1], client)
            except TracejuryError as error:
                return Adjudicated(failed=str(error))

        names = sorted(sides)
        made = await self._all("matching", names, one)
        return dict(zip(names, made, strict=True)), sum(ledger.values(), Usage())

    async def _all(self, stage: str, jobs: Sequence[Job], do: Callable[[Job], Awaitable[Made]]) -> list[Made]:
        """The results of all jobs, in their order; as many run at a time as calls may be in flight.

        Raises:
            PromptsLeftError: prompts of theirs wait for replies in a folder.
        """
        done = 0

        async def work(job: Job) -> Made:
            nonlocal done
            made = await do(job)
            done += 1
            self.progress(stage, done, len(jobs))
            return made

        self.progress(stage, 0, len(jobs))
        results = await run_jobs(jobs, work, self.options.llm.concurrency)
        self.models.cassette.all_answered()
        return results


async def judge_decisive(
    trace: Trace, result: TraceResult, detected: Iterable[Finding], how: PromptBudget, version: str, client: Client
) -> Deliberation:
    """Which error decided, of those that the judges of the runs and the detectors found; what fails is not raised."""
    opinions = [opinion for run in result.runs for opinion in run.opinions]
    found = [*result.findings, *answered(detected, opinions)]
    outcome = wrong_outcome(trace, [verdict for _, verdict in result.verdicts]) or FAILED
    case = decisive_case(trace, trace_record(trace), found, outcome, threshold("recall"))
    subject = Subject(SubjectKind.TRACE, trace.trace_id, trace.trace_id, trace.tenant)
    try:
        return await decisive_answer(case, subject, version, how, client)
    except TracejuryError as error:
        return Deliberation(failures={DECISIVE: str(error)})


def adjudication_sides(rebuilt: RebuiltFolder, findings: Mapping[str, Sequence[Finding]]) -> dict[str, Both]:
    """Both sides of every trace with annotations, by name; `findings` by name of the trace."""
    places: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for trace in rebuilt.traces:
        places[rebuilt.name(trace)].update(_places(trace, len(places[rebuilt.name(trace)])))
    return {
        name: (
            [_error(number, annotation, places[name]) for number, annotation in enumerate(annotations)],
            [_finding(finding, places[name]) for finding in findings.get(name, ())],
        )
        for name, annotations in rebuilt.folder.annotations.items()
    }


def _places(trace: Trace, before: int) -> dict[str, int]:
    """Numbers of the spans, in order of time."""
    spans = sorted(trace.spans.values(), key=lambda span: (span.raw.start, span.span_id))
    return {span.span_id: number for number, span in enumerate(spans, start=before + 1)}


def _error(number: int, annotation: AnnotatedError, places: Mapping[str, int]) -> ReportedError:
    error = annotation.error
    return ReportedError(number, places.get(error.span_id, 0), f"{error.category}, {error.impact}", annotation.text)


def _finding(finding: Finding, places: Mapping[str, int]) -> ReportedError:
    heading = f"{finding.category}, {finding.severity.value}"
    return ReportedError(
        finding.id, places.get(finding.span_id, 0), heading, f"{finding.evidence} || {finding.explanation}"
    )
