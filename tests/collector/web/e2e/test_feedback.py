"""What one says of findings and runs on pages, in the figures of judges a moment later."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx
from browsing import Watched
from house import House

if TYPE_CHECKING:
    from playwright.sync_api import Locator


def said(place: Locator, words: str) -> None:
    """Until it stands there."""
    place.locator(".said li", has_text=words).wait_for()


def precision(visitor: Watched, judge: str) -> str:
    """The cell of the table of judges."""
    visitor.open("/judges")
    row = visitor.page.locator(f"tr:has(a:text-is('{judge}'))")
    return row.locator("td").nth(1).inner_text() if row.count() else ""


def test_everything_one_can_say(visitor: Watched, house: House, client: httpx.Client) -> None:
    """Agree, disagree, name another span, mark what was missed, score, review, withdraw; the judges' page counts it."""
    page = visitor.page
    shown = house.trace_of("wrong arguments")
    found = client.get("/api/findings", params={"trace": shown.trace_id}).json()["items"]
    one = next(f for f in found if f["judge"] == "schema-violation")
    address = f"/traces/{shown.trace_id}?span={one['span_id']}"
    visitor.open(address)
    card = page.locator(f"#finding-{one['id']}")
    card.locator("input[name=annotator]").fill("Ada")
    card.get_by_role("button", name="Agree", exact=True).click()
    said(card, "Ada agrees")
    assert precision(visitor, one["judge"]).startswith("100")
    visitor.open(address)
    card.get_by_role("button", name="Disagree", exact=True).click()
    said(card, "Ada disagrees")
    assert precision(visitor, one["judge"]).startswith("0")
    visitor.open(address)
    other = next(span for span in shown.spans if span.span_id.hex() != one["span_id"] and span.name == "chat")
    card.locator("summary", has_text="Other span").click()
    card.locator("input[name=span]").fill(other.span_id.hex())
    card.locator("textarea[name=note]").fill("it began here")
    card.get_by_role("button", name="It was made at that span").click()
    said(card, "made at another span")
    said(card, "it began here")
    card.get_by_role("button", name="Withdraw").click()
    card.locator(".said li").wait_for(state="detached")
    assert precision(visitor, one["judge"]) == ""
    check_what_is_said_of_a_run(visitor, shown.trace_id, one["span_id"], one["agent_run_id"])
    told = {"trace": shown.trace_id, "annotator": "Ada", "withdrawn": "true"}
    kept = client.get("/api/annotations", params=told).json()["items"]
    assert {(a["opinion"], a["withdrawn"]) for a in kept} == {("other-span", True), ("missed", False)}
    visitor.check_quiet()


def check_what_is_said_of_a_run(visitor: Watched, trace_id: str, span_id: str, run_id: str) -> None:
    """A missed error at its span; a score and a review of the run, which counts as looked at then."""
    page = visitor.page
    visitor.open(f"/traces/{trace_id}?span={span_id}")
    section = page.locator(f"#at-{span_id}")
    section.get_by_text("An error was missed here").click()
    section.locator("select[name=category]").select_option("Goal Deviation")
    section.locator(".missed textarea[name=note]").fill("not asked for")
    section.get_by_role("button", name="Save").click()
    said(section, "Goal Deviation")
    visitor.open(f"/traces/{trace_id}?span={run_id}")
    run = page.locator(f"[data-feedback='run:{run_id}']")
    run.locator("select[name=dimension]").select_option("TC")
    run.locator("select[name=score]").select_option("1")
    run.get_by_role("button", name="Score", exact=True).click()
    said(run, "1")
    run.get_by_role("button", name="Reviewed").click()
    said(run, "has reviewed")
