"""Processes of several roles on one ClickHouse server: real `serve` processes over its HTTP interface."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from clickhouse_http import clickhouse_server
from processes import PATIENCE, Serving, serving
from served import resident
from weather_agent import agent, trace_id

from tracejury.collector.otlp.client import replay
from tracejury.collector.store.migrate import migrate
from tracejury.collector.store.shared_store import SharedStore

KEPT, DELETED = trace_id(1).hex(), trace_id(2).hex()
JSON = {"content-type": "application/json"}
ENGINES = ("chdb", "litellm")


@pytest.fixture(scope="module")
def roles(store_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Serving]]:
    """Starts a process of a role on one store."""
    store, folder = SharedStore.open(f"chdb://{store_folder}?database=roles"), tmp_path_factory.mktemp("roles")
    migrate(store)
    with clickhouse_server(store_folder) as server, ExitStack() as processes:
        dsn = f"{server.dsn}/roles"

        def start(role: str) -> Serving:
            return processes.enter_context(serving(folder, "--role", role, "--store", dsn, new_store=True))

        yield start
    store.drop_database()
    store.close()


def answered(ask: Callable[[], httpx.Response]) -> httpx.Response:
    """The answer of a worker: until one gives it the request is repeated, which asks for nothing new."""
    deadline = time.monotonic() + PATIENCE
    while (answer := ask()).status_code == httpx.codes.SERVICE_UNAVAILABLE:
        assert "a worker will do it" in answer.json()["detail"]
        assert time.monotonic() < deadline
    return answer.raise_for_status()


def until_true(ask: Callable[[], Any]) -> Any:
    """What it says once that is something."""
    deadline = time.monotonic() + PATIENCE
    while not (found := ask()):
        assert time.monotonic() < deadline
        time.sleep(0.2)
    return found


def test_roles_on_one_store_do_together_what_one_process_does(roles: Callable[[str], Serving]) -> None:
    """Received by one, judged by another, shown by a third; what the last asks for a worker does, also after a kill."""
    receive, web = roles("receive"), roles("web")
    assert set(receive.ports) == {"grpc", "http", "api"}
    assert set(web.ports) == {"api"}
    spans = [agent(1, fault=True), agent(2, fault=True)]
    asyncio.run(replay(spans, f"127.0.0.1:{receive.ports['grpc']}", "grpc"))
    with httpx.Client(base_url=web.url, timeout=90) as client:

        def listed() -> Mapping[str, Any]:
            return {row["trace_id"]: row["not_judged"] for row in client.get("/api/traces").json()["items"]}

        assert until_true(lambda: set(listed()) == {KEPT, DELETED})
        assert set(listed().values()) == {"waiting"}, "nobody judges yet"
        worker = roles("work")
        assert until_true(lambda: set(listed().values()) == {None})
        asked = {"trace": KEPT, "profile": "0"}
        (error,) = until_true(lambda: client.get("/api/errors", params=asked).raise_for_status().json()["items"])
        assert "Other processes judge" in client.get("/judges").raise_for_status().text
        assert error["title"] in client.get(f"/traces/{KEPT}", params={"profile": "0"}).raise_for_status().text

        again = answered(lambda: client.post("/api/judge", json={"trace_id": KEPT})).json()["items"]
        assert [(one["trace_id"], one["findings"]) for one in again] == [(KEPT, 1)]
        found = client.get("/api/findings", params=asked).raise_for_status().json()["items"]
        said = {"finding_id": found[0]["id"], "opinion": "agree", "annotator": "ann"}
        client.post("/api/annotations", json={"items": [said]}).raise_for_status()
        assert len(client.get("/api/annotations").raise_for_status().json()["items"]) == 1

        worker.process.send_signal(signal.SIGKILL)
        worker.process.wait(PATIENCE)
        next_worker = roles("work")
        receipt = answered(lambda: client.delete(f"/api/traces/{DELETED}", headers=JSON)).json()["receipt"]
        assert (receipt["traces"], receipt["rows_left"]) == (1, 0)
        assert set(listed()) == {KEPT}
        assert client.get(f"/api/traces/{DELETED}").status_code == httpx.codes.NOT_FOUND

    for one, most in ((receive, 150), (web, 300), (next_worker, None)):
        assert httpx.get(f"{one.url}/readyz").json() == {"status": "ready"}
        assert httpx.get(f"{one.url}/metrics").raise_for_status().text
        loaded = Path(f"/proc/{one.process.pid}/maps").read_text("utf-8")
        assert not [engine for engine in ENGINES if engine in loaded]
        assert most is None or resident(one) <= most * 1e6
    assert httpx.get(f"{receive.url}/api/traces").status_code == httpx.codes.NOT_FOUND, "a receiver has no pages"
    assert [one.stop() for one in (receive, web, next_worker)] == [0, 0, 0]
