"""The ledger of LLM judges and their spend as models of the API. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from tracejury.judges.llm.budget import used_of_caps
from tracejury.schemas.llm_rows import Spend
from tracejury.schemas.queries.ledger import JudgesStatus, LedgerEntry
from tracejury.schemas.text.moments import iso_time
from tracejury.schemas.wire.base import fill
from tracejury.schemas.wire.traces import (
    LedgerJson,
    LedgerSubjectJson,
    PurposeSpentJson,
    ServiceSpentJson,
    SpendJson,
    SpentJson,
)

HOUR: Final = 3_600 * 1_000_000_000
DAY: Final = 24 * HOUR


def present_entry(entry: LedgerEntry) -> LedgerJson:
    """One word of a judge."""
    word, verdict = entry.word, entry.verdict
    subject = LedgerSubjectJson(
        kind=word.kind, id=word.subject_id, trace_id=word.trace_id, agent=entry.agent, session_id=entry.session_id
    )
    return fill(
        LedgerJson,
        word,
        service=entry.service,
        subject=subject,
        score=verdict.score if verdict else None,
        value=verdict.value if verdict else None,
        not_applicable=bool(verdict and verdict.not_applicable),
        quote_dropped=bool(verdict and verdict.quote_dropped),
        sampling_probability=word.probability,
        at=word.judged_at,
    )


def day_start(now: int) -> int:
    """The first unix nano of the day of UTC that `now` is in."""
    return now - now % DAY


def present_spend(spend: Sequence[Spend], status: JudgesStatus, now: int) -> SpendJson:
    """The cost of this hour and this day. `spend`: of this day (`day_start`), by hour, service and purpose."""
    hour = now - now % HOUR
    by_service: dict[str, list[Spend]] = {}
    for s in spend:
        by_service.setdefault(s.service, []).append(s)
    services = [
        ServiceSpentJson(service=name, usd=sum((s.usd for s in each), 0.0), tokens=sum(s.tokens for s in each))
        for name, each in by_service.items()
    ]
    return SpendJson(
        hour=_spent((s for s in spend if s.hour >= hour), hour),
        day=_spent(spend, day_start(now)),
        services=sorted(services, key=lambda sums: (-sums.usd, -sums.tokens, sums.service)),
        purposes=spent_by_purpose(spend),
        caps=dict(status.caps),
        used=used_of_caps(spend, status.caps, now),
    )


def spent_by_purpose(spend: Iterable[Spend]) -> list[PurposeSpentJson]:
    """The cost of each kind of calls, the most calls first; calls without a purpose are of earlier releases."""
    by_purpose: dict[str, list[Spend]] = {}
    for s in spend:
        if s.purpose:
            by_purpose.setdefault(s.purpose, []).append(s)
    rows = [
        PurposeSpentJson(
            purpose=purpose,
            usd=sum((s.usd for s in each), 0.0),
            tokens=sum(s.tokens for s in each),
            calls=sum(s.calls for s in each),
        )
        for purpose, each in by_purpose.items()
    ]
    return sorted(rows, key=lambda row: (-row.calls, row.purpose))


def _spent(spend: Iterable[Spend], since: int) -> SpentJson:
    found = list(spend)
    return SpentJson(
        since=iso_time(since),
        usd=sum(s.usd for s in found),
        tokens=sum(s.tokens for s in found),
        unpriced=sum(s.unpriced for s in found),
        calls=sum(s.calls for s in found),
    )
