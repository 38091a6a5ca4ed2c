"""The query of calibrations by service, as a protocol."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from tracejury.schemas.rule_calibrations import RuleCalibration


class Calibrations(Protocol):
    """What labels have made of the confidences of detectors on the services of one tenant."""

    def of(self, service: str) -> Mapping[str, RuleCalibration]:
        """The newest calibration of each rule of a service, by rule; also of those without labels by now."""

    def history(self, service: str, rule: str) -> Sequence[RuleCalibration]:
        """The versions that moved a rule on a service, in order. It may block."""
