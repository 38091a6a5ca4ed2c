"""What LLM judging keeps besides findings and verdicts, and its ClickHouse rows: ledger, answers, architectures.

`answer_row` and `architecture_row` give one row in the order of their `*_COLUMNS`; the `*_from_row` functions take rows
of the `*_SELECT` lists.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from .judged_rows import Row
from .verdicts import Outcome, SubjectKind

LEDGER_SELECT: Final = (
    "tenant, TraceId, SubjectKind, SubjectId, Judge, Version, InputHash, Outcome, Reason, Failures.Judge, "
    "Failures.Reason, Model, Probability, Findings, Dropped, JudgedAt, "
    "toUnixTimestamp64Nano(ReceivedAt) AS ReceivedNanos"
)

LATEST: Final = (
    "ORDER BY JudgedAt DESC, Outcome = 'superseded', ReceivedAt DESC, Version, InputHash "
    "LIMIT 1 BY tenant, TraceId, SubjectKind, SubjectId, Judge"
)
"""What makes rows of `judgements FINAL` the ledger; as in the view `ledger`."""

ANSWER_COLUMNS: Final = (
    "tenant", "Key", "At", "Model", "Text", "FinishReason", "InputTokens", "CachedTokens", "OutputTokens", "Cost",
    "Priced", "Service", "TraceId", "RunId", "Purpose", "ReceivedAt",
)  # fmt: skip

ARCHITECTURE_COLUMNS: Final = ("tenant", "Service", "At", "Source", "Version", "Text")
ARCHITECTURE_SELECT: Final = "Service, Version, Source, Text, At"


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """What one judge last said of one subject, or is to say. `findings`: how many hold; times in unix nanos.

    `reason`: one line on the outcome, what failed included. `probability`: as a verdict's `sampling_probability`.
    """

    tenant: str
    trace_id: str
    kind: SubjectKind
    subject_id: str
    judge: str
    version: str
    input_hash: str
    outcome: Outcome
    reason: str
    model: str
    probability: float
    findings: int
    dropped: int
    judged_at: int
    received_through: int


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """One call to a model and its answer. `cost` in USD, None where no price is known; `at` unix nanos.

    `key`: hash of all that was asked; "" keeps it for spend and audit only, so that it spares no later call.
    """

    key: str
    model: str
    text: str
    finish_reason: str
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    cost: float | None
    at: int
    service: str = ""
    trace_id: str = ""
    run_id: str = ""
    purpose: str = ""


@dataclass(frozen=True, slots=True)
class Spend:
    """What the calls for one service cost in one hour. `hour`: its first unix nano; `tokens`: read and written.

    `unpriced`: those of the tokens that no price is known for, and that are not in `usd`.
    """

    hour: int
    service: str
    usd: float
    tokens: int
    calls: int = 0
    unpriced: int = 0


class Source(StrEnum):
    """Where a description of an architecture is from."""

    DERIVED = "derived"  # from the service's trajectories
    EDITED = "edited"  # by a person: goes before what is derived
    CLEARED = "cleared"  # a person took the edited one back


@dataclass(frozen=True, slots=True)
class Architecture:
    """A description of a service's architecture. `version`: 12 hex digits of the text; `at` unix nanos."""

    service: str
    version: str
    source: Source
    text: str
    at: int


def text_version(text: str) -> str:
    """12 hex digits of a text."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def ledger_from_row(row: Sequence[Any]) -> LedgerRow:
    """The word of a row of `LEDGER_SELECT`."""
    failures = "; ".join(f"{judge}: {why}" for judge, why in zip(row[9], row[10], strict=True))
    return LedgerRow(
        tenant=row[0],
        trace_id=row[1],
        kind=SubjectKind(row[2]),
        subject_id=row[3],
        judge=row[4],
        version=row[5],
        input_hash=row[6],
        outcome=Outcome(row[7]),
        reason=row[8] or failures,
        model=row[11],
        probability=row[12],
        findings=row[13],
        dropped=row[14],
        judged_at=row[15],
        received_through=row[16],
    )


def answer_row(answer: AnswerRow, tenant: str) -> Row:
    """The answer as it is kept."""
    a = answer
    return (
        tenant, a.key, a.at, a.model, a.text, a.finish_reason, a.input_tokens, a.cached_tokens, a.output_tokens,
        a.cost or 0.0, a.cost is not None, a.service, a.trace_id, a.run_id, a.purpose, a.at,
    )  # fmt: skip


def architecture_row(architecture: Architecture, tenant: str) -> Row:
    """The description as it is kept."""
    a = architecture
    return (tenant, a.service, a.at, a.source.value, a.version, a.text)


def architecture_from_row(row: Sequence[Any]) -> Architecture:
    """The description of a row of `ARCHITECTURE_SELECT`."""
    return Architecture(service=row[0], version=row[1], source=Source(row[2]), text=row[3], at=row[4])
