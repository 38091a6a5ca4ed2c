"""The overview: the worst errors, error rates, breakdowns, grades, judging."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Final

from cachetools import TTLCache
from fastapi import FastAPI, Request, Response

from tracejury.collector.queries.doctor.ask import DAY, glance
from tracejury.collector.queries.present_doctor import present_diagnosis
from tracejury.collector.queries.reader import Rates
from tracejury.collector.queries.stored_reader import StoredReader
from tracejury.schemas.annotations import Review
from tracejury.schemas.errors import NotFoundError
from tracejury.schemas.filters import STATED, field_values
from tracejury.schemas.queries.labels import LabelQuery
from tracejury.schemas.queries.reader import Confidence, ErrorQuery, LocatedError, Position, TraceQuery
from tracejury.schemas.rates import By, Population, Rate, RateComparison, RateQuery, Unit
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.wire.doctor import DiagnosisJson

from .breakdown import break_down, judges_by_behaviour
from .headline import headline
from .packs import asked as measured
from .packs import pack_view
from .site import Site, choice, page, simulated, stated
from .window import HOUR, MINUTE, Window

WORST: Final = 4
"""Errors shown above the rates: all of it is to be seen at once."""
GROUPS: Final = 12
MORE: Final = (By.SERVICE, By.VERSION, By.MODEL, By.ROLE, By.SEVERITY, By.JUDGE, By.BEHAVIOUR)
"""Breakdowns shown one at a time."""
NEW_SERVICES: Final = 2
MOST_NEW: Final = 200

PARAMS: Final = ("unit", "population", "profile", "simulated", *(one.name for one in STATED))

TTL: Final = 10 * MINUTE
MAX_SERVICES: Final = 100


def add_overview(app: FastAPI, site: Site) -> None:
    """`/` and its fragments, which load later since they may take longer."""
    diagnoses = DiagnosisCache(site.reader, site.clock)
    _add_rates(app, site)

    @page(app, "/", *PARAMS)
    def overview(request: Request) -> Response:
        window, query = site.window(request), asked(request, site.window(request))
        compared = against_before(site.reader.rates, query, window)
        answer = compared.b
        known = bool(answer.total.judged or answer.unjudged.counts) or _any_trace(site)
        return site.render(
            request,
            "overview.html",
            view=headline(answer, compared, window, query.unit, stated(request)),
            asked=stated(request),
            endpoints=() if known else site.services.endpoints(),
            known=known,
            more=MORE,
            unit=query.unit,
            beside=of_llm_judges(site.reader.rates, query),
            simulated=query.simulated,
            # Without reviews a missing calibration needs no explanation.
            uncalibrated=answer.uncalibrated if site.reader.labels.find(Review, LabelQuery(1)) else "",
        )

    @page(app, "/overview/worst", *PARAMS)
    def worst(request: Request) -> Response:
        query = asked(request, site.window(request))
        found = worst_errors(site, query)
        return site.render(request, "worst.html", found=found, profile=query.profile, asked=stated(request))

    @page(app, "/overview/grades", *PARAMS)
    def grades(request: Request) -> Response:
        window, measures = site.window(request), site.reader.measures
        query = measured(request, window)
        view = pack_view(measures, measures.grades(query), query, window)
        return site.render(request, "grades.html", view=view, simulated=query.simulated)

    @page(app, "/overview/judging", *PARAMS)
    def judging(request: Request) -> Response:
        window, whose = site.window(request), simulated(request)
        pipeline_stats, asked_for = site.reader.pipeline_stats, (window.since, window.until, window.service)
        spent = site.reader.ledger.spend(window.since // HOUR * HOUR, simulated=whose)
        return site.render(
            request,
            "judging.html",
            late=pipeline_stats.timeliness(*asked_for, simulated=whose),
            spent=[s for s in spent if s.hour < window.until and window.service in ("", s.service)],
            working=site.services.judges(),
            outcomes=pipeline_stats.outcomes(*asked_for, simulated=whose),
        )

    @page(app, "/overview/doctor", *PARAMS)
    def doctor(request: Request) -> Response:
        now = site.clock()
        asked_for = site.window(request).service
        new = site.reader.pipeline_stats.new_services(now - DAY, MOST_NEW if asked_for else NEW_SERVICES)
        new = [service for service in new if asked_for in ("", service)]
        found = [(service, diagnoses.get(service)) for service in new]
        return site.render(request, "doctor.html", found=[(service, one) for service, one in found if one])

    @page(app, "/fragments/services")
    def services(request: Request) -> Response:
        return site.render(request, "services.html", names=site.reader.services(site.window(request).since, 200))


def _add_rates(app: FastAPI, site: Site) -> None:
    @page(app, "/overview/rate", *PARAMS)
    def rate(request: Request) -> Response:
        window, query = site.window(request), asked(request, site.window(request))
        compared = against_before(site.reader.rates, query, window)
        view = headline(compared.b, compared, window, query.unit, stated(request))
        return site.render(request, "rate_chart.html", view=view)

    @page(app, "/overview/by/{by}", *PARAMS)
    def broken_down(request: Request, by: str) -> Response:
        if by not in set(By):
            raise NotFoundError(f"no break-down by {by[:40]!r}: use one of {', '.join(By)}")
        query = replace(asked(request, site.window(request)), limit=GROUPS)
        # A tool's errors in all runs would tell how often it is called, not how often a call of it fails.
        rates = site.reader.rates
        if by == By.BEHAVIOUR:
            return site.render(request, "behaviours.html", view=judges_by_behaviour(rates, query))
        answer = rates.calls(query) if by == By.TOOL else rates.ask(replace(query, by=By(by)))
        view = break_down(answer, By(by), site.window(request), {"profile": query.profile, **stated(request)})
        return site.render(request, "breakdown.html", view=view)


def worst_errors(site: Site, asked: RateQuery) -> Sequence[LocatedError]:
    """The latest errors of the highest severity that there is, of the time and runs of a question. Blocks."""
    query = ErrorQuery(
        Confidence.of(asked.profile),
        WORST,
        service=asked.service,
        since=asked.since,
        before=Position(asked.until),
        simulated=asked.simulated,
        attributes=asked.attributes,
        tag=asked.tag,
        user=asked.user,
    )
    looks = (site.reader.errors(replace(query, severity=severity)) for severity in reversed(Severity))
    return next((found for found in looks if found), ())


def of_llm_judges(rates: Rates, query: RateQuery) -> Rate | None:
    """The rate of LLM judges, to stand beside that of detectors; None for another one, or where they judged nothing."""
    if query.population is not Population.DETECTORS:
        return None
    found = rates.ask(replace(query, population=Population.JUDGES)).total
    return found if found.judged else None


def against_before(rates: Rates, query: RateQuery, window: Window) -> RateComparison:
    """Rates over time (`b`) and of the period before (`a`)."""
    before = replace(query, since=window.before.since, until=window.before.until)
    return rates.compare(before, replace(query, step=window.step, calibrated=True))


def asked(request: Request, window: Window) -> RateQuery:
    """The rate query of a URL: window, unit, population, profile, and what spans state.

    Raises:
        ConfigError: it names what there is not.
    """
    unit = choice(Unit, "unit", request.query_params.get("unit") or Unit.RUN)
    population = request.query_params.get("population")
    # Detectors judge every run, LLM judges a part: by default the rate is of what was judged at all.
    whose = choice(Population, "population", population) if population else Population.DETECTORS
    profile = request.query_params.get("profile", "")
    Confidence.of(profile)
    return RateQuery(
        window.since,
        window.until,
        unit=unit,
        population=whose,
        profile=profile,
        service=window.service,
        simulated=simulated(request),
        **field_values(STATED, SimpleNamespace(**stated(request))),
    )


def _any_trace(site: Site) -> bool:
    return bool(site.reader.traces(TraceQuery(Confidence.of(""), 1)))


class DiagnosisCache:
    """Diagnoses by service, one made at a time; `clock` gives unix nanos. Any thread; blocks."""

    def __init__(self, reader: StoredReader, clock: Callable[[], int]) -> None:
        self._reader, self._clock = reader, clock
        self._lock = threading.Lock()
        self._cache: TTLCache[str, DiagnosisJson | None] = TTLCache(MAX_SERVICES, TTL, timer=clock)

    def get(self, service: str) -> DiagnosisJson | None:
        """The diagnosis by the service's latest traces, at most `TTL` old; None where it has none."""
        with self._lock:
            try:
                return self._cache[service]
            except KeyError:
                found = glance(self._reader, service, self._clock() - DAY)
                made = self._cache[service] = present_diagnosis(found) if found else None
                return made
