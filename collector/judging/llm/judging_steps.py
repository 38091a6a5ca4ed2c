"""The steps by which a run's request is judged: the same for traces as they come and in evaluations."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from tracejury.judges.llm.case import Deliberation, Stage
from tracejury.judges.llm.client import Client
from tracejury.judges.llm.deliberation import deliberate
from tracejury.judges.llm.group_deliberation import UnreadableTogetherError, deliberate_together
from tracejury.judges.reviews.candidates import CandidatesReview, review_candidates
from tracejury.judges.reviews.detected_errors import detected_errors
from tracejury.processors.transcript import split
from tracejury.schemas.errors import PromptTooLongError
from tracejury.schemas.findings import Finding
from tracejury.schemas.transcript import Chapter, Transcript

from .judge_request import GroupRequest, JudgeRequest
from .prompt_budget import PromptBudget, ask_shortened
from .run_prompts import run_prompts
from .verification import Verifier

T = TypeVar("T")


def longest(count: Callable[[str], int], chapters: Iterable[Chapter]) -> int:
    """Tokens of the longest chapter."""
    return max((count(chapter.text) for chapter in chapters), default=0)


async def ask_in_chapters(
    record: Transcript, description: str, how: PromptBudget, ask: Callable[[Sequence[Chapter]], Awaitable[T]]
) -> T:
    """The answer about a session's record, in smaller chapters where the model cannot read it as it is.

    Raises:
        PromptTooLongError: even its smallest chapters are too long.
    """
    room = how.room(description)
    return await ask_shortened(
        split(record, room, how.count), ask, partial(longest, how.count), lambda least: split(record, least, how.count)
    )


@dataclass(frozen=True, slots=True)
class JudgingSteps:
    """Judges of runs and their verifier. `how`: the limits of requests."""

    client: Client
    how: PromptBudget
    verifier: Verifier

    async def judge(
        self, request: JudgeRequest, stored: Iterable[Finding] = (), *, bypass_cache: bool = False
    ) -> Deliberation:
        """The judges' answer, its findings verified. `stored`: those of earlier times.

        Raises:
            OverBudgetError, RetryableError: the case was not judged and can be later.
        """
        count = self.how.count

        async def ask(fitted: JudgeRequest) -> Deliberation:
            deliberating = deliberate(fitted.case, self.how.panel, fitted.chapters, self.how.look)
            try:
                return await run_prompts(deliberating, self.client, bypass_cache=bypass_cache)
            except PromptTooLongError:
                if not fitted.case.pictures:
                    raise
                return await ask(fitted.without_pictures())

        try:
            said = await ask_shortened(
                request, ask, lambda r: r.longest(count), lambda room: request.without_pictures().fitted(room, count)
            )
        except PromptTooLongError as error:
            return Deliberation(failures=dict.fromkeys(request.case.judges, str(error)))
        return await self.verifier.of_run(request.case, said, stored, bypass_cache=bypass_cache)

    async def judge_together(
        self, request: GroupRequest, stored: Iterable[Finding] = (), *, bypass_cache: bool = False
    ) -> tuple[tuple[JudgeRequest, Deliberation], ...]:
        """For each run of the request, what its judges were shown and their answer, its findings verified.

        Where the model cannot read or answer about all at once, each is judged by itself.

        Raises:
            OverBudgetError, RetryableError: the cases were not judged and can be later.
        """
        cases = [each.case for each in request.requests]
        deliberating = deliberate_together(cases, request.record, self.how.panel, self.how.look, request.full)
        try:
            said = await run_prompts(deliberating, self.client, bypass_cache=bypass_cache)
        except (PromptTooLongError, UnreadableTogetherError):
            return tuple([(one, await self.judge(one, stored, bypass_cache=bypass_cache)) for one in request.requests])
        shown = [request.shown(each) for each in request.requests]
        verified = await self.verifier.of_runs(shown[0].case, said, stored, bypass_cache=bypass_cache)
        return tuple(zip(shown, verified, strict=True))

    def checks(self, request: JudgeRequest, said: Deliberation) -> bool:
        """Whether the judges, whose answer is `said`, are asked about the detectors' errors: at the end of a run."""
        return self.how.hints and request.case.stage is Stage.CLOSING and bool(said.answered)

    async def check(
        self,
        judged: Iterable[tuple[JudgeRequest, Deliberation]],
        detected: Sequence[Finding],
        *,
        bypass_cache: bool = False,
    ) -> CandidatesReview:
        """What the judges say of the errors of `detected`, the detectors' findings that hold in the trace.

        `judged`: closing passes of one trace with their answers; about those of one record one question is asked. What
        the model or a budget refuses leaves errors without an opinion; the answers stand.
        """
        records: dict[int, list[tuple[JudgeRequest, Deliberation]]] = {}
        for request, said in judged:
            if self.checks(request, said):
                records.setdefault(id(request.case.transcript), []).append((request, said))
        found = CandidatesReview()
        for together in records.values():
            request, said = together[0]
            own = [finding for _, one in together for finding in one.findings]
            runs = [each.case.run for each, _ in together]
            errors = detected_errors(request.case.trace, runs, detected, own)
            asking = review_candidates(request.case, said, errors)
            found += await run_prompts(asking, self.client, bypass_cache=bypass_cache)
        return found
