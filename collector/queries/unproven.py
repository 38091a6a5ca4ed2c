"""Built-in detectors that nobody has labelled on a service: what they find there is unproven."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

from tracejury.collector.store.rule_calibrations import TenantCalibrations
from tracejury.judges.registry import priors
from tracejury.schemas.queries.reader import LocatedError, LocatedFinding
from tracejury.schemas.rule_calibrations import RuleCalibration

Located = TypeVar("Located", LocatedError, LocatedFinding)


def is_unproven(rule: str, known: Mapping[str, RuleCalibration]) -> bool:
    """Whether it is a built-in detector without labels on the service. `known`: the service's calibrations by rule."""
    return rule in priors() and not (rule in known and known[rule].holds)


def marked(located: Iterable[Located], calibrations: TenantCalibrations) -> list[Located]:
    """The same, each saying whether its rule, of an error its lead's, is unproven on its service."""
    return [replace(one, unproven=is_unproven(one.judge, calibrations.of(one.service))) for one in located]
