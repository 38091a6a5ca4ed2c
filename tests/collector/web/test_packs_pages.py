"""Pages of packs, and a session's measures with its items in place, in a browser over the real store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
from listed_traces import SECOND, Listed, store_all
from measured_sessions import PACK, POLICY, STATES, a_value, an_item, of_exchange, of_session, save
from served_api import served
from stored_readers import stored_reader

from tracejury.collector.api.services import Services
from tracejury.collector.app.web_app import create_web_app
from tracejury.collector.store.shared_store import SharedStore
from tracejury.processors.assemble import AssemblerConfig

if TYPE_CHECKING:
    from browsing import Watched

NOW = 1_800_000_000 * SECOND
HOUR = 3_600 * SECOND
HOSTILE = "<script>window.hit=1</script>\u202e<b id=hit>"
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
FIRST, SECOND_TRACE = (
    Listed(1, session="talk/1", received=NOW - 2 * HOUR, start=NOW - 3 * HOUR, goal="what is sold?"),
    Listed(2, session="talk/1", received=NOW - HOUR, start=NOW - 2 * HOUR, goal="refund it"),
)


@pytest.fixture
def packs(store: SharedStore, open_site: Callable[[str], Watched]) -> Iterator[Watched]:
    """A browser on the pages over a faulty session, a good one, and one whose texts attack whoever shows them."""
    hostile = Listed(3, session=HOSTILE, service=HOSTILE, version=HOSTILE, received=NOW - HOUR)
    talked = Listed(5, session="talked", service="played", received=NOW - HOUR, simulated=True)
    store_all(store, [FIRST, SECOND_TRACE, Listed(4, session="fine", received=NOW - HOUR), hostile, talked])
    wrong = an_item(
        item="looks up an order", answer="no", best=False, reason="asked for the wares", label="E1.S2",
        trace_id=FIRST.trace_id, span_id="5" * 16, quote="get_order(17)",
    )  # fmt: skip
    attack = an_item(
        item=HOSTILE, answer=HOSTILE, best=False, reason=HOSTILE, label=HOSTILE, trace_id=hostile.trace_id,
        span_id="6" * 16, quote=HOSTILE,
    )  # fmt: skip
    loose = an_item(item="refund", answer="violated", best=False, reason="unquoted", grounded=False)
    save(
        store,
        a_value(STATES, of_exchange(FIRST), 1, 2, items=(an_item(), wrong)),
        a_value(STATES, of_exchange(SECOND_TRACE), 1, 1, items=(an_item(item="says hello"),)),
        a_value(STATES, of_session("shop", "talk/1"), 2, 3),
        a_value(POLICY, of_session("shop", "talk/1"), 0, 1, items=(loose,)),
        a_value(STATES, of_session("shop", "fine"), 1),
        a_value(STATES, of_session("played", "talked"), 1),
        a_value(STATES, of_session(HOSTILE, HOSTILE), 0, items=(attack,), reasons=HOSTILE),
        a_value(STATES, of_exchange(hostile), 0, items=(attack,)),
        received=NOW - HOUR,
        judged_at=NOW - HOUR,
    )
    reader = stored_reader(store, AssemblerConfig(), lambda: NOW, lambda: [PACK])
    app = create_web_app(Services(reader, lambda _ids, _by_hand: (), problems=tuple, metrics=bytes, clock=lambda: NOW))
    with served(app) as url:
        watched = open_site(url)
        yield watched
        watched.check_quiet()


def test_packs_lead_to_their_worst_sessions(packs: Watched) -> None:
    """From the list by a pack's page to the session, whose items stand at their exchange and lead to their span."""
    packs.open("/packs?service=shop")
    row = packs.page.locator("tr", has_text="State consistency")
    assert "83.3\u202f%" in row.inner_text()
    packs.page.get_by_role("link", name="Demo pack").click()
    packs.page.wait_for_url("**/packs/demo?service=shop")
    assert packs.page.locator("[data-chart] canvas").count() == 1
    packs.page.get_by_role("link", name="Model", exact=True).click()
    assert "gpt" in packs.page.locator("section", has_text="By model").inner_text()
    packs.open("/packs/demo?service=shop&by=model&by=version")
    assert "gpt, 1" in packs.page.locator("section", has_text="By model,version").inner_text()
    packs.page.get_by_role("link", name="talk/1").click()
    packs.page.wait_for_url("**/sessions/talk%2F1?service=shop")
    measures = packs.page.locator("section", has_text="Measures").inner_text()
    assert "S State consistency: 0.667 2 of 3" in measures
    assert "P Policy adherence: 0.000 0 of 1" in measures
    assert "violated: refund ungrounded" in measures
    first, second = packs.page.locator("li.exchange").all()
    assert "looks up an order" in first.inner_text()
    assert "get_order(17)" in first.inner_text()
    assert "asked for the wares" in first.inner_text()
    link = first.get_by_role("link", name="E1.S2").get_attribute("href")
    assert link == f"/traces/{FIRST.trace_id}?service=shop&span={'5' * 16}"
    assert "demo-state" not in second.inner_text()


