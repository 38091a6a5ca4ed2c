"""One run before the judges: read, put to them, and what must be stored of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Protocol

from ....judges.llm.case import Deliberation, Stage
from ....judges.llm.client import Client
from ....processors.assemble import TraceKey
from ....schemas.findings import Finding, FindingState
from ....schemas.trajectory import AgentRun, Trace
from ....schemas.verdicts import JudgedSubject, Outcome
from .bypass_cache import CacheBypassingClient
from .judge_queue import JudgeQueue, JudgeTask
from .judge_request import JudgeRequest, PromptBudget, hearings
from .judge_with_fallback import put
from .outcome import StoredJudgements, Versions, closing, unjudged, window
from .watch import LlmJudgingObserver


class CaseStore(Protocol):
    """What a sitting reads; all of it blocks."""

    def load(self, key: TraceKey) -> tuple[Trace, tuple[Finding, ...]] | None:
        """The trace as it is stored and the detectors' findings in it, None where there is none (any more)."""

    def stored(self, trace: Trace, run_id: str) -> StoredJudgements:
        """What LLM judges have said of the trace; `windows` of that run, and what a later version left pending."""


class Descriptions(Protocol):
    """Architecture descriptions of services; they block."""

    def of(self, trace: Trace, run: AgentRun) -> str:
        """The description shown with a run: the same as long as the run goes on; "" for none."""


class RunJudge:
    """The judges at work on one entry after another; safe to use for several at once."""

    def __init__(
        self,
        client: Client,
        how: PromptBudget,
        store: CaseStore,
        descriptions: Descriptions,
        versions: Versions,
        watch: LlmJudgingObserver,
        clock: Callable[[], int],
    ) -> None:
        self._client, self._how, self._store, self._descriptions = client, how, store, descriptions
        self._versions, self._watch, self._clock = versions, watch, clock
        self._reading = asyncio.Lock()
        self._last: tuple[tuple[TraceKey, int], tuple[Trace, tuple[Finding, ...]] | None] | None = None

    async def hear(self, entry: JudgeTask, docket: JudgeQueue) -> AsyncIterator[JudgedSubject]:
        """What is to be stored, subject by subject.

        Raises:
            OverBudgetError, RetryableError: it cannot be judged now.
        """
        entry = await self._read(entry)
        trace = entry.trace
        run = trace.run(entry.run_id) if trace is not None else None
        if trace is None or run is None:
            why = "its spans are gone" if trace is None else "it became part of another run"
            yield unjudged(entry, Outcome.SUPERSEDED, why, self._versions, entry.later(self._clock()))
            return
        stored = StoredJudgements()
        if not entry.fresh:
            stored = await asyncio.to_thread(self._store.stored, trace, entry.run_id)
        open_findings = [f for f in stored.findings if f.state is FindingState.PROVISIONAL and f.judge in entry.judges]
        description = await asyncio.to_thread(self._descriptions.of, trace, run)
        for hearing in hearings(entry, trace, run, self._how, open_findings, description):
            said = await self._put(hearing, CacheBypassingClient(self._client) if entry.anew else self._client)
            subject = self._outcome(entry, hearing, said, stored)
            if docket.replaced(entry):  # the ledger says so already, and later than this
                return
            yield subject

    async def _read(self, entry: JudgeTask) -> JudgeTask:
        if entry.trace is not None:
            return entry
        async with self._reading:
            # A trace with many runs comes here once for each of them, one after another.
            asked = (entry.key, entry.received_through)
            if self._last is None or self._last[0] != asked:
                self._last = (asked, await asyncio.to_thread(self._store.load, entry.key))
            found = self._last[1]
        return replace(entry, trace=found[0], findings=found[1]) if found else entry

    async def _put(self, hearing: JudgeRequest, client: Client) -> Deliberation:
        began = time.perf_counter()
        said = await put(hearing, self._how, client)
        self._watch.heard(hearing.case.stage, said, time.perf_counter() - began)
        return said

    def _outcome(
        self, entry: JudgeTask, hearing: JudgeRequest, said: Deliberation, stored: StoredJudgements
    ) -> JudgedSubject:
        now = entry.later(self._clock())
        if hearing.case.stage is Stage.CLOSING:
            return closing(entry, hearing.case, said, stored, self._versions, now)
        return window(entry, hearing.case, hearing.turns, said, stored.findings, self._versions, now)
