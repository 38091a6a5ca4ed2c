"""The registry of detectors: the built-in ones and those of installed packages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Final

from .base import Detector
from .detectors import BUILT_IN
from .records import Local, RecordedConfidence, general_only
from .rule_settings import RuleSettings
from .service_records import Prior, prior_of
from .suite import NO_SETTINGS, Suite

GROUP: Final = "tracejury.detectors"
"""Entry point group: each entry is a detector, or a class or function that makes one without arguments."""


def default_suite(settings: RuleSettings = NO_SETTINGS, local: Local = general_only) -> Suite:
    """The built-in detectors and those of installed packages; `settings` and `local` as of `suite_of`."""
    return suite_of(entry_points(group=GROUP), settings, local)


def suite_of(offered: Iterable[EntryPoint], settings: RuleSettings = NO_SETTINGS, local: Local = general_only) -> Suite:
    """The built-in detectors and `offered` ones; one that cannot be loaded is reported, not fatal.

    `settings`: what is switched off or lowered; `local`: see `RecordedConfidence`.
    """
    detectors: dict[str, Detector] = {d.name: d for d in BUILT_IN}
    unloaded: list[tuple[str, str]] = []
    for entry in sorted(offered, key=lambda e: (e.name, e.value)):
        try:
            detector = _load(entry)
        except Exception as error:  # noqa: BLE001 - a broken package must not stop the collector
            unloaded.append((entry.name, f"{type(error).__name__}: {error}"[:200].replace("\n", " ")))
            continue
        if detector.name in detectors:
            unloaded.append((entry.name, f"a detector named {detector.name!r} is there already"))
        else:
            detectors[detector.name] = detector
    recorded = RecordedConfidence({d.name: _declared(d) for d in BUILT_IN}, local)
    return Suite(detectors.values(), recorded, unloaded, settings)


@cache
def priors() -> Mapping[str, Prior]:
    """What is expected of each built-in detector on a service that has no labels, by name."""
    return {d.name: prior_of(d.name, _declared(d)) for d in BUILT_IN}


def _declared(detector: Detector) -> float:
    return float(getattr(detector, "confidence", 1.0))


def _load(entry: EntryPoint) -> Detector:
    offered = entry.load()
    detector = offered if not isinstance(offered, type) and hasattr(offered, "detect") else offered()
    name, version = getattr(detector, "name", None), getattr(detector, "version", None)
    if not isinstance(name, str) or not name or not isinstance(version, int) or not callable(detector.detect):
        raise TypeError("a detector has a name (text), a version (whole number) and a method detect(trace, ctx)")
    return detector  # type: ignore[no-any-return]  # checked above as far as types can be at run time
