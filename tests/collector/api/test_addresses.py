"""HEAD, and addresses with a slash too many."""

from __future__ import annotations

import pytest
from served_api import KNOWN, Api, row


@pytest.mark.parametrize(
    "path", ["/", "/traces", "/errors", "/api/traces", "/api/errors?limit=1", "/healthz", "/metrics", "/openapi.json"]
)
def test_head_is_get_without_a_body(api: Api, path: str) -> None:
    """The same status and headers."""
    api.put_rows(row(0))
    got, headed = api.client.get(path), api.client.head(path)
    assert (headed.status_code, headed.content) == (got.status_code, b"")
    given = ("content-type", "content-length", "content-security-policy", "x-content-type-options")
    assert [headed.headers.get(name) for name in given] == [got.headers.get(name) for name in given]


@pytest.mark.parametrize(
    ("path", "status"), [("/nobody", 404), ("/api/sessions/nobody", 404), ("/api/judge", 405), ("/?range=x", 422)]
)
def test_head_is_refused_as_get_is(api: Api, path: str, status: int) -> None:
    """Also where there is nothing to be had."""
    assert (api.client.get(path).status_code, api.client.head(path).status_code) == (status, status)


def test_head_of_a_stream_ends(api: Api) -> None:
    """Nobody waits for what a stream would bring."""
    answer = api.client.head("/live/events", timeout=10)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")


def test_head_is_guarded_as_get_is(api: Api) -> None:
    """Another host's name is refused."""
    assert api.client.head("/traces", headers={"host": "evil.example"}).status_code == 421


@pytest.mark.parametrize(
    ("path", "leads_to"),
    [
        ("/traces/", "/traces"),
        ("/traces/?q=a%20b&range=7d", "/traces?q=a%20b&range=7d"),
        ("/traces//", "/traces"),
        ("/api/traces/?limit=3", "/api/traces?limit=3"),
        ("/api/sessions/", "/api/sessions"),
        (f"/traces/{KNOWN}/", f"/traces/{KNOWN}"),
        ("/explain/tool%2Drelated/", "/explain/tool%2Drelated"),
    ],
)
def test_a_slash_too_many_leads_to_the_address_without(api: Api, path: str, leads_to: str) -> None:
    """Within this site, whatever host was asked for, with the query."""
    answer = api.client.get(path)
    assert (answer.status_code, answer.headers["location"]) == (307, leads_to)


@pytest.mark.parametrize(
    "path",
    ["//evil.example/", "///evil.example//", "/%2Fevil.example/", "/%5Cevil.example/", "/\\evil.example/", "/nobody/"],
)
def test_no_slash_leads_to_another_host(api: Api, path: str) -> None:
    """What is no address of ours is not found."""
    answer = api.client.request("GET", api.url.rstrip("/") + path)
    assert (answer.status_code, answer.headers.get("location")) == (404, None)


def test_a_name_may_end_with_a_slash(api: Api) -> None:
    """A session's id is the client's own."""
    assert api.client.get("/sessions/talk%2F").status_code == 404
    assert api.client.get("/sessions/talk/").status_code == 404


def test_a_service_without_a_name_has_an_address(api: Api) -> None:
    """Its architecture stands where no name follows: that slash is none too many."""
    assert api.client.put("/api/architectures/", json={"text": "one agent"}).status_code == 200
    assert api.client.get("/api/architectures/").json()["text"] == "one agent"
