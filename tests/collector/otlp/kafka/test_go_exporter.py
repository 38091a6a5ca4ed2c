"""The OpenTelemetry Collector's own kafka exporter in front of our consumer, set as docs/kafka.md says."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from kafka_broker import Cluster
from kafka_parts import config_of, reading, until, writing
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from otlp_parts import START, RecordingSink, logs, span, text, traces
from peer_collectors import built

from tracejury.collector.otlp.client import connect, encoded
from tracejury.collector.otlp.codec.signals import Encoding, Signal
from tracejury.collector.otlp.receiver.intake import Intake
from tracejury.schemas.errors import RetryableError

SETTINGS: Mapping[str, Any] = {
    "partition_traces_by_id": True,
    "partition_logs_by_trace_id": True,
    "producer": {"required_acks": "all", "compression": "zstd", "max_message_bytes": 1_000_000},
    "retry_on_failure": {"max_elapsed_time": "0s"},
    "sending_queue": {"storage": "file_storage"},
}


@asynccontextmanager
async def exporting(folder: Path, exporter: Mapping[str, Any]) -> AsyncIterator[int]:
    """A collector with this exporter; gives the port of its OTLP/gRPC receiver."""
    if not built().exists():
        pytest.skip("no OpenTelemetry Collector is built here (make bench-peers)")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (folder / "queue").mkdir()
    pipeline = {"receivers": ["otlp"], "exporters": ["kafka"]}
    configuration = {
        "extensions": {"file_storage": {"directory": str(folder / "queue")}},
        "receivers": {"otlp": {"protocols": {"grpc": {"endpoint": f"127.0.0.1:{port}"}}}},
        "exporters": {"kafka": exporter},
        "service": {
            "extensions": ["file_storage"],
            "pipelines": {"traces": pipeline, "logs": pipeline},
            "telemetry": {"metrics": {"level": "none"}},
        },
    }
    (folder / "collector.json").write_text(json.dumps(configuration))
    command = [str(built()), "--config", f"file:{folder / 'collector.json'}"]
    with (folder / "log").open("w") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:  # noqa: S603, ASYNC220  ours
        try:
            yield port
        finally:
            process.terminate()


@pytest.mark.parametrize("encoding", ["otlp_proto", "otlp_json"])
async def test_what_it_writes_is_read_and_lies_where_ours_does(broker: Cluster, tmp_path: Path, encoding: str) -> None:
    """Both encodings; the partition of a trace is the same from its exporter and from our receiver."""
    names = {signal: broker.topic(5) for signal in ("traces", "logs")}
    described = [{"name": name, "signal": signal, "encoding": encoding} for signal, name in names.items()]
    config = config_of(broker, *described)
    topics = {signal: {"topic": name, "encoding": encoding} for signal, name in names.items()}
    ids = [bytes([n]) * 16 for n in range(1, 9)]
    spans = [span(trace_id=trace, span_id=bytes([n]) * 8, attributes=[text("a", "b")]) for trace in ids for n in (1, 2)]
    records = [LogRecord(time_unix_nano=START, body=AnyValue(string_value="said"), trace_id=trace) for trace in ids]
    direct, through = RecordingSink(), RecordingSink()
    taken = Intake(direct, clock=lambda: START)
    async with exporting(tmp_path, {"brokers": config.brokers, **topics, **SETTINGS}) as port:
        client = connect(f"127.0.0.1:{port}", "grpc")
        for signal, request in ((Signal.TRACES, traces(*spans)), (Signal.LOGS, logs(*records))):
            await taken.take("grpc", signal, Encoding.PROTOBUF, request.SerializeToString())
            await _until_taken(client, encoded(request))
        await client.close()
        async with reading(config, intake=Intake(through, clock=lambda: START)):
            await until(lambda: len(_items(through)) >= len(_items(direct)))
        assert _items(through) == _items(direct)
    placed = _partitions(broker, names["traces"], 8)
    async with writing(config) as sink:
        body = traces(*spans).SerializeToString()
        await Intake(sink, events=False).take("grpc", Signal.TRACES, Encoding.PROTOBUF, body)
    assert _partitions(broker, names["traces"], 16) == placed
    assert len(set(placed.values())) > 1


async def _until_taken(client: Any, request: Any) -> None:
    for _ in range(600):
        try:
            await client.send(request)
        except RetryableError:  # it starts
            await asyncio.sleep(0.1)
            continue
        return
    raise AssertionError


def _items(sink: RecordingSink) -> list[str]:
    return sorted(repr(item) for batch in sink.batches for item in (*batch.spans, *batch.logs))


def _partitions(broker: Cluster, topic: str, count: int) -> dict[str | bytes | None, int | None]:
    """The partition of each key; fails where a key has two."""
    found: dict[str | bytes | None, int | None] = {}
    for message in broker.messages(topic, count):
        assert found.setdefault(message.key(), message.partition()) == message.partition()
    return found
