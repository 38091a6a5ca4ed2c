"""The overview, judges and labels, in a real browser: what shows, where it leads, what is hostile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from browsing import Watched
from served_api import KNOWN, NOW, SPAN, Api, Judge, finding, row, served

from tracejury.collector.api.services import Services
from tracejury.collector.app.web_app import create_web_app
from tracejury.collector.otlp.receiver.ports import Endpoint
from tracejury.schemas.annotations import Annotation, Opinion, Review
from tracejury.schemas.llm_rows import LedgerRow, Spend
from tracejury.schemas.queries.labels import Labelled
from tracejury.schemas.queries.ledger import JudgesStatus, LedgerEntry
from tracejury.schemas.queries.pipeline_stats import Timeliness, VersionSeen
from tracejury.schemas.rates import (
    By,
    Estimate,
    Population,
    Rate,
    RateAnswer,
    RateComparison,
    RateQuery,
    RateRow,
    Sums,
    ToolRates,
    Unjudged,
)
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.verdicts import Outcome, SubjectKind

HOUR = 3_600_000_000_000
HOSTILE = '<img src=x onerror=alert(1)>"\u202eevil'
# Where the first point of the chart is.
FIRST_POINT = """(() => {
  const plot = document.querySelector("[data-chart]").plot;
  const at = plot.data[1].findIndex((value) => value != null);
  return plot.valToPos(plot.data[0][at], "x");
})()"""
RATE = Rate(
    200, 30, 45, 120.0, sampled=True, share=Estimate(0.15, 0.1, 0.21), mean=Estimate(0.225, 0.17, 0.3),
    calibrated=Estimate(0.18, 0.12, 0.25),
)  # fmt: skip


def answered(query: RateQuery, **_: Any) -> RateAnswer:
    """A rate a step, or a group of a hostile name."""
    if query.by is not None:
        rows = [RateRow(HOSTILE, query.since, RATE), RateRow("", query.since, RATE)]
    else:
        rows = [RateRow("", NOW - n * HOUR, RATE) for n in (9, 8, 7, 3)] if query.step else []
    unjudged = Unjudged({"open": 4, "no-calls": 5, "sampled-out": 90})
    return RateAnswer(query.population or Population.BOTH, RATE, tuple(rows), unjudged, left=2)


def worse(a: RateQuery, b: RateQuery) -> RateComparison:
    """The period before was better."""
    difference = Estimate(0.05, 0.01, 0.09)
    return RateComparison(answered(a), answered(b), difference, 0.012, difference, 0.02)


def by_tool(query: RateQuery) -> ToolRates:
    """Calls of a tool of a hostile name."""
    answer = answered(replace(query, by=By.TOOL))
    return ToolRates(answer.population, answer.rows, answer.left)


RATES = {"ask": answered, "compare": worse, "calls": by_tool}


@pytest.fixture
def told(api: Api) -> Api:
    """An overview with everything on it, all names hostile."""
    api.put_rows(row(0))
    api.put(*[finding(-n, id=str(n), severity=Severity.HIGH, category=HOSTILE, explanation=HOSTILE) for n in (1, 2, 3)])
    api.reader.rates.given |= RATES
    stats = api.reader.pipeline_stats.given
    stats["timeliness"] = Timeliness(12, 1_500_000_000, 9_000_000_000)
    stats["outcomes"] = {HOSTILE: {Outcome.DONE: 3}, "plan-quality": {Outcome.FAILED: 1}}
    spent = [Spend(NOW - NOW % HOUR, "svc", 0.42, 12_345, 7, unpriced=100, purpose=HOSTILE)]
    api.reader.ledger.given["spend"] = spent
    sums = Sums(9, 9, 3, 3, 9, 9, 9, 9, 3, 3, 3, 3, 3, 3, 3)
    stats["versions"] = [VersionSeen(f"v{n}", HOSTILE, NOW - 9, NOW - n, sums) for n in range(2)]
    word = LedgerRow(
        "", "a" * 32, SubjectKind.AGENT_RUN, "run", "plan-quality", "v1", "h", Outcome.FAILED, HOSTILE, "m", 1.0, 0, 0,
        NOW, NOW - 1,
    )  # fmt: skip
    api.put_ledger(LedgerEntry(word, "1", "svc", HOSTILE))
    return api


def loaded(site: Watched) -> None:
    """Wait until every part of the page has come."""
    site.page.wait_for_selector("#more table")
    site.page.wait_for_load_state("networkidle")


@pytest.fixture
def open_overview(told: Api, site: Watched) -> Iterator[Watched]:
    site.open("/?range=24h")
    loaded(site)
    assert told.reader.rates.asked
    yield site
    site.check_quiet()


def test_the_main_figures_stand_with_their_intervals(open_overview: Watched) -> None:
    """Rate, calibrated rate, errors a run, judged and not judged, the change in words."""
    text = open_overview.page.inner_text("main")
    for words in (
        "15.0\u202f%",
        "10.0\u202f% to 21.0\u202f%",
        "18.0\u202f%",
        "200",
        "30 with an error",
        "30 of 200 runs that detectors judged",
        "Error rate by LLM judges",
        "30 of 200 runs that LLM judges looked at",
        "90 sampled-out, 5 no model or tool was called, 4 open",
        "Worse than the period before",
        "half within 1.50 s",
        "$0.42",
        "100 of unknown price",
    ):
        assert words in text
    open_overview.check_accessible()


def test_the_worst_errors_stand_above_the_rates(open_overview: Watched) -> None:
    """Both are in sight without scrolling."""
    page = open_overview.page
    worst = page.locator("section:has(h2:has-text('Worst errors')) li").first.bounding_box()
    rate = page.locator("dl.figures").first.bounding_box()
    assert worst is not None
    assert rate is not None
    assert worst["y"] + worst["height"] <= rate["y"] < page.viewport_size["height"]  # type: ignore[index]  # it is set


def test_what_is_hostile_is_text(open_overview: Watched) -> None:
    """Names and texts of spans make no element, and what they hide shows."""
    page = open_overview.page
    assert page.locator("main img").count() == 0
    assert page.locator("text=<img src=x onerror").count() >= 2
    assert "\u202e" not in page.inner_text("body")
    assert "\\u202eevil" in page.inner_text("body")
    assert "\u202e" not in page.content()


def test_the_chart_is_drawn_and_leads_to_the_traces(open_overview: Watched) -> None:
    """A canvas with the points; a click on one opens its step's failing traces; the figures are a table, too."""
    page = open_overview.page
    figure = page.locator("figure").filter(has=page.get_by_role("img", name="Error rate over time"))
    assert figure.locator(".plot canvas").count() == 1
    figure.get_by_text("The figures as a table").click()
    assert figure.locator("figcaption tbody tr").count() == 4
    over = figure.locator(".plot .u-over")
    box = over.bounding_box()
    assert box is not None
    spot = page.evaluate(FIRST_POINT)
    over.hover(position={"x": spot, "y": box["height"] / 2})
    assert "30 of 200 runs" in figure.locator(".u-legend").inner_text()
    with page.expect_navigation():
        over.click(position={"x": spot, "y": box["height"] / 2})
    assert "/traces?from=" in page.url
    assert "severity=LOW" in page.url


