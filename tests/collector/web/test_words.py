"""How sentences of ours stand on pages, and where one gets when one jumps into a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from served_api import Api, finding, row

from tracejury.collector.web.build import make_templates

if TYPE_CHECKING:
    from browsing import Watched


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain <b>", "plain &lt;b&gt;"),
        ("use `a <b>` or `c`", "use <code>a &lt;b&gt;</code> or <code>c</code>"),
        ("`all`", "<code>all</code>"),
        ("an `open one", "an `open one"),
    ],
)
def test_what_stands_between_backticks_is_code(text: str, shown: str) -> None:
    """And all of it is escaped."""
    module = make_templates({}, lambda _: None, "0").get_template("sentence.html").module
    assert str(module.sentence(text)) == shown  # type: ignore[attr-defined]  # a macro


def test_criteria_show_no_backticks(api: Api) -> None:
    """On the page of a judge as on that of its words."""
    for path in ("/explain/logical-consistency", "/judges/logical-consistency"):
        text = api.client.get(path).text
        assert "<code>also_at</code>" in text
        assert "`" not in text


@pytest.mark.parametrize("path", ["/", "/errors", "/labels", "/explain"])
def test_who_skips_to_the_content_sees_its_title(api: Api, site: Watched, path: str) -> None:
    """The bar at the top, which stays in sight, does not hide it."""
    from playwright.sync_api import expect

    api.put_rows(row(0))
    api.put(*(finding(-n) for n in range(1, 90)))
    site.open(path)
    page = site.page
    page.mouse.wheel(0, 3_000)
    page.locator("a.skip").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()
    title, bar = page.locator("h1").bounding_box(), page.locator("header.top").bounding_box()
    assert title is not None
    assert bar is not None
    assert title["y"] >= bar["y"] + bar["height"]


def test_no_word_of_the_menu_is_cut_off_on_small_screens(site: Watched) -> None:
    """It takes a second line."""
    site.page.set_viewport_size({"width": 360, "height": 700})
    site.open("/labels")
    for link in site.page.locator("header.top nav a").all():
        box = link.bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= 360
