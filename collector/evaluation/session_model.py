"""A model that is asked about the sessions of a folder, offline: one cassette, one budget, one line where it stops."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Generator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

from tracejury.collector.judging.llm.build import panel_from
from tracejury.collector.judging.llm.judging_steps import ask_in_chapters
from tracejury.collector.judging.llm.prompt_budget import PromptBudget, prompt_budget
from tracejury.collector.judging.llm.run_prompts import run_jobs, run_prompts
from tracejury.collector.judging.model.budgeted import budget_of
from tracejury.collector.judging.model.build import open_model
from tracejury.collector.judging.model.cassette import Cassette, CassetteOptions, open_cassette
from tracejury.collector.judging.model.config import LlmConfig
from tracejury.judges.checks.case import CheckCase
from tracejury.judges.checks.deliberation import judge_checks
from tracejury.judges.checks.how_asked import HowAsked
from tracejury.judges.llm.case import Deliberation, Outcomes
from tracejury.judges.llm.client import Client, Prompt
from tracejury.schemas.errors import PromptTooLongError, RetryableError, TracejuryError

Job = TypeVar("Job")
T = TypeVar("T")

Progress = Callable[[str, int, int], None]
"""Told (stage, done, of)."""


def untold(_stage: str, _done: int, _of: int) -> None:
    """Nobody watches."""


@dataclass(frozen=True, slots=True)
class SessionModel:
    """Asks checks about sessions; `most`: of how many at a time."""

    client: Client
    budget: PromptBudget
    cassette: Cassette
    most: int

    @property
    def name(self) -> str:
        """The model's name."""
        return self.client.model

    async def ask(self, case: CheckCase, how: HowAsked) -> Deliberation:
        """The answer to a session's checks, in smaller chapters where the model cannot read its record as it is.

        Raises:
            OverBudgetError, RetryableError: it can be had later.
        """
        try:
            return await ask_in_chapters(
                case.record.transcript,
                case.description.text,
                self.budget,
                lambda chapters: run_prompts(judge_checks(case, how, chapters), self.client),
            )
        except PromptTooLongError as error:
            return Deliberation(failures={asked.check.name: str(error) for asked in case.checks})

    async def run(self, asking: Generator[Sequence[Prompt], Outcomes, T]) -> T:
        """What comes of prompts that build on each other.

        Raises:
            PromptsLeftError: prompts wait for replies in a folder.
            TracejuryError: as `asking` raises it.
        """
        try:
            return await run_prompts(asking, self.client)
        except RetryableError:
            self.cassette.all_answered()
            raise

    async def each(
        self, stage: str, jobs: Collection[Job], do: Callable[[Job], Awaitable[T]], progress: Progress = untold
    ) -> list[T]:
        """The results of all jobs, in their order. The first that fails ends the others.

        Raises:
            TracejuryError: as a job raised it; what was answered is on the cassette.
            PromptsLeftError: prompts wait for replies in a folder.
        """
        done: list[T] = []
        stopped: list[TracejuryError] = []

        async def one(job: Job) -> T | None:
            if stopped and self.cassette.prompts is None:
                return None
            try:
                result = await do(job)
            except TracejuryError as error:
                stopped.append(error)
                return None
            done.append(result)
            progress(stage, len(done), len(jobs))
            return result

        results = await run_jobs(jobs, one, self.most)
        self.cassette.all_answered()
        if stopped:
            raise stopped[0]
        return [result for result in results if result is not None]


@asynccontextmanager
async def open_session_model(config: LlmConfig, options: CassetteOptions) -> AsyncIterator[SessionModel]:
    """The model of a configuration, within its budget; closed, with the cassette, at the end.

    Raises:
        ConfigError: there is neither a model nor a cassette to replay, or one cannot be used.
    """
    panel, _ = panel_from(config)
    with open_cassette(options, config) as cassette:
        async with open_model(config, cassette=cassette, budget=budget_of(config.budget)) as model:
            room = prompt_budget(panel, model.llm.max_input_tokens, model.llm.count_tokens, hints=False)
            yield SessionModel(model.client, room, cassette, config.concurrency)
