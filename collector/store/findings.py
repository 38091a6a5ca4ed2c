"""Stored findings as people read them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tracejury.judges.titles import titled
from tracejury.schemas.findings import Finding
from tracejury.schemas.judged_rows import finding_from_row


def read_finding(row: Sequence[Any]) -> Finding:
    """The finding of a row of `FINDING_SELECT`, with its rule's title also where it was stored without one."""
    return titled(finding_from_row(row))
