"""What becomes of each part of a log record."""

from __future__ import annotations

import pytest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue, KeyValueList
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord as ProtoLog
from opentelemetry.proto.logs.v1.logs_pb2 import SeverityNumber
from otlp_parts import SPAN, START, TRACE, json_body, logs, text

from tracejury.collector.otlp.codec.decode import Decoded, decode
from tracejury.collector.otlp.codec.signals import Encoding, Signal
from tracejury.schemas.spans import LogRecord

NOW = START + 10


def decoded(*records: ProtoLog) -> Decoded:
    """The same over both encodings."""
    request = logs(*records)
    from_protobuf = decode(Signal.LOGS, Encoding.PROTOBUF, request.SerializeToString(), received_at=NOW)
    from_json = decode(Signal.LOGS, Encoding.JSON, json_body(request), received_at=NOW)
    assert from_protobuf.batch.logs == from_json.batch.logs
    assert from_protobuf.message == from_json.message
    return from_protobuf


def test_every_field_is_kept() -> None:
    """A full record, compared as a whole."""
    body = AnyValue(kvlist_value=KeyValueList(values=[text("content", "hi")]))
    record = ProtoLog(
        time_unix_nano=START,
        observed_time_unix_nano=START + 1,
        severity_number=SeverityNumber.SEVERITY_NUMBER_INFO,
        severity_text="INFO",
        body=body,
        attributes=[text("gen_ai.system", "x"), KeyValue(key="n", value=AnyValue(int_value=1))],
        flags=1,
        trace_id=TRACE,
        span_id=SPAN,
        event_name="gen_ai.choice",
    )
    assert decoded(record).batch.logs == [
        LogRecord(
            trace_id=TRACE.hex(),
            span_id=SPAN.hex(),
            time=START,
            observed_time=START + 1,
            event_name="gen_ai.choice",
            body='{"content":"hi"}',
            body_type="kvlist",
            attributes={"gen_ai.system": "x", "n": "1"},
            attribute_types={"n": "int"},
            severity_number=SeverityNumber.SEVERITY_NUMBER_INFO,
            severity_text="INFO",
            service="agent",
            resource_attributes={"service.name": "agent"},
            flags=1,
            received_at=NOW,
        )
    ]


@pytest.mark.parametrize(
    ("sent", "stored"),
    [((START, 0), (START, NOW)), ((0, START), (START, START)), ((0, 0), (NOW, NOW))],
    ids=["not observed", "no time", "neither"],
)
def test_missing_times_are_mended(sent: tuple[int, int], stored: tuple[int, int]) -> None:
    """The time is the observed time where missing, and that the arrival."""
    (kept,) = decoded(ProtoLog(time_unix_nano=sent[0], observed_time_unix_nano=sent[1])).batch.logs
    assert (kept.time, kept.observed_time) == stored


def test_a_record_may_stand_outside_any_trace() -> None:
    """Missing ids and ids of zeros are no ids."""
    kept = decoded(ProtoLog(), ProtoLog(trace_id=bytes(16), span_id=bytes(8))).batch.logs
    assert [(one.trace_id, one.span_id) for one in kept] == [("", ""), ("", "")]


def test_a_record_with_a_wrong_id_is_rejected_alone() -> None:
    """Its neighbours are kept."""
    answer = decoded(ProtoLog(), ProtoLog(trace_id=b"x"), ProtoLog(trace_id=TRACE, span_id=b"x"))
    assert answer.message == ("2 log records rejected: trace id is not 16 bytes (1), span id is not 8 bytes (1)")
    assert (answer.items, answer.rejected) == (1, 2)


def test_the_event_name_may_be_an_attribute() -> None:
    """Older instrumentations have no field for it; the field wins."""
    kept = decoded(
        ProtoLog(attributes=[text("event.name", "old")]),
        ProtoLog(attributes=[text("event.name", "old")], event_name="new"),
    ).batch.logs
    assert [one.event_name for one in kept] == ["old", "new"]


def test_a_body_may_be_missing() -> None:
    """Its type says so."""
    (kept,) = decoded(ProtoLog()).batch.logs
    assert (kept.body, kept.body_type) == ("", "empty")