def test_switches_live_in_the_address(open_overview: Watched) -> None:
    """Unit and population, beside the time that was chosen; parts of the page follow."""
    page = open_overview.page
    page.get_by_role("link", name="Turns").click()
    page.get_by_role("link", name="Detectors", exact=True).click()
    assert page.url.endswith("/?range=24h&unit=turn&population=detectors")
    loaded(open_overview)
    assert "share of turns" in page.inner_text("main")
    page.get_by_role("button", name="Model").click()
    page.wait_for_selector("#more h2:has-text('Models')")


def test_words_explain_themselves_on_focus(open_overview: Watched) -> None:
    """By keyboard as by mouse, and go away with Escape; the link leads to the whole."""
    page = open_overview.page
    term = page.locator("dl.figures a.term").first
    term.focus()
    assert page.locator("#tip").is_visible()
    assert "share of judged units" in page.inner_text("#tip")
    assert term.get_attribute("aria-describedby") == "tip"
    page.keyboard.press("Escape")
    assert not page.locator("#tip").is_visible()
    assert term.get_attribute("href") == "/explain/error-rate"


@pytest.mark.parametrize(
    "path",
    ["/judges", "/judges/plan-quality", "/labels", "/labels?purpose=learning", "/explain", "/explain/plan-quality"],
)
def test_the_other_pages_are_quiet_and_accessible(told: Api, site: Watched, path: str) -> None:
    """Light and dark, with hostile names on them."""
    denied = Annotation(
        id="1", trace_id=KNOWN, span_id=SPAN, annotator=HOSTILE, category=HOSTILE, severity=Severity.HIGH,
        evidence=HOSTILE, explanation=HOSTILE, changed_at=NOW, judge="rule",
        opinion=Opinion.DISAGREE, finding_id="1", agent_run_id="run", fingerprint="fp",
    )  # fmt: skip
    told.reader.labels.save(Labelled([denied]))
    site.open(path)
    assert site.page.locator("main img").count() == 0
    site.check_accessible()
    site.check_quiet()


