"""Judging and what follows from it: detectors, LLM judges, background services, deletion, retention."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from tracejury import __version__
from tracejury.collector.api.services import no_sessions
from tracejury.collector.judging.detect.inbox import Inbox
from tracejury.collector.judging.detect.metrics import JudgingMetrics
from tracejury.collector.judging.detect.takeover import Takeover, TraceShare
from tracejury.collector.judging.detect.worker import DetectWorker
from tracejury.collector.judging.prices import SpentBy
from tracejury.collector.judging.prices.table import PriceTable
from tracejury.collector.otlp.mark import is_ours
from tracejury.collector.store.configurations import DETECTORS, digest, note_configuration
from tracejury.collector.store.deletion import Deletion
from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.requests import StoredRequests
from tracejury.collector.store.retention_sweep import RetentionSweep
from tracejury.collector.store.rule_calibrations import RuleCalibrations
from tracejury.collector.store.scores import placing_worker
from tracejury.collector.store.usual_runs import StoredUsualRuns
from tracejury.collector.worker.spill_files import SpillFiles
from tracejury.judges.registry import default_suite
from tracejury.judges.runaways import UsualRuns
from tracejury.processors.assemble import SECOND
from tracejury.schemas.errors import RetryableError, StoreError
from tracejury.schemas.queries.deletion import DeleteQuery
from tracejury.schemas.queries.ledger import JudgesStatus
from tracejury.schemas.receipts import DeletionReceipt
from tracejury.schemas.verdicts import Judgement

from .background import BackgroundServices
from .carried_requests import CarriedRequests
from .context import ProcessContext, on_a_thread
from .readers import Readers
from .watch import watch_judging

if TYPE_CHECKING:
    from tracejury.collector.judging.llm.build import LlmJudging
    from tracejury.collector.judging.llm.packs.session_closing import SessionClosing
    from tracejury.collector.judging.model.cassette import Cassette
    from tracejury.processors.redact.spans import Redactor

log = logging.getLogger(__name__)

JUDGE_AGAIN_SECONDS = 600.0
LAG_SECONDS = 0.2
"""How late detectors may be before passing on steps back."""


class Working:
    """Made in the running event loop; raises ConfigError as `BackgroundServices`. `inbox` takes committed requests.

    `llm`: the LLM judges, if any are configured; `pressed`: whether clients wait for the store just now; `redactor`: of
    this process, as a user who is deleted may be stored under a hashed name.
    """

    def __init__(
        self,
        context: ProcessContext,
        calibrations: RuleCalibrations,
        redactor: Redactor | None,
        llm: LlmJudging | None,
        pressed: Callable[[], bool],
    ) -> None:
        self._context, self.llm = context, llm
        # So that several do not take up the same at once.
        nanos = round(context.config.judging.takeover_seconds * SECOND * random.uniform(1.0, 1.5))  # noqa: S311  jitter
        self._takeover_nanos = None if context.store.embedded else nanos
        self.inbox = Inbox(context.config.judging.max_inbox_bytes, self._spill_files())
        self.detecting = self._build_detecting(calibrations, pressed)
        judging, share = context.config.judging, TraceShare(**context.config.judging.share.model_dump())
        self.takeover = Takeover(judging.assembler(), self._takeover_nanos or 0, share, self.detecting.is_open)
        """Chooses the traces to judge whose rows others stored."""
        watch_judging(context.telemetry, self.inbox, self.detecting)

        def busy() -> bool:
            return pressed() or self.detecting.lag > LAG_SECONDS

        self._background = BackgroundServices(context, Readers(context, calibrations), busy, self.judges)
        self._stored_names = _stored_names(context, redactor)

    def start_judging(self) -> None:
        """Judge what is received, and what nobody has judged."""
        stops = self._context.stops
        if self.llm is not None:
            stops.append(on_a_thread(self.llm.worker.stop))
        self._note_configuration()
        self.detecting.start()
        stops.append(on_a_thread(self.detecting.stop))

    def _note_configuration(self) -> None:
        """Say so where another process judges on the same server by other settings, or another version."""
        config = self._context.config
        parts = {DETECTORS: self.detecting.version, "version": __version__} | {
            name: digest(getattr(config, name).model_dump(mode="json")) for name in ("judges", "redaction")
        }
        try:
            if warning := note_configuration(self._context.store, parts, self._context.clock()):
                log.warning(warning)
        except (RetryableError, StoreError) as error:
            log.warning("how other processes judge cannot be read: %s", error)

    def start_background(self) -> None:
        """Begin to keep texts, rates and gauges."""
        self._background.start(self.judges, self.detecting.ask, lambda: self._context.keyring.projects)
        placing = placing_worker(self._context.store, self._context.clock)
        placing.start()
        self._context.stops.append(on_a_thread(placing.stop))

    async def start_sending(self, url: str) -> None:
        """Start webhooks, forwarding, the retention sweep and what others ask for. `url`: of API and pages."""
        context = self._context
        await self._background.start_sending(url)
        retention = RetentionSweep(context.store, self.deletion_of, context.dead_letters, context.clock).worker
        retention.start()
        context.stops.append(on_a_thread(retention.stop))
        if not context.store.embedded:
            requests = StoredRequests(context.store)
            carried = CarriedRequests(requests, self.judge_again, self.delete, self.close_session, context.clock)
            carried.start()
            context.stops.append(on_a_thread(carried.stop))

    def start_asking(self) -> None:
        """Have LLM judges ask their model; last: what it imports takes seconds, and nobody waits for it."""
        if self.llm is not None:
            self.llm.worker.start()

    @property
    def idle(self) -> bool:
        """Whether everything committed is judged and every trace closed, as far as this moment tells."""
        return self.detecting.idle and (self.llm is None or self.llm.worker.idle)

    @property
    def sessions(self) -> SessionClosing | None:
        """The sessions that packs judge and that are open yet; None without packs."""
        return self.llm.packs.closing if self.llm and self.llm.packs else None

    def judges(self, project: str = "") -> JudgesStatus:
        """The present state of LLM judges, for a project: no word of another one's caps."""
        return self.llm.status(project) if self.llm is not None else JudgesStatus()

    def judge_again(self, trace_ids: Sequence[str], by_hand: bool = False, tenant: str = "") -> Sequence[Judgement]:  # noqa: FBT001, FBT002  JudgeAgain
        """Judge stored traces of a project again; blocks until the detectors are done, so call it on a thread.

        Of these traces LLM judges catch up with what they left; `by_hand` has all of their runs judged, sample or not.

        Raises:
            RetryableError: it takes too long, or the collector is stopping.
        """
        if self.llm is not None:
            self.llm.request([(tenant, i) for i in trace_ids], by_hand=by_hand)
        try:
            return self.detecting.ask([(tenant, i) for i in trace_ids]).result(JUDGE_AGAIN_SECONDS)
        except TimeoutError:
            raise RetryableError("judging takes longer than expected; it goes on") from None

    def close_session(self, service: str, session_id: str, tenant: str = "") -> bool:
        """Have a session closed and judged at once; whether there are judges of sessions."""
        close = self.llm.close_session if self.llm else no_sessions
        return close(service, session_id, tenant)

    def delete(self, query: DeleteQuery, tenant: str = "") -> DeletionReceipt:
        """Delete a project's traces. Raises as `Deletion.delete`."""
        return self.deletion_of(tenant).delete(query)

    def deletion_of(self, tenant: str) -> Deletion:
        """The deletion of a project's traces."""
        context = self._context
        return Deletion(
            context.store,
            self.detecting,
            (self._background.stop_sending, *([self.llm.drop] if self.llm else [])),
            context.clock,
            context.health.record,
            self.close_session,
            tenant,
            dead_letters=context.dead_letters,
            stored_names=self._stored_names,
        )

    def _spill_files(self) -> SpillFiles:
        config = self._context.config
        return SpillFiles(
            self._context.store.data_folder,
            min_free_bytes=config.writer.min_free_bytes,
            most_bytes=config.judging.max_file_bytes,
        )

    def _build_detecting(self, calibrations: RuleCalibrations, pressed: Callable[[], bool]) -> DetectWorker:
        context, config = self._context, self._context.config
        spent = SpentBy(PriceTable({name: stated.price() for name, stated in config.prices.items()}))
        runaway = config.detectors.runaway
        base = UsualRuns(fixed=runaway.bounds(), price=spent.price_of_span)
        return DetectWorker(
            StoredJudging(context.store),
            default_suite(config.detectors.settings(), calibrations.confidences),
            config.judging.assembler(),
            self.inbox,
            JudgingMetrics(context.telemetry),
            selectors=self.llm.selectors if self.llm else (),
            ours=partial(is_ours, secret=context.secret),
            pressed=pressed,
            spent=spent,
            usual=StoredUsualRuns(context.store, base, runaway.factor, runaway.least_runs),
            listeners=context.listeners,
            clock=context.clock,
            files=self._spill_files(),
            takeover=self._takeover_nanos,
        )


def build_llm(context: ProcessContext, cassette: Cassette | None) -> LlmJudging:
    """The LLM judges; blocks. Raises as `build_llm_judging`."""
    from tracejury.collector.judging.llm.build import build_llm_judging

    judges, assembler = context.config.judges, context.config.judging.assembler()
    ours = partial(is_ours, secret=context.secret)
    return build_llm_judging(
        context.store, judges, assembler, context.telemetry, ours, context.clock, context.listeners, cassette
    )


def _stored_names(context: ProcessContext, redactor: Redactor | None) -> Callable[[str], Sequence[str]]:
    if redactor is None:
        return lambda user: (user,)
    from tracejury.processors.redact.stored_names import stored_names

    return partial(stored_names, redactor, context.config.store.user_attributes)
