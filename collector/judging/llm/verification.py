"""Findings of judges put to a verifier before they are stored: who is asked about what, and how long it is waited for.

Nothing is lost for want of an answer: a finding that the verifier did not decide on in time is stored as unverified.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from tracejury.collector.judging.model.build import Model, open_model
from tracejury.collector.judging.model.config import LlmConfig
from tracejury.judges.llm.case import Case, Deliberation
from tracejury.judges.llm.client import Client
from tracejury.judges.llm.conversation import together
from tracejury.judges.llm.picture import Picture
from tracejury.judges.reviews.review import ReviewAnswers, ask_review
from tracejury.judges.reviews.verify import SCALE, VerifyCall, verify_calls
from tracejury.judges.verification import kept, verified
from tracejury.schemas.errors import TracejuryError
from tracejury.schemas.findings import Finding, Verification
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.transcript import Transcript

from .run_prompts import run_prompts

log = logging.getLogger(__name__)

Verify = Literal["off", "high", "all"]

PATIENCE: Final = 30.0
"""Seconds for which findings wait for the verifier; then they show as unverified."""

MOST_LATE: Final = 8
"""Calls that may go on after that time; beyond them nothing is asked until one ends."""

GONE: Final = "the step that it stands at is not in the record any more"
SETTLED: Final = frozenset({Verification.VERIFIED, Verification.REFUTED})


@dataclass(frozen=True, slots=True)
class Evidence:
    """The record in which findings are looked at. `record`: makes it, with every text in full; takes a while.

    `header`, `pictures`: what stands before its steps, and the pictures, as the judges were shown them.
    """

    record: Callable[[], Transcript]
    header: str
    service: str
    run_id: str
    pictures: tuple[Picture, ...] = ()

    @classmethod
    def of(cls, case: Case) -> Evidence:
        """That of a run's case."""
        record, header = case.uncut or (lambda: case.transcript), case.transcript.header
        return cls(record, header, case.trace.service, case.run.id, case.pictures)


