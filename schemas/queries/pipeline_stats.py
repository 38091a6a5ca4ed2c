"""What the overview asks of the store besides rates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from ..rates import Sums
from ..verdicts import Outcome


@dataclass(frozen=True, slots=True)
class Timeliness:
    """From the arrival of spans to the first findings at them. `p50`, `p95`: nanos, None of none.

    `findings`: spans with one that this rests on.
    """

    findings: int
    p50: int | None
    p95: int | None


@dataclass(frozen=True, slots=True)
class VersionSeen:
    """What one judge found with one version and model. `first`, `last`: unix nanos of its judgements.

    `sums`: over the runs that it gave a verdict on, weighted as they were sampled.
    """

    version: str
    model: str
    first: int
    last: int
    sums: Sums


class Vitals(Protocol):
    """Vitals in the store. Every method may block: call it on a thread. Times in unix nanos."""

    def timeliness(self, since: int, until: int, service: str = "", tenant: str = "") -> Timeliness:
        """Of findings that were first seen in [since, until), the latest of them where there are very many."""

    def new_services(self, since: int, limit: int, tenant: str = "") -> Sequence[str]:
        """Up to `limit` services of which no trace was there before `since`, the latest first."""

    def outcomes(
        self, since: int, until: int, service: str = "", tenant: str = ""
    ) -> Mapping[str, Mapping[Outcome, int]]:
        """By LLM judge: how many agent runs of traces that arrived in [since, until) have which outcome."""

    def versions(
        self, judge: str, since: int, until: int, service: str = "", tenant: str = ""
    ) -> Sequence[VersionSeen]:
        """What versions and models of an LLM judge found in traces that arrived in [since, until), the latest first."""
