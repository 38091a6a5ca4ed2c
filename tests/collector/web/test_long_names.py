"""Names of megabytes in lists: what is shown of them is bounded, and no link stands for another name."""

from __future__ import annotations

import re
from collections.abc import Iterator

import httpx
import pytest
from listed_traces import SECOND, Listed, Mark, store_all
from served_api import served
from stored_readers import stored_reader

from tracejury.collector.api.services import Services
from tracejury.collector.app.web_app import create_web_app
from tracejury.collector.store.shared_store import SharedStore
from tracejury.processors.assemble import AssemblerConfig
from tracejury.schemas.taxonomy import Severity

NOW = 1_800_000_000 * SECOND
LONG = 1_000_000
TALK = "t" * 256
MOST = 100_000
"""Bytes of a page of a few rows."""


def named(kind: str) -> str:
    return f"{kind}-" + "x" * LONG


TRACES = [
    Listed(n, received=NOW - n * SECOND, start=NOW - 90 * SECOND, service=named("service"), version=named("version"),
           session=named("session"), model=named("model"), tool=named("tool"), helper=named("agent"),
           goal=named("goal"), marks=(Mark(severity=Severity.HIGH, agent="helper"),))
    for n in (1, 2)
]  # fmt: skip


@pytest.fixture
def client(store: SharedStore) -> Iterator[httpx.Client]:
    """Pages and API over traces all names of which are long, and one that has short ones."""
    store_all(store, [*TRACES, Listed(3, received=NOW - 9 * SECOND, start=NOW, session=TALK)])
    reader = stored_reader(store, AssemblerConfig(), lambda: NOW)
    app = create_web_app(Services(reader, lambda _ids, _by_hand: (), problems=tuple, metrics=bytes, clock=lambda: NOW))
    with served(app) as url, httpx.Client(base_url=url, trust_env=False, timeout=60) as client:
        yield client


@pytest.mark.parametrize(
    "path",
    [
        "/traces", "/sessions", "/fragments/facets", "/fragments/services", "/overview/by/session",
        "/api/traces", "/api/sessions", "/api/errors", "/api/ledger?all=true",
    ],
)  # fmt: skip
def test_a_list_is_bounded_whatever_names_are(client: httpx.Client, path: str) -> None:
    """Of each name the beginning shows."""
    answer = client.get(path)
    assert answer.status_code == 200
    assert len(answer.content) < MOST


def test_what_is_cut_is_marked(client: httpx.Client) -> None:
    """The first 256 characters, and an ellipsis; a name of 256 characters is whole."""
    rows = client.get("/api/traces").json()["items"]
    assert {rows[0][kind] for kind in ("service", "version", "session_id")} == {
        named(kind)[:256] + "…" for kind in ("service", "version", "session")
    }
    assert (rows[0]["agents"], rows[0]["models"]) == (
        ["planner", named("agent")[:256] + "…"],
        [named("model")[:256] + "…"],
    )
    assert rows[2]["session_id"] == TALK
    sessions = client.get("/api/sessions").json()["items"]
    assert [(row["session_id"], row["traces"]) for row in sessions] == [(named("session")[:256] + "…", 2), (TALK, 1)]


def test_no_link_asks_for_the_beginning_of_a_name(client: httpx.Client) -> None:
    """Where a name is cut there is no link; names that are whole have theirs, and are suggested."""
    for path in ("/traces", "/sessions", "/overview/by/session"):
        links = re.findall('href="([^"]*)"', client.get(path).text)
        assert [link for link in links if "x" * 99 in link] == []
        assert [link for link in links if "session" in link and "t" * 200 in link] or path.startswith("/overview")
    assert client.get("/traces").text.count('class="row-link"') == 3
    assert 'value="helper"' in client.get("/fragments/facets").text
    assert "x" * 99 not in client.get("/fragments/facets").text + client.get("/fragments/services").text
