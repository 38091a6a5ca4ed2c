"""A collector as a process that is told to stop: at rest, under load, with streams and a model's call in flight."""

from __future__ import annotations

import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest
from llm_scripts import always
from llm_server import LlmServer, llm_server
from panel_requests import request
from processes import PATIENCE, Serving, serving
from sizes import sized

CONFIG = """
judging: {{quiet_seconds: 0.2}}
shutdown_seconds: 30
judges: {{model: openai/scripted, api_base: "{base}", retries: 0}}
"""
HEADERS = {"content-type": "application/x-protobuf"}


def send(collector: Serving, number: int) -> httpx.Response:
    """A trace of three turns over OTLP/HTTP."""
    url = f"http://127.0.0.1:{collector.ports['http']}/v1/traces"
    body = request(number, 3, 200).SerializeToString()
    return httpx.post(url, content=body, headers=HEADERS, timeout=PATIENCE, trust_env=False)


def eventually(condition: Callable[[], Any]) -> None:
    """Wait for what must come."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.2)


@pytest.fixture
def stalling() -> Iterator[LlmServer]:
    """A model that never answers."""
    with llm_server(always(stall=True)) as server:
        yield server


def under_load(collector: Serving, stack: ExitStack) -> None:
    """Clients that send one trace after another until they are refused."""

    def work() -> None:
        with suppress(httpx.HTTPError):
            for number in range(1000):
                if send(collector, number).status_code != httpx.codes.OK:
                    return

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
        stack.callback(thread.join, PATIENCE)


def with_open_connections(collector: Serving, stack: ExitStack) -> None:
    """Idle connections to all listeners, one with half a request, and a page that lives."""
    for port in collector.ports.values():
        stack.enter_context(socket.create_connection(("127.0.0.1", port)))
    half = stack.enter_context(socket.create_connection(("127.0.0.1", collector.ports["http"])))
    head = (
        "POST /v1/traces HTTP/1.1",
        "host: localhost",
        "content-type: application/json",
        "content-length: 99",
        "",
        "{",
    )
    half.sendall("\r\n".join(head).encode())
    channel = stack.enter_context(grpc.insecure_channel(f"127.0.0.1:{collector.ports['grpc']}"))
    grpc.channel_ready_future(channel).result(PATIENCE)
    client = stack.enter_context(httpx.Client(base_url=collector.url, trust_env=False, timeout=PATIENCE))
    assert client.get("/traces").status_code == httpx.codes.OK
    stream = stack.enter_context(client.stream("GET", "/live/events"))
    assert next(stream.iter_bytes())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT][: sized(1, 2)])
def test_it_stops_cleanly_whatever_goes_on(tmp_path: Path, stalling: LlmServer, number: signal.Signals) -> None:
    """Exit code 0, and neither a traceback nor an error in the log; a second signal changes nothing."""
    (tmp_path / "config.yaml").write_text(CONFIG.format(base=stalling.base))
    with serving(tmp_path, "--config", "config.yaml") as collector, ExitStack() as stack:
        assert send(collector, 0).status_code == httpx.codes.OK
        eventually(lambda: stalling.counts.in_flight)
        with_open_connections(collector, stack)
        under_load(collector, stack)
        collector.process.send_signal(number)
        collector.process.send_signal(number)
        _, log = collector.process.communicate(timeout=PATIENCE)
    assert collector.process.returncode == 0, log
    assert [word for word in ("Traceback", "ERROR", "Exception", "Error:", "never awaited") if word in log] == [], log


@pytest.mark.parametrize(
    ("status", "said", "outcome"),
    [
        (401, "answered 401 (the key was refused): check its environment variable", "failed"),
        (500, r"answered 500 (not available): no\x1b[31m way", "pending"),
        (400, r"answered 400: no\x1b[31m way", "failed"),
    ][: sized(1, 3)],
)
def test_the_first_line_about_a_failing_model_is_its_status(
    tmp_path: Path, status: int, said: str, outcome: str
) -> None:
    """On one line, without what controls a terminal; a server error is tried again later."""
    with llm_server(always(status=status, message="no\x1b[31m\r\nway")) as server:
        (tmp_path / "config.yaml").write_text(CONFIG.format(base=server.base))
        with serving(tmp_path, "--config", "config.yaml") as collector:
            assert send(collector, 0).status_code == httpx.codes.OK

            def told() -> bool:
                ledger = httpx.get(f"{collector.url}/api/ledger", trust_env=False).json()
                return bool(ledger["judges"]["failing"]) and outcome in ledger["summary"]

            eventually(told)
            assert collector.stop() == 0
            assert collector.process.stderr is not None
            log = collector.process.stderr.read()
    first = next(line for line in log.splitlines() if "WARNING" in line)
    assert f"LLM judges: openai/scripted {said}" in first, log
