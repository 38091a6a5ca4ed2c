"""Results of LLM judging besides findings and verdicts, as ClickHouse rows: ledger, answers, architectures."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from .columns import ColumnTable, StoredColumn, enum_column, plain_columns
from .verdicts import Outcome, SubjectKind

LATEST: Final = (
    "ORDER BY JudgedAt DESC, Outcome = 'superseded', ReceivedAt DESC, Version, InputHash "
    "LIMIT 1 BY tenant, TraceId, SubjectKind, SubjectId, Judge"
)
"""The clause that reduces `judgements FINAL` to the ledger; the same as in the view `ledger`."""


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """The latest entry of one judge on one subject, or a pending one. `findings`: how many hold; times in unix nanos.

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
    tenant: str = ""


@dataclass(frozen=True, slots=True)
class Spend:
    """The cost of one service's calls of one purpose in one hour. `hour`: its first unix nano.

    `tokens`: read and written; `unpriced`: those that no price is known for, and that are not in `usd`.
    """

    hour: int
    service: str
    usd: float
    tokens: int
    calls: int = 0
    unpriced: int = 0
    purpose: str = ""
    tenant: str = ""


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


_LEDGER: Final = ColumnTable(
    LedgerRow,
    *plain_columns("tenant", "trace_id"),
    enum_column("SubjectKind", "kind", SubjectKind),
    *plain_columns("subject_id", "judge", "version", "input_hash"),
    enum_column("Outcome", "outcome", Outcome),
    *plain_columns("reason", "model", "probability", "findings", "dropped", "judged_at"),
    StoredColumn("ReceivedAt", "received_through"),
)
LEDGER_SELECT: Final = f"{_LEDGER.select}, Failures.Judge, Failures.Reason"
_FAILURES: Final = len(_LEDGER.names)

_ANSWERS: Final = ColumnTable(
    AnswerRow,
    *plain_columns("key", "at", "model", "text", "finish_reason", "input_tokens", "cached_tokens", "output_tokens"),
    StoredColumn("Cost", "cost", lambda cost: cost or 0.0),
    StoredColumn("Priced", "cost", lambda cost: cost is not None),
    *plain_columns("service", "trace_id", "run_id", "purpose"),
    StoredColumn("ReceivedAt", "at"),
    StoredColumn("tenant", "tenant"),
)
ANSWER_COLUMNS: Final = _ANSWERS.names
answer_row = _ANSWERS.row

_ARCHITECTURES: Final = ColumnTable(
    Architecture,
    *plain_columns("service", "version"),
    enum_column("Source", "source", Source),
    *plain_columns("text", "at"),
)
ARCHITECTURE_COLUMNS: Final = (*_ARCHITECTURES.names, "tenant")
ARCHITECTURE_SELECT: Final = _ARCHITECTURES.select
architecture_row = _ARCHITECTURES.row
architecture_from_row = _ARCHITECTURES.read


def ledger_from_row(row: Sequence[Any]) -> LedgerRow:
    """The word of a row of `LEDGER_SELECT`; where it gives no reason, the failures are the reason."""
    word = _LEDGER.read(row)
    if word.reason:
        return word
    judges, reasons = row[_FAILURES : _FAILURES + 2]
    return replace(word, reason="; ".join(f"{judge}: {why}" for judge, why in zip(judges, reasons, strict=True)))
