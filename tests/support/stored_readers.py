"""The reader over a store, with labels and rates."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from measured_sessions import TASK_KEYS

from tracejury.collector.labels.stored_labels import StoredLabels
from tracejury.collector.queries.measures import StoredMeasures
from tracejury.collector.queries.stored_reader import StoredReader
from tracejury.collector.rates import StoredRates
from tracejury.collector.rates.label_calibration import LabelCalibration
from tracejury.collector.rates.pattern_calibration import PatternCalibration
from tracejury.collector.store.rule_calibrations import RuleCalibrations, TenantCalibrations
from tracejury.collector.store.shared_store import SharedStore
from tracejury.judges.packs.grades import grades_pack
from tracejury.processors.assemble import AssemblerConfig
from tracejury.schemas.queries.measures import MeasuredPack


def parts_of_a_reader(
    store: SharedStore, clock: Callable[[], int], packs: Callable[[], Sequence[MeasuredPack]], tenant: str = ""
) -> tuple[StoredLabels, StoredRates, TenantCalibrations, StoredMeasures, PatternCalibration]:
    """Labels, rates, calibrations, measures and calibrations of patterns of a tenant."""
    labels = StoredLabels(store, tenant)
    calibrate = LabelCalibration(store, labels)
    rates = StoredRates(store, calibrate=calibrate, tenant=tenant)
    calibrations = RuleCalibrations(store, clock)
    calibrations.load()
    own = TenantCalibrations(store, calibrations, tenant)
    measures = StoredMeasures(store, packs, TASK_KEYS, tenant)
    return labels, rates, own, measures, PatternCalibration(calibrate, tenant)


def stored_reader(
    store: SharedStore,
    config: AssemblerConfig,
    clock: Callable[[], int] = time.time_ns,
    packs: Callable[[], Sequence[MeasuredPack]] = lambda: (grades_pack(),),
    tenant: str = "",
) -> StoredReader:
    """All that API and pages read; `clock` gives unix nanos."""
    return StoredReader(store, config, *parts_of_a_reader(store, clock, packs, tenant), clock, tenant)
