"""Calibrations of rules by service, and their ClickHouse rows (table `rule_calibrations`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from .columns import ColumnTable, plain_columns


@dataclass(frozen=True, slots=True)
class RuleCalibration:
    """The confidence of a rule on a service since a version of the service's calibration.

    `right`, `wrong`: labelled errors that it saw there; `confirmed`, `refuted`: those without a label on which LLM
    judges agree. None of all: the general confidence holds again. `at`: since when, unix nanos.
    """

    tenant: str
    service: str
    version: int
    rule: str
    right: int
    wrong: int
    confidence: float
    at: int
    confirmed: int = 0
    refuted: int = 0

    @property
    def holds(self) -> bool:
        """Whether there are labels or opinions of judges that it follows from."""
        return self.right + self.wrong + self.confirmed + self.refuted > 0


CALIBRATIONS: Final = ColumnTable(
    RuleCalibration,
    *plain_columns("tenant", "service", "version", "rule", "right", "wrong", "confidence", "at", "confirmed"),
    *plain_columns("refuted"),
)
