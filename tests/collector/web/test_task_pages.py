"""The trials of a task, and the notes of a session, in a browser over the real store and by the command."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from html import unescape
from io import StringIO
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

import httpx
import pytest
from click.testing import CliRunner
from listed_traces import SECOND, Listed, store_all
from measured_sessions import a_value, of_exchange, of_session, save
from rich.console import Console
from served_api import served
from stored_readers import stored_reader

from tracejury.collector.api.services import Services
from tracejury.collector.app.web_app import create_web_app
from tracejury.collector.cli.render.lists import session_view
from tracejury.collector.cli.root import root
from tracejury.collector.queries.measured_packs import installed_packs
from tracejury.collector.store.shared_store import SharedStore
from tracejury.processors.assemble import AssemblerConfig
from tracejury.schemas.checks import ItemAnswer
from tracejury.schemas.rows import SPAN_COLUMNS, span_columns
from tracejury.schemas.wire.lists import SessionJson

if TYPE_CHECKING:
    from browsing import Watched

NOW = 1_800_000_000 * SECOND
HOUR = 3_600 * SECOND
HOSTILE = "<script>window.hit=1</script>\u202e<b id=hit>"
NAMES = ("refund/7?#%", "a b%2Fc", HOSTILE)
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
LOOKS, REFUNDS, TELLS = "The agent looks up order 7.", "The agent refunds 20 euros.", "The agent says when."


def a_trial(store: SharedStore, number: int, exchanges: int, task: str = "refund/7?#%", **said: str) -> list[Listed]:
    """The traces of a simulated session of so many exchanges."""
    traces = [
        Listed(
            10 * number + at, session=said.get("session", f"s{number}"), received=NOW - HOUR, start=NOW - HOUR + at,
            simulated=True,
        )
        for at in range(exchanges)
    ]  # fmt: skip
    store_all(store, traces)
    named = {"tracejury.task.id": task, "tracejury.persona": said.get("persona", "expert")}
    spans = [replace(t.spans()[0].raw, trace_id=t.trace_id, attributes=named, service="shop") for t in traces]
    store.insert("spans", SPAN_COLUMNS, span_columns(spans, NOW - HOUR))
    return traces


def voted(trace: Listed, note: str, yes: int, **changes: Any) -> ItemAnswer:
    """What five runs said of a note at a trace."""
    fields: dict[str, Any] = {
        "reason": f"{yes} of 5.", "label": "E1.S2", "trace_id": trace.trace_id, "span_id": trace.spans()[1].span_id,
        "yes": yes, "runs": 5,
    }  # fmt: skip
    return ItemAnswer(note, "yes" if yes > 2 else "no", best=yes > 2, **fields | changes)


def judged(
    store: SharedStore, traces: list[Listed], *exchanges: tuple[ItemAnswer, ...], end: tuple[ItemAnswer, ...] = ()
) -> None:
    """Verdicts of `ted-notes` on the exchanges, and of a closed session with its measures."""
    pairs = zip(traces, exchanges, strict=False)
    verdicts = [a_value("ted-notes", of_exchange(t), sum(i.best for i in own), 3, items=own) for t, own in pairs]
    if end:
        whole = of_session("shop", traces[0].session)
        verdicts.append(a_value("ted-notes", whole, sum(item.best for item in end), len(end), items=end))
        verdicts += [a_value("ted-auc", whole, 0.5), a_value("ted-ppt", whole, 0.25)]
    save(store, *verdicts, received=NOW - HOUR, judged_at=NOW - HOUR)


@pytest.fixture
def url(store: SharedStore) -> Iterator[str]:
    """The pages over two trials of experts, one of a vague user, one that is open, and one of hostile names."""
    first = a_trial(store, 1, 3)
    one, two, three = (
        (voted(first[0], LOOKS, 5), voted(first[0], REFUNDS, 0), voted(first[0], TELLS, 0)),
        (voted(first[1], REFUNDS, 3), voted(first[1], TELLS, 1)),
        (voted(first[2], TELLS, 0),),
    )
    judged(store, first, one, two, three, end=(one[0], two[0], three[0]))
    for number, persona, yes in ((2, "expert", 5), (3, "non-expert", 0)):
        traces = a_trial(store, number, 1, persona=persona)
        all_alike = tuple(voted(traces[0], note, yes) for note in (LOOKS, REFUNDS, TELLS))
        judged(store, traces, all_alike, end=all_alike)
    running = a_trial(store, 4, 2)
    judged(store, running, (voted(running[0], LOOKS, 4), voted(running[0], TELLS, 2)))
    attack = a_trial(store, 5, 1, HOSTILE, session=HOSTILE, persona=HOSTILE)
    bad = (voted(attack[0], HOSTILE, 1, reason=HOSTILE, label=HOSTILE),)
    judged(store, attack, bad, end=bad)
    (alone_trace,) = a_trial(store, 7, 1, "alone", session="")
    alone = of_session("shop", alone_trace.trace_id)
    save(store, a_value("ted-notes", alone, 2, 3), a_value("ted-ppt", alone, 0.25), received=NOW - HOUR)
    for name in NAMES:
        save(store, a_value(name, of_session("shop", HOSTILE), 1), received=NOW - HOUR, judged_at=NOW - HOUR)
    other = a_trial(store, 6, 1, "book", persona="expert")
    outcome = (ItemAnswer("outcome", "other-failure", best=False),)
    save(store, a_value("rut-oracle", of_session("shop", other[0].session), 0, items=outcome), received=NOW - HOUR)
    reader = stored_reader(store, AssemblerConfig(), lambda: NOW, installed_packs)
    app = create_web_app(Services(reader, lambda _ids, _by_hand: (), problems=tuple, metrics=bytes, clock=lambda: NOW))
    with served(app) as address:
        yield address


@pytest.fixture
def pages(url: str, open_site: Callable[[str], Watched]) -> Iterator[Watched]:
    """A browser on them."""
    watched = open_site(url)
    yield watched
    watched.check_quiet()


def test_a_task_shows_its_trials_by_cell(pages: Watched) -> None:
    """From the pack by the task to a session: lines, values, the pack's own figures; nothing without a figure."""
    pages.open("/packs/ted?by=task&simulated=1")
    page = pages.page
    page.get_by_role("link", name="refund/7?#%").click()
    page.wait_for_url("**/packs/ted/tasks/refund%2F7%3F%23%25?simulated=1")
    vague, experts = page.locator("section.panel").all()  # the lowest average first
    heads = experts.locator("thead th").all_inner_texts()
    assert heads == [
        "Session", "Last arrival", "By exchange", "Progress", "AUC", "PPT", "E", "judge's sd", "sd of E",
    ]  # fmt: skip
    row = experts.locator("tr", has_text="s1").inner_text().split("\t")
    assert row[3:] == ["66.7\u202f%", "50.0\u202f%", "25.0\u202f%", "0.533", "0.163", "\u2013"]
    line = experts.locator("tr", has_text="s1").get_by_role("img").get_attribute("aria-label")
    assert line == "After each exchange: 33.3\u202f%, 66.7\u202f%, 66.7\u202f%"
    mean = experts.locator("tr", has_text="All 2, mean").inner_text().split("\t")
    assert mean[3:] == ["83.3\u202f%", "50.0\u202f%", "25.0\u202f%", "0.767", "0.115", "0.330"]
    assert "s4" not in page.locator("main").inner_text()  # not closed
    assert vague.locator("tbody tr").count() == 2
    pages.check_accessible()
    page.get_by_role("link", name="s1").click()
    page.wait_for_url("**/sessions/s1?service=shop")
    pages.open("/packs/rut/tasks/book?simulated=1")
    told = page.locator("section.panel").inner_text()
    assert "erroneous parameter 100\u202f%" in told
    assert "By exchange" not in told
    pages.open("/packs/ted/tasks/refund%2F7%3F%23%25")
    page.get_by_role("link", name="3 simulated sessions").click()
    page.wait_for_url("**/packs/ted/tasks/refund%2F7%3F%23%25?simulated=1")
    for path in ("/packs/gpa/tasks/x", "/packs/nothing/tasks/x"):
        assert httpx.get(f"{pages.base}{path}", trust_env=False).status_code == 404


