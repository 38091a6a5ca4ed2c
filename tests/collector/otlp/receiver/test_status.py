"""The table from errors to protocol codes."""

from __future__ import annotations

import json

import grpc
import pytest
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status

from tracejury.collector.otlp.codec.rejections import PartialSuccess
from tracejury.collector.otlp.codec.signals import Encoding, Signal
from tracejury.collector.otlp.receiver.status import TABLE, refusal, success
from tracejury.schemas.errors import (
    ConfigError,
    OverloadedError,
    PermanentError,
    RetryableError,
    StoreError,
    TooLargeError,
    TracejuryError,
    UnsupportedMediaTypeError,
)

DROPPED_BY_CLIENTS = {grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN}


@pytest.mark.parametrize(
    ("error", "code", "http", "retry_after"),
    [
        (PermanentError("x"), grpc.StatusCode.INVALID_ARGUMENT, 400, None),
        (TooLargeError("x"), grpc.StatusCode.RESOURCE_EXHAUSTED, 413, None),
        (UnsupportedMediaTypeError("x"), grpc.StatusCode.INVALID_ARGUMENT, 415, None),
        (RetryableError("x", retry_after=2.5), grpc.StatusCode.UNAVAILABLE, 503, "3"),
        (RetryableError("x", retry_after=0.01), grpc.StatusCode.UNAVAILABLE, 503, "1"),
        (OverloadedError("x", retry_after=30), grpc.StatusCode.UNAVAILABLE, 503, "30"),
        (StoreError("x"), grpc.StatusCode.UNAVAILABLE, 503, "1"),
        (ConfigError("x"), grpc.StatusCode.UNAVAILABLE, 503, "1"),
        (TracejuryError("x"), grpc.StatusCode.UNAVAILABLE, 503, "1"),
        (ZeroDivisionError("x"), grpc.StatusCode.UNAVAILABLE, 503, "1"),
        (TimeoutError("x"), grpc.StatusCode.UNAVAILABLE, 503, "1"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)
def test_each_error_has_its_codes(error: Exception, code: grpc.StatusCode, http: int, retry_after: str | None) -> None:
    """Retryable ones carry RetryInfo and Retry-After, permanent ones neither."""
    answer = refusal(error)
    assert (answer.grpc, answer.http) == (code, http)
    assert answer.headers().get("Retry-After") == retry_after
    assert [detail.Is(RetryInfo.DESCRIPTOR) for detail in answer.status().details] == ([True] if retry_after else [])


def test_nothing_is_internal_or_unknown() -> None:
    """Clients drop what is answered so."""
    assert not DROPPED_BY_CLIENTS & {code for _, code, _ in TABLE}


def test_every_error_has_a_row() -> None:
    """The last row takes all that the others leave."""
    assert TABLE[-1][0] is Exception


def test_texts_of_foreign_errors_stay_with_us() -> None:
    """They may hold paths, addresses or data."""
    assert "secret" not in refusal(ValueError("secret /etc/x")).message


def test_a_refusal_says_the_same_in_every_form() -> None:
    """GRPC's trailer, the protobuf body and the JSON body hold one google.rpc.Status."""
    answer = refusal(RetryableError("try again", retry_after=1.5))
    ((key, trailer),) = answer.trailers()
    assert key == "grpc-status-details-bin"
    assert Status.FromString(trailer) == Status.FromString(answer.body(Encoding.PROTOBUF)) == answer.status()
    assert json.loads(answer.body(Encoding.JSON)) == {
        "code": 14,
        "message": "try again",
        "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "1.500s"}],
    }


@pytest.mark.parametrize("signal", Signal)
def test_full_success_is_empty(signal: Signal) -> None:
    """The partial success is unset."""
    assert success(signal, Encoding.PROTOBUF, PartialSuccess()) == b""
    assert json.loads(success(signal, Encoding.JSON, PartialSuccess())) == {}


@pytest.mark.parametrize(
    ("signal", "field"),
    [(Signal.TRACES, "rejectedSpans"), (Signal.LOGS, "rejectedLogRecords"), (Signal.METRICS, "rejectedDataPoints")],
)
def test_partial_success_counts_what_was_rejected(signal: Signal, field: str) -> None:
    """64-bit integers are strings in JSON."""
    body = success(signal, Encoding.JSON, PartialSuccess(2, "why"))
    assert json.loads(body) == {"partialSuccess": {field: "2", "errorMessage": "why"}}
