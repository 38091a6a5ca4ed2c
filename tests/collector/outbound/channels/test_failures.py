"""What a service answers, or does not, told as what the caller should do."""

from __future__ import annotations

import socket
import time
from collections.abc import Mapping
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler
from threading import Event
from typing import Any

import pytest
from alert_parts import RESOLVED, SAMPLE, a_channel
from chat_endpoints import KEY, chat_endpoint
from hook_server import PATIENCE, Received, answer, hook_server

from tracejury.schemas.errors import PermanentError, RetryableError, TracejuryError

TOKEN = "T0KEN"
"""Part of the URL: it is in no error."""


async def problem(behave: Any, kind: str = "slack", **settings: Any) -> TracejuryError:
    """The error of one message to a server that does this."""
    with hook_server(behave) as server:
        with pytest.raises((RetryableError, PermanentError)) as caught:
            await a_channel(kind, f"{server.url}/{TOKEN}", KEY if kind == "pagerduty" else "", **settings).send(SAMPLE)
        assert len(server.received) == 1, "it does not try again by itself, nor follow a redirect"
    assert str(caught.value).startswith(f"channel team ({kind}): ")
    assert TOKEN not in str(caught.value)
    assert KEY not in str(caught.value)
    return caught.value


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
async def test_what_passes_is_to_be_tried_again(status: int) -> None:
    """After a second, unless the service asks for more."""
    error = await problem(answer(status))
    assert isinstance(error, RetryableError)
    assert error.retry_after == 1.0
    assert f"HTTP {status}: the service is busy or down" in str(error)


@pytest.mark.parametrize("status", [300, 302, 307, 400, 401, 403, 404, 410, 413, 418, 422])
async def test_what_does_not_pass_is_to_be_dropped(status: int) -> None:
    """And the error names the variable with what to fix."""
    error = await problem(answer(status, {"location": "/elsewhere"}))
    assert isinstance(error, PermanentError)
    assert f"HTTP {status}: " in str(error)
    names_variable = {400, 401, 403, 404, 410, 422}
    assert ("${URL}" in str(error)) is (status in names_variable)


async def test_a_pager_that_knows_no_such_key_names_the_variable_of_the_key() -> None:
    """Not that of the URL."""
    for kind, told in (("pagerduty", "HTTP 400"), ("opsgenie", "HTTP 401")):
        with chat_endpoint(kind) as service, pytest.raises(PermanentError, match=rf"{told}: .*\$\{{SECRET\}}"):
            await a_channel(kind, service.url, KEY[::-1]).send(RESOLVED)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("7", 7.0), ("0.25", 0.25), ("86400", 3600.0), ("-3", 1.0), ("soon", 1.0), ("1e999", 3600.0)],
)
async def test_the_wait_that_a_service_asks_for_is_told_and_bounded(header: str, seconds: float) -> None:
    """To an hour; what is no time asks for nothing."""
    error = await problem(answer(429, {"retry-after": header}))
    assert isinstance(error, RetryableError)
    assert error.retry_after == seconds


async def test_the_wait_may_be_a_date() -> None:
    """Two hours away: an hour is waited."""
    error = await problem(answer(503, {"retry-after": formatdate(time.time() + 7200, usegmt=True)}))
    assert isinstance(error, RetryableError)
    assert error.retry_after == 3600.0


async def test_a_huge_answer_is_not_read() -> None:
    """Its status counts."""

    def flood(handler: BaseHTTPRequestHandler, _received: Received) -> None:
        handler.send_response(200)
        handler.send_header("content-length", str(1 << 40))
        handler.end_headers()
        try:
            while True:
                handler.wfile.write(bytes(1 << 16))
        except OSError:
            return

    with hook_server(flood) as server:
        await a_channel("slack", server.url).send(SAMPLE)
        assert len(server.received) == 1


async def test_a_service_that_hangs_is_given_up_in_time() -> None:
    """After `timeout_seconds`."""
    go_on = Event()

    def hang(handler: BaseHTTPRequestHandler, received: Received) -> None:
        go_on.wait(PATIENCE)
        answer(200)(handler, received)

    try:
        error = await problem(hang, timeout_seconds=0.2)
    finally:
        go_on.set()
    assert isinstance(error, RetryableError)
    assert "no answer in 0.2 s" in str(error)


def dead_url() -> str:
    """Where nobody listens."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{bound.getsockname()[1]}/{TOKEN}"


@pytest.mark.parametrize(
    ("url", "kind", "told"),
    [
        (f"http://no-such-host.invalid/{TOKEN}", RetryableError, "its host is unknown"),
        pytest.param(dead_url(), RetryableError, "nobody listens there", id="dead"),
        (f"http://169.254.169.254/{TOKEN}", PermanentError, "set allow_link_local"),
        (f"http://[::ffff:169.254.169.254]/{TOKEN}", PermanentError, "set allow_link_local"),
    ],
)
async def test_nobody_is_reached(url: str, kind: type[Exception], told: str) -> None:
    """What the name is wrong about is said; cloud metadata is never asked."""
    with pytest.raises(kind) as caught:
        await a_channel("discord", url).send(SAMPLE)
    assert told in str(caught.value)
    assert TOKEN not in str(caught.value)


async def test_a_certificate_that_is_not_trusted_is_told(tmp_path: Any) -> None:
    """And `ca_file` mends it."""
    from papers import Papers

    papers = Papers(tmp_path)
    with hook_server(tls=papers.server(papers.issue())) as server:
        with pytest.raises(RetryableError, match="name its authority in ca_file"):
            await a_channel("slack", server.url).send(SAMPLE)
        trusting: Mapping[str, str] = {"ca_file": str(papers.ca)}
        await a_channel("slack", server.url, **trusting).send(SAMPLE)
        assert len(server.received) == 1
