"""Saved views: by forms, API and command line; what a link may hold, and that it leads to our own pages alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from urllib.parse import parse_qsl, quote, urlsplit

import pytest
from click.testing import CliRunner, Result
from hypothesis import example, given
from hypothesis import strategies as st
from served_api import Api
from trace_pages import Pages, trace_pages

from tracejury.collector.api.saved_views import view_of
from tracejury.collector.cli.root import root
from tracejury.collector.store.inserting import store_rows
from tracejury.collector.store.shared_store import SharedStore
from tracejury.schemas.errors import ConfigError
from tracejury.schemas.saved_views import MOST_VIEWS, PAGES, SavedView

KNOWN = {path: ["range", "from", "to", "service", "severity", "q", "attribute"] for path in PAGES}
ODD = "what's <b>wrong</b> / now? #1 & 100%"
LINK = "/traces?severity=HIGH&q=a+%26+b&attribute=k%3Dv&attribute=l%3Dw&range=7d"


@pytest.fixture
def pages(store: SharedStore) -> Iterator[Pages]:
    with trace_pages(store) as made:
        yield made


def saved(pages: Pages) -> list[SavedView]:
    return list(pages.reader.saved_views.all())


@pytest.mark.parametrize("name", ["failing ones", ODD, "Ärger 🙂", "...", "a" * 100])
def test_a_view_is_saved_by_the_form_and_its_address_leads_to_the_page(pages: Pages, name: str) -> None:
    """With its parameters in order, also those that come twice; the place in the list is left out."""
    answer = pages.post("/views", name=f" {name} ", link=f"{LINK}&cursor=abc")
    assert (answer.status_code, answer.headers["location"]) == (303, "/views")
    assert [(view.name, view.page, view.link) for view in saved(pages)] == [(name, "/traces", LINK)]
    address = f"/views/{quote(name, safe='')}"
    for page in ("/views", "/fragments/views"):
        text = pages.get(page).text
        assert "<b>wrong" not in text
        assert address.replace("'", "%27") in text or address in text
    led = pages.client.get(address, follow_redirects=False)
    assert (led.status_code, led.headers["location"]) == (303, LINK)
    assert pages.client.get(LINK).status_code == 200
    pages.post("/views", name=name, link="/errors?severity=LOW")
    assert [view.link for view in saved(pages)] == ["/errors?severity=LOW"]
    pages.post("/views/delete", name=name)
    assert saved(pages) == []
    assert pages.client.get(address).status_code == 404


@pytest.mark.parametrize(
    "link",
    [
        "https://evil.example/traces", "//evil.example/traces", "/\\evil.example", "javascript:alert(1)", "traces", "",
        "/traces/../api/export", "/api/traces", "/sign-out", "/traces/", "/views", "http://[", "/traces?nonsense=1",
        "/traces?q=" + "x" * 4000,
    ],
)  # fmt: skip
def test_what_is_no_list_of_ours_is_refused(pages: Pages, link: str) -> None:
    """In one line, by form and API; nothing is saved."""
    answer = pages.post("/views", name="one", link=link)
    assert answer.status_code == 422
    assert pages.client.put("/api/views/one", json={"link": link}).status_code == 422
    assert saved(pages) == []


@pytest.mark.parametrize("name", ["", "  ", ".", "..", "a" * 101, "two\nlines", "\u202egnp"])
def test_a_name_is_a_short_line(pages: Pages, name: str) -> None:
    assert pages.post("/views", name=name, link="/traces").status_code == 422
    assert saved(pages) == []


def test_a_form_of_another_site_saves_nothing(pages: Pages) -> None:
    """Without our token."""
    form = {"name": "one", "link": "/traces"}
    assert pages.client.post("/views", data=form).status_code == 403
    assert pages.client.post("/views/delete", data=form).status_code == 403
    assert saved(pages) == []


def test_a_project_has_a_bound(pages: Pages, store: SharedStore) -> None:
    """Beyond it one must go first; one of the same name may be replaced, and others are read as before."""
    columns = ("tenant", "Name", "Page", "Names", "Values", "SavedAt")
    rows = [("", f"view {number}", "/traces", ["q"], [str(number)], 1) for number in range(MOST_VIEWS)]
    store_rows(store, "saved views", "saved_views", columns, [*rows, ("other", "theirs", "/traces", [], [], 1)])
    answer = pages.post("/views", name="one more", link="/traces")
    assert answer.status_code == 422
    assert "this project has 1,000 saved views, as many as it may: delete one first" in answer.text
    assert pages.post("/views", name="view 7", link="/errors").status_code == 303
    assert pages.post("/views/delete", name="view 8").status_code == 303
    assert pages.post("/views", name="one more", link="/traces").status_code == 303
    assert len(saved(pages)) == MOST_VIEWS
    assert "theirs" not in pages.get("/views").text


def test_a_view_of_a_page_that_is_gone_is_left_out(pages: Pages, store: SharedStore) -> None:
    """So a row that says another address leads nowhere."""
    columns = ("tenant", "Name", "Page", "Names", "Values", "SavedAt")
    store_rows(store, "saved views", "saved_views", columns, [("", "evil", "//evil.example", [], [], 1)])
    assert saved(pages) == []
    assert pages.client.get("/views/evil", follow_redirects=False).status_code == 404


@given(st.text(max_size=60), st.text(max_size=60))
@example("a", "/traces?q=%0d%0aSet-Cookie:x=1")
@example("a", "/traces#//evil")
def test_whatever_is_saved_leads_to_a_page_with_known_parameters(name: str, link: str) -> None:
    """Printable ASCII that begins with the path, and the same again when saved again; else it is refused."""
    for text in (link, f"/traces?{link}", f"/?q={quote(link.encode(errors='replace'))}"):
        try:
            view = view_of(name, text, KNOWN, 7)
        except ConfigError:
            continue
        parts = urlsplit(view.link)
        assert (parts.scheme, parts.netloc, parts.path) == ("", "", view.page)
        assert view.page in PAGES
        assert view.link.isascii()
        assert view.link.isprintable()
        assert {key for key, _ in parse_qsl(parts.query)} <= set(KNOWN[view.page])
        assert view_of(name, view.link, KNOWN, 7) == view


def run(api: Api, *args: str) -> Result:
    return CliRunner().invoke(root, [*args], env={"TRACEJURY_URL": api.url, "COLUMNS": "200"})


def test_the_api_lists_saves_and_deletes(api: Api) -> None:
    """A name is whatever the end of the path is."""
    path = f"/api/views/{quote(ODD, safe='')}"
    made = api.client.put(path, json={"link": LINK})
    assert made.status_code == 200
    assert made.json() | {"saved_at": None} == {
        "name": ODD,
        "page": "/traces",
        "parameters": [list(pair) for pair in parse_qsl(urlsplit(LINK).query)],
        "link": LINK,
        "saved_at": None,
    }
    assert api.get("/api/views") == {"items": [made.json()], "next": None}
    assert api.get(path) == made.json()
    assert api.client.request("DELETE", path, json={}).json() == made.json()
    assert api.get("/api/views")["items"] == []
    assert api.get(path) == (404, f"no view {ODD!r} is saved")
    assert api.client.request("DELETE", path, json={}).status_code == 404


def test_the_command_line_saves_lists_and_asks_by_a_view(api: Api) -> None:
    """An address is taken from a browser as it stands; options beside the view replace its own."""
    link = f"{api.url}/traces?severity=HIGH&q=lost&attribute=k%3Dv&sort=cost&order=asc&range=7d#list"
    assert run(api, "views", "save", "dear", link).exit_code == 0
    (row,) = json.loads(run(api, "views", "list", "--format", "json").stdout)
    assert row["link"] == "/traces?severity=HIGH&q=lost&attribute=k%3Dv&sort=cost&order=asc&range=7d"
    assert "dear" in run(api, "views", "list").stdout
    for arguments in ([], ["--severity", "LOW", "--text", "found"]):
        api.reader.asked.clear()
        assert run(api, "traces", "--view", "dear", *arguments).exit_code == 0
        asked = api.reader.asked[0]
        assert (asked.attributes, asked.sort, asked.ascending) == ((("k", "v"),), "cost", True)
        assert (asked.severity, asked.text) == (("LOW", "found") if arguments else ("HIGH", "lost"))
        assert asked.since > 0
    assert run(api, "views", "delete", "dear").exit_code == 0
    assert run(api, "traces", "--view", "dear").exit_code != 0


def test_a_view_of_another_page_is_not_asked_for(api: Api) -> None:
    """One line says of which it is; so for what a command has no option for."""
    run(api, "views", "save", "talks", "/sessions?agent=clerk")
    refused = run(api, "errors", "--view", "talks")
    assert refused.exit_code == 2
    assert "the view 'talks' is of the page /sessions, not of /errors: /sessions?agent=clerk" in refused.output
    assert run(api, "sessions", "--view", "talks").exit_code == 0
    run(api, "views", "save", "late", "/errors?from=2026-01-01&to=2026-02-01&severity=HIGH")
    refused = run(api, "errors", "--view", "late")
    assert "the view 'late' has to=2026-02-01, which this command cannot ask for" in refused.output