def test_a_session_shows_where_each_note_was_achieved(pages: Watched) -> None:
    """With exchange and span; of an open one votes and reasons; while it goes on what it has so far."""
    pages.open("/sessions/s1?service=shop")
    page = pages.page
    notes = page.locator("section", has=page.get_by_role("heading", name="Progress by exchange"))
    assert "2 of 3 notes" in notes.inner_text()
    assert "so far" not in notes.inner_text()
    looks, refunds, tells = notes.locator("li").all()
    assert looks.inner_text() == f"exchange 1: {LOOKS} E1.S2 5 of 5 runs say so"
    assert refunds.inner_text() == f"exchange 2: {REFUNDS} E1.S2 3 of 5 runs say so\n\n3 of 5."
    assert tells.inner_text() == f"no: {TELLS} E1.S2 0 of 5 runs say so\n\n0 of 5."
    second = Listed(11)
    link = refunds.get_by_role("link", name="E1.S2").get_attribute("href")
    assert link == f"/traces/{second.trace_id}?service=shop&span={second.spans()[1].span_id}"
    refunds.get_by_role("link", name="exchange 2").click()
    page.wait_for_url("**#exchange-2")
    assert LOOKS not in page.locator("section", has=page.get_by_role("heading", name="Measures")).inner_text()
    pages.check_accessible()
    assert "ted-notes" not in page.locator("ol.conversation").inner_text()
    pages.open("/sessions/s4?service=shop")
    assert "1 of 2 notes so far" in notes.inner_text()
    assert notes.locator("li").all_inner_texts()[1].startswith(f"open: {TELLS} E1.S2 2 of 5 runs say so")