def test_simulated_sessions_are_a_click_away(packs: Watched) -> None:
    """By a switch; where there are only such, the page says how many, and leads to them."""
    for path in ("/packs", "/packs/demo"):
        packs.open(f"{path}?service=played")
        page = packs.page
        assert "No real session was measured in this time." in page.inner_text("main")
        packs.check_accessible()
        page.get_by_role("link", name="1 simulated session", exact=True).click()
        page.wait_for_url(f"**{path}?service=played&simulated=1")
        assert "100\u202f%" in page.locator("tr", has_text="State consistency").first.inner_text()
        page.get_by_role("link", name="Real", exact=True).click()
        page.wait_for_url(f"**{path}?service=played")
    packs.open("/packs?service=shop&simulated=1")
    packs.page.get_by_role("link", name="2 real sessions").wait_for()
    packs.page.get_by_role("link", name="Demo pack").click()
    packs.page.wait_for_url("**/packs/demo?service=shop&simulated=1")


@pytest.mark.parametrize(
    "path", ["/packs", "/packs/demo?by=version", "/packs/demo?by=service&measure=P", "/sessions/{}"]
)
def test_hostile_texts_stay_texts(packs: Watched, path: str) -> None:
    """On a phone and a desk, light and dark: they run nothing, hide nothing and widen nothing."""
    for width in (390, 1400):
        packs.page.set_viewport_size({"width": width, "height": 900})
        packs.open(path.format(quote(HOSTILE, safe="")))
        assert packs.page.evaluate("window.hit === undefined")
        assert packs.page.locator("b#hit").count() == 0
        assert "\u202e" not in packs.page.locator("body").inner_text()
        assert packs.page.evaluate(WIDER) <= 0, width
    packs.check_accessible()


def test_sessions_judged_by_hand_are_named_without_figures(store: SharedStore, packs: Watched) -> None:
    """They are among the worst ones, and the page says why there is no figure."""
    store_all(store, [Listed(9, session="asked", service="desk", received=NOW - HOUR)])
    save(store, a_value(STATES, of_session("desk", "asked"), 0.5, sampling_probability=0), received=NOW - HOUR)
    packs.open("/packs/demo?service=desk")
    text = packs.page.locator("main").inner_text()
    assert "somebody asked for by hand" in text
    assert packs.page.get_by_role("link", name="asked").count() == 1


def test_an_unknown_pack_is_not_there(packs: Watched) -> None:
    answer = packs.open("/packs/nothing")
    assert answer is not None
    assert answer.status == 404
    packs.failed.clear()
    packs.console.clear()


def test_the_ledger_of_a_pack_leads_to_sessions(packs: Watched) -> None:
    """An entry of a session of several traces names the session instead of a trace."""
    packs.open(f"/judges/{POLICY}?service=shop")
    row = packs.page.locator("tbody tr", has_text="session talk/1")
    assert "0.000" in row.inner_text()
    assert "shop" in row.inner_text()
    href = row.get_by_role("link", name="session talk/1").get_attribute("href")
    assert href == "/sessions/talk%2F1?service=shop"
