"""Background calibration of rules by labels and judges' opinions, by service; traces that it moves are judged again.

So are traces with findings of rules that the configuration has switched off or lowered since.

A trace is judged again by the judging thread as any trace is, so what is stored then is what judging from scratch would
store, and rates and errors are folded from it. What an earlier process left is found by the times in the store.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any, Final

from tracejury.collector.queries.reader import Labels
from tracejury.collector.store.client import Store
from tracejury.collector.store.derived.loading import Loading
from tracejury.collector.store.detector_opinions import opinions_state, rule_opinions
from tracejury.collector.store.errors import StoredErrors
from tracejury.collector.store.rule_calibrations import OTHERS_READ, RuleCalibrations, ServiceKey
from tracejury.collector.store.rule_settings import beyond
from tracejury.judges.measures.error_labels import labels_on
from tracejury.judges.rule_settings import RuleSettings
from tracejury.judges.service_records import LocalConfidence, Prior, RuleOpinion, ServiceRecord, heard, moved, tally
from tracejury.judges.suite import NO_SETTINGS
from tracejury.processors.assemble import TraceKey
from tracejury.schemas.annotations import Opinion
from tracejury.schemas.opinions import opinions_on
from tracejury.schemas.rule_calibrations import RuleCalibration

SECOND: Final = 1_000_000_000
CALIBRATE_EVERY: Final = 180 * SECOND
"""The least time between two versions."""
COUNT_EVERY: Final = 3600 * SECOND
"""How often all is counted although nothing new was said: what was said of traces that are gone counts no more."""
AT_ONCE: Final = 500
"""Traces that are read, or judged again, together."""

_STATE: Final = "SELECT count(), max(ChangedAt) FROM annotations"
_LABELLED: Final = f"""
SELECT tenant, ServiceName, TraceId FROM traces FINAL
WHERE (tenant, TraceId) IN (SELECT tenant, TraceId FROM annotations WHERE Opinion != '{Opinion.MISSED}')
ORDER BY tenant, ServiceName, TraceId
"""

_RIGHT: Final = {Opinion.AGREE: True, Opinion.DISAGREE: False}
"""An error at another span is none of both: the rule has seen one, and has not found it."""

Source = Callable[[TraceKey, int], list[TraceKey]]
"""Up to so many traces beyond a key, in order."""

Ask = Callable[[Sequence[TraceKey]], Future[Any]]


class RuleCalibrating:
    """Moves the confidences of rules by what is said of their findings.

    `labels`: those of one tenant; `priors`: of the built-in rules, by name; `ask`: have traces judged again; `clock`:
    unix nanos; `settings`: of detectors, in force since this process began: what they forbid is judged again, too.
    """

    def __init__(
        self,
        store: Store,
        labels: Callable[[str], Labels],
        calibrations: RuleCalibrations,
        priors: Mapping[str, Prior],
        ask: Ask,
        clock: Callable[[], int] = time.time_ns,
        settings: RuleSettings = NO_SETTINGS,
    ) -> None:
        self._store, self._labels, self._calibrations = store, labels, calibrations
        self._priors, self._ask, self._clock = priors, ask, clock
        self._next, self._next_count = 0, 0
        self._look_again = 0 if store.embedded else clock() + OTHERS_READ
        self._counted: Sequence[Any] = ()
        began = clock()
        self._sources: list[Source] = [calibrations.outdated]
        self._sources += [partial(beyond, store, setting, began) for setting in settings.settings]
        self._pages = self._outdated()
        self._asked: Future[Any] | None = None

    def step(self) -> None:
        """Calibrate where it is due, and go on judging again, without waiting. Raises RetryableError, StoreError."""
        now = self._clock()
        if now >= self._next:
            self._next = now + CALIBRATE_EVERY
            self._calibrate_if_changed(now)
        if self._look_again and now >= self._look_again:
            self._look_again, self._pages = 0, self._outdated()
        self._judge_again()

    def calibrate(self) -> None:
        """Count all labels and opinions of judges, and store a new version for each service that they move.

        Raises:
            RetryableError, StoreError: the store failed.
        """
        labelled = {key: tally(heard(opinions)) for key, opinions in self._opinions().items()}
        for tenant, service in sorted({*labelled, *self._calibrations.services}):
            stood = {
                rule: LocalConfidence(ServiceRecord(one.right, one.wrong, one.confirmed, one.refuted), one.confidence)
                for rule, one in self._calibrations.of(tenant, service).items()
            }
            found = moved(self._priors, labelled.get((tenant, service), {}), stood)
            if found:
                version = self._calibrations.version(tenant, service) + 1
                self._calibrations.save(
                    [
                        RuleCalibration(
                            tenant=tenant,
                            service=service,
                            version=version,
                            rule=rule,
                            right=one.record.right,
                            wrong=one.record.wrong,
                            confidence=one.confidence,
                            at=0,
                            confirmed=one.record.confirmed,
                            refuted=one.record.refuted,
                        )
                        for rule, one in found.items()
                    ]
                )
                self._pages = self._outdated()
                if not self._store.embedded:  # others judge by the version before until they have read this one
                    self._look_again = self._clock() + OTHERS_READ

    def _calibrate_if_changed(self, now: int) -> None:
        state = (self._store.rows(_STATE)[0], opinions_state(self._store))
        if state == self._counted and now < self._next_count:
            return
        self.calibrate()
        self._counted, self._next_count = state, now + COUNT_EVERY

    def _judge_again(self) -> None:
        """Ask for the next page of outdated traces once the one before is done."""
        if self._asked is not None and not self._asked.done():
            return
        try:
            page = next(self._pages, None)
        except BaseException:  # a generator that raised is at its end
            self._pages = self._outdated()
            raise
        self._asked = self._ask(page) if page else None

    def _outdated(self) -> Iterator[list[TraceKey]]:
        """Traces to judge again, each once from every source."""
        for source in self._sources:
            page = source(("", ""), AT_ONCE)
            while page:
                yield page
                page = source(page[-1], AT_ONCE) if len(page) == AT_ONCE else []

    def _opinions(self) -> Mapping[ServiceKey, Sequence[RuleOpinion]]:
        """What people, and judges, say of the findings that hold, by service."""
        found: defaultdict[ServiceKey, list[RuleOpinion]] = defaultdict(list)
        of_service: defaultdict[ServiceKey, list[str]] = defaultdict(list)
        for tenant, service, trace_id in self._store.rows(_LABELLED):
            of_service[tenant, service].append(trace_id)
        for (tenant, service), trace_ids in of_service.items():
            for first in range(0, len(trace_ids), AT_ONCE):
                found[tenant, service] += self._of_traces(tenant, trace_ids[first : first + AT_ONCE])
        for key, opinion in rule_opinions(self._store):
            if opinion.rule in self._priors:
                found[key].append(opinion)
        return found

    def _of_traces(self, tenant: str, trace_ids: Sequence[str]) -> Iterator[RuleOpinion]:
        """Labels as they are read elsewhere: a finding at the primary span of its error has those of the error, too.

        Labels of its own go before these. What is said of several findings of a rule in one error is of that error.
        """
        loading = Loading(self._store, tenant)
        traces = loading.traces(loading.heads(trace_ids))
        labelled = self._labels(tenant).of_traces([part for trace in traces for part in trace.parts])
        annotations = [a for one in labelled.values() for a in one.annotations]
        under = StoredErrors(self._store, tenant).under([trace.trace_id for trace in traces])
        errors = [error for own in under.values() for error in own]
        covering = labels_on(errors, annotations)
        error_of = {finding_id: error.id for error in errors for finding_id in error.findings}
        of_error = {(i, error.span_id): covering.get(error.id, ()) for error in errors for i in error.findings}
        held = (f.finding for trace in traces for f in trace.findings if not f.llm)
        findings = [finding for finding in held if finding.judge in self._priors]
        own = opinions_on(findings, annotations)
        for finding in findings:
            for a in own.get(finding.id) or of_error.get((finding.id, finding.span_id), ()):
                if a.opinion in _RIGHT:
                    yield RuleOpinion(finding.judge, error_of.get(finding.id, finding.id), _RIGHT[a.opinion])
