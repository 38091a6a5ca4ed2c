"""What spares work, by keyboard and mouse in a real browser: saved views, columns, one opinion on several errors."""

from __future__ import annotations

import httpx
import pytest
from browsing import Watched

WIDTHS = (1400, 700, 390)
"""A desk's, the same at 200 % zoom, and a phone's."""
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


def check_fits(visitor: Watched) -> None:
    """At each width, with whatever is open."""
    for width in WIDTHS:
        visitor.page.set_viewport_size({"width": width, "height": 900})
        assert visitor.page.evaluate(WIDER) <= 0, width
    visitor.page.set_viewport_size({"width": 1280, "height": 900})


def test_a_view_is_saved_shared_and_deleted(visitor: Watched, client: httpx.Client) -> None:
    """The name alone is enough for another one to see the same list."""
    page = visitor.page
    visitor.open("/traces?range=7d&severity=MEDIUM&columns=cost")
    page.locator(".views summary").focus()
    page.keyboard.press("Enter")
    page.get_by_label("Save this page as").fill("costly / 1")
    check_fits(visitor)
    visitor.check_accessible()
    page.keyboard.press("Enter")
    page.wait_for_url("**/views")
    visitor.check_accessible()
    assert [one["link"] for one in client.get("/api/views").json()["items"]] == [
        "/traces?range=7d&severity=MEDIUM&columns=cost"
    ]
    visitor.open("/views/costly%20%2F%201")
    assert page.url.endswith("/traces?range=7d&severity=MEDIUM&columns=cost")
    assert page.locator("thead th").all_inner_texts() == ["Trace", "Cost"]
    page.locator(".views summary").click()
    page.locator(".views a", has_text="costly / 1").click()
    page.wait_for_url("**/traces?*")
    visitor.open("/views")
    page.get_by_role("button", name="Delete the view costly / 1").click()
    page.get_by_text("No view is saved").wait_for()
    visitor.check_quiet()


@pytest.mark.parametrize("path", ["/traces", "/sessions", "/errors"])
def test_columns_are_chosen_by_keyboard(visitor: Watched, path: str) -> None:
    """And hold when the filters change; the usual ones are a link away."""
    page = visitor.page
    visitor.open(f"{path}?range=7d")
    page.locator(".column-menu summary").focus()
    page.keyboard.press("Enter")
    check_fits(visitor)
    visitor.check_accessible()
    boxes = page.locator(".column-menu input[type=checkbox]")
    for box in boxes.all()[1:]:
        if box.is_checked():
            box.focus()
            page.keyboard.press("Space")
    page.get_by_role("button", name="Show these").press("Enter")
    page.wait_for_url("**columns=*")
    assert page.locator(".column-menu input:checked").count() == 1
    page.locator("select[name=severity]").select_option("MEDIUM")
    page.wait_for_url("**severity=MEDIUM*")
    assert "columns=" in page.url
    if path != "/errors":
        assert page.locator("thead th").count() == 2
    page.locator(".column-menu summary").click()
    page.get_by_role("link", name="Show the usual ones").click()
    page.wait_for_url(lambda url: "columns=" not in url)
    visitor.check_quiet()


def test_several_errors_get_one_opinion_and_lose_it(visitor: Watched, client: httpx.Client) -> None:
    """By keyboard; the count is told to screen readers."""
    page = visitor.page
    visitor.open("/errors?range=7d")
    shown = page.locator("[form=bulk][type=checkbox]")
    number = shown.count()
    assert number > 1
    page.get_by_label("Select all shown").focus()
    page.keyboard.press("Space")
    page.locator("#bulk-count[role=status]", has_text=f"{number} selected").wait_for()
    shown.first.focus()
    page.keyboard.press("Space")
    page.locator("#bulk-count", has_text=f"{number - 1} selected").wait_for()
    check_fits(visitor)
    visitor.check_accessible()
    page.locator("#bulk input[name=annotator]").fill("Bulk Ada")
    page.locator("#bulk").get_by_role("button", name="Agree", exact=True).press("Enter")
    page.get_by_role("heading", name=f"{number - 1} errors labelled").wait_for()
    visitor.check_accessible()
    given = client.get("/api/annotations", params={"annotator": "Bulk Ada", "limit": "1000"}).json()["items"]
    assert len(given) == number - 1
    page.get_by_role("button", name="Take them back").press("Enter")
    page.get_by_text("What you said of them is taken back").wait_for()
    assert client.get("/api/annotations", params={"annotator": "Bulk Ada"}).json()["items"] == []
    page.get_by_role("link", name="Back to the errors").click()
    page.wait_for_url("**/errors?range=7d")
    visitor.check_quiet()


def test_an_error_says_how_it_becomes_a_regression_case(visitor: Watched, client: httpx.Client) -> None:
    """The command with its id, to be copied."""
    error = client.get("/api/errors", params={"severity": "HIGH"}).json()["items"][0]
    visitor.open(f"/errors/{error['id']}")
    card = visitor.page.locator(f"#error-{error['id']}")
    card.get_by_text("Add to regressions").click()
    card.get_by_text(f"tracejury regressions add {error['id']} --to cases").wait_for()
    check_fits(visitor)
    visitor.check_accessible()


def test_the_panels_of_the_overview_keep_their_places(visitor: Watched) -> None:
    """What comes below the two columns of panels is as wide as the page, and beside nothing."""
    visitor.open("/?range=7d")
    columns, grades = visitor.page.locator(".columns"), visitor.page.locator(".panel", has_text="Grades").last
    above, below = columns.bounding_box(), grades.bounding_box()
    assert above is not None
    assert below is not None
    assert below["y"] >= above["y"] + above["height"]
    assert (below["x"], below["width"]) == (above["x"], above["width"])
