"""What we use of packages beyond their documented interface, each with what breaks where a new version lacks it."""

from __future__ import annotations

import inspect
from collections.abc import Sequence

import pytest
import uvicorn
from chdb.state.sqlitelike import Connection, StreamingInserter
from clickhouse_connect.driver import compression
from clickhouse_connect.driver.httpclient import HttpClient
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

BOUNDS = "collector/otlp/receiver/http_protocol.py: slow, endless and HTTP/2 requests are not bounded"
STOPPING = "collector/otlp/receiver/web_server.py: the server does not say that it listens, or does not stop in time"
STREAMING = "collector/store/insert_streams.py: spans are not streamed into the embedded engine"
COMPRESSED = "collector/store/client.py: inserts into a server are not compressed"


@pytest.mark.parametrize(
    ("owner", "methods", "broken"),
    [
        (
            HttpToolsProtocol,
            (
                "connection_made", "connection_lost", "data_received", "on_message_begin", "on_headers_complete",
                "on_body", "on_message_complete", "on_response_complete", "send_400_response",
            ),
            BOUNDS,
        ),
        (uvicorn.Server, ("serve", "startup", "main_loop", "on_tick", "capture_signals"), STOPPING),
        (Connection, ("send_insert", "close"), STREAMING),
        (StreamingInserter, ("append", "finish", "__enter__", "__exit__"), STREAMING),
        (HttpClient, ("raw_insert",), COMPRESSED),
        (compression, ("get_compressor",), COMPRESSED),
    ],
)  # fmt: skip
def test_the_packages_have_the_methods_that_we_call_and_override(
    owner: object, methods: Sequence[str], broken: str
) -> None:
    missing = [name for name in methods if not callable(getattr(owner, name, None))]
    assert not missing, f"{broken}: {owner} has no {missing}"


@pytest.mark.parametrize(
    ("owner", "fields", "broken"),
    [
        (HttpToolsProtocol, ("logger", "transport", "connections", "cycle", "pipeline", "loop"), BOUNDS),
        (RequestResponseCycle, ("response_started", "response_complete"), BOUNDS),
        (uvicorn.Server, ("config", "server_state", "started", "should_exit"), STOPPING),
    ],
)
def test_the_packages_set_the_fields_that_we_read(owner: type, fields: Sequence[str], broken: str) -> None:
    set_there = inspect.getsource(owner.__init__)  # type: ignore[misc]  # of the class itself
    missing = [name for name in fields if f"self.{name}" not in set_there]
    assert not missing, f"{broken}: {owner} has no {missing}"


def test_a_server_counts_its_connections_and_tasks() -> None:
    state = uvicorn.Server(uvicorn.Config("app", log_config=None)).server_state
    assert (state.connections, state.tasks) == (set(), set()), STOPPING
