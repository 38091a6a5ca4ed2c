"""The client of the command line: pages joined, every refusal an error that says what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import httpx
import pytest
from served_api import KNOWN, Api, apart, finding, row

from tracejury.collector.api.client import JUDGE_PAGE, ApiClient
from tracejury.collector.api.client_connection import UnreachableError
from tracejury.collector.api.client_requests import PAGE
from tracejury.schemas.errors import ConfigError, NotFoundError, OverloadedError, PermanentError, RetryableError


@pytest.mark.parametrize("limit", [1, PAGE - 1, PAGE, PAGE + 1, PAGE * 2 + 2, PAGE * 3])
def test_pages_are_joined_up_to_the_limit(api: Api, limit: int) -> None:
    """As many as asked, and whether there are more."""
    stored = PAGE * 2 + 2
    api.put(*[apart(n) for n in range(stored)])
    with ApiClient(api.url) as client:
        rows, more = client.errors({}, limit)
    assert [r.finding_ids for r in rows] == [[finding(n).id] for n in reversed(range(stored))][:limit]
    assert more == (limit < stored)


def test_judging_since_goes_through_all_pages(api: Api) -> None:
    """Every trace once, in requests small enough to answer in time."""
    api.put_rows(*[row(n) for n in range(JUDGE_PAGE * 2 + 1)])
    with ApiClient(api.url) as client:
        judged = list(client.judge({"since": "1970-01-01"}))
    assert [j.trace_id for j in judged] == [row(n).trace_id for n in range(JUDGE_PAGE * 2 + 1)]
    assert max(len(asked) for asked in api.judge.asked) == JUDGE_PAGE


def test_an_unknown_id_is_not_found(api: Api) -> None:
    """Also one that would change the path if it were not quoted."""
    with ApiClient(api.url) as client:
        for trace_id in ("f" * 32, "../errors", "a/b?c", "é"):
            with pytest.raises(NotFoundError):
                client.trace(trace_id)


def test_refusals_become_errors_by_what_to_do(api: Api) -> None:
    """Wrong parameters: mend them; an overloaded store: try again."""
    with ApiClient(api.url) as client:
        with pytest.raises(ConfigError, match="unknown profile"):
            client.trace(KNOWN, profile="brave")
        api.reader.fault = OverloadedError("disk full")
        with pytest.raises(RetryableError, match="disk full"):
            client.errors({}, 1)


@pytest.mark.parametrize(
    "ask",
    [
        lambda client, text: client.trace(text),
        lambda client, text: client.session(text),
        lambda client, text: client.session("s", service=text),
        lambda client, text: client.errors({"service": text}, 1),
        lambda client, text: client.doctor(trace=text),
        lambda client, text: list(client.judge({"trace_id": text})),
        lambda client, text: client.architecture(text),
        lambda client, text: client.rates({"agent": text}),
        lambda client, text: client.compare_rates({}, f"version={text}"),
        lambda client, text: client.delete_trace(text),
        lambda client, text: list(client.export_labels({"annotator": text})),
        lambda client, text: client.withdraw_annotation(text),
        lambda client, text: list(client.received(text)),
    ],
)
def test_what_is_no_text_is_said_so(api: Api, ask: Callable[[ApiClient, str], object]) -> None:
    """Bytes of a command line that are no UTF-8, wherever they stand in a question."""
    with ApiClient(api.url) as client, pytest.raises(ConfigError, match=r"a\\udcffb' is not text in UTF-8"):
        ask(client, "a\udcffb")


@pytest.mark.parametrize("url", ["localhost:8321", "ftp://x", "http://", "", "http://[::1", "http://h:99999999"])
def test_what_is_no_address_is_said_so(url: str) -> None:
    """Before anything is sent."""
    with pytest.raises(ConfigError, match="is no address"):
        ApiClient(url)


@pytest.fixture
def free_grpc() -> Iterator[str]:
    """The address of a gRPC server without services."""
    server = grpc.server(ThreadPoolExecutor(1))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield f"http://127.0.0.1:{port}"
    server.stop(None).wait()


def answering(answer: httpx.Response) -> ApiClient:
    return ApiClient("http://127.0.0.1:8321", transport=httpx.MockTransport(lambda _request: answer))


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(200, text="<html>another program</html>"),
        httpx.Response(200, json=[1]),
        httpx.Response(404, text="nothing here"),
        httpx.Response(404, json={"error": "other"}),
        httpx.Response(200, content=b"\xff"),
    ],
)
def test_another_program_at_the_address_is_recognised(answer: httpx.Response) -> None:
    """Whatever it says, the error is that it is not a collector."""
    with answering(answer) as client, pytest.raises(PermanentError, match="not tracejury's API"):
        client.traces({}, 1)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (httpx.ConnectError("refused"), UnreachableError),
        (httpx.ReadTimeout("slow"), RetryableError),
        (httpx.RemoteProtocolError("cut"), RetryableError),
    ],
)
def test_transport_failures_are_passing(error: Exception, kind: type[Exception]) -> None:
    """One line each; nothing there says how to start one."""

    def fail(_request: httpx.Request) -> httpx.Response:
        raise error

    with (
        ApiClient("http://127.0.0.1:8321", transport=httpx.MockTransport(fail)) as client,
        pytest.raises(kind) as caught,
    ):
        client.traces({}, 1)
    assert "\n" not in str(caught.value)


def test_the_port_of_grpc_is_told_from_the_apis(free_grpc: str) -> None:
    """A server that speaks HTTP/2 alone: the line says which port it may be."""
    with ApiClient(free_grpc) as client, pytest.raises(PermanentError, match="may be the port of OTLP/gRPC"):
        client.traces({}, 1)


def test_a_proxy_of_the_environment_does_not_get_between(api: Api, monkeypatch: Any) -> None:
    """A collector on this machine is asked directly whatever HTTP_PROXY says."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    with ApiClient(api.url) as client:
        assert client.traces({}, 1) == ([], False)
