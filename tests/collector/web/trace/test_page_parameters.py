"""The parameters of pages: unknown ones are refused in one line, and every link of ours has known ones."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from urllib.parse import parse_qsl, urljoin, urlsplit

import pytest
from trace_pages import SECOND, START, TOOL, TRACE_ID, Pages, failing_run, trace_pages

from tracejury.collector.store.shared_store import SharedStore

HOUR = 3600 * SECOND
OURS = re.compile(r'\b(?:href|hx-get|data-branch)="(/[^"]*|\?[^"]*)"')
FORM = re.compile(r"<form\b([^>]*)>(.*?)</form>", re.DOTALL)
ACTION = re.compile(r'\baction="([^"]*)"')
FIELD = re.compile(r'<(?:input|select)\b[^>]*\bname="([^"]*)"(?:[^>]*\bvalue="([^"]*)")?')
FIRST = (
    "/", "/?unit=turn&population=both&simulated=1&range=7d&profile=strict&attribute=a%3Db&tag=t&user=u",
    "/traces?q=x&state=ok&severity=LOW&attribute=a%3Db&attribute=c%3Dd&sort=cost&order=asc&service=shop",
    "/sessions?role=manager&status=failed&columns=cost&columns=errors", "/views",
    "/errors?severity=HIGH&judge=x&from=2023-01-01T00:00&to=2024-01-01T00:00", "/labels?purpose=learning&simulated=1",
    "/services?unit=tool_call&simulated=1&version=1&agent=a&model=m", "/judges?profile=recall",
    "/packs?simulated=1", "/explain",
    f"/traces/{TRACE_ID}?profile=recall&only=errors&stratum=s&probability=0.5&drawn=x&range=1h",
    f"/spans/{TOOL}?trace={TRACE_ID}&profile=recall",
)  # fmt: skip


@pytest.fixture
def pages(store: SharedStore) -> Iterator[Pages]:
    with trace_pages(store) as made:
        made.put(*failing_run())
        yield made


@pytest.mark.parametrize(
    "path",
    [
        "/", "/overview/worst", "/overview/by/agent", "/traces", "/sessions", "/errors", "/labels", "/judges", "/packs",
        "/clusters", "/patterns", "/services", "/services/by/tool", "/overview/rate", "/overview/performance",
        "/alerts", "/views", "/fragments/views", "/compare", "/compare/traces", "/graph", "/fragments/graph",
        "/explain", "/fragments/facets", "/live/events", f"/traces/{TRACE_ID}", f"/traces/{TRACE_ID}/tree",
        f"/spans/{TOOL}", f"/traces/{TRACE_ID}/spans/{TOOL}/raw",
    ],
)  # fmt: skip
def test_an_unknown_parameter_is_refused(pages: Pages, path: str) -> None:
    """In one line that says which there are, whatever it is called."""
    for name in ("utm_source", "sevrity", "x" * 500, "<b>", "a\nb", "\x1b[2J"):
        refused = pages.get(path, **{name: "1"})
        assert refused.status_code == 422, (path, name)
        detail = refused.json()["detail"]
        assert detail.startswith("no parameter ")
        assert "this page has range, from, to, service" in detail
        assert len(detail) < 400
        assert detail.isprintable()
    page = pages.client.get(path, params={"<b>": "1"}, headers={"Accept": "text/html"})
    assert "&lt;b&gt;" in page.text
    assert "<b>" not in page.text


def addresses(at: str, text: str) -> Iterator[str]:
    """Where a page's links, parts and forms lead."""
    for link in OURS.findall(text):
        yield urljoin(at, html.unescape(link))
    for form, fields in FORM.findall(text):
        if "method=" not in form or 'method="get"' in form:
            action = ACTION.search(form)
            path = urlsplit(urljoin(at, html.unescape(action[1]))).path if action else at
            yield f"{path}?{html.unescape('&'.join(f'{name}={value}' for name, value in FIELD.findall(fields)))}"


def parameters(address: str) -> set[tuple[str, str]]:
    """A page's path without ids, with each of its parameters, and with none."""
    parts = urlsplit(address)
    path = re.sub(
        r"^/(explain|judges|traces|spans|errors|sessions|packs|(?:overview|services)/by)/[^/]+", r"/\1/*", parts.path
    )
    return {(path, name) for name, _ in [("", ""), *parse_qsl(parts.query, keep_blank_values=True)]}


def test_all_links_of_pages_lead_to_pages(pages: Pages) -> None:
    """From each page by links, forms and parts, as long as they lead to a page or a parameter of one that is new."""
    pages.now = START + HOUR
    waiting, seen = [*FIRST], set[tuple[str, str]]()
    while waiting:
        address = waiting.pop()
        if parameters(address) <= seen or address.startswith(("/static/", "/openapi.json", "/live/")):
            continue
        seen |= parameters(address)
        answer = pages.client.get(address, follow_redirects=True)
        assert answer.status_code == 200, (address, answer.text[:300])
        if answer.headers["content-type"].startswith("text/html"):
            waiting += addresses(urlsplit(str(answer.url)).path, answer.text)
    wanted = {"/traces", "/traces/*", "/sessions", "/errors", "/errors/*", "/overview/worst", "/fragments/facets"}
    assert wanted <= {path for path, _ in seen}