@pytest.mark.parametrize("path", ["/packs/ted/tasks/{}?simulated=1", "/packs/ted?by=task&simulated=1", "/sessions/{}"])
def test_hostile_texts_stay_texts(pages: Watched, path: str) -> None:
    """On a phone and a desk: they run nothing, hide nothing and widen nothing."""
    for width in (390, 1400):
        pages.page.set_viewport_size({"width": width, "height": 900})
        pages.open(path.format(quote(HOSTILE, safe="")))
        assert "window.hit=1" in pages.page.locator("main").inner_text()
        assert pages.page.evaluate("window.hit === undefined")
        assert pages.page.locator("b#hit").count() == 0
        assert "\u202e" not in pages.page.locator("body").inner_text()
        assert pages.page.evaluate(WIDER) <= 0, width
    pages.check_accessible()


def test_measures_are_named_once_also_on_the_page_of_a_trace_without_a_session(url: str) -> None:
    """Such a trace is a session of its own; a title that only repeats the letter is left out."""
    with httpx.Client(base_url=url, trust_env=False) as client:
        own = client.get(f"/traces/{Listed(70).trace_id}").text
        facts = re.sub(r"<[^>]*>|\s+", " ", own.partition('id="trace-facts"')[2].partition("</dl>")[0])
        assert "Progress 0.667 PPT Progress per turn 0.250 Took" in " ".join(facts.split())
        assert "PPT Progress per turn" not in client.get(f"/traces/{Listed(11).trace_id}").text  # of session s1
        for path in ("/packs?simulated=1", "/packs/ted?simulated=1", "/sessions/s1", "/overview/grades"):
            text = " ".join(re.sub(r"<[^>]*>", " ", client.get(path).text).split())
            assert ("PPT Progress per turn" in text, "Progress Progress" in text) == ("grades" not in path, False), path


@pytest.mark.parametrize(
    ("path", "names"),
    [("/judges/{}", NAMES), ("/packs/ted/tasks/{}", (NAMES[0], HOSTILE)), ("/packs/{}", ("ted",))],
)
def test_links_of_a_page_to_itself_keep_the_name_in_its_path(url: str, path: str, names: tuple[str, ...]) -> None:
    """With another time, without a service: whatever the name holds."""
    with httpx.Client(base_url=url, trust_env=False) as client:
        for name in names:
            own = path.format(quote(name, safe=""))
            shown = client.get(f"{own}?service=shop")
            heading = shown.text.partition("<h1")[2].partition("</h1>")[0]
            links = [unescape(link) for link in re.findall(r'href="([^"]*)"', shown.text)]
            assert {f"{own}?service=shop&range=1h", own} <= {*links}
            for link in {one for one in links if urlsplit(one).path == own}:
                assert client.get(link).text.partition("<h1")[2].startswith(heading)


def test_the_command_and_the_api_tell_the_same(url: str) -> None:
    session = httpx.get(f"{url}/api/sessions/s4", trust_env=False).json()
    (progress,) = session["progress"]
    assert (progress["judge"], progress["kind"], progress["settled"], progress["closed"]) == (
        "ted-notes", "notes", 1, False,
    )  # fmt: skip
    assert progress["after"] == [0.5, 0.5]
    assert [(one["exchange"], one["answer"]["yes"]) for one in progress["items"]] == [(1, 4), (None, 2)]

    def shown(name: str) -> str:
        return CliRunner().invoke(root, ["session", name], env={"TRACEJURY_URL": url, "COLUMNS": "200"}).output

    text = shown("s4")
    assert "Progress  1 of 2 notes so far  by exchange: 0.50 0.50" in text
    assert f"exchange 1, 4 of 5 runs say so: {LOOKS}" in text
    assert f"open, 2 of 5 runs say so: {TELLS}" in text
    assert f"no, 0 of 5 runs say so: {TELLS}" in shown("s1")
    progress["items"][0]["answer"] |= {"span_id": "ab12", "trace_id": "cd34"}
    console = Console(width=200, record=True, file=StringIO())
    console.print(session_view(SessionJson.model_validate(session)))
    assert f"{LOOKS}  span ab12 of trace cd34" in console.export_text()
