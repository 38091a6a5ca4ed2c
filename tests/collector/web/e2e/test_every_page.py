"""What holds on every page, over made-up traces and hostile ones: quiet, self-contained, accessible, never too wide."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import httpx
import pytest
from browsing import Watched
from hostile_traces import CONTROLS, PROBE, Hostile, hostile_house
from house import House

from tracejury.collector.api.security import POLICY

if TYPE_CHECKING:
    from playwright.sync_api import Response

WIDTHS = (1400, 700, 390)
"""A desk's, the same at 200 % zoom, and a phone's."""
PAGES = (
    "/", "/?unit=turn&range=7d", "/traces", "/traces?severity=MEDIUM&q=order", "/traces?agent=nobody", "/sessions",
    "/sessions/talk%2F1?service=help-desk", "/compare?service=help-desk&first=talk%2F1", "/errors", "/labels",
    "/labels?purpose=learning", "/judges", "/judges/plan-quality", "/packs", "/packs/pipa", "/clusters", "/patterns",
    "/alerts", "/graph", "/services", "/services?service=help-desk&unit=llm_call", "/explain", "/explain/calibrated",
    "/views", "/traces?status=ok&columns=models,version,session,spans",
    "/compare/traces?first={trace}", "/compare/traces?first={trace}&second={other}", "/compare/traces?task=none",
    "/traces/{trace}", "/traces/{trace}?span={span}",
    "/spans/{span}", "/traces/{trace}/spans/{span}/raw", "/nowhere",
)  # fmt: skip
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
TWO_FRAMES = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
BORDERLESS = "getComputedStyle(document.documentElement).backgroundColor"


def visit(site: Watched, path: str) -> Response:
    """Open a page and wait until all its parts have come."""
    from playwright.sync_api import expect

    answer = site.open(path)
    assert answer is not None
    expect(site.page.locator("[aria-busy], .htmx-request")).to_have_count(0)
    if answer.status == 404 and path == "/nowhere":
        site.failed.clear()
        site.console.clear()
    return answer


@pytest.fixture(scope="module")
def places(house: House) -> dict[str, str]:
    """A trace with findings, the span of one, and another trace."""
    found = httpx.get(f"{house.url}/api/errors", params={"severity": "HIGH"}, trust_env=False).json()["items"]
    other = next(one["trace_id"] for one in found if one["trace_id"] != found[0]["trace_id"])
    return {"trace": found[0]["trace_id"], "span": found[0]["span_id"], "other": other}


@pytest.mark.parametrize("path", PAGES)
def test_a_page_is_sound(visitor: Watched, places: dict[str, str], path: str) -> None:
    """The policy is strict, nothing is complained of or loaded from elsewhere, all fits, axe finds nothing grave."""
    page = visitor.page
    page.set_viewport_size({"width": WIDTHS[0], "height": 900})
    answer = visit(visitor, path.format(**places))
    assert answer.headers["content-security-policy"] == POLICY
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        page.evaluate(TWO_FRAMES)  # charts are drawn again once they know their room
        assert page.evaluate(WIDER) <= 0, width
    visitor.check_accessible()
    visitor.check_quiet()


def test_dark_is_dark(visitor: Watched) -> None:
    """The system's scheme decides until somebody chooses, and the button shows what it would switch to."""
    page = visitor.page
    grounds = {}
    for scheme, symbol in (("light", ".moon"), ("dark", ".sun")):
        page.emulate_media(color_scheme="light" if scheme == "light" else "dark")
        visitor.open("/explain")
        grounds[scheme] = page.evaluate(BORDERLESS)
        assert page.locator(f"#theme {symbol}").is_visible()
        assert page.locator("#theme span:visible").count() == 1
    assert grounds["light"] != grounds["dark"]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hostile]:
    """Traces, labels and notes all of whose texts attack whoever shows them."""
    with hostile_house(tmp_path_factory.mktemp("hostile")) as made:
        yield made


@pytest.mark.parametrize("width", WIDTHS[::2])
def test_hostile_content_is_text_everywhere(hostile: Hostile, open_site: Callable[[str], Watched], width: int) -> None:
    """In names of all kinds, messages, evidence, attributes, annotators, notes: it runs nothing and hides nothing."""
    site = open_site(hostile.house.url)
    site.page.set_viewport_size({"width": width, "height": 900})
    seen: dict[str, str] = {}
    for path in hostile.paths:
        visit(site, path)
        text = site.page.locator("body").inner_text()
        seen[path] = text
        assert site.page.evaluate("window.hit === undefined"), path
        assert site.page.locator(PROBE).count() == 0, path
        assert not set(text) & CONTROLS, path
        assert site.page.evaluate(WIDER) <= 0, path
    for word, path in hostile.stands.items():
        assert word in seen[path], (word, path)
    site.check_quiet()
