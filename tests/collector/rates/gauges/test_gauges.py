"""Error rates, findings, spend and disk as Prometheus sees them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from graded import graded
from listed_traces import Listed, store_all
from served_api import Watched
from store_parts import a_finding, a_judged_subject, a_judged_trace
from stored_readers import stored_reader

from tracejury.collector.rates import StoredRates
from tracejury.collector.rates.gauges import build
from tracejury.collector.rates.gauges.build import Gauges
from tracejury.collector.rates.gauges.findings import FindingCounts
from tracejury.collector.rates.gauges.rates import OTHER, SERVICES, rate_figures
from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.shared_store import SharedStore
from tracejury.collector.telemetry import Telemetry
from tracejury.processors.assemble import AssemblerConfig
from tracejury.schemas.errors import RetryableError
from tracejury.schemas.llm_rows import Spend
from tracejury.schemas.operations import Operation
from tracejury.schemas.queries.ledger import JudgesStatus
from tracejury.schemas.rates import By, Estimate, Population, Rate, RateAnswer, RateRow, Unjudged
from tracejury.schemas.verdicts import TraceSpend

HOUR = 3600 * 10**9


def rate(judged: int, share: float | None) -> Rate:
    """So many judged runs, and a share with an interval of a tenth to both sides."""
    estimate = None if share is None else Estimate(share, share - 0.1, share + 0.1)
    return Rate(judged, 0, 0, float(judged), sampled=False, share=estimate, mean=None)


def answer(total: Rate, **services: Rate) -> RateAnswer:
    """Rates by service."""
    rows = tuple(RateRow(name, 0, of) for name, of in services.items())
    return RateAnswer(Population.DETECTORS, total, rows, Unjudged())


@pytest.fixture
def telemetry() -> Iterator[Telemetry]:
    made = Telemetry("test")
    yield made
    made.shutdown()


def shown(telemetry: Telemetry, name: str) -> dict[str, float]:
    """A metric's values by its labels as text."""
    lines = [
        line for line in telemetry.prometheus().decode().splitlines() if line.startswith((f"{name}{{", f"{name} "))
    ]
    return {line.partition("{")[2].partition("}")[0]: float(line.rpartition(" ")[2]) for line in lines}


def told(answer: RateAnswer) -> Any:
    """Rates that answer every question so."""
    rates = Watched(StoredRates)
    rates.given["ask"] = answer
    return rates


ANSWER = answer(rate(9, 0.3), shop=rate(6, 0.4))


def test_rates_are_asked_by_service_for_each_window() -> None:
    """The share with its interval where something was judged; all together under no name."""
    rates = told(answer(rate(9, 0.3), shop=rate(6, 0.4), bank=rate(3, None)))
    figures = rate_figures(rates, 100 * HOUR)
    assert [(q.since, q.until, q.by) for q in rates.asked] == [
        (99 * HOUR, 100 * HOUR, By.SERVICE), (76 * HOUR, 100 * HOUR, By.SERVICE),
    ]  # fmt: skip
    assert figures.judged["shop", "1h"] == 6
    assert (figures.share["", "24h"], figures.low["shop", "1h"], figures.high["shop", "1h"]) == (0.3, 0.4 - 0.1, 0.5)
    assert ("bank", "1h") not in figures.share


def test_services_are_bounded() -> None:
    """Those with most runs keep their names; of the rest the number of runs is told, not a rate that nobody asked."""
    services = {f"s{number:03}": rate(number, 0.5) for number in range(1, 201)}
    figures = rate_figures(told(answer(rate(sum(range(201)), 0.5), **services)), 100 * HOUR)
    names = {service for service, window in figures.judged if window == "1h"}
    assert len(names) == SERVICES + 2
    assert "s200" in names
    assert "s001" not in names
    assert figures.judged[OTHER, "1h"] == sum(range(151))
    assert (OTHER, "1h") not in figures.share


def test_long_names_are_shortened(telemetry: Telemetry) -> None:
    """With a mark, in every label; of those that begin alike the one with most runs has the series."""
    long = "s" * 1_000_000
    figures = rate_figures(told(answer(rate(9, 0.3), **{long: rate(2, 0.4), f"{long}2": rate(7, 0.5)})), HOUR)
    cut = "s" * 256 + "…"
    assert {service: judged for (service, window), judged in figures.judged.items() if window == "1h"} == {
        "": 9, cut: 7, OTHER: 2,
    }  # fmt: skip
    FindingCounts(telemetry).traces_judged(
        [a_judged_trace(a_finding(category="c" * 1_000_000, first_seen=5), judged_at=5, service=long)]
    )
    assert list(shown(telemetry, "tracejury_findings_total")) == [
        f'category="{"c" * 256}…",service="{cut}",severity="HIGH"'
    ]


