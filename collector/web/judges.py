"""Pages of judges: outcomes, cost, agreement with labels, versions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Final

from fastapi import FastAPI, Request, Response

from tracejury.collector.api.params import read_cursor, write_cursor
from tracejury.collector.api.paths import SOME
from tracejury.collector.queries.explain.glossary import find_term
from tracejury.collector.queries.measures import MeasureFigure
from tracejury.collector.queries.present_llm import day_start, spent_by_purpose
from tracejury.judges.llm.budget import used_of_caps
from tracejury.judges.measures.rates import share, share_difference
from tracejury.schemas.errors import NotFoundError
from tracejury.schemas.llm_rows import Spend
from tracejury.schemas.queries.labels import JudgeQuality
from tracejury.schemas.queries.ledger import LedgerEntry, LedgerQuery
from tracejury.schemas.queries.measures import MeasureQuery
from tracejury.schemas.queries.pipeline_stats import VersionSeen
from tracejury.schemas.queries.reader import Confidence, Position
from tracejury.schemas.rates import By, Estimate, Population, RateAnswer, RateQuery
from tracejury.schemas.verdicts import Outcome

from .headline import RateChange, change_of
from .site import Site, choice, page
from .window import HOUR, Window

WORDS: Final = 30
"""Ledger entries on one page."""
_OF_JUDGES: Final = ("judge", "detector", "check")
"""Kinds of terms that are judges."""

SILENT: Final = (Outcome.FAILED, Outcome.OVER_BUDGET)
"""Outcomes that may need action."""


@dataclass(frozen=True, slots=True)
class JudgeTableRow:
    """One judge: outcomes, the share of runs in which it found an error, its grades, its quality against labels."""

    name: str
    about: str
    outcomes: Mapping[Outcome, int]
    share: Estimate | None
    quality: JudgeQuality | None
    grades: MeasureFigure | None = None


@dataclass(frozen=True, slots=True)
class VersionRow:
    """One version of a judge with one model; `change`: against the one before it, None for the first."""

    seen: VersionSeen
    share: Estimate | None
    change: RateChange | None


@dataclass(frozen=True, slots=True)
class CapUsage:
    """A cap of all services together, such as `tokens_per_hour`, and what is used of it."""

    name: str
    limit: float
    used: float

    @property
    def part(self) -> float:
        """Share of the cap that is used, at most 1."""
        return min(1.0, self.used / self.limit) if self.limit else 1.0


@dataclass(frozen=True, slots=True)
class PeriodSpend:
    """Spend of the running hour or day against its caps."""

    name: str
    usd: float
    tokens: int
    caps: Sequence[CapUsage]


def add_judges(app: FastAPI, site: Site) -> None:
    """`/judges` and `/judges/{name}`."""

    @page(app, "/judges", "profile")
    def judges(request: Request) -> Response:
        window, reader, now = site.window(request), site.reader, site.clock()
        working = site.services.judges()
        spends = reader.ledger.spend(min(day_start(now), window.since // HOUR * HOUR))
        quality = reader.labels.quality(window.since, window.until, window.service)
        return site.render(
            request,
            "judges.html",
            rows=judge_rows(
                reader.pipeline_stats.outcomes(window.since, window.until, window.service),
                reader.rates.ask(_by_judge(window, request.query_params.get("profile", ""))),
                quality,
                reader.measures.grades(MeasureQuery(window.since, window.until, service=window.service)).total.figures,
            ),
            verifiers=reader.pipeline_stats.verifiers(window.since, window.until, window.service),
            rules=[one for one in quality if _is_rule(one.judge)],
            working=working,
            spent=against_caps(spends, working.caps, now),
            purposes=spent_by_purpose(spend for spend in spends if spend.hour >= day_start(now)),
            silent=[entry for outcome in SILENT for entry in _words(site, window, "", outcome, None)[:5]],
        )

    @page(app, f"/judges/{{name:{SOME}}}", "outcome", "cursor")
    def judge(request: Request, name: str) -> Response:
        window, reader = site.window(request), site.reader
        term = find_term(name)
        seen = reader.pipeline_stats.versions(name, window.since, window.until, window.service)
        outcomes = reader.pipeline_stats.outcomes(window.since, window.until, window.service).get(name, {})
        wanted = request.query_params.get("outcome")
        outcome = choice(Outcome, "outcome", wanted) if wanted else None
        before = read_cursor("cursor", request.query_params.get("cursor", ""))
        words = _words(site, window, name, outcome, before)
        if not (outcomes or seen or words or (term and term.kind in _OF_JUDGES)):
            raise NotFoundError(f"no judge {name[:60]!r} has said anything in {window.words}")
        quality = reader.labels.quality(window.since, window.until, window.service)
        return site.render(
            request,
            "judge.html",
            name=name,
            term=term,
            outcomes=outcomes,
            outcome=outcome,
            words=words[:WORDS],
            next=_next(words),
            versions=version_rows(seen),
            quality=next((one for one in quality if one.judge == name), None),
        )


def judge_rows(
    outcomes: Mapping[str, Mapping[Outcome, int]],
    rates: RateAnswer,
    quality: Sequence[JudgeQuality],
    graded: Sequence[MeasureFigure] = (),
) -> Sequence[JudgeTableRow]:
    """LLM judges with ledger entries or a rate, by name."""
    shares = {row.key: row.rate.share for row in rates.rows}
    fares = {one.judge: one for one in quality}
    grades = {one.measure.judge: one for one in graded if one.estimate}
    names = sorted(name for name in {*outcomes, *shares} if name and not _is_rule(name))
    return [
        JudgeTableRow(name, _about(name), outcomes.get(name, {}), shares.get(name), fares.get(name), grades.get(name))
        for name in names
    ]


def version_rows(seen: Sequence[VersionSeen]) -> Sequence[VersionRow]:
    """Versions, the latest first, each against the next older one."""
    rows: list[VersionRow] = []
    for one, older in zip_longest(seen, seen[1:]):
        told = share_difference(older.sums, one.sums) if older else None
        changed = change_of(*told, "the version before", ("more errors", "fewer errors")) if told else None
        rows.append(VersionRow(one, share(one.sums), changed))
    return rows


def against_caps(spends: Sequence[Spend], caps: Mapping[str, float], now: int) -> Sequence[PeriodSpend]:
    """Spend of this hour and this day (UTC), of all services."""
    used = used_of_caps(spends, caps, now)
    rows: list[PeriodSpend] = []
    for name, start, period in (("This hour", now // HOUR * HOUR, "_hour"), ("Today (UTC)", day_start(now), "_day")):
        counted = [spend for spend in spends if spend.hour >= start]
        own = [CapUsage(cap, caps[cap], amount) for cap, amount in used.items() if cap.endswith(period)]
        rows.append(PeriodSpend(name, sum(s.usd for s in counted), sum(s.tokens for s in counted), own))
    return rows


def _by_judge(window: Window, profile: str) -> RateQuery:
    Confidence.of(profile)  # refuses one that there is not
    return RateQuery(
        window.since,
        window.until,
        by=By.JUDGE,
        population=Population.JUDGES,
        service=window.service,
        profile=profile,
        limit=100,
    )


def _words(
    site: Site, window: Window, judge: str, outcome: Outcome | None, before: Position | None
) -> Sequence[LedgerEntry]:
    query = LedgerQuery(WORDS + 1, judge=judge, outcome=outcome, service=window.service, since=window.since)
    end = Position(window.until)
    return site.reader.ledger.entries(replace(query, before=min(before or end, end)))


def _next(words: Sequence[LedgerEntry]) -> str | None:
    if len(words) <= WORDS:
        return None
    last = words[WORDS - 1]
    return write_cursor("cursor", Position(last.word.judged_at, last.id))


def _is_rule(name: str) -> bool:
    term = find_term(name)
    return term is not None and term.kind == "detector"


def _about(name: str) -> str:
    term = find_term(name)
    return term.text if term and term.kind in ("judge", "check") else ""
