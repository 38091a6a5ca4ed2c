"""A page of somebody else's, on another port of this machine, in the same browser: it changes and reads nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from browsing import watched
from fastapi import FastAPI
from fastapi.responses import HTMLResponse
from house import House
from served_api import served

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PAGE = "<!doctype html><title>Elsewhere</title><h1>Nothing to see</h1>"
# Each tries one thing and tells what it got; "nothing" where the browser kept it from everything.
TRY = """async ([address, how]) => {
  try {
    const answer = await fetch(address, { credentials: "include", ...how });
    if (answer.type === "opaque" || answer.type === "opaqueredirect") return "nothing";
    return `read ${answer.status}: ${await answer.text()}`;
  } catch { return "nothing"; }
}"""
LISTEN = """(address) => new Promise((done) => {
  const source = new EventSource(address, { withCredentials: true });
  source.onopen = () => done("open");
  source.onmessage = () => done("read");
  source.onerror = () => { source.close(); done("nothing"); };
})"""
LOAD = """([kind, address]) => new Promise((done) => {
  const element = document.createElement(kind);
  element.onload = () => done("loaded");
  element.onerror = () => done("nothing");
  element.src = address;
  document.body.append(element);
})"""
FRAME = """(address) => new Promise((done) => {
  const frame = document.createElement("iframe");
  frame.onload = () => done(frame.contentDocument === null ? "nothing" : frame.contentDocument.body.innerText);
  frame.src = address;
  document.body.append(frame);
})"""
SUBMIT = """([address, fields]) => {
  const form = document.createElement("form");
  form.method = "post";
  form.action = address;
  for (const [name, value] of Object.entries(fields)) {
    const field = document.createElement("input");
    field.name = name;
    field.value = value;
    form.append(field);
  }
  document.body.append(form);
  form.submit();
}"""
FORM = "application/x-www-form-urlencoded"


@pytest.fixture
def elsewhere(browser: Browser, house: House) -> Iterator[Page]:
    """Another origin's page, in a browser that has our cookies: its user has looked at our pages before."""
    app = FastAPI()
    app.get("/", response_class=HTMLResponse)(lambda: PAGE)
    with served(app) as url, watched(browser, house.url) as ours:
        ours.open("/errors")
        ours.page.context.add_cookies([{"name": "annotator", "value": "Ada", "url": house.url}])
        assert ours.page.context.cookies(house.url)
        page = ours.page.context.new_page()
        page.goto(url)
        yield page


@pytest.fixture
def untouched(house: House, client: httpx.Client) -> Iterator[dict[str, Any]]:
    """What there is, with a finding to aim at; the test fails where anything of it has changed."""

    def all_of_it() -> tuple[str, list[str], str]:
        return (
            client.get("/api/labels/export").text,
            [row["trace_id"] for row in house.traces()],
            client.get("/api/architectures/help-desk").text,
        )

    before = all_of_it()
    yield client.get("/api/findings").json()["items"][0]
    assert all_of_it() == before


def test_nothing_changes_by_requests(elsewhere: Page, house: House, untouched: dict[str, Any]) -> None:
    """Neither by what needs no preflight (forms, plain text) nor by what does (JSON, PUT, DELETE)."""
    finding, trace = untouched["id"], untouched["trace_id"]
    opinion = f"csrf=&annotator=Eve&opinion=disagree&finding={finding}&trace={trace}"
    label = f'{{"items": [{{"annotator": "Eve", "opinion": "agree", "finding_id": "{finding}"}}]}}'
    tries: list[tuple[str, str, str, str]] = [
        ("POST", "/feedback/opinion", FORM, opinion),
        ("POST", "/feedback/review", FORM, f"annotator=Eve&trace={trace}&run={untouched['agent_run_id']}"),
        ("POST", "/api/annotations", "text/plain", label),
        ("POST", "/api/annotations", "application/json", label),
        ("POST", "/api/delete", "text/plain", '{"service": "help-desk"}'),
        ("POST", "/api/delete", "application/json", '{"service": "help-desk"}'),
        ("DELETE", f"/api/traces/{trace}", "application/json", "{}"),
        ("PUT", "/api/architectures/help-desk", "application/json", '{"text": "mine"}'),
        ("POST", "/api/judge", "application/json", f'{{"trace_id": "{trace}"}}'),
    ]
    for method, path, kind, body in tries:
        for mode in ("no-cors", "cors"):
            how = {"method": method, "mode": mode, "body": body, "headers": {"Content-Type": kind}}
            assert elsewhere.evaluate(TRY, [house.url + path, how]) == "nothing", (method, path, mode)


def test_nothing_changes_by_a_form(elsewhere: Page, house: House, untouched: dict[str, Any]) -> None:
    """A form that leads the whole window to us is refused, in words."""
    fields = {"annotator": "Eve", "opinion": "disagree", "finding": untouched["id"], "trace": untouched["trace_id"]}
    with elsewhere.expect_navigation() as led:
        elsewhere.evaluate(SUBMIT, [f"{house.url}/feedback/opinion", fields])
    assert led.value is not None
    assert led.value.status == 403


@pytest.mark.parametrize("path", ["/", "/traces", "/api/traces", "/errors", "/metrics", "/openapi.json"])
def test_nothing_is_readable(elsewhere: Page, house: House, path: str) -> None:
    """Pages, answers and exports stay with their own origin, in a frame, too."""
    address = house.url + path
    for mode in ("cors", "no-cors"):
        assert elsewhere.evaluate(TRY, [address, {"mode": mode}]) == "nothing"
    assert elsewhere.evaluate(LOAD, ["script", address]) == "nothing"
    assert elsewhere.evaluate(FRAME, address) == "nothing"
    frame = elsewhere.frames[-1]
    assert frame.url.startswith("chrome-error:")
    assert "tracejury" not in frame.content().lower().replace(address, "")


def test_no_stream_is_heard(elsewhere: Page, house: House, untouched: dict[str, Any]) -> None:
    """Neither the tail nor a trace."""
    for path in ("/live/events", f"/live/traces/{untouched['trace_id']}/events"):
        assert elsewhere.evaluate(LISTEN, house.url + path) == "nothing"


def test_our_files_are_not_taken(elsewhere: Page, house: House) -> None:
    """Scripts and pictures are for our own pages; a window that they open is cut off from them."""
    page = httpx.get(house.url, trust_env=False).text
    script = page.split('<script src="')[1].split('"')[0]
    picture = page.split('type="image/svg+xml" href="')[1].split('"')[0]
    assert elsewhere.evaluate(LOAD, ["script", house.url + script]) == "nothing"
    assert elsewhere.evaluate(LOAD, ["img", house.url + picture]) == "nothing"
    with elsewhere.context.expect_page() as opened:
        elsewhere.evaluate("(address) => { window.theirs = open(address); }", house.url)
    opened.value.wait_for_load_state()
    assert elsewhere.evaluate("window.theirs.closed")
    assert opened.value.evaluate("window.opener") is None


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8321", "127.0.0.1.evil.example", ""])
def test_another_name_for_this_machine_is_refused(house: House, client: httpx.Client, host: str) -> None:
    """A name that was pointed here (DNS rebinding) opens no page, no answer and no stream."""
    for path in ("/", "/api/traces", "/live/events", "/metrics"):
        answer = client.get(path, headers={"host": host})
        assert answer.status_code in (400, 421), path
        assert house.shown[0].trace_id not in answer.text
    assert client.post("/api/judge", json={}, headers={"host": host}).status_code in (400, 421)
