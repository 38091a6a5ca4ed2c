"""Cases run: each step's LLM call is issued again, many times, and its new answers are judged; no tool runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
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
from tracejury.collector.judging.model.cassette import CassetteMode, CassetteOptions, open_cassette
from tracejury.collector.judging.model.config import LlmConfig
from tracejury.collector.otlp.files.chat import ChatCall, ChatFunction, ChatMessage
from tracejury.judges.llm.client import Client, Prompt, Reply
from tracejury.judges.llm.data_files import model_of
from tracejury.schemas.errors import ConfigError, LlmError, TracejuryError
from tracejury.schemas.findings import Finding

from .case import AS_RECORDED, Case, Change, load_cases
from .result import CaseResult, RegressionResults, Tally
from .step import detected, is_wrong, step_of

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
    change: Change = AS_RECORDED
    cassette: CassetteOptions = field(default_factory=CassetteOptions)
    sampling: bool = False
    before: Mapping[str, Tally] | None = None


def run_folder(folder: Path, options: RunOptions, progress: Progress = lambda _done, _of: None) -> RegressionResults:
    """Run the cases of a folder.

    Raises:
        ConfigError: a case, a model, a judge or the cassette cannot be used; one line.
    """
    cases = load_cases(folder)
    for case in cases:
        if not (options.model.model or case.model):
            raise ConfigError(f"the case {case.id} names no model: give one with --model")
        if case.must_not_appear.by == "llm" and not options.judges.on:
            raise ConfigError(
                f"the error of case {case.id} was found by the LLM judge {case.must_not_appear.judge[:60]!r}: "
                "name its model with --judge-model, or --config"
            )
        options.change.messages(case)
    if options.cassette.mode == "ask":
        raise ConfigError("--cassette-mode ask: one reply in a folder does not tell how often a step is wrong")
    return asyncio.run(_run(cases, options, progress))


def run_regressions(
    folder: str | Path,
    *,
    model: str = "",
    times: int = 10,
    system: str | None = None,
    append: str = "",
    instead: bool = False,
    judges: Mapping[str, Any] | None = None,
    cassette: str | Path | None = None,
    cassette_mode: CassetteMode = "auto",
    **settings: Any,
) -> RegressionResults:
    """Run a folder of cases in a test: `run_regressions("cases", model="…").assert_wrong_at_most(.1)`.

    `settings`: of the model, by the names of the configuration's section `judges` (`api_base`, `temperature`);
    `judges`: that section, for errors that LLM judges found. Else as the options of `tracejury regressions run`.

    Raises:
        ConfigError: as `run_folder`, or there is no such setting.
    """
    options = RunOptions(
        model=model_of({**settings, "model": model}, LlmConfig, "regressions"),
        judges=model_of(judges or {}, LlmConfig, "judges"),
        times=times,
        change=Change(system, append, instead),
        cassette=CassetteOptions(Path(cassette) if cassette else None, cassette_mode),
        sampling="temperature" in settings,
    )
    return run_folder(Path(folder), options)


async def _run(cases: Sequence[Case], options: RunOptions, progress: Progress) -> RegressionResults:
    compared = options.change.on and options.before is None
    variants = (AS_RECORDED, options.change) if compared else (options.change,)
    jobs = [(case, change, number) for case in cases for change in variants for number in range(options.times)]
    done = 0
    async with _Models.open(cases, options) as models:

        async def one(job: tuple[Case, Change, int]) -> Tally:
            nonlocal done
            tally = await models.trial(*job)
            done += 1
            progress(done, len(jobs))
            return tally

        tallies = await run_jobs(jobs, one, options.model.concurrency)
    sums: dict[tuple[str, Change], Tally] = {}
    for (case, change, _), tally in zip(jobs, tallies, strict=True):
        sums[case.id, change] = sums.get((case.id, change), Tally()) + tally
    before = {case.id: sums[case.id, AS_RECORDED] for case in cases} if compared else options.before or {}
    return RegressionResults(
        [CaseResult(c.id, c.error.title, sums[c.id, options.change], before.get(c.id)) for c in cases]
    )


@dataclass(frozen=True, slots=True)
class _Models:
    """`steps`: by the name that a case asks for; `judges`: by name, each with its own preparation."""

    options: RunOptions
    steps: Mapping[str, Model]
    judges: Mapping[str, tuple[Client, Judging]]

    @classmethod
    @asynccontextmanager
    async def open(cls, cases: Collection[Case], options: RunOptions) -> AsyncIterator[_Models]:
        """All models on one cassette and one budget.

        Raises:
            ConfigError: one of them, a judge, or the cassette cannot be used.
        """
        names = sorted({options.model.model or case.model for case in cases})
        configs = {name: options.model.model_copy(update={"model": name}) for name in names}
        budget = budget_of(options.model.budget)
        async with AsyncExitStack() as stack:
            cassette = stack.enter_context(open_cassette(options.cassette, configs[names[0]]))

            async def opened(config: LlmConfig) -> Model:
                return await stack.enter_async_context(open_model(config, cassette=cassette, budget=budget))

            try:
                steps = {name: await opened(config) for name, config in configs.items()}
            except ConfigError as error:
                if options.model.model:
                    raise
                raise ConfigError(f"{error}; --model names the model in the place of the recorded one") from None
            judges = {}
            asked = sorted({c.must_not_appear.judge for c in cases if c.must_not_appear.by == "llm"})
            for place, judge in enumerate(asked):
                if place == 0:
                    model = await opened(options.judges)
                panel, _ = panel_from(options.judges.model_copy(update={"judges": (judge,)}))
                room = prompt_budget(panel, model.llm.max_input_tokens, model.llm.count_tokens, hints=False)
                judges[judge] = (model.client, Judging(room))
            yield cls(options, steps, judges)

    async def trial(self, case: Case, change: Change, number: int) -> Tally:
        """One answer to the step, judged."""
        messages = change.messages(case)
        try:
            reply = await self.steps[self.options.model.model or case.model].client.complete(
                self._prompt(case, messages, number)
            )
            answer = _message(reply)
        except TracejuryError as error:
            return Tally(failed=1, problems=(str(error),))
        step = step_of(case, messages, answer)
        found = detected(step)
        wanted = case.must_not_appear
        said: list[Finding] = []
        if wanted.by == "llm":
            client, how = self.judges[wanted.judge]
            results = await judge_trace(step.trace, how, client)
            said = step.findings(finding for result in results for finding in result.findings)
            if failures := [why for result in results for why in result.failures.values()]:
                return Tally(unjudged=1, problems=tuple(failures))
        elif wanted.needs_results and step.unknown and not is_wrong(wanted, found):
            assumed = detected(step_of(case, messages, answer, assume=True))
            if is_wrong(wanted, assumed):
                return Tally(unjudged=1, problems=(f"what {step.unknown[0]} returns to such a call was not recorded",))
        wrong = is_wrong(wanted, [*found, *said])
        other = [one for one in (*found, *said) if not is_wrong(wanted, [one])]
        return Tally(wrong=int(wrong), of=1, other=int(bool(other)))

    def _prompt(self, case: Case, messages: Sequence[ChatMessage], number: int) -> Prompt:
        config = self.options.model
        request = case.request(messages)
        if self.options.sampling:
            request.pop("temperature", None)
            request |= {} if config.temperature is None else {"temperature": config.temperature}
        most = min(int(request.get("max_tokens") or config.max_answer_tokens), config.max_answer_tokens)
        return Prompt((), request={**request, "max_tokens": most}, max_tokens=most, purpose=PURPOSE, repeat=number)


def _message(reply: Reply) -> ChatMessage:
    """The answer as a message.

    Raises:
        LlmError: it calls something without a name.
    """
    try:
        calls = tuple(
            ChatCall(
                id=call["id"] or f"call_new_{place}",
                function=ChatFunction(name=call["name"], arguments=call["arguments"]),
            )
            for place, call in enumerate(reply.calls)
        )
    except ValidationError:
        raise LlmError(f"{reply.model} called a tool without a name") from None
    return ChatMessage(role="assistant", content=reply.text or None, tool_calls=calls or None)
