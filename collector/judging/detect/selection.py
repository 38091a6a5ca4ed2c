"""Who decides which runs LLM judges look at, as the detectors' thread sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Protocol

from ....schemas.findings import Finding
from ....schemas.trajectory import Trace
from ....schemas.verdicts import JudgedTrace, Judgement, LedgerEntries, LedgerKey, LedgerRecord

Elsewhere = Mapping[LedgerKey, LedgerRecord]
"""What stands of the same runs at other traces, under which they showed before."""


NOTHING: Final[Elsewhere] = MappingProxyType({})


class Clerks(Protocol):
    """What the judging thread needs."""

    @property
    def reads(self) -> bool:
        """Whether it wants to know what the ledger says."""

    def consider(
        self, trace: Trace, findings: Sequence[Finding], ledger: LedgerEntries, now: int, elsewhere: Elsewhere = NOTHING
    ) -> Considered:
        """New rows of the ledger."""

    def release(self, trace: Trace, whole: Trace, ledger: LedgerEntries, *, moved: bool) -> tuple[Judgement, ...]:
        """Rows that take back what stands at a trace whose runs show at `whole` now."""

    def offer(self, judged: Sequence[JudgedTrace]) -> None:
        """These are stored."""


class NoClerk:
    """Without LLM judges there is nothing to decide."""

    reads = False

    def consider(
        self,
        trace: Trace,  # noqa: ARG002  the protocol's
        findings: Sequence[Finding],  # noqa: ARG002  the protocol's
        ledger: LedgerEntries,  # noqa: ARG002  the protocol's
        now: int,  # noqa: ARG002  the protocol's
        elsewhere: Elsewhere = NOTHING,  # noqa: ARG002  the protocol's
    ) -> Considered:
        """Nothing."""
        return Considered()

    def release(self, trace: Trace, whole: Trace, ledger: LedgerEntries, *, moved: bool) -> tuple[Judgement, ...]:  # noqa: ARG002  the protocol's
        """Nothing."""
        return ()

    def offer(self, judged: Sequence[JudgedTrace]) -> None:
        """Nothing."""


@dataclass(frozen=True, slots=True)
class Considered:
    """New rows of the ledger of a trace, and the ids of runs that had rows before."""

    rows: tuple[Judgement, ...] = ()
    heard: frozenset[str] = frozenset()
