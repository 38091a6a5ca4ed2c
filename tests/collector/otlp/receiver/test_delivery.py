"""The delivery contract: what is acknowledged is stored, what is refused is not, and trying again loses nothing."""

from __future__ import annotations

import asyncio
import random

from otlp_clients import Client
from otlp_parts import RecordingSink, spans, traces

from tracejury.collector.otlp.receiver.intake import Intake
from tracejury.collector.otlp.receiver.metrics import ReceiverMetrics
from tracejury.schemas.errors import OverloadedError, RetryableError

REQUESTS, PER_REQUEST = 60, 5


async def test_every_acknowledged_span_is_stored_once(client: Client, sink: RecordingSink, intake: Intake) -> None:
    """Many senders at one time before a sink that fails now and then; each sends again what it is told to."""
    chance = random.Random(7)  # noqa: S311 - a reproducible order of failures, no secret
    failures = [OverloadedError("busy"), RetryableError("away"), ConnectionError("gone")]
    answers: list[str] = []

    async def send(number: int) -> None:
        first = number * PER_REQUEST + 1
        request = traces(*spans(*range(first, first + PER_REQUEST)))
        while True:
            if chance.random() < 0.3:
                sink.errors.append(chance.choice(failures))
            answer = await client.send(request)
            answers.append(answer.code)
            if answer.ok:
                return
            assert answer.retry is not None

    await asyncio.gather(*(send(number) for number in range(REQUESTS)))
    stored = sorted(int(kept.span_id, 16) for kept in sink.spans)
    assert stored == list(range(1, REQUESTS * PER_REQUEST + 1))
    assert len(answers) > REQUESTS, "some must have been refused, or nothing was tested"
    assert (intake.inflight.requests, intake.inflight.bytes) == (0, 0)


async def test_both_receivers_share_what_they_hold(
    grpc_port: int, http_port: int, sink: RecordingSink, metrics: ReceiverMetrics
) -> None:
    """Senders of all protocols at one time reach one sink, each counted under its transport."""
    clients = [Client("grpc", grpc_port), Client("http", http_port), Client("json", http_port)]
    requests = [traces(*spans(number)) for number in range(1, 31)]
    answers = await asyncio.gather(
        *(client.send(request) for request, client in zip(requests, clients * 10, strict=True))
    )
    assert all(answer.ok for answer in answers)
    assert len({kept.span_id for kept in sink.spans}) == 30
    assert metrics.counts["otelcol_receiver_accepted_spans", "grpc"] == 10
    assert metrics.counts["otelcol_receiver_accepted_spans", "http"] == 20
