"""Cases run: each step's LLM call is issued again, many times, and its new answers are judged; no tool runs."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from tracejury.collector.evaluation.judges_trace import Judging, judge_trace
from tracejury.collector.judging.llm.build import panel_from
from tracejury.collector.judging.llm.prompt_budget import prompt_budget
from tracejury.collector.judging.llm.run_prompts import run_jobs
from tracejury.collector.judging.model.budgeted import budget_of
from tracejury.collector.judging.model.build import Model, open_model
from tracejury.collector.judging.model.cassette import CassetteOptions, open_cassette
from tracejury.collector.judging.model.config import LlmConfig
from tracejury.collector.otlp.files.chat import ChatMessage
from tracejury.judges.llm.client import Client, Prompt, Reply
from tracejury.judges.llm.data_files import model_of
from tracejury.schemas.errors import ConfigError, LlmError, PermanentError, TracejuryError

from .case import AS_RECORDED, Case, PromptChange, load_cases
from .result import CaseResult, RegressionResults, Tally
from .step import detected, detectors, is_wrong, step_of

PURPOSE: Final = "regression"
Progress = Callable[[int, int], None]
"""Told (done, of)."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How cases are run. `model`: whom the steps are asked of, "" for the recorded one; `judges`: the LLM judges.

    `sampling`: whether the temperature of `model` is sent in the place of the recorded one. `before`: by case, what an
    earlier run counted; without it a changed step is asked as it was recorded, too.
    """

    model: LlmConfig
    judges: LlmConfig = field(default_factory=LlmConfig)
    times: int = 10
    change: PromptChange = AS_RECORDED
    cassette: CassetteOptions = field(default_factory=CassetteOptions)
    sampling: bool = False
    before: Mapping[str, Tally] | None = None


def run_folder(folder: Path, options: RunOptions, progress: Progress = lambda _done, _of: None) -> RegressionResults:
    """Run the cases of a folder.

    Raises:
        ConfigError: a case, a model, a judge or the cassette cannot be used; one line.
    """
    cases = load_cases(folder)
    if options.before is not None and options.before.keys().isdisjoint(case.id for case in cases):
        raise ConfigError(f"--before has none of the cases of {folder}: there is nothing to compare with")
    for case in cases:
        if not (options.model.model or case.model):
            raise ConfigError(f"the case {case.id} names no model: give one with --model")
        if case.must_not_appear.by == "llm" and not options.judges.on:
            raise ConfigError(
                f"the error of case {case.id} was found by the LLM judge {case.must_not_appear.judge[:60]!r}: "
                "name its model with --judge-model, or --config"
            )
        if case.must_not_appear.by == "detector" and case.must_not_appear.judge not in detectors():
            raise ConfigError(
                f"the case {case.id} is of the detector {case.must_not_appear.judge[:60]!r}, "
                "which there is not: add it anew"
            )
        options.change.messages(case)
    if options.cassette.mode == "ask":
        raise ConfigError("--cassette-mode ask: one reply in a folder does not tell how often a step is wrong")
    return asyncio.run(_run(cases, options, progress))


def run_regressions(
    folder: str | Path,
    *,
    times: int = 10,
    system: str | None = None,
    append: str = "",
    instead: bool = False,
    judges: Mapping[str, Any] | None = None,
    cassette: str | Path | None = None,
    **model: Any,
) -> RegressionResults:
    """Run a folder of cases in a test: `run_regressions("cases", model="…").assert_wrong_at_most(.1)`.

    `model`: settings of the model by the names of the configuration's section `judges` (`model`, `api_base`);
    `judges`: that section, for errors that LLM judges found. Else as the options of `tracejury regressions run`.

    Raises:
        ConfigError: as `run_folder`, or there is no such setting.
    """
    asked, judging = (model_of(given or {}, LlmConfig, "regressions") for given in (model, judges))
    recorded = CassetteOptions(Path(cassette) if cassette else None)
    change = PromptChange(system, append, instead)
    return run_folder(Path(folder), RunOptions(asked, judging, times, change, recorded, "temperature" in model))


async def _run(cases: Sequence[Case], options: RunOptions, progress: Progress) -> RegressionResults:
    compared = options.change.on and options.before is None
    changes = (AS_RECORDED, options.change) if compared else (options.change,)
    jobs = [(case, change, number) for case in cases for change in changes for number in range(options.times)]
    sums: defaultdict[tuple[str, PromptChange], Tally] = defaultdict(Tally)
    names = [options.model.model or case.model for case in cases]
    judges: dict[str, tuple[Client, Judging]] = {}
    done = 0
    async with AsyncExitStack() as stack:
        first = options.model.model_copy(update={"model": names[0]})
        cassette, budget = stack.enter_context(open_cassette(options.cassette, first)), budget_of(first.budget)

        async def opened(config: LlmConfig) -> Model:
            return await stack.enter_async_context(open_model(config, cassette=cassette, budget=budget))

        try:
            steps = {name: await opened(first.model_copy(update={"model": name})) for name in dict.fromkeys(names)}
        except ConfigError as error:
            recorded = "" if options.model.model else "; --model names the model in the place of the recorded one"
            raise ConfigError(f"{error}{recorded}") from None
        if asked := {case.must_not_appear.judge for case in cases if case.must_not_appear.by == "llm"}:
            model = await opened(options.judges)
            for judge in asked:
                panel, _ = panel_from(options.judges.model_copy(update={"judges": (judge,)}))
                room = prompt_budget(panel, model.llm.max_input_tokens, model.llm.count_tokens, hints=False)
                judges[judge] = (model.client, Judging(room))

        async def one(job: tuple[Case, PromptChange, int]) -> None:
            nonlocal done
            case, change, number = job
            messages, client = change.messages(case), steps[options.model.model or case.model].client
            try:
                answer = _message(await client.complete(_prompt(case, messages, number, options)))
                tally = await _judged(case, messages, answer, judges.get(case.must_not_appear.judge))
            except TracejuryError as error:
                tally = Tally(failed=1, problems=(str(error),))
            sums[case.id, change] += tally
            done += 1
            progress(done, len(jobs))

        await run_jobs(jobs, one, options.model.concurrency)
    before = {case.id: sums[case.id, AS_RECORDED] for case in cases} if compared else options.before or {}
    results = [
        CaseResult(id=c.id, title=c.error.title, now=sums[c.id, options.change] + _doubt(c), before=before.get(c.id))
        for c in cases
    ]
    return RegressionResults(cases=tuple(results))


def _doubt(case: Case) -> Tally:
    """That answers may never count as wrong: the recorded one does not, as the case was edited or its rule changed."""
    wanted = case.must_not_appear
    try:
        if wanted.by == "llm" or is_wrong(wanted, detected(step_of(case, case.messages, case.answer))):
            return Tally()
    except PermanentError:  # of which each answer tells
        return Tally()
    return Tally(problems=(f"{wanted.judge} does not find the error in the recorded answer either",))


async def _judged(
    case: Case, messages: Sequence[ChatMessage], answer: ChatMessage, judge: tuple[Client, Judging] | None
) -> Tally:
    """One answer to the step, judged by the detectors, and by the LLM judge where the error is one of its."""
    step, wanted = step_of(case, messages, answer), case.must_not_appear
    found = detected(step)
    if judge is not None:
        client, how = judge
        results = await judge_trace(step.trace, how, client)
        if failures := [why for result in results for why in result.failures.values()]:
            return Tally(unjudged=1, problems=tuple(failures))
        found += step.findings(finding for result in results for finding in result.findings)
    elif wanted.needs_results and step.unknown and not is_wrong(wanted, found):
        assumed = step_of(case, messages, answer, assume=True)
        if is_wrong(wanted, detected(assumed)):
            return Tally(unjudged=1, problems=(f"what {step.unknown[0]} returns to such a call was not recorded",))
    other = any(not is_wrong(wanted, [one]) for one in found)
    return Tally(wrong=int(is_wrong(wanted, found)), of=1, other=int(other))


def _prompt(case: Case, messages: Sequence[ChatMessage], number: int, options: RunOptions) -> Prompt:
    config, request = options.model, case.request(messages)
    if options.sampling:
        request["temperature"] = config.temperature
    most = min(int(request.get("max_tokens") or config.max_answer_tokens), config.max_answer_tokens)
    sent = {name: value for name, value in (request | {"max_tokens": most}).items() if value is not None}
    return Prompt((), request=sent, max_tokens=most, purpose=PURPOSE, repeat=number)


def _message(reply: Reply) -> ChatMessage:
    """The answer as a message.

    Raises:
        LlmError: it calls something without a name.
    """
    calls = [
        {"id": call["id"] or f"new_{at}", "function": {"name": call["name"], "arguments": call["arguments"]}}
        for at, call in enumerate(reply.calls)
    ]
    try:
        return ChatMessage.model_validate(
            {"role": "assistant", "content": reply.text or None, "tool_calls": calls or None}
        )
    except ValidationError:
        raise LlmError(f"{reply.model} called a tool without a name") from None