@pytest.mark.parametrize("path", ["/", "/judges", "/labels"])
@pytest.mark.parametrize("width", [360, 800])
@pytest.mark.usefixtures("told")
def test_pages_fit_small_screens(site: Watched, path: str, width: int) -> None:
    """Nothing is wider than the screen but what scrolls in itself."""
    site.page.set_viewport_size({"width": width, "height": 800})
    site.open(path)
    site.page.wait_for_load_state("networkidle")
    assert site.page.evaluate("document.documentElement.scrollWidth") <= width


def test_an_empty_store_shows_how_to_fill_it(api: Api, open_site: Callable[[str], Watched]) -> None:
    """With the endpoints that are bound."""
    app = create_web_app(Services(
        api.reader, Judge(), problems=list, metrics=bytes, clock=lambda: NOW,
        endpoints=lambda: [Endpoint("OTLP/gRPC", "http://127.0.0.1:4317")],
    ))  # fmt: skip
    with served(app) as url:
        site = open_site(url)
        site.open("/")
        assert "export OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4317" in site.page.inner_text("main")
        site.check_accessible()
        site.check_quiet()


def test_a_quiet_time_is_no_empty_store(api: Api, site: Watched) -> None:
    """Traces there are, though none of that time: the figures say so and no exporter is asked for."""
    api.put_rows(row(0))
    site.open("/?range=1h")
    assert "nothing judged in this time" in site.page.inner_text("main")
    assert "OTEL_EXPORTER" not in site.page.inner_text("main")
    site.check_quiet()


@pytest.mark.parametrize(
    ("query", "why"),
    [("unit=week", "no unit 'week'"), ("population=all", "no population 'all'"), ("profile=x", "unknown profile 'x'")],
)
def test_what_the_address_gets_wrong_is_said(api: Api, query: str, why: str) -> None:
    """In a line."""
    answer = api.client.get(f"/?{query}")
    assert answer.status_code == 422
    assert answer.json()["detail"].startswith(why)
    assert api.client.get("/overview/by/weather").status_code == 404


def test_new_services_are_diagnosed_once(api: Api) -> None:
    """What the doctor said is kept for a while: he reads whole traces."""
    api.put_rows(row(0))
    api.reader.pipeline_stats.given["new_services"] = ["svc"]
    first = api.client.get("/overview/doctor").text
    asked = len(api.reader.asked)
    assert "New service: svc" in first
    assert "tracejury doctor --service svc" in first
    assert api.client.get("/overview/doctor").text == first
    assert len(api.reader.asked) == asked


