"""What all pages share, in a real browser."""

from __future__ import annotations

from browsing import Watched


def test_a_page_loads_nothing_from_elsewhere_and_complains_of_nothing(site: Watched) -> None:
    """The policy lets through all that pages need, and axe has nothing serious to say, light and dark."""
    site.open("/")
    assert site.page.title() == "Overview · tracejury"
    site.check_accessible()
    site.check_quiet()


def test_keys_lead_everywhere(site: Watched) -> None:
    """`/` goes to the search, `?` shows the keys, `g` and a letter go to a page."""
    site.open("/?range=7d")
    site.page.keyboard.press("/")
    assert site.page.evaluate("document.activeElement.id") == "search"
    site.page.keyboard.press("Escape")
    site.page.locator("#main").focus()
    site.page.keyboard.press("?")
    assert site.page.locator("#keys").is_visible()
    site.page.keyboard.press("Escape")
    assert not site.page.locator("#keys").is_visible()
    site.page.keyboard.press("g")
    with site.page.expect_navigation():
        site.page.keyboard.press("o")
    assert site.page.url.endswith("/?range=7d")
    site.check_quiet()


def test_the_theme_that_was_chosen_stays(site: Watched) -> None:
    """It is kept for later pages; until then the system's holds."""
    site.page.emulate_media(color_scheme="light")
    site.open("/")
    ground = "getComputedStyle(document.documentElement).backgroundColor"
    light = site.page.evaluate(ground)
    site.page.click("#theme")
    dark = site.page.evaluate(ground)
    site.open("/")
    assert site.page.evaluate(ground) == dark != light
    site.check_quiet()


def test_time_and_service_live_in_the_address(site: Watched) -> None:
    """The range picker and the filter change the address, and links keep them."""
    site.open("/")
    site.page.get_by_role("link", name="7d").click()
    site.page.fill("#service", "checkout & co")
    with site.page.expect_navigation():
        site.page.keyboard.press("Enter")
    assert site.page.url.endswith("/?range=7d&service=checkout+%26+co")
    traces = site.page.get_by_role("link", name="Traces").get_attribute("href")
    assert traces == "/traces?range=7d&service=checkout+%26+co"
    site.page.get_by_role("link", name="All services").click()
    assert site.page.url.endswith("/?range=7d")
    site.check_quiet()
