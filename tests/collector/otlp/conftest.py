"""Real receivers on free ports before a sink that records."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from otlp_clients import PROTOCOLS, Client
from otlp_parts import START, RecordingSink

from tracejury.collector.otlp.receiver.grpc_server import GrpcConfig, GrpcReceiver
from tracejury.collector.otlp.receiver.http_config import HttpConfig
from tracejury.collector.otlp.receiver.http_server import HttpReceiver
from tracejury.collector.otlp.receiver.intake import Intake
from tracejury.collector.otlp.receiver.metrics import ReceiverMetrics

NOW = START + 60 * 10**9


@pytest.fixture
async def sink() -> RecordingSink:
    return RecordingSink()


@pytest.fixture
def metrics() -> ReceiverMetrics:
    return ReceiverMetrics()


@pytest.fixture
async def intake(sink: RecordingSink, metrics: ReceiverMetrics) -> AsyncIterator[Intake]:
    intake = Intake(sink, metrics=metrics, clock=lambda: NOW)
    yield intake
    intake.close()


@pytest.fixture
async def grpc_port(intake: Intake) -> AsyncIterator[int]:
    receiver = GrpcReceiver(GrpcConfig(endpoint="127.0.0.1:0"), intake)
    yield await receiver.start()
    await receiver.stop(1)


@pytest.fixture
async def http_port(intake: Intake) -> AsyncIterator[int]:
    receiver = HttpReceiver(HttpConfig(endpoint="127.0.0.1:0"), intake, grpc_port=4317)
    yield await receiver.start()
    await receiver.stop(1)


@pytest.fixture(params=PROTOCOLS)
def client(request: pytest.FixtureRequest) -> Client:
    return Client(request.param, request.getfixturevalue("grpc_port" if request.param == "grpc" else "http_port"))
