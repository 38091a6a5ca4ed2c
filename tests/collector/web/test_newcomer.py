"""A newcomer's path, on real traces replayed over OTLP: from a rate to the evidence of a failing span."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from browsing import Watched
from processes import Serving, serving

from tracejury.collector.replay.run import replay_files

pytestmark = [pytest.mark.trail, pytest.mark.timeout(240)]

TRACES = Path(__file__).parents[4] / "shared" / "data" / "trail" / "gaia-dev" / "traces"
FEW = 6
SECONDS = 60.0


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """A collector that has judged a few real traces."""
    pytest.importorskip("chdb", reason="the embedded engine is not installed")
    if not TRACES.is_dir():
        pytest.skip("the shared TRAIL traces are not there")
    with serving(tmp_path_factory.mktemp("newcomer")) as started:
        files = sorted(TRACES.glob("*.json.gz"))[:FEW]
        replay_files(files, f"http://127.0.0.1:{started.ports['grpc']}", "grpc")
        until = time.monotonic() + SECONDS
        while len(httpx.get(f"{started.url}/api/traces").json()["items"]) < FEW and time.monotonic() < until:
            time.sleep(0.1)
        while not httpx.get(f"{started.url}/api/errors?severity=HIGH").json()["items"] and time.monotonic() < until:
            time.sleep(0.1)
        yield started


def has_evidence(site: Watched) -> bool:
    """Whether a quote is highlighted in what an agent said."""
    site.page.wait_for_load_state("networkidle")
    return site.page.locator("main mark").first.is_visible()


def test_one_click_from_a_severe_finding_to_its_evidence(
    collector: Serving, open_site: Callable[[str], Watched]
) -> None:
    """The overview's list leads to the trace, at the span, with the quote in sight."""
    site = open_site(collector.url)
    site.open("/")
    site.page.locator("ul.rows a:not(.severity)").first.click()
    site.page.wait_for_url("**/traces/*")
    assert has_evidence(site)
    site.check_quiet()


def test_three_clicks_from_a_rate_to_its_evidence(collector: Serving, open_site: Callable[[str], Watched]) -> None:
    """A category's rate, one of its traces, one of the findings there."""
    site = open_site(collector.url)
    site.open("/")
    site.page.locator("table.data a.named").first.click()
    site.page.wait_for_url("**/traces?*")
    site.page.locator("main a[href^='/traces/']").first.click()
    site.page.wait_for_url("**/traces/*")
    if not has_evidence(site):
        site.page.locator("main a[href*='span=']").first.click()
        assert has_evidence(site)
    site.check_quiet()


def test_a_rate_links_to_as_many_failing_runs_traces(collector: Serving) -> None:
    """What a break-down counts, the list behind its link shows: every trace there has such a finding."""
    with httpx.Client(base_url=collector.url) as client:
        found = client.get("/api/errors?profile=balanced&limit=1000").json()["items"]
        category = found[0]["category"]
        traces = client.get("/traces", params={"category": category, "severity": "LOW"}).text
        linked = {item["trace_id"] for item in found if item["category"] == category}
        assert all(f"/traces/{trace_id}" in traces for trace_id in linked)
