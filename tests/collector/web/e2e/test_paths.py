"""A newcomer's paths from the first page to the evidence of an error: at most three clicks, or keys alone."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from browsing import Watched
from house import House
from sizes import sized

if TYPE_CHECKING:
    from playwright.sync_api import Locator

pytestmark = pytest.mark.timeout(240)

MOST_CLICKS = 3
ROW = "section:has(h2:has-text('{title}')) tbody tr:first-child a"
WORST = "section:has(h2:has-text('Worst errors')) li a:not(.severity)"
# Where the last point of the chart is.
LAST_POINT = """(() => {
  const plot = document.querySelector("[data-chart]").plot;
  const at = plot.data[1].findLastIndex((value) => value > 0);
  return Math.min(plot.valToPos(plot.data[0][at], "x"), plot.over.clientWidth - 3);
})()"""


@dataclass
class Newcomer:
    """Somebody who has never seen these pages, and counts the clicks."""

    site: Watched
    clicks: int = 0

    def click(self, target: Locator, *, at: float | None = None) -> None:
        """Click once it is there; `at`: so many pixels from its left, half-way down."""
        target.wait_for()
        box = target.bounding_box()
        assert box is not None
        if at is None:
            target.click()
        else:
            target.hover(position={"x": at, "y": box["height"] / 2})
            target.click(position={"x": at, "y": box["height"] / 2})
        self.clicks += 1

    def from_list_to_evidence(self) -> None:
        """From a list of traces: its first one, and there, if need be, the first finding."""
        page = self.site.page
        page.wait_for_url("**/traces?*")
        self.click(page.locator("a.row-link").first)
        page.wait_for_url(re.compile("/traces/[0-9a-f]{32}"))
        page.locator("#panel h2").wait_for()
        if not page.locator("main mark").count():
            self.click(page.locator("#trace-errors .jump").first)
        self.check_evidence()

    def check_evidence(self) -> None:
        """A quote is highlighted in the very message, in sight, beside what is wrong with it; few clicks led here."""
        from playwright.sync_api import expect

        page = self.site.page
        expect(page.locator("#panel mark").first).to_be_in_viewport()
        expect(page.locator("#panel .finding .explanation").first).not_to_be_empty()
        assert 1 <= self.clicks <= MOST_CLICKS
        self.site.check_quiet()


@pytest.fixture
def newcomer(any_house: House, open_site: Callable[[str], Watched]) -> Newcomer:
    """On the first page."""
    from playwright.sync_api import expect

    site = open_site(any_house.url)
    site.open("/")
    expect(site.page.locator("[aria-busy]")).to_have_count(0)
    return Newcomer(site)


def test_from_the_worst_error(newcomer: Newcomer) -> None:
    """One click."""
    newcomer.click(newcomer.site.page.locator(WORST).first)
    newcomer.check_evidence()
    assert newcomer.clicks == 1


@pytest.mark.parametrize("title", ["Worst agents", "Worst tools", "Categories", "Dimensions"])
def test_from_a_row_of_a_break_down(newcomer: Newcomer, title: str) -> None:
    """Its rate leads to the failing traces, the first of them to the evidence."""
    newcomer.click(newcomer.site.page.locator(ROW.format(title=title)).first)
    newcomer.from_list_to_evidence()


def test_from_a_point_of_the_chart(newcomer: Newcomer) -> None:
    """The failing traces of that time."""
    page = newcomer.site.page
    over = page.locator(".plot .u-over").first
    over.wait_for()
    newcomer.click(over, at=page.evaluate(LAST_POINT))
    newcomer.from_list_to_evidence()


def test_by_keys_alone(newcomer: Newcomer) -> None:
    """`g` `t` leads to the traces, `j` to the first that failed, Enter opens it, `n` shows its first finding."""
    from playwright.sync_api import expect

    page = newcomer.site.page
    page.keyboard.press("g")
    page.keyboard.press("t")
    page.wait_for_url("**/traces")
    with page.expect_response("**/fragments/facets"):
        page.locator("select[name=severity]").focus()
    page.keyboard.press("ArrowDown")
    page.wait_for_url("**/traces?severity=LOW")
    page.locator("#main").press("j")
    assert page.evaluate("document.activeElement.className") == "row-link"
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/traces/[0-9a-f]{32}"))
    page.locator("#panel h2").wait_for()
    page.keyboard.press("n")
    expect(page.locator("#panel .finding:focus, #panel mark").first).to_be_in_viewport()
    newcomer.site.check_quiet()


def test_by_tab_and_enter(newcomer: Newcomer) -> None:
    """Whatever a mouse can press, Tab reaches, and one sees where one is."""
    page = newcomer.site.page
    page.locator(WORST).first.wait_for()
    for _ in range(120):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('ul.rows a[href^=\"/traces/\"]')"):
            break
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    newcomer.clicks = 1
    newcomer.check_evidence()


def test_the_address_of_a_finding_shows_its_quote(any_house: House, open_site: Callable[[str], Watched]) -> None:
    """The browser scrolls to the finding that an address names; the quote is in sight after that."""
    from playwright.sync_api import expect

    site = open_site(any_house.url)
    findings = [one for trace in any_house.traces() for one in any_house.findings(trace["trace_id"])]
    assert findings
    for one in findings[:: sized(5, 1)]:
        site.page.goto("about:blank")  # another fragment of one page would be no load
        site.open(f"/traces/{one['trace_id']}?span={one['span_id']}#finding-{one['id']}")
        mark = site.page.locator(f"#panel mark[data-findings~='{one['id']}']").first
        if mark.count():
            expect(mark).to_be_in_viewport()
