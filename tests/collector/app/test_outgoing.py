"""Server-side request forgery: nothing that is sent, said or asked makes the collector connect anywhere.

Only the operator's file names addresses: `webhooks`, `export.otlp`, `judges` (api_base) and `store.dsn`. Webhooks
refuse link-local and metadata addresses all the same (`tests/collector/outbound/webhooks/test_posting.py`).
"""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hook_server import SECRET
from two_projects import Projects, projects
from walked import filled, routes


class Loaded(HTMLParser):
    """Attributes of a page by which a browser loads something without being asked to."""

    def __init__(self) -> None:
        super().__init__()
        self.tags, self.loaded = 0, list[str]()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags += 1
        kinds = {"src", "srcset", "action", "data", "poster", "style", "hx-get"} | (set() if tag == "a" else {"href"})
        self.loaded += [value for name, value in attrs if name in kinds and value]


class Canary:
    """A port of this machine that counts who connects."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.connections = 0
        threading.Thread(target=self._count, daemon=True).start()

    def _count(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            connection.close()

    def close(self) -> None:
        self._listener.close()


@pytest.fixture
def canary() -> Iterator[Canary]:
    made = Canary()
    yield made
    made.close()


@pytest.fixture
async def luring(
    served_dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, canary: Canary
) -> AsyncIterator[Projects]:
    """Projects whose every text is a link to the canary, in forms that something could follow."""
    monkeypatch.setenv("HOOK", SECRET)
    url = f"http://127.0.0.1:{canary.port}/x"
    weird = (
        f' {url} <img src="{url}"><link rel=prefetch href={url}> ![a]({url}) [[{url}]] @import url({url}) '
        f'{{"type":"image_url","image_url":{{"url":"{url}"}}}} {{"$ref":"{url}"}} <!DOCTYPE a SYSTEM "{url}">'
    )
    async with projects(served_dsn, tmp_path, weird) as made:
        yield made


async def test_no_text_header_or_parameter_is_followed(luring: Projects, canary: Canary) -> None:
    """Neither while it is stored, judged and forwarded, nor while any page or list shows it."""
    url = f"http://127.0.0.1:{canary.port}/x"
    own = luring.acme
    lures = {
        "x-forwarded-host": f"127.0.0.1:{canary.port}", "x-forwarded-for": "127.0.0.1", "referer": url,
        "forwarded": f"host=127.0.0.1:{canary.port}", "x-original-url": url, "x-forwarded-server": url,
    }  # fmt: skip
    params = dict.fromkeys(("url", "endpoint", "callback", "next", "service", "q"), url)
    errors = (await luring.get("/api/errors?profile=0", own)).json()["items"]
    for method, path in routes():
        if method != "GET" or "events" in path:
            continue
        address = filled(path, own, errors[0]["id"])
        for asked in ({}, params):
            answer = await luring.get(address, own, headers=lures | {"accept": "text/html"}, params=asked)
            location = answer.headers.get("location", "/")
            assert location.startswith("/"), (address, location)
            assert not location.startswith("//"), (address, location)
    text = {"text": f"see {url} ![a]({url})"}
    put = await luring.http.put(f"/api/architectures/{own.service}", json=text, headers=own.headers())
    assert put.status_code == 200
    again = await luring.http.post("/api/judge", json={"trace_id": own.trace_id}, headers=own.headers())
    assert again.status_code == 200
    assert canary.connections == 0


async def test_a_browser_loads_nothing_from_elsewhere(luring: Projects, canary: Canary) -> None:
    """Texts with pictures and links are shown as text, and the policy of pages allows no other origin."""
    trace = f"/traces/{luring.acme.trace_id}"
    for path in (trace, "/traces", "/errors", f"/sessions/{luring.acme.session}?service={luring.acme.service}"):
        page = await luring.get(path, luring.acme, headers={"accept": "text/html"})
        reader = Loaded()
        reader.feed(page.text)
        assert reader.tags > 10
        assert [one for one in reader.loaded if f":{canary.port}" in one] == [], path
        assert "default-src 'none'" in page.headers["content-security-policy"]
        assert "frame-ancestors 'none'" in page.headers["content-security-policy"]


async def test_the_api_takes_no_address(luring: Projects) -> None:
    """No parameter and no field of a body names one; whoever adds it has to add its checks here."""
    document = (await luring.get("/openapi.json", luring.acme)).json()
    names = set()
    for methods in document["paths"].values():
        for operation in methods.values():
            names |= {one["name"] for one in operation.get("parameters", ())}
    for schema in document["components"]["schemas"].values():
        names |= set(schema.get("properties", ()))
    words = re.compile(r"(^|_)(url|uri|endpoint|host|callback|webhook|address|api_base|dsn|proxy)s?($|_)")
    assert sorted(filter(words.search, names)) == []
