"""The page that shows two conversations side by side: blind, in a chance order, and what forms on it say."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from html import unescape
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

import pytest
from listed_traces import SECOND, Listed, Mark, store_all
from trace_pages import START, Pages, trace_pages

from tracejury.collector.store.shared_store import SharedStore
from tracejury.collector.web.compare import in_chance_order
from tracejury.schemas.annotations import Better, Preference
from tracejury.schemas.queries.labels import LabelQuery

if TYPE_CHECKING:
    from browsing import Watched

ATTACK = "<script>window.hit=1</script>\u202e<b id=hit>'\"/../%2F"
LONG = "a" * 10_000
OLD = Listed(1, session="talk/1", version="version-1", model="model-1", goal="refund it", answer="it is refunded",
             start=START, received=START + SECOND, marks=(Mark(),), helper="helper-1")  # fmt: skip
NEW = Listed(2, session="talk/2", version="version-2", model="model-2", goal="refund it", answer="which order?",
             start=START, received=START + SECOND)  # fmt: skip
ODD = Listed(3, session=ATTACK, goal=ATTACK, answer=ATTACK, start=START, received=START + SECOND)
VAST = Listed(4, session=LONG, start=START, received=START + SECOND)
PAIR = {"first": "talk/1", "second": "talk/2"}


@pytest.fixture
def pages(store: SharedStore) -> Iterator[Pages]:
    store_all(store, [OLD, NEW, ODD, VAST])
    with trace_pages(store) as made:
        yield made


def main_of(text: str) -> str:
    """What stands between the page's head and foot, without the fields of its form."""
    return re.sub(r'<input type="hidden"[^>]*>', "", text.partition("<main")[2].partition("</main>")[0])


def said(pages: Pages) -> list[tuple[str, str, str, str]]:
    """Every preference that holds, by annotator."""
    found = pages.reader.labels.find(Preference, LabelQuery(100))
    return sorted((one.annotator, one.session_id, one.other_session_id, one.better.value) for one in found)


def test_nothing_tells_the_versions_apart(pages: Pages) -> None:
    """Both conversations in whole, and neither ids nor agents, models, times, errors, verdicts, nor links to them."""
    shown = main_of(pages.get("/compare", **PAIR).text)
    for text in ("refund it", "it is refunded", "which order?"):
        assert text in shown
    for hidden in ("talk/", "version-", "model-", "planner", "helper", "again and again", OLD.trace_id, NEW.trace_id,
                   "/sessions", "/traces", "<time", "turn"):  # fmt: skip
        assert hidden not in shown, hidden


def test_an_answer_is_of_the_conversation_that_stands_there(pages: Pages) -> None:
    """Whichever side chance put it on; what others said and which sessions these are shows after one's own answer."""
    both = set()
    for who in (f"person-{n}" for n in range(12)):
        pages.client.cookies.clear()
        pages.client.cookies.set("tracejury_annotator", who)
        page = pages.get("/compare", **PAIR).text
        sides = re.findall(r'name="(?:first|second)" value="([^"]*)"', page)
        both.add(tuple(sides))
        left = main_of(page).partition('aria-label="Right conversation"')[0]
        assert ("it is refunded" in left) == (sides[0] == "talk/1")
        assert "prefers" not in page
        answer = pages.post("/feedback/preference", first=sides[0], second=sides[1], better="first", service="shop")
        assert answer.status_code == 303
        (mine,) = [one for one in said(pages) if one[0] == who]
        assert mine[1:] == ("talk/1", "talk/2", "first" if sides[0] == "talk/1" else "second")
        after_whole = pages.client.get(answer.headers["location"]).text
        after = main_of(after_whole)
        assert "prefers the left one" in after
        assert 'href="/sessions/talk%2F1?service=shop"' in after
        assert sides == re.findall(r'name="(?:first|second)" value="([^"]*)"', after_whole)
    assert both == {("talk/1", "talk/2"), ("talk/2", "talk/1")}
    assert pages.reader.preferences(0, pages.now + 1).pairs == 1


