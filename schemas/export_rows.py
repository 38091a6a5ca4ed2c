"""What was passed on to a backend, and its ClickHouse rows (table `exports`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from .judged_rows import Row

EXPORT_COLUMNS: Final = (
    "tenant", "Backend", "TraceId", "Seen", "Outcome", "Items.Id", "Items.Digest", "At", "ReceivedAt",
)  # fmt: skip


class Passed(StrEnum):
    """What became of a trace at a backend."""

    SENT = "sent"
    SAMPLED_OUT = "sampled-out"
    GIVEN_UP = "given-up"


@dataclass(frozen=True, slots=True)
class Progress:
    """How much of a trace a backend has.

    `seen`: `judged_at` of the latest judgement that this accounts for, `at`: when, `received_at`: of the trace; all
    unix nanos. `items`: a hash of what was sent by a hash of its id, both below 2^64.
    """

    trace_id: str
    seen: int
    outcome: Passed
    at: int
    received_at: int
    items: Mapping[int, int] = field(default_factory=dict)


def export_row(progress: Progress, tenant: str, backend: str) -> Row:
    """One row in the order of `EXPORT_COLUMNS`."""
    p = progress
    return (
        tenant, backend, p.trace_id, p.seen, p.outcome.value, list(p.items), list(p.items.values()), p.at,
        p.received_at,
    )  # fmt: skip
