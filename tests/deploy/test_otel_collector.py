"""The OpenTelemetry Collector takes the configurations of deploy/otel-collector/, and sends through them."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import peer_collectors
import pytest
import yaml
from otlp_parts import span, traces
from processes import PATIENCE, serving

from tracejury.collector.otlp.client import connect, encoded

FOLDER = Path(__file__).resolve().parents[2] / "deploy" / "otel-collector"
BUILT = pytest.mark.skipif(
    not peer_collectors.built().exists(), reason="no OpenTelemetry Collector is built (make deploy-check)"
)
ENVIRONMENT = {
    "TRACEJURY_ENDPOINT": "127.0.0.1:1", "TRACEJURY_KEY": "tj_x", "KAFKA_BROKERS": "127.0.0.1:9092",
    "KAFKA_USER": "user", "KAFKA_PASSWORD": "password",
}  # fmt: skip
LOAD_BALANCING = {
    "routing_key": {}, "timeout": {}, "retry_on_failure": {}, "sending_queue": {}, "protocol": {"otlp": {}},
    "resolver": {"dns": {"hostname": {}, "port": {}, "interval": {}, "timeout": {}}},
}  # fmt: skip
"""Options of the loadbalancing exporter by its documentation, as far as the file may use them."""


def configuration(name: str, queue: Path) -> dict[str, Any]:
    """A file, with its queue in that folder."""
    text = (FOLDER / f"{name}.yaml").read_text("utf-8").replace("/var/lib/otelcol/queue", str(queue))
    return dict(yaml.safe_load(text))


def balancing_as_otlp(found: dict[str, Any]) -> dict[str, Any]:
    """The same with the exporter that the loadbalancing one makes for each address."""
    balancing = found["exporters"].pop("loadbalancing")
    queue = {key: balancing[key] for key in ("sending_queue", "retry_on_failure")}
    found["exporters"]["otlp"] = balancing["protocol"]["otlp"] | queue | {"endpoint": "127.0.0.1:1"}
    for pipeline in found["service"]["pipelines"].values():
        assert pipeline["exporters"] == ["loadbalancing"]
        pipeline["exporters"] = ["otlp"]
    return found


@contextmanager
def running(found: dict[str, Any], folder: Path, **environment: str) -> Iterator[int]:
    """The collector with a configuration, on a free port; gives the port of OTLP/gRPC."""
    ports = []
    for protocol in ("grpc", "http"):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            ports.append(int(free.getsockname()[1]))
        found["receivers"]["otlp"]["protocols"][protocol]["endpoint"] = f"127.0.0.1:{ports[-1]}"
    found["service"]["telemetry"] = {"metrics": {"level": "none"}}
    (folder / "collector.yaml").write_text(yaml.safe_dump(found))
    command = [str(peer_collectors.built()), "--config", f"file:{folder / 'collector.yaml'}"]
    with subprocess.Popen(  # noqa: S603  built from our sources
        command, env=os.environ | ENVIRONMENT | environment, stderr=(folder / "stderr").open("w")
    ) as process:
        try:
            deadline = time.monotonic() + PATIENCE
            while time.monotonic() < deadline and process.poll() is None:
                with socket.socket() as tried:
                    if tried.connect_ex(("127.0.0.1", ports[0])) == 0:
                        break
                time.sleep(0.05)
            yield ports[0]
        finally:
            process.kill()


@BUILT
@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.yaml")))
def test_the_collector_accepts_it(name: str, tmp_path: Path) -> None:
    found = configuration(name, tmp_path)
    if "loadbalancing" in found["exporters"]:
        found = balancing_as_otlp(found)
    assert validated(found, tmp_path) == ""
    (exporter,) = found["exporters"].values()
    exporter["sending_queue"]["storrage"] = "file_storage"
    assert "storrage" in validated(found, tmp_path)


def validated(found: dict[str, Any], folder: Path) -> str:
    """What the collector complains about."""
    (folder / "collector.yaml").write_text(yaml.safe_dump(found))
    command = [str(peer_collectors.built()), "validate", "--config", f"file:{folder / 'collector.yaml'}"]
    environment = os.environ | ENVIRONMENT
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)  # noqa: S603
    return "" if done.returncode == 0 else done.stderr


def test_the_balancing_exporter_has_options_that_it_knows() -> None:
    """It cannot be built here, so its own options are held to its documentation."""

    def unknown(given: dict[str, Any], known: dict[str, Any], place: str) -> Iterator[str]:
        for key, value in given.items():
            if key not in known:
                yield f"{place}{key}"
            elif known[key]:
                yield from unknown(value, known[key], f"{place}{key}.")

    found = configuration("balanced", Path("queue"))["exporters"]["loadbalancing"]
    assert list(unknown(found, LOAD_BALANCING, "")) == []
    assert found["routing_key"] == "traceID"
    assert "endpoint" not in found["protocol"]["otlp"]


@BUILT
async def test_what_was_acknowledged_waits_for_tracejury(tmp_path: Path) -> None:
    """It arrives although nobody listened when it was sent, and the collector was killed meanwhile."""
    queue = tmp_path / "queue"
    for folder in (queue, tmp_path / "served"):
        folder.mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    with running(configuration("single", queue), tmp_path) as port:
        client = connect(f"127.0.0.1:{port}", "grpc")
        await client.send(encoded(traces(span(trace_id=b"\xab" * 16))))
    with (
        serving(tmp_path / "served", "--grpc", address) as collector,
        running(configuration("single", queue), tmp_path, TRACEJURY_ENDPOINT=address),
    ):
        deadline = time.monotonic() + PATIENCE
        async with httpx.AsyncClient(base_url=collector.url) as asking:
            while (await asking.get(f"/api/traces/{'ab' * 16}")).status_code != 200:
                assert time.monotonic() < deadline, (tmp_path / "stderr").read_text()
                await asyncio.sleep(0.1)