def test_no_service_passes_for_all_of_them_or_for_the_rest() -> None:
    """Spans without a service, and services that bear the names of ours, change no other figure."""
    services = {"": rate(2, 1.0), "other": rate(3, 1.0), "unnamed": rate(4, 1.0), "shop": rate(90, 0.1)}
    figures = rate_figures(told(answer(rate(99, 0.2), **services)), 100 * HOUR)
    hour = {service: judged for (service, window), judged in figures.judged.items() if window == "1h"}
    assert hour == {"": 99, "shop": 90, "unnamed": 2, "other": 7}
    assert (figures.share["", "1h"], figures.share["unnamed", "1h"]) == (0.2, 1.0)
    assert ("other", "1h") not in figures.share


def test_a_finding_of_no_service_has_a_label_of_its_own(telemetry: Telemetry) -> None:
    """An empty label would be no label, which stands for all services elsewhere."""
    FindingCounts(telemetry).traces_judged([a_judged_trace(a_finding(first_seen=5), judged_at=5, service="")])
    assert list(shown(telemetry, "tracejury_findings_total")) == [
        'category="Resource Abuse",service="unnamed",severity="HIGH"'
    ]


def test_a_finding_is_counted_when_it_is_first_seen(telemetry: Telemetry) -> None:
    """Not when it is confirmed, reworded, or said again; two at once are one; LLM judges' count likewise."""
    counts = FindingCounts(telemetry)
    new = a_finding(first_seen=50)
    counts.traces_judged([a_judged_trace(new, a_finding(judge="other", first_seen=50), judged_at=50)])
    counts.traces_judged([a_judged_trace(new, judged_at=60)])
    counts.subjects_judged([a_judged_subject("x", a_finding(category="Goal Deviation", first_seen=70), judged_at=70)])
    counts.subjects_judged(
        [a_judged_subject("x", a_finding(category="Unsure", confidence=0.1, first_seen=70), judged_at=70)]
    )
    assert shown(telemetry, "tracejury_findings_total") == {
        'category="Resource Abuse",service="shop",severity="HIGH"': 1.0,
        'category="Goal Deviation",service="shop",severity="HIGH"': 1.0,
    }


def test_labels_of_findings_are_bounded(telemetry: Telemetry) -> None:
    """Whatever categories and services clients invent."""
    counts = FindingCounts(telemetry)
    for number in range(300):
        trace_id = f"{number:032x}"
        finding = a_finding(category=f"c{number}", first_seen=5, trace_id=trace_id)
        counts.traces_judged([a_judged_trace(finding, judged_at=5, service=f"s{number}", trace_id=trace_id)])
    values = shown(telemetry, "tracejury_findings_total")
    assert sum(values.values()) == 300
    assert len({key.partition('service="')[2].partition('"')[0] for key in values}) == 51
    assert len({key.partition('category="')[2].partition('"')[0] for key in values}) == 41


def away(*_: Any, **__: Any) -> RateAnswer:
    """What a store that is away answers."""
    raise RetryableError("the store is away")


Made = Callable[..., tuple[Gauges, Any]]


@pytest.fixture
def made(store: SharedStore, telemetry: Telemetry) -> Made:
    """Gauges over answers that are put in."""

    def make(status: JudgesStatus | None = None) -> tuple[Gauges, Any]:
        reader: Any = stored_reader(store, AssemblerConfig())
        reader.rates, reader.ledger = told(ANSWER), Watched(reader.ledger)
        return Gauges(store, lambda _: reader, lambda: status or JudgesStatus(), telemetry, lambda: 100 * HOUR), reader

    return make


def test_a_scrape_reads_what_was_last_seen(made: Made, telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch) -> None:
    """It asks the store nothing; where the store is away for long, nothing is shown rather than what was."""
    gauges, reader = made()
    assert shown(telemetry, "tracejury_error_rate") == {}
    gauges.refresh()
    asked = len(reader.rates.asked)
    assert shown(telemetry, "tracejury_error_rate")['service="shop",window="1h"'] == 0.4
    assert shown(telemetry, "tracejury_judged_runs")['service="",window="24h"'] == 9
    assert shown(telemetry, "tracejury_store_free_bytes")[""] > 0
    assert len(reader.rates.asked) == asked
    reader.rates.given["ask"] = away
    with pytest.raises(RetryableError):
        gauges.refresh()
    assert shown(telemetry, "tracejury_error_rate")
    monkeypatch.setattr(build, "STALE", -1.0)
    assert shown(telemetry, "tracejury_error_rate") == {}


