"""Readers of the store, a project each."""

from __future__ import annotations

from functools import cache, partial

from tracejury.collector.labels.stored_labels import StoredLabels
from tracejury.collector.queries.measured_packs import installed_packs
from tracejury.collector.queries.measures import StoredMeasures
from tracejury.collector.queries.stored_reader import StoredReader
from tracejury.collector.rates import StoredRates
from tracejury.collector.rates.label_calibration import LabelCalibration
from tracejury.collector.rates.pattern_calibration import PatternCalibration
from tracejury.collector.store.rule_calibrations import RuleCalibrations, TenantCalibrations
from tracejury.judges.packs.cards.task_cards import load_cards

from .context import ProcessContext


class Readers:
    """Makes them. `calibrations`: those that judging uses."""

    def __init__(self, context: ProcessContext, calibrations: RuleCalibrations) -> None:
        self.calibrations = calibrations
        self._context = context
        self._cards = cache(partial(load_cards, context.config.judges.tasks))

    def of(self, tenant: str) -> StoredReader:
        """A reader of one tenant's data, with caches of its own."""
        store, clock, config = self._context.store, self._context.clock, self._context.config
        labels = StoredLabels(store, tenant)
        calibrate = LabelCalibration(store, labels)
        return StoredReader(
            store,
            config.judging.assembler(),
            labels,
            StoredRates(store, calibrate=calibrate, tenant=tenant),
            TenantCalibrations(store, self.calibrations, tenant),
            StoredMeasures(store, installed_packs, config.judges.task_key, tenant, self._cards),
            PatternCalibration(calibrate, tenant),
            clock,
            tenant,
        )
