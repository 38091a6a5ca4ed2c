"""A whole collector that asks every client for a certificate: exporters, command line and pages come over TLS."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import grpc
import httpx
import pytest
import yaml
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter
from papers import Pair, Papers
from processes import Serving, serving, tracejury

from tracejury.collector.app.endpoints import bound_receivers
from tracejury.collector.config import load_config


@dataclass(frozen=True, slots=True)
class World:
    """The collector, and a client with a certificate."""

    serving: Serving
    papers: Papers
    client: Pair
    folder: Path

    def url(self, name: str, host: str = "localhost") -> str:
        """Of one of the listeners."""
        return f"https://{host}:{self.serving.ports[name]}"

    @property
    def files(self) -> tuple[str, ...]:
        """Options of the client's certificates."""
        pair = self.client
        return "--tls-ca", str(self.papers.ca), "--tls-cert", str(pair.cert), "--tls-key", str(pair.key)

    def ask(self, *args: str) -> subprocess.CompletedProcess[str]:
        """`tracejury ARGS`."""
        return tracejury(*args, folder=self.folder)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("tls")
    papers = Papers(folder)
    section = {"tls": {**papers.issue().paths, "client_ca": str(papers.ca)}}
    config = folder / "tracejury.yaml"
    config.write_text(yaml.safe_dump({"grpc": section, "http": section, "api": section, "insecure": True}))
    with serving(folder, "--config", str(config)) as started:
        yield World(started, papers, papers.issue("client"), folder)


def test_the_ready_text_shows_https(world: World) -> None:
    """All three listeners have a certificate."""
    lines = world.serving.ready_text.splitlines()[1:4]
    assert [line.split()[1].rpartition(":")[0] for line in lines] == ["https://127.0.0.1"] * 3


def test_exporters_of_opentelemetry_come_over_tls(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over gRPC and HTTP, with the options that every SDK has; the traces are found by the command line."""
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):  # requests prefers them to what an exporter is given
        monkeypatch.delenv(name, raising=False)
    ca, cert, key = world.papers.ca, world.client.cert, world.client.key
    credentials = grpc.ssl_channel_credentials(ca.read_bytes(), key.read_bytes(), cert.read_bytes())
    exporters: list[SpanExporter] = [
        GrpcExporter(endpoint=world.url("grpc"), credentials=credentials, timeout=60),
        HttpExporter(
            endpoint=world.url("http") + "/v1/traces", certificate_file=str(ca),
            client_certificate_file=str(cert), client_key_file=str(key), timeout=60,
        ),
    ]  # fmt: skip
    for number, exporter in enumerate(exporters):
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        with provider.get_tracer("test").start_as_current_span(f"span-{number}"):
            pass
        provider.shutdown()
    missing = {"span-0", "span-1"}
    for _ in range(60):  # what was acknowledged is listed by the worker's next step
        listed = world.ask("traces", "--format", "json", "--url", world.url("api"), *world.files)
        assert (listed.returncode, listed.stderr) == (0, "")
        missing = {name for name in missing if name not in listed.stdout}
        if not missing:
            break
    assert missing == set()


@pytest.mark.parametrize("protocol", ["grpc", "http"])
def test_replay_comes_over_tls(world: World, protocol: str) -> None:
    """With the same options as questions to the API."""
    sample = world.folder / "sample.json"
    span = {"traceId": "ab" * 16, "spanId": "cd" * 8, "name": "x", "startTimeUnixNano": "1", "endTimeUnixNano": "2"}
    sample.write_text(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}))
    to = ("--endpoint", world.url(protocol), "--protocol", protocol)
    sent = world.ask("replay", str(sample), *to, *world.files)
    assert sent.returncode == 0, sent.stderr
    assert "sent 1 span " in sent.stdout


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ((), "is not trusted"),
        (("--tls-ca", "ca.pem"), "refuses us without a certificate that it knows: use --tls-cert and --tls-key"),
        (("--tls-ca", "nowhere.pem"), "TRACEJURY_TLS_CA: nowhere.pem cannot be read: No such file or directory"),
        (("--tls-cert", "client.pem"), "TRACEJURY_TLS_CERT and TRACEJURY_TLS_KEY belong together"),
    ],
)
def test_the_command_line_says_what_is_missing(world: World, options: tuple[str, ...], line: str) -> None:
    """In one line, with the option to use."""
    refused = world.ask("traces", "--url", world.url("api"), *options)
    assert refused.returncode != 0
    assert line in refused.stderr
    assert len(refused.stderr.splitlines()) == 1


def test_http_to_a_port_with_tls_is_told_to_use_https(world: World) -> None:
    """The collector closes such a connection without an answer."""
    refused = world.ask("traces", "--url", f"http://localhost:{world.serving.ports['api']}")
    assert refused.returncode != 0
    assert "Perhaps it takes https:// only" in refused.stderr


def test_pages_are_kept_to_https(world: World) -> None:
    """The cookie of forms goes over https:// alone, and so does the browser, but not at localhost."""
    with httpx.Client(verify=world.papers.client(world.client), trust_env=False, timeout=60) as client:
        page = client.get(world.url("api"), headers={"host": "tracejury.example"})
        assert page.headers["strict-transport-security"] == "max-age=31536000"
        assert {"secure", "httponly"} <= set(page.headers["set-cookie"].lower().split("; "))
        assert "strict-transport-security" not in client.get(world.url("api")).headers


def test_validate_reads_the_certificates(world: World) -> None:
    """What a start would refuse is a line with its place."""
    config = world.folder / "wrong.yaml"
    config.write_text(yaml.safe_dump({"api": {"tls": {"cert": "nowhere.pem", "key": "nowhere.pem"}}}))
    refused = world.ask("validate", str(config))
    assert refused.returncode != 0
    missing = world.folder / "nowhere.pem"
    assert refused.stderr == f"tracejury: api.tls.cert: {missing} cannot be read: No such file or directory\n"


def test_pages_name_receivers_by_https() -> None:
    """The page of an empty store shows where to send to; an address of IPv6 keeps its brackets."""
    tls = {"cert": "a.pem", "key": "b.pem"}
    config = load_config(None, {"grpc": {"endpoint": "[::1]:0", "tls": tls}})
    assert [one.url for one in bound_receivers(config, 1, 2)] == ["https://[::1]:1", "http://127.0.0.1:2"]