def test_judging_is_of_real_sessions_or_of_simulated_ones(api: Api) -> None:
    """Findings, spend and outcomes; of both there is no figure."""
    stats = api.reader.pipeline_stats.given
    stats["timeliness"] = lambda *_, simulated: Timeliness(20 + simulated, 1, 1)
    stats["outcomes"] = lambda *_, simulated: {"plan-quality": {Outcome.DONE: 30 + simulated}}
    spent = Spend(NOW - NOW % HOUR, "svc", 0, 0)
    api.reader.ledger.given["spend"] = lambda _, *, simulated: [replace(spent, usd=40.0 + simulated)]
    for query, texts in {"": ("20 spans", "30 ", "$40.00"), "?simulated=1": ("21 spans", "31 ", "$41.00")}.items():
        page = api.client.get(f"/overview/judging{query}").text
        assert [text for text in texts if text not in page] == []


def test_of_one_service_no_other_is_diagnosed(api: Api) -> None:
    """The page of a service speaks of it alone, however many others are newer."""
    api.put_rows(row(0))
    new = ["one", "two", "three", "svc"]
    api.reader.pipeline_stats.given["new_services"] = lambda _since, limit: new[:limit]
    said = api.client.get("/overview/doctor?service=svc").text
    assert "New service: svc" in said
    assert "New service: one" not in said
    assert "New service:" not in api.client.get("/overview/doctor?service=old").text


def test_the_judge_page_knows_whom_it_is_about(api: Api) -> None:
    """A judge of the sets always, others where they said something, nobody else."""
    assert api.client.get("/judges/plan-quality").status_code == 200
    assert api.client.get("/judges/mine").status_code == 404
    api.reader.pipeline_stats.given["outcomes"] = {"mine": {Outcome.DONE: 1}}
    assert api.client.get("/judges/mine").status_code == 200
    assert api.client.get("/judges/mine?outcome=lost").status_code == 422


def test_the_judges_page_says_how_many_are_left_over_budget(api: Api) -> None:
    """Nothing where none are."""
    api.status[0] = JudgesStatus(on=True, model="some/model", over_budget=12)
    assert "12 left over budget" in api.client.get("/judges").text
    api.status[0] = JudgesStatus(on=True, model="some/model")
    assert "left over budget" not in api.client.get("/judges").text


def test_the_ledger_goes_on_page_by_page(api: Api) -> None:
    """By cursor, which the link carries."""
    word = LedgerRow(
        "", "a" * 32, SubjectKind.AGENT_RUN, "r", "mine", "v", "h", Outcome.DONE, "", "m", 1.0, 0, 0, NOW, NOW
    )
    api.reader.pipeline_stats.given["outcomes"] = {"mine": {Outcome.DONE: 40}}
    api.put_ledger(
        *(LedgerEntry(replace(word, judged_at=NOW - n, subject_id=str(n)), "", "svc", "agent") for n in range(1, 41))
    )
    text = api.client.get("/judges/mine?range=7d").text
    href = text.split('rel="next" href="')[1].split('"')[0].replace("&amp;", "&")
    assert href.startswith("/judges/mine?range=7d&cursor=")
    rest = api.client.get(href).text
    assert rest.count("<time") == 10
    assert 'rel="next"' not in rest


def test_why_labels_correct_nothing(api: Api) -> None:
    """Said in the calibrated figure's place where people have labelled anything; else there is no such place."""
    told = RateAnswer(Population.DETECTORS, replace(RATE, calibrated=None), (), Unjudged({}), uncalibrated="3 <")
    api.reader.rates.given["compare"] = RateComparison(told, told, None, None, None, None)
    assert "Calibrated by labels" not in api.client.get("/").text
    api.reader.labels.save(
        Labelled(reviews=[Review(trace_id="a" * 32, agent_run_id="run", annotator="ann", changed_at=1)])
    )
    text = api.client.get("/").text
    assert "<small>3 &lt;</small>" in text
    assert 'href="/explain/calibrated"' in text


def test_a_break_down_says_what_its_names_open(api: Api) -> None:
    """The lists count findings whoever made them, also where the rates beside are one population's."""
    api.reader.rates.given |= RATES
    assert "with such an error, whoever found it" in api.client.get("/overview/by/category?population=detectors").text
    assert "whoever found it" not in api.client.get("/overview/by/session").text
