"""`tracejury evaluate trail DIR --judges ...`: a folder's traces before the judges, many calls at a time, resumable."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from tracejury.collector.judging.llm.build import panel_from, windows_from
from tracejury.collector.judging.llm.decisive.version import decisive_versions
from tracejury.collector.judging.llm.prompt_budget import prompt_budget
from tracejury.judges.llm.client import Client
from tracejury.judges.llm.members import LlmJudges
from tracejury.schemas.decisive import DECISIVE
from tracejury.schemas.errors import TracejuryError
from tracejury.schemas.findings import Finding
from tracejury.schemas.trajectory import Trace

from .adjudicate import Adjudicated, adjudicate
from .adjudication_sides import adjudication_sides
from .architecture import ServiceDescriptions
from .baseline import judge_baseline
from .decisive_trace import judge_decisive
from .judges_client import EvaluatedModel, Ledger, open_models, replace_model
from .judges_options import NO_ARCHITECTURE, JudgesOptions
from .judges_result import RunResult, TraceResult
from .judges_trace import Judging, judge_trace
from .rebuilt import RebuiltFolder
from .spend import Usage

Job = TypeVar("Job")
Made = TypeVar("Made")
JudgeTrace = Callable[[Trace, Client, Client], Awaitable[tuple[RunResult, ...]]]
"""Judges a trace, by the judges' model and the verifier's."""
Progress = Callable[[str, int, int], None]
"""Told (stage, done, of)."""


@dataclass(frozen=True, slots=True)
class JudgingResults:
    """All that was said in an evaluation.

    `results`: of every trace and repetition; `baseline` by variant ("without-architecture", "with-architecture").
    `adjudicated` by name of the trace, of the first repetition; `adjudication`: what that cost. `troubles`: a line for
    each judge of an installed package that cannot be had.
    """

    panel: LlmJudges
    troubles: tuple[str, ...]
    models: tuple[str, str]
    results: tuple[TraceResult, ...]
    baseline: dict[str, tuple[TraceResult, ...]]
    adjudicated: dict[str, Adjudicated]
    adjudication: Usage


async def judge_folder(options: JudgesOptions, rebuilt: RebuiltFolder, progress: Progress) -> JudgingResults:
    """Put every trace before the judges, as often as asked; calls that fail leave their judges unscored.

    Raises:
        ConfigError: the judges, the model or the cassette cannot be used at all.
        PromptsLeftError: prompts wait for replies in a folder.
    """
    architecture = ServiceDescriptions.of(options.architecture, rebuilt.traces)
    panel_from(options.llm)  # what is wrong with the criteria should not cost a look at the model
    async with open_models(options) as (judges, verifier, adjudicator):
        model = judges.about
        llm = replace_model(options.llm, model.model)
        panel, troubles = panel_from(llm)
        room = prompt_budget(panel, model.max_input_tokens, judges.count, hints=llm.hints)
        how = Judging(room, windows_from(llm) if llm.streaming else None, llm.verify)
        run = _JudgingRun(options, rebuilt, judges, verifier, adjudicator, progress)
        results = await run.decide(how, await run.judge(how, architecture))
        adjudicated, cost = await run.match(results) if options.adjudicate else ({}, Usage())
        baseline = await run.judge_baseline(architecture) if options.baseline else {}
        names = model.model, adjudicator.about.model
        return JudgingResults(panel, troubles, names, results, baseline, adjudicated, cost)


@dataclass(frozen=True, slots=True)
class _JudgingRun:
    options: JudgesOptions
    rebuilt: RebuiltFolder
    judges: EvaluatedModel
    verifier: EvaluatedModel
    adjudicator: EvaluatedModel
    progress: Progress

    async def judge(self, how: Judging, architecture: ServiceDescriptions) -> tuple[TraceResult, ...]:
        def judge(trace: Trace, client: Client, verifier: Client) -> Awaitable[tuple[RunResult, ...]]:
            detected = self.rebuilt.detected.get(trace.trace_id, ())
            return judge_trace(trace, how, client, detected, architecture.text(trace), verifier=verifier)

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
            client = self.judges.of_run(result.repetition, ledger)
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
            return (await judge_baseline(trace, architecture.text(trace), client),)

        return await self._results("baseline", 1, judge)

    async def _results(self, stage: str, repetitions: int, judge: JudgeTrace) -> tuple[TraceResult, ...]:
        """Every trace judged as often as asked, with what that took."""

        async def one(job: tuple[int, Trace]) -> TraceResult:
            repetition, trace = job
            ledger: Ledger = defaultdict(Usage)
            clients = (model.of_run(repetition, ledger) for model in (self.judges, self.verifier))
            runs = await judge(trace, *clients)
            return TraceResult(self.rebuilt.name(trace), trace.trace_id, repetition, runs, dict(ledger))

        jobs = [(repetition, trace) for repetition in range(repetitions) for trace in self.rebuilt.traces]
        return tuple(await self._all(stage, jobs, one))

    async def match(self, results: Sequence[TraceResult]) -> tuple[dict[str, Adjudicated], Usage]:
        findings: defaultdict[str, list[Finding]] = defaultdict(list)
        for result in results:
            if result.repetition == 0:
                findings[result.name] += result.findings
        ledger: Ledger = defaultdict(Usage)
        client = self.adjudicator.of_run(0, ledger)
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
        free = asyncio.Semaphore(self.options.llm.concurrency)
        done = 0

        async def work(job: Job) -> Made:
            nonlocal done
            async with free:
                made = await do(job)
            done += 1
            self.progress(stage, done, len(jobs))
            return made

        self.progress(stage, 0, len(jobs))
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(work(job)) for job in jobs]
        for model in (self.judges, self.verifier, self.adjudicator):
            model.all_answered()
        return [task.result() for task in tasks]
