"""The name beside what somebody says: asked for once, kept for this browser, and changed in any form."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest
from trace_pages import MANAGER, TOOL, TRACE_ID, Pages, failing_run, trace_pages

from tracejury.collector.store.shared_store import SharedStore
from tracejury.schemas.queries.labels import Labelled

if TYPE_CHECKING:
    from browsing import Watched

MISSED = {"trace": TRACE_ID, "span": TOOL, "category": "Goal Deviation", "severity": "LOW"}


@pytest.fixture
def pages(store: SharedStore) -> Iterator[Pages]:
    with trace_pages(store) as made:
        made.put(*failing_run())
        yield made


def names(pages: Pages) -> set[str]:
    """Of all who said something of the trace."""
    return {one.annotator for one in pages.reader.labels.of_traces([TRACE_ID]).get(TRACE_ID, Labelled()).annotations}


def test_a_name_is_kept_until_another_is_given(pages: Pages) -> None:
    """Forms that give none are said by the one that was given last."""
    assert pages.post("/feedback/missed", **MISSED).status_code == 422
    for given, said in (({"annotator": "Ada"}, {"Ada"}), ({}, {"Ada"}), ({"annotator": " Bob "}, {"Ada", "Bob"})):
        assert pages.post("/feedback/missed", **MISSED, **given).status_code == 303
        assert names(pages) == said
    shown = pages.get(f"/traces/{TRACE_ID}/panel", span=TOOL).text
    assert "as <strong>Bob</strong>" in shown
    assert '<input name="annotator" value="Bob"' in shown


def test_the_labels_page_takes_a_name(pages: Pages) -> None:
    """And leads back to the list that was shown."""
    form = {"annotator": "Ada <i>", "range": "7d", "service": "a&b", "purpose": "learning", "other": "x"}
    answer = pages.post("/feedback/name", **form)
    assert (answer.status_code, answer.headers["location"]) == (303, "/labels?range=7d&service=a%26b&purpose=learning")
    assert "You label as <strong>Ada &lt;i&gt;</strong>" in pages.get("/labels").text
    assert pages.post("/feedback/name", annotator="Bob").headers["location"] == "/labels"
    assert pages.post("/feedback/name", annotator=" ").status_code == 422


def test_a_name_that_is_changed_is_changed_in_all_forms(pages: Pages, open_site: Callable[[str], Watched]) -> None:
    """Enter in its field says nothing of the finding; what is said next, wherever, is said by that name."""
    site = open_site(pages.url)
    page = site.page
    site.open(f"/traces/{TRACE_ID}?span={TOOL}")
    card = page.locator("#panel .finding").first
    card.locator("input[name=annotator]").fill("Ada")
    card.locator("input[name=annotator]").press("Enter")
    card.get_by_role("button", name="Agree", exact=True).click()
    card.locator(".said li", has_text="Ada agrees").wait_for()
    missed = page.locator(f"#at-{TOOL} .missed").first
    missed.locator("summary", has_text="missed").click()
    assert missed.locator("input[name=annotator]").input_value() == "Ada"
    card.locator(".who summary").click()
    card.locator("input[name=annotator]:not([type=hidden])").fill("Bob")
    card.locator("input[name=annotator]:not([type=hidden])").press("Enter")
    card.get_by_role("button", name="Disagree", exact=True).click()
    card.locator(".said li", has_text="Bob disagrees").wait_for()
    missed.locator("select[name=category]").select_option("Goal Deviation")
    missed.get_by_role("button", name="Save").click()
    page.locator(f"#at-{TOOL} .said li", has_text="Bob sees an error").wait_for()
    assert sorted(
        (one.annotator, one.opinion.value) for one in pages.reader.labels.of_traces([TRACE_ID])[TRACE_ID].annotations
    ) == [("Ada", "agree"), ("Bob", "disagree"), ("Bob", "missed")]
    page.reload()
    assert page.locator("#panel .who strong").first.inner_text() == "Bob"
    site.open(f"/traces/{TRACE_ID}?span={MANAGER}")
    assert page.locator("#panel .who strong").first.inner_text() == "Bob"
    site.check_accessible()
    site.check_quiet()
