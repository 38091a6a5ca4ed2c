"""What happens to a request between receiver and sink, in the cases that clients cannot provoke."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import pytest
from otlp_parts import RecordingSink, spans, traces

from tracejury.collector.otlp.codec import proto_decode
from tracejury.collector.otlp.codec.limits import Limits
from tracejury.collector.otlp.codec.rejections import PartialSuccess
from tracejury.collector.otlp.codec.signals import Encoding, Signal
from tracejury.collector.otlp.receiver.intake import Intake, IntakeConfig
from tracejury.collector.otlp.receiver.metrics import ReceiverMetrics
from tracejury.schemas.config_base import MIB
from tracejury.schemas.errors import PermanentError, RetryableError

BODY = traces(*spans(1)).SerializeToString()


class Graveyard:
    """A dead-letter folder in memory; `broken` as a full disk is."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.broken = False

    def __call__(self, _signal: Signal, _encoding: Encoding, body: bytes, _tenant: str) -> None:
        """Keep a body."""
        if self.broken:
            raise OSError("no space left on device")
        self.bodies.append(body)


@pytest.fixture
def bug(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault in the decoder, as only we could make it."""

    def fail(*_: Any) -> Sequence[Any]:
        raise ZeroDivisionError

    monkeypatch.setattr(proto_decode, "groups", fail)


async def outcomes(intake: Intake, *bodies: bytes) -> list[str]:
    """How each of the bodies ended."""
    names = []
    for body in bodies:
        try:
            await intake.take("grpc", Signal.TRACES, Encoding.PROTOBUF, body)
            names.append("taken")
        except PermanentError:
            names.append("permanent")
        except RetryableError:
            names.append("retryable")
    return names


@pytest.mark.usefixtures("bug")
async def test_what_fails_again_and_again_is_set_aside() -> None:
    """Twice the client may try again; the third time the body is kept and the client told to give up."""
    graveyard = Graveyard()
    intake = Intake(RecordingSink(), dead_letter=graveyard)
    assert await outcomes(intake, b"a", b"b", b"a", b"a", b"a") == [
        "retryable", "retryable", "retryable", "permanent", "retryable",
    ]  # fmt: skip
    assert graveyard.bodies == [b"a"]


@pytest.mark.usefixtures("bug")
async def test_what_cannot_be_set_aside_is_not_given_up() -> None:
    """Neither without a dead-letter folder nor with a broken one is anything lost."""
    graveyard = Graveyard()
    graveyard.broken = True
    for dead_letter in (None, graveyard):
        intake = Intake(RecordingSink(), dead_letter=dead_letter)
        assert await outcomes(intake, *[b"a"] * 5) == ["retryable"] * 5
    graveyard.broken = False
    assert await outcomes(intake, b"a") == ["permanent"]
    assert graveyard.bodies == [b"a"]


async def test_an_unforeseen_error_of_the_sink_is_retryable(caplog: pytest.LogCaptureFixture) -> None:
    """It is logged with its traceback, counted, and never ends the request for good."""
    metrics = ReceiverMetrics()
    intake = Intake(RecordingSink([KeyError("secret")]), metrics=metrics)
    with caplog.at_level(logging.ERROR):
        assert await outcomes(intake, BODY, BODY) == ["retryable", "taken"]
    assert "KeyError" in caplog.text
    assert metrics.counts["otelcol_receiver_refused_spans", "grpc"] == 1
    assert metrics.counts["otelcol_receiver_accepted_spans", "grpc"] == 1


async def test_big_bodies_are_decoded_like_small_ones() -> None:
    """The thread that spares the event loop changes nothing else."""
    sink = RecordingSink()
    intake = Intake(sink, clock=lambda: 7)
    big = traces(*spans(*range(1, 9001))).SerializeToString()
    assert len(big) > MIB // 4
    assert await intake.take("grpc", Signal.TRACES, Encoding.PROTOBUF, big) == PartialSuccess()
    assert len(sink.spans) == 9000
    assert {kept.received_at for kept in sink.spans} == {7}
    with pytest.raises(PermanentError):
        await intake.take("grpc", Signal.TRACES, Encoding.PROTOBUF, b"\xff" * MIB)
    intake.close()
    intake.close()


async def test_items_are_counted() -> None:
    """Accepted, rejected and cut, by transport."""
    metrics = ReceiverMetrics()
    intake = Intake(RecordingSink(), IntakeConfig(), Limits(name_bytes=64), metrics=metrics)
    request = traces(*spans(1, 2, 0))
    request.resource_spans[0].scope_spans[0].spans[0].name = "n" * 65
    receipt = await intake.take("http", Signal.TRACES, Encoding.PROTOBUF, request.SerializeToString())
    assert receipt == PartialSuccess(1, "1 spans rejected: span id is all zero (1)")
    assert metrics.counts == {
        ("otelcol_receiver_accepted_spans", "http"): 2,
        ("otelcol_receiver_failed_spans", "http"): 1,
        ("otelcol_receiver_cut_values", "http"): 1,
    }