class Verifier:
    """Asks `client` about findings. In one event loop; `aclose` it at the end.

    `patience`: seconds that findings wait, None for as long as it takes. A call that takes longer goes on, as it is
    paid for: its answer is kept for the next time. `sees`: whether its model takes pictures.
    """

    def __init__(
        self,
        client: Client,
        verify: Verify = "high",
        *,
        max_tokens: int = 4096,
        patience: float | None = PATIENCE,
        sees: bool = False,
    ) -> None:
        self.sees = sees
        self._client, self._verify, self._max_tokens, self._patience = client, verify, max_tokens, patience
        self._late: set[asyncio.Task[ReviewAnswers]] = set()
        self._preparing = asyncio.Lock()  # threads that compute slow down the receivers: one at a time

    @property
    def of_packs(self) -> bool:
        """Whether findings of packs are verified, too."""
        return self._verify == "all"

    async def aclose(self) -> None:
        """Give up the calls that are late."""
        for task in self._late:
            task.cancel()
        await asyncio.gather(*self._late, return_exceptions=True)

    async def of_run(
        self, case: Case, said: Deliberation, stored: Iterable[Finding] = (), *, bypass_cache: bool = False
    ) -> Deliberation:
        """What the judges said of a run, its findings verified. `stored`: findings of earlier times."""
        (verified,) = await self.of_runs(case, [said], stored, bypass_cache=bypass_cache)
        return verified

    async def of_runs(
        self, case: Case, said: Sequence[Deliberation], stored: Iterable[Finding] = (), *, bypass_cache: bool = False
    ) -> list[Deliberation]:
        """The same of several runs in one record, that of any of their cases: their findings share calls."""
        found = [finding for one in said for finding in one.findings]
        verified = await self.verify(found, Evidence.of(case), stored, bypass_cache=bypass_cache)
        by_id = {finding.id: finding for finding in verified}
        return [replace(one, findings=tuple(by_id[f.id] for f in one.findings)) for one in said]

    async def verify(
        self,
        findings: Sequence[Finding],
        evidence: Evidence,
        stored: Iterable[Finding] = (),
        *,
        bypass_cache: bool = False,
    ) -> tuple[Finding, ...]:
        """The findings with what the verifier says of them, as far as it is to be asked.

        It is not asked again about what was settled in the run's windows, nor, unless `bypass_cache`, about what this
        model settled when the finding was `stored`. Where it gives no answer, what was settled before holds on.
        """
        before = {finding.id: finding for finding in stored}
        asked = [f for f in findings if self._asks(f, None if bypass_cache else before.get(f.id))]
        said = await self._said(asked, evidence, bypass_cache=bypass_cache) if asked else {}
        return tuple(_settled(finding, said.get(finding.id), before.get(finding.id)) for finding in findings)

    def _asks(self, finding: Finding, stored: Finding | None) -> bool:
        wanted = self._verify == "all" or (
            self._verify == "high" and finding.severity is Severity.HIGH and not finding.of_pack
        )
        known = stored is not None and stored.verification in SETTLED and stored.verified_by == self._client.model
        return wanted and not known and finding.verification not in SETTLED

    async def _said(
        self, asked: Sequence[Finding], evidence: Evidence, *, bypass_cache: bool
    ) -> Mapping[str, tuple[Verification, str, str]]:
        """By the id of a finding, what is said of it, by which model and why."""
        said = {finding.id: (Verification.UNVERIFIED, self._client.model, GONE) for finding in asked}
        try:
            async with self._preparing:
                calls = await asyncio.to_thread(self._calls, asked, evidence)
            outcomes = await self._in_time(calls, bypass_cache=bypass_cache)
        except Exception:  # a fault in looking twice must not cost what was found
            log.exception("findings of run %s cannot be verified", evidence.run_id)
            return {i: (Verification.UNVERIFIED, model, "an unexpected error") for i, (_, model, _) in said.items()}
        for call, answers in zip(calls, outcomes, strict=True):
            for position, finding in enumerate(call.findings):
                said[finding.id] = self._of(answers, position)
        return said

    def _calls(self, asked: Sequence[Finding], evidence: Evidence) -> list[VerifyCall]:
        return verify_calls(
            asked,
            evidence.record(),
            evidence.header,
            service=evidence.service,
            max_tokens=self._max_tokens,
            run_id=evidence.run_id,
            pictures=evidence.pictures,
        )

    async def _in_time(self, calls: Sequence[VerifyCall], *, bypass_cache: bool) -> list[ReviewAnswers]:
        """The answers to all calls, which are sent at once; those that do not come in time are empty."""
        if len(self._late) >= MOST_LATE:
            return [ReviewAnswers(failure="earlier claims still wait for an answer") for _ in calls]
        tasks = [asyncio.create_task(self._answers(call, bypass_cache=bypass_cache)) for call in calls]
        try:
            if tasks:
                await asyncio.wait(tasks, timeout=self._patience)
        except asyncio.CancelledError:
            for task in tasks:
                task.cancel()
            raise
        for task in tasks:
            if not task.done():
                self._late.add(task)
                task.add_done_callback(self._late.discard)
        late = ReviewAnswers(failure=f"no answer within {self._patience or 0:g} s")
        return [task.result() if task.done() else late for task in tasks]

    async def _answers(self, call: VerifyCall, *, bypass_cache: bool) -> ReviewAnswers:
        asking = together([ask_review(call.prompt, call.question)])
        try:
            (answers,) = await run_prompts(asking, self._client, bypass_cache=bypass_cache)
        except TracejuryError as error:
            return ReviewAnswers(failure=" ".join(str(error).split()))
        return answers

    def _of(self, answers: ReviewAnswers, position: int) -> tuple[Verification, str, str]:
        model = answers.model or self._client.model
        if (said := answers.said.get(position)) is not None:
            return SCALE[said.answer], model, said.reason
        return Verification.UNVERIFIED, model, f"the verifier gave no answer: {answers.failure}"


def _settled(finding: Finding, said: tuple[Verification, str, str] | None, stored: Finding | None) -> Finding:
    if said is None:
        return kept(finding, stored)
    verification, by, reason = said
    if verification is Verification.UNVERIFIED and stored is not None and stored.verification in SETTLED:
        return kept(replace(finding, verification=Verification.NONE), stored)
    return verified(finding, verification, by, reason)


@asynccontextmanager
async def open_verifier(config: LlmConfig, judges: Model, **shared: Any) -> AsyncIterator[Verifier]:
    """The verifier with its model, the judges' own or another; closed at the end. `shared`: as `open_model` takes it.

    Raises:
        ConfigError: what the user must mend about its model.
    """
    own = config.of_verifier
    async with (
        open_model(own, **shared) if own else nullcontext(judges) as model,
        aclosing(
            Verifier(model.client, config.verify, max_tokens=config.max_answer_tokens, sees=model.llm.sees)
        ) as verifier,
    ):
        yield verifier
