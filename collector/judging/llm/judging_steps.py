"""The steps by which a run's request is judged: the same for traces as they come and in evaluations."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ....judges.llm.case import Deliberation
from ....judges.llm.client import Client
from ....schemas.findings import Finding
from .judge_request import JudgeRequest, PromptBudget
from .judge_with_fallback import judge_with_fallback
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