def test_spend_stands_beside_its_cap(made: Made, telemetry: Telemetry) -> None:
    """By the cap's name, so that a ratio needs no table; nothing where there are no LLM judges."""
    gauges, reader = made(JudgesStatus(on=True, caps={"usd_per_day": 10.0, "tokens_per_hour": 500}))
    hour = 100 * HOUR
    sums = [Spend(hour, "shop", 2.0, 100), Spend(hour - 2 * HOUR, "shop", 1.0, 50)]
    reader.ledger.given["spend"] = lambda since: [one for one in sums if one.hour >= since]
    gauges.refresh()
    spent, caps = shown(telemetry, "tracejury_panel_spend"), shown(telemetry, "tracejury_panel_cap")
    assert caps == {'cap="usd_per_day"': 10.0, 'cap="tokens_per_hour"': 500.0}
    assert (spent['cap="usd_per_day"'], spent['cap="tokens_per_hour"']) == (3.0, 100.0)


def test_grades_by_service_and_measure(made: Made, store: SharedStore, telemetry: Telemetry) -> None:
    """Of the last day, with the 0s that no finding supports."""
    for number, (service, grade) in enumerate([("shop", 0), ("shop", 3), ("desk", 1)], 1):
        trace = Listed(number, service=service, received=99 * HOUR)
        store_all(store, [trace])
        graded(store, trace, GF=grade)
    gauges, reader = made(JudgesStatus(on=True))
    reader.ledger.given["spend"] = lambda _since: []
    gauges.refresh()
    assert shown(telemetry, "tracejury_grade") == {
        f'measure="{measure}",service="{service}",window="24h"': pytest.approx(value)
        for measure in ("GF", "Goal", "GPA")
        for service, value in (("", 4 / 3), ("shop", 1.5), ("desk", 1.0))
    }
    goal = 'measure="GF",service="shop",window="24h"'
    assert shown(telemetry, "tracejury_grade_low")[goal] < 1.5 < shown(telemetry, "tracejury_grade_high")[goal]
    assert shown(telemetry, "tracejury_graded_runs")[goal] == 2
    assert shown(telemetry, "tracejury_grades_without_finding")[goal] == 1


def test_latency_tokens_and_cost_by_service(made: Made, store: SharedStore, telemetry: Telemetry) -> None:
    """Percentiles in seconds, sums of calls; the same in all windows that hold them, and by unit."""
    for number, (service, seconds) in enumerate([("shop", 1), ("shop", 3), ("desk", 9)], 1):
        run = Operation("run", "planner", "gpt", "", "", seconds * 10**9, seconds == 9, 10, 2, 5, 0.5, 0)
        call = run._replace(kind="llm_call", unpriced=1)
        judged = a_judged_trace(
            trace_id=f"{number:032x}", service=service, received=99 * HOUR + number, judged_at=number
        )
        StoredJudging(store).save([replace(judged, spent=TraceSpend(operations=(run, call)))])
    gauges, _ = made()
    gauges.refresh()
    assert shown(telemetry, "tracejury_operations")['service="shop",unit="run",window="1h"'] == 2
    assert shown(telemetry, "tracejury_failed_operations")['service="",unit="run",window="24h"'] == 1
    durations = shown(telemetry, "tracejury_operation_duration_seconds")
    assert durations['quantile="0.95",service="",unit="run",window="1h"'] == 9
    assert durations['quantile="0.5",service="desk",unit="llm_call",window="1h"'] == 9
    assert 'quantile="0.5",service="",unit="tool_call",window="1h"' not in durations
    tokens = shown(telemetry, "tracejury_tokens")
    assert [tokens[f'kind="{kind}",service="shop",window="1h"'] for kind in ("input", "cached", "output")] == [
        20,
        10,
        4,
    ]
    assert shown(telemetry, "tracejury_cost_usd")['service="",window="24h"'] == 1.5
    assert shown(telemetry, "tracejury_unpriced_calls")['service="desk",window="1h"'] == 1


async def test_the_task_outlives_failures(made: Made, telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once the store answers again, so do the gauges; to end it twice is harmless."""
    monkeypatch.setattr(build, "EVERY", 0.0)
    gauges, reader = made()
    reader.rates.given["ask"] = away
    gauges.start()
    async with asyncio.timeout(30):
        while len(reader.rates.asked) < 2:  # noqa: ASYNC110  it works on a thread
            await asyncio.sleep(0)
        assert shown(telemetry, "tracejury_error_rate") == {}
        reader.rates.given["ask"] = ANSWER
        while not shown(telemetry, "tracejury_error_rate"):  # noqa: ASYNC110  likewise
            await asyncio.sleep(0)
    await gauges.stop(1.0)
    await gauges.stop(1.0)
