"""Lists of traces and sessions, and a conversation, as pages in a browser over the real store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest
from listed_traces import SECOND, Listed, Mark, store_all
from served_api import served
from stored_readers import stored_reader

from tracejury.collector.api.services import Services
from tracejury.collector.app.web_app import create_web_app
from tracejury.collector.store.shared_store import SharedStore
from tracejury.processors.assemble import AssemblerConfig
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.text.terminal import one_line as visible
from tracejury.schemas.trajectory import TraceState

if TYPE_CHECKING:
    from browsing import Watched

NOW = 1_800_000_000 * SECOND
HIGH = Mark(severity=Severity.HIGH, category="Tool-related", evidence="<b>quoted</b>")
DAY = 86_400 * SECOND
ODD = [".", "..", "a/../b?c#d%2F", "%2e%2e", "x\ny", "\\", "talk/"]
"""Ids of sessions, each of two services."""
HOSTILE = "<script>alert(1)</script>\u202e" + "x" * 300

TRACES = [
    Listed(1, received=NOW - 60 * SECOND, start=NOW - 70 * SECOND, length=9 * SECOND, goal="book a flight", usd=0.5,
           tokens=10, session="talk/1", marks=(HIGH,)),
    Listed(2, received=NOW - 30 * SECOND, start=NOW - 40 * SECOND, length=2 * SECOND, goal="and a hotel", usd=0.25,
           tokens=5, session="talk/1", helper="scout"),
    Listed(3, received=NOW - 20 * SECOND, start=NOW - 25 * SECOND, goal=HOSTILE, tool="book", state=TraceState.OPEN),
    Listed(4, received=NOW - 50 * SECOND, start=NOW, service="\u2066desk", helper="evil\u202etxt"),
    Listed(5, received=NOW - 60 * DAY, start=NOW - 60 * DAY, service="museum", goal="an old one"),
    *(Listed(n, received=NOW - n * SECOND, start=NOW, service=service, session=name)
      for n, (name, service) in enumerate(product(ODD, ("odd", "other")), 10)),
    *(Listed(n, received=NOW - n * SECOND, start=NOW, service="crowd", goal=f"job {n}") for n in range(100, 160)),
]  # fmt: skip


@pytest.fixture
def lists(store: SharedStore, open_site: Callable[[str], Watched]) -> Iterator[Watched]:
    """A browser on the pages over the traces above."""
    store_all(store, TRACES)
    reader = stored_reader(store, AssemblerConfig(), lambda: NOW)
    app = create_web_app(Services(reader, lambda _ids, _by_hand: (), problems=tuple, metrics=bytes, clock=lambda: NOW))
    with served(app) as url:
        watched = open_site(url)
        yield watched
        watched.check_quiet()


def shown(lists: Watched) -> list[str]:
    return [text.splitlines()[0] for text in lists.page.locator("a.row-link").all_inner_texts()]


def test_filters_compose_and_live_in_the_address(lists: Watched) -> None:
    """Each filter narrows what is shown, stands in the address, survives a reload, and comes off by its chip."""
    lists.open("/traces?service=shop")
    assert len(shown(lists)) == 3
    with lists.page.expect_response(lambda r: "severity=HIGH" in r.url):
        lists.page.select_option("select[name=severity]", "HIGH")
    lists.page.wait_for_url("**/traces?service=shop&severity=HIGH")
    assert shown(lists) == ["book a flight"]
    lists.page.reload()
    assert shown(lists) == ["book a flight"]
    assert lists.page.input_value("select[name=severity]") == "HIGH"
    lists.page.click("a[aria-label='Take off severity HIGH']")
    lists.page.wait_for_url("**/traces?service=shop")
    assert len(shown(lists)) == 3
    lists.page.go_back()
    assert shown(lists) == ["book a flight"]


def test_columns_sort_and_pages_follow(lists: Watched) -> None:
    """A click sorts, a second one turns it round; the next page begins where this one ends."""
    lists.open("/traces?service=shop")
    with lists.page.expect_response(lambda r: "sort=cost" in r.url):
        lists.page.click("th a:has-text('Cost')")
    lists.page.wait_for_selector("th[aria-sort=descending] a:has-text('Cost')")
    assert shown(lists)[:2] == ["book a flight", "and a hotel"]
    lists.page.click("th a:has-text('Cost')")
    lists.page.wait_for_selector("th[aria-sort=ascending]")
    assert shown(lists)[:2] == ["and a hotel", "book a flight"]
    lists.open("/traces?service=crowd")
    first = shown(lists)
    lists.page.click("a[rel=next]")
    lists.page.wait_for_selector("text=First page")
    second = shown(lists)
    assert (len(first), len(second), len({*first, *second})) == (50, 10, 60)


def test_search_from_any_page_finds_a_phrase_and_an_id(lists: Watched) -> None:
    """The field at the top leads to the list; it says what was looked through."""
    lists.open("/sessions")
    lists.page.fill("#search", "A Flight")
    lists.page.press("#search", "Enter")
    lists.page.wait_for_url("**/traces?q=A+Flight")
    assert shown(lists) == ["book a flight"]
    assert lists.page.get_by_text("Looked for the text in").is_visible()
    lists.open(f"/traces?q={Listed(2).trace_id[:12]}")
    assert shown(lists) == ["and a hotel"]


def test_nothing_found_says_what_to_drop(lists: Watched) -> None:
    """Of several filters those are named without which something would show."""
    lists.open("/traces?agent=scout&tool=book")
    drop = lists.page.locator("#list .empty a")
    assert sorted(drop.all_inner_texts()) == ["Drop agent “scout”", "Drop tool “book”"]
    drop.first.click()
    lists.page.wait_for_url("**/traces?*")
    assert len(shown(lists)) == 1


def test_keys_walk_the_rows(lists: Watched) -> None:
    """J and k move, Enter opens."""
    lists.open("/traces?service=shop")
    lists.page.keyboard.press("j")
    lists.page.keyboard.press("j")
    lists.page.keyboard.press("j")
    lists.page.keyboard.press("k")
    assert lists.page.evaluate("document.activeElement.textContent").startswith("and a hotel")
    with lists.page.expect_navigation(url=f"**/traces/{Listed(2).trace_id}?service=shop", wait_until="commit"):
        lists.page.keyboard.press("Enter")
    lists.failed.clear()  # these traces have no spans to be rebuilt from
    lists.console.clear()


def test_keys_lead_from_a_list_to_other_pages(lists: Watched) -> None:
    """G and then j goes to the judges, also where j alone walks the rows."""
    lists.open("/traces?service=shop")
    lists.page.keyboard.press("g")
    with lists.page.expect_navigation(url="**/judges?service=shop"):
        lists.page.keyboard.press("j")


def test_filters_stay_while_time_and_service_change(lists: Watched) -> None:
    """What was filtered and sorted by goes along to another time, and to another service."""
    lists.open("/traces")
    with lists.page.expect_response(lambda r: "severity=HIGH" in r.url):
        lists.page.select_option("select[name=severity]", "HIGH")
    lists.page.wait_for_url("**/traces?severity=HIGH")
    with lists.page.expect_response(lambda r: "sort=cost" in r.url):
        lists.page.click("th a:has-text('Cost')")
    lists.page.wait_for_selector("th[aria-sort=descending] a:has-text('Cost')")
    lists.page.click(".ranges a:has-text('7d')")
    lists.page.wait_for_url("**/traces?severity=HIGH&sort=cost&range=7d")
    with lists.page.expect_response(lambda r: "agent=planner" in r.url):
        lists.page.fill("#filters input[name=agent]", "planner")
        lists.page.press("#filters input[name=agent]", "Enter")
    lists.page.wait_for_url("**agent=planner*")
    lists.page.fill("#service", "shop")
    with lists.page.expect_navigation():
        lists.page.press("#service", "Enter")
    asked = parse_qs(urlsplit(lists.page.url).query)
    assert asked == {"severity": ["HIGH"], "sort": ["cost"], "range": ["7d"], "agent": ["planner"], "service": ["shop"]}
    assert shown(lists) == ["book a flight"]


def test_a_suggestion_shows_what_is_hidden_and_filters_by_the_name(lists: Watched) -> None:
    """As elsewhere, what reorders or hides text stands there as its code; chosen, it means the name itself."""
    lists.open("/traces")
    lists.page.focus("#filters input[name=agent]")
    lists.page.wait_for_selector("#facet-agents option", state="attached")
    named = lists.page.locator("#facet-agents option").evaluate_all("all => all.map(one => one.value)")
    assert "evil\\u202etxt" in named
    with lists.page.expect_response(lambda r: "agent=evil%E2%80%AEtxt" in r.url):
        lists.page.fill("#filters input[name=agent]", "evil\\u202etxt")
        lists.page.press("#filters input[name=agent]", "Enter")
    lists.page.wait_for_url("**agent=*")
    lists.page.wait_for_selector("#list .chips")
    assert len(shown(lists)) == 1
    lists.page.focus("#service")
    lists.page.wait_for_selector("#services option", state="attached")
    assert "\\u2066desk" in lists.page.locator("#services option").evaluate_all("all => all.map(one => one.value)")
    lists.page.fill("#service", "\\u2066desk")
    with lists.page.expect_navigation(url="**service=%E2%81%A6desk*"):
        lists.page.press("#service", "Enter")
    assert len(shown(lists)) == 1


def test_nothing_in_a_month_says_when_there_was_something(lists: Watched) -> None:
    """The newest of what is asked for, and a link to its day."""
    lists.open("/traces?service=museum&range=30d")
    assert "The newest arrived 2 mo ago" in lists.page.inner_text("#list .empty")
    lists.page.click("#list .empty a:has-text('Show')")
    lists.page.wait_for_url("**/traces?*from=*")
    assert shown(lists) == ["an old one"]


@pytest.mark.parametrize("name", ODD)
def test_a_session_opens_whatever_it_is_called(lists: Watched, name: str) -> None:
    """From the list; its traces are those of its service."""
    lists.open("/sessions?service=odd")
    with lists.page.expect_navigation():
        lists.page.locator("#list td.lead").get_by_text(visible(name), exact=True).click()
    assert visible(name) in lists.page.inner_text("h1")
    assert lists.page.locator(".exchange").count() == 1
    lists.page.click("dl.figures a[href^='/traces']")
    lists.page.wait_for_url("**/traces?*")
    assert parse_qs(urlsplit(lists.page.url).query)["service"] == ["odd"]
    assert len(shown(lists)) == 1


def test_a_conversation(lists: Watched) -> None:
    """From the list of sessions to what was said and found, in order, at any id."""
    lists.open("/sessions?service=shop")
    assert shown(lists) == ["talk/1"]
    lists.page.click("a.row-link")
    lists.page.wait_for_url("**/sessions/talk%2F1?service=shop")
    said = lists.page.locator(".exchange").all_inner_texts()
    assert len(said) == 2
    assert "book a flight" in said[0]
    assert "<b>quoted</b>" in said[0]
    assert "and a hotel" in said[1]
    assert lists.page.locator(".exchange .severity").all_inner_texts() == ["HIGH"]
    assert lists.page.locator(".finding-line > .muted").all_inner_texts() == ["planner, turn 0"]
    category, about = lists.page.locator(".finding-line a:not(.severity)").all()
    assert (about.inner_text(), about.get_attribute("href")) == ("?", "/explain/tool-related")
    assert "span=" in str(category.get_attribute("href"))
    lists.check_accessible()


@pytest.mark.parametrize("path", ["/traces", "/traces?q=nobody+said+this&severity=HIGH", "/sessions?min_duration=1h"])
def test_lists_are_accessible(lists: Watched, path: str) -> None:
    """Full and empty, in both themes; hostile text stands there as text."""
    lists.open(path)
    lists.check_accessible()
    assert lists.page.locator("script:not([src])").count() == 0


def test_facets_are_suggested(lists: Watched) -> None:
    """Names of agents and tools come once somebody looks at the filters."""
    lists.open("/traces?service=shop")
    with lists.page.expect_response("**/fragments/facets*"):
        lists.page.focus("input[name=agent]")
    lists.page.wait_for_selector("#facet-agents option[value=scout]", state="attached")
    assert lists.page.locator("#facet-tools option").count() == 2


@pytest.mark.parametrize("query", ["sort=colour", "severity=worst", "cursor=x", "min_duration=long", "profile=odd"])
def test_an_address_that_means_nothing_is_refused_in_one_line(lists: Watched, query: str) -> None:
    """As a page, with 422."""
    answer = lists.open(f"/traces?{query}")
    assert answer is not None
    assert answer.status == 422
    lists.failed.clear()
    lists.console.clear()
