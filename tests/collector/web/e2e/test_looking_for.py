"""Looking for traces and sessions: filters compose, live in the address, and go with the back button."""

from __future__ import annotations

import pytest
from browsing import Watched
from gallery_runs import ACTS

ROWS = "#list a.row-link"
EVERY = sum(len(acts) for acts in ACTS.values())
BILLED = 3


def shown(visitor: Watched) -> int:
    return visitor.page.locator(ROWS).count()


def choose(visitor: Watched, name: str, value: str) -> None:
    """A filter, as somebody sets it, and the list that follows."""
    page = visitor.page
    field = page.locator(f"#filters [name={name}]")
    with page.expect_response(lambda answer: f"{name}=" in answer.url and answer.ok):
        if field.evaluate("e => e.tagName") == "SELECT":
            field.select_option(value)
        else:
            field.fill(value)
            field.press("Enter")
    page.wait_for_url(f"**{name}=*")


def test_filters_of_traces_compose_and_go_back(visitor: Watched) -> None:
    """Each narrows what is shown; the address alone opens the same; back takes the last one off."""
    from playwright.sync_api import expect

    page = visitor.page
    visitor.open("/traces")
    assert shown(visitor) == EVERY
    choose(visitor, "agent", "billing")
    expect(page.locator(ROWS)).to_have_count(BILLED)
    choose(visitor, "severity", "MEDIUM")
    expect(page.locator(ROWS)).to_have_count(BILLED - 1)
    choose(visitor, "tool", "refund")
    expect(page.locator(ROWS)).to_have_count(1)
    address = page.url
    page.locator(ROWS).click()
    page.locator("#panel h2").wait_for()
    page.go_back()
    expect(page.locator(ROWS)).to_have_count(1)
    page.go_back()
    expect(page.locator(ROWS)).to_have_count(BILLED - 1)
    assert "tool=" not in page.url
    page.goto(address)
    assert shown(visitor) == 1
    assert page.locator("#filters [name=tool]").input_value() == "refund"
    visitor.check_quiet()


def test_filters_of_sessions(visitor: Watched) -> None:
    """A session shows where one of its traces fits; it leads to the conversation and on to its traces."""
    from playwright.sync_api import expect

    page = visitor.page
    visitor.open("/sessions")
    assert page.locator(ROWS).all_inner_texts() == ["talk/1"]
    choose(visitor, "tool", "refund")
    expect(page.locator(ROWS)).to_have_count(1)
    choose(visitor, "agent", "editor")
    expect(page.locator(ROWS)).to_have_count(0)
    page.go_back()
    page.locator(ROWS).click()
    page.locator(".exchange").first.wait_for()
    assert page.locator(".exchange").count() == len(ACTS["help-desk"])
    page.locator("dl.figures a[href^='/traces']").click()
    expect(page.locator(ROWS)).to_have_count(len(ACTS["help-desk"]))
    visitor.check_quiet()


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("twelve LANGUAGES", "release 2.5"),
        ("Harcourt", "Dell Viaduct"),
        ("ledger did not answer", "A-2210"),
        ("24.90 in full", "A-1041"),
    ],
)
def test_words_that_were_said_are_found(visitor: Watched, text: str, title: str) -> None:
    """From the field of any page: of answers, arguments and errors of tools, in any case of letters."""
    page = visitor.page
    visitor.open("/judges")
    page.keyboard.press("/")
    page.keyboard.type(text)
    page.keyboard.press("Enter")
    page.wait_for_url("**/traces?q=*")
    assert title in page.locator(ROWS).inner_text()
    visitor.check_quiet()
