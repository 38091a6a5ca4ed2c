"""The ledger of LLM judges, their spend and architectures as JSON. Pure functions; the shapes stand in shapes.py."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from ...schemas.llm_rows import Architecture, Spend
from ...schemas.queries.ledger import JudgesStatus, LedgerEntry
from ...schemas.text.moments import iso_time
from ...schemas.wire.traces import ArchitectureJson, JudgesJson, LedgerJson, ServiceSpentJson, SpendJson, SpentJson

HOUR: Final = 3_600 * 1_000_000_000
DAY: Final = 24 * HOUR


def present_entry(entry: LedgerEntry) -> LedgerJson:
    """One word of a judge as JSON."""
    word, verdict = entry.word, entry.verdict
    return {
        "trace_id": word.trace_id,
        "service": entry.service,
        "subject": {
            "kind": word.kind.value,
            "id": word.subject_id,
            "trace_id": word.trace_id,
            "agent": entry.agent or None,
        },
        "judge": word.judge,
        "version": word.version,
        "outcome": word.outcome.value,
        "reason": word.reason or None,
        "model": word.model or None,
        "score": verdict.score if verdict else None,
        "not_applicable": bool(verdict and verdict.not_applicable),
        "sampling_probability": word.probability,
        "findings": word.findings,
        "at": iso_time(word.judged_at),
    }


def day_start(now: int) -> int:
    """The first unix nano of the day of UTC that `now` is in."""
    return now - now % DAY


def present_spend(spend: Sequence[Spend], status: JudgesStatus, now: int) -> SpendJson:
    """What this hour and this day cost. `spend`: of this day (`day_start`), by hour and service."""
    hour = now - now % HOUR
    services: dict[str, ServiceSpentJson] = {}
    for s in spend:
        sums = services.setdefault(s.service, {"service": s.service, "usd": 0.0, "tokens": 0})
        sums["usd"] += s.usd
        sums["tokens"] += s.tokens
    return {
        "hour": _spent((s for s in spend if s.hour >= hour), hour),
        "day": _spent(spend, day_start(now)),
        "services": sorted(services.values(), key=lambda sums: (-sums["usd"], -sums["tokens"], sums["service"])),
        "caps": dict(status.caps),
    }


def present_status(status: JudgesStatus) -> JudgesJson:
    """What the process does with LLM judges as JSON."""
    return {
        "on": status.on,
        "model": status.model or None,
        "pending": status.pending,
        "in_flight": status.in_flight,
        "trouble": status.trouble or None,
        "failing": status.failing or None,
    }


def present_architecture(architecture: Architecture) -> ArchitectureJson:
    """One version of a description as JSON."""
    return {
        "service": architecture.service,
        "version": architecture.version,
        "source": architecture.source.value,
        "text": architecture.text,
        "at": iso_time(architecture.at),
    }


def _spent(spend: Iterable[Spend], since: int) -> SpentJson:
    found = list(spend)
    return {
        "since": iso_time(since),
        "usd": sum(s.usd for s in found),
        "tokens": sum(s.tokens for s in found),
        "unpriced": sum(s.unpriced for s in found),
        "calls": sum(s.calls for s in found),
    }
