"""Pages of lists name their neighbours in the header `Link` (RFC 8288), and a client that knows only this reads all."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import parse_qsl, urlencode

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from served_api import Api, apart, row

from tracejury.collector.api.answers import page_links

TEXTS = st.text(min_size=1, max_size=20)


@pytest.fixture
def filled(api: Api) -> Api:
    api.put_rows(*(replace(row(number), session_id=f"chat {number}") for number in range(1, 8)))
    api.put(*(apart(number) for number in range(1, 8)))
    return api


def follow(client: httpx.Client, path: str) -> list[list[str]]:
    """The ids of each page, by the links alone."""
    pages = []
    answer = client.get(path)
    while True:
        body = answer.json()
        pages.append([one.get("id") or one.get("session_id") or one["trace_id"] for one in body["items"]])
        assert ("next" in answer.links) == (body["next"] is not None)
        if "next" not in answer.links:
            return pages
        answer = client.get(answer.url.join(answer.links["next"]["url"]))


@pytest.mark.parametrize(
    "path",
    [
        "/api/traces?sort=start&order=asc",
        "/api/sessions?service=svc",
        "/api/errors?profile=0",
        "/api/findings?profile=0",
    ],
)
def test_links_lead_through_the_whole_list(filled: Api, path: str) -> None:
    """Each item once, in the order of one large page; the parameters stay."""
    (whole,) = follow(filled.client, f"{path}&limit=1000")
    pages = follow(filled.client, f"{path}&limit=3")
    assert [item for page in pages for item in page] == whole
    assert [len(page) for page in pages] == [3] * (len(whole) // 3) + [len(whole) % 3] * bool(len(whole) % 3)
    assert len(pages) > 1


def test_a_later_page_leads_to_the_first(filled: Api) -> None:
    """Which has no such link itself."""
    first = filled.client.get("/api/traces?limit=2&service=svc")
    assert "first" not in first.links
    second = filled.client.get(first.url.join(first.links["next"]["url"]))
    assert filled.client.get(second.url.join(second.links["first"]["url"])).json() == first.json()


def test_what_comes_later_is_asked_for_by_after(filled: Api) -> None:
    """The page after the last one waits for more, and stays where it is."""
    answer = filled.client.get("/api/errors?after=2000-01-01T00:00:00Z&limit=1000&profile=0")
    assert len(answer.json()["items"]) >= 7
    later = filled.client.get(answer.url.join(answer.links["next"]["url"]))
    assert later.json()["items"] == []
    assert later.json()["next"] == answer.json()["next"]


def test_one_thing_has_no_links(filled: Api) -> None:
    """Nor has a page that is the last one and the first."""
    for path in ("/api/traces?limit=100", "/api/explain", "/healthz"):
        assert "link" not in filled.client.get(path).headers


def test_head_has_the_links_of_get(filled: Api) -> None:
    path = "/api/traces?limit=2"
    assert filled.client.head(path).headers["link"] == filled.client.get(path).headers["link"]


@given(st.lists(st.tuples(TEXTS, TEXTS), max_size=5), TEXTS)
def test_links_keep_whatever_was_asked(asked: list[tuple[str, str]], cursor: str) -> None:
    """As header text: printable ASCII, without what could end the link or begin another header."""
    query = urlencode(asked)
    others = [(name, value) for name, value in asked if name not in ("cursor", "after")]
    link = page_links(query, cursor)
    target = link[len("<?") : link.index(">")]
    assert link.isascii()
    assert link.isprintable()
    assert link.count("<") == link.count('rel="')
    assert [pair for pair in parse_qsl(target) if pair[0] not in ("cursor", "after")] == others
    assert cursor in dict(parse_qsl(target)).values()
