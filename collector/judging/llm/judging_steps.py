"""The steps by which a run's request is judged: the same for traces as they come and in evaluations."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ....judges.llm.case import Deliberation, Stage
from ....judges.llm.client import Client
from ....judges.reviews.candidates import CandidatesReview, review_candidates
from ....judges.reviews.reported_errors import reported_errors
from ....schemas.findings import Finding
from .judge_request import JudgeRequest, PromptBudget
from .judge_with_fallback import judge_with_fallback
from .run_prompts import run_prompts
from .verification import Verifier


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
        said = await judge_with_fallback(request, self.how, self.client, bypass_cache=bypass_cache)
        return await self.verifier.of_run(request.case, said, stored, bypass_cache=bypass_cache)

    def checks(self, request: JudgeRequest, said: Deliberation) -> bool:
        """Whether the judges, whose answer is `said`, are asked about the detectors' errors: at the end of a run."""
        return self.how.hints and request.case.stage is Stage.CLOSING and bool(said.answered)

    async def check(
        self, request: JudgeRequest, said: Deliberation, detected: Iterable[Finding], *, bypass_cache: bool = False
    ) -> CandidatesReview:
        """What they say of the errors of `detected`, the detectors' findings that hold in the trace.

        What the model or a budget refuses leaves errors without an opinion; the answer stands.
        """
        errors = reported_errors(request.case.trace, request.case.run, detected, said.findings)
        return await run_prompts(review_candidates(request.case, said, errors), self.client, bypass_cache=bypass_cache)
