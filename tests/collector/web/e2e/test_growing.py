"""A trace that streams in over OTLP while somebody looks: it grows under their eyes, and leaves their hands alone."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest
from browsing import Watched
from gallery import Shown, part, perform
from gallery_runs import ACTS
from house import TRACES, House, open_house

from tracejury.collector.otlp.codec.groups import Request, group, rows, schema_of
from tracejury.collector.otlp.codec.signals import SPANS
from tracejury.collector.otlp.files import read

PARTS = 5
LATE = next(act for act in ACTS["help-desk"] if act.title == "ledger late")


@pytest.fixture(scope="module")
def empty_house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with open_house(tmp_path_factory.mktemp("growing"), quiet_seconds=4) as house:
        yield house


def a_real_one() -> Request:
    """The smallest of the real traces with spans enough to grow."""
    if not TRACES.is_dir():
        pytest.skip("the shared TRAIL traces are not there")
    path = min(TRACES.glob("*.json.gz"), key=lambda path: path.stat().st_size)
    return next(source.request for source in read([path]) if schema_of(source.request) is SPANS)


def a_made_up_one() -> Request:
    """A helper that calls a slow tool again and again."""
    return late().request


def late() -> Shown:
    """The same, with what it is about."""
    return perform(LATE, "help-desk", time.time_ns(), random.Random(11), session="talk/2")  # noqa: S311  an example


@pytest.mark.parametrize("make", [a_made_up_one, pytest.param(a_real_one, marks=pytest.mark.trail)])
def test_a_trace_grows_while_one_looks(
    make: Callable[[], Request], empty_house: House, open_site: Callable[[str], Watched]
) -> None:
    """Spans are counted as they come, findings are provisional until the end; what is open and typed stays."""
    from playwright.sync_api import expect

    items = sorted(rows(make()), key=lambda row: row[2].end_time_unix_nano)
    cuts = [round(n * len(items) / PARTS) for n in range(PARTS + 1)]
    parts = [items[a:b] for a, b in pairwise(cuts)]
    first, trace_id = items[0][2].span_id.hex(), items[0][2].trace_id.hex()
    empty_house.put(group(SPANS, parts[0]))
    site = open_site(empty_house.url)
    page = site.page
    page.set_default_timeout(30_000)
    expect.set_options(timeout=30_000)
    site.open(f"/traces/{trace_id}?span={first}")
    page.locator("text=running").wait_for()
    missed = page.locator(f"#at-{first} details.missed").first
    missed.locator("summary").click()
    note = missed.locator("textarea")
    note.fill("half a thought")
    count = page.locator("#trace-facts div:has(dt:text-is('Spans')) dd")
    sent = len(parts[0])
    for some in parts[1:]:
        expect(count).to_have_text(str(sent))
        expect(page.locator("#trace-facts")).to_have_attribute("data-state", "open")
        empty_house.put(group(SPANS, some))
        sent += len(some)
        expect(note).to_have_value("half a thought")
        expect(note).to_be_focused()
    expect(count).to_have_text(str(sent))
    expect(page.locator("#trace-facts")).to_have_attribute("data-state", "settled")
    expect(page.locator("#trace-errors .jump[data-state=current]").first).to_be_visible()
    expect(page.locator("[data-state=provisional]")).to_have_count(0)
    expect(note).to_have_value("half a thought")
    site.check_quiet()


def test_provisional_findings_are_marked(empty_house: House, open_site: Callable[[str], Watched]) -> None:
    """While a run goes on, its findings say that they may be taken back: on its page and in the tail."""
    from playwright.sync_api import expect

    shown = late()
    helper = next(n for n, span in enumerate(shown.spans) if span.name == "billing.run")
    site = open_site(empty_house.url)
    page = site.page
    page.set_default_timeout(30_000)
    site.open("/errors")
    page.locator("#tail-status:has-text('live')").wait_for()
    empty_house.put(part(shown, shown.spans[:helper]))
    row = page.locator(f"#tail .tail-row:has(a[href*='{shown.trace_id}'])").first
    expect(row).to_have_attribute("data-state", "provisional")
    expect(row.locator(".state-tag")).to_be_visible()
    row.locator("a").first.click()
    page.locator("#panel .agent-error.provisional").first.wait_for()
    assert page.locator("#trace-errors .tag:text-is('provisional')").count() >= 1
    empty_house.put(part(shown, shown.spans[helper:]))
    page.locator("#panel .agent-error.current").first.wait_for()
    expect(page.locator(".agent-error.provisional, .finding.provisional")).to_have_count(0)
    site.check_quiet()
