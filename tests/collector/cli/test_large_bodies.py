"""A body over the limit, sent by a client that looks for the answer only once it has sent all of it."""

from __future__ import annotations

import http.client
from collections.abc import Iterator

import pytest
from processes import PATIENCE, Serving, serving

LIMIT = 4_000_000
PIECE = b"x" * 1_000_000


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """With a limit of 4 MB for OTLP; the API takes 64 KiB."""
    folder = tmp_path_factory.mktemp("large")
    (folder / "config.yaml").write_text(f"limits: {{request_bytes: {LIMIT}}}\n")
    with serving(folder, "--config", "config.yaml") as running:
        yield running


@pytest.mark.parametrize("connection", ["keep-alive", "close"])
@pytest.mark.parametrize("chunked", [False, True], ids=["length", "chunked"])
@pytest.mark.parametrize(
    ("port", "path", "media", "answers"),
    [
        ("http", "/v1/traces", "application/x-protobuf", (413, 413)),
        ("http", "/v1/logs", "application/json", (413, 413)),
        ("http", "/v1/traces", "text/plain", (415, 415)),
        ("http", "/nowhere", "application/json", (404, 404)),
        ("api", "/api/judge", "application/json", (413, 411)),
    ],
)
def test_the_client_gets_the_refusal_and_no_broken_pipe(
    collector: Serving, port: str, path: str, media: str, answers: tuple[int, int], *, chunked: bool, connection: str
) -> None:
    """By its length at once, without one as soon as it is too long; the rest is read, also where the client closes."""
    pieces = [PIECE] * (LIMIT // len(PIECE) + 16)
    client = http.client.HTTPConnection("127.0.0.1", collector.ports[port], timeout=PATIENCE)
    body = iter(pieces) if chunked else b"".join(pieces)
    client.request("POST", path, body, {"content-type": media, "connection": connection}, encode_chunked=chunked)
    answer = client.getresponse()
    assert (answer.status, answer.getheader("connection")) == (answers[chunked], {"close": "close"}.get(connection))
    assert answer.read()
    if connection == "keep-alive":
        client.request("GET", "/nowhere")
        assert client.getresponse().status == 404, "it serves the next request"
    client.close()