def test_an_answer_can_be_changed_and_withdrawn(pages: Pages) -> None:
    form = {"first": "talk/2", "second": "talk/1", "service": "shop", "annotator": "Ada", "note": "it asked"}
    for better, stands in (("first", "second"), ("same", "same")):
        pages.post("/feedback/preference", **form, better=better)
        assert said(pages) == [("Ada", "talk/1", "talk/2", stands)]
    page = pages.get("/compare", **PAIR).text
    assert "finds neither better" in page
    assert "it asked" in page
    pages.post("/feedback/preference", **form, better="withdraw")
    assert said(pages) == []
    assert "finds neither better" not in pages.get("/compare", **PAIR).text


@pytest.mark.parametrize(
    ("form", "code", "words"),
    [
        ({"better": "left"}, 422, "the better one is first, second or same"),
        ({"second": "talk/1"}, 422, "a session cannot be compared with itself"),
        ({"second": "talk/9"}, 404, "no session 'talk/9' of service 'shop' is stored"),
        ({"annotator": " "}, 422, "your name is missing"),
    ],
)
def test_what_a_form_cannot_say(pages: Pages, form: dict[str, str], code: int, words: str) -> None:
    """In one line, and nothing is kept."""
    given = {"first": "talk/1", "second": "talk/2", "service": "shop", "annotator": "Ada", "better": "same"} | form
    answer = pages.post("/feedback/preference", **given)
    assert (answer.status_code, words in unescape(answer.text)) == (code, True)
    assert said(pages) == []


@pytest.mark.parametrize(
    ("asked", "code", "words"),
    [
        ({}, 422, "name the first session"),
        ({"first": "talk/1", "second": "talk/1"}, 422, "cannot be compared with itself"),
        ({"first": "talk/1", "second": "talk/9"}, 404, "no session 'talk/9' is stored"),
        ({**PAIR, "service": "desk"}, 404, "no session 'talk/1' of service 'desk' is stored"),
    ],
)
def test_what_cannot_be_compared(pages: Pages, asked: dict[str, str], code: int, words: str) -> None:
    answer = pages.get("/compare", **asked)
    assert (answer.status_code, words in unescape(answer.text)) == (code, True)


def test_ids_of_ten_thousand_characters(pages: Pages) -> None:
    """They are shown, said and led back to."""
    page = pages.get("/compare", first=LONG, second="talk/1")
    assert page.status_code == 200
    answer = pages.post("/feedback/preference", first=LONG, second="talk/1", annotator="Ada", better="first")
    assert pages.client.get(answer.headers["location"]).status_code == 200
    assert said(pages) == [("Ada", LONG, "talk/1", "first")]


def test_sides_do_not_depend_on_how_the_pair_is_named() -> None:
    """And half of the annotators see either."""
    orders = [in_chance_order("a", "b", f"who-{n}") for n in range(400)]
    assert orders == [in_chance_order("b", "a", f"who-{n}") for n in range(400)]
    assert 150 < orders.count(("a", "b")) < 250


def test_from_a_session_to_a_comparison_in_a_browser(pages: Pages, open_site: Callable[[str], Watched]) -> None:
    """By its link and the form, on a phone and a desk; what conversations say runs nothing and widens nothing."""
    site = open_site(pages.url)
    site.open(f"/sessions/{quote('talk/1', safe='')}?service=shop")
    site.page.get_by_role("link", name="Compare with another session").click()
    site.check_accessible()
    site.page.get_by_label("Id of the other session").fill(ATTACK.replace("\u202e", ""))
    assert ATTACK in site.page.locator("#others option").evaluate_all("all => all.map(one => one.value)")
    for width in (390, 1400):
        site.page.set_viewport_size({"width": width, "height": 900})
        site.open(f"/compare?{urlencode({'service': 'shop', 'first': 'talk/1', 'second': ATTACK})}")
        assert site.page.evaluate("window.hit === undefined")
        assert site.page.locator("b#hit").count() == 0
        assert "\u202e" not in site.page.locator("body").inner_text()
        wider = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert site.page.evaluate(wider) <= 0, width
    site.check_accessible()
    site.page.get_by_label("Your name").fill("Ada")
    site.page.get_by_role("button", name="Neither is better").click()
    site.page.get_by_text("finds neither better").wait_for()
    assert [one[3] for one in said(pages)] == [Better.SAME.value]
    site.check_accessible()
    site.open("/labels")
    assert "1 pair of sessions compared" in site.page.locator("main").inner_text()
    site.check_quiet()
