"""Redaction between decoding and the sink."""

from __future__ import annotations

from typing import Any

import pytest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from otlp_parts import RecordingSink, json_body, logs, span, text, traces
from redacting import SECRETS, ready

from tracejury.collector.otlp.codec import proto_decode
from tracejury.collector.otlp.codec.signals import Encoding, Signal
from tracejury.collector.otlp.receiver.intake import TRIES, Intake
from tracejury.collector.otlp.redaction.stage import RedactionStage
from tracejury.collector.telemetry import Telemetry
from tracejury.processors.redact.rules import RedactionRule
from tracejury.processors.redact.spans import Redactor
from tracejury.processors.redact.texts import TextRedactor
from tracejury.schemas.errors import RetryableError, TracejuryError

SPANS = traces(span(attributes=[text("a", SECRETS["email"])]), span(name=SECRETS["card"]), service=SECRETS["iban"])
LOGS = logs(LogRecord(attributes=[text("b", SECRETS["api-keys"])]))


def stage() -> RedactionStage:
    return RedactionStage(Redactor(TextRedactor(ready())))


async def test_the_sink_sees_no_secret() -> None:
    """Of either signal, in either encoding; the metric counts by rule."""
    sink, telemetry, redaction = RecordingSink(), Telemetry("0"), stage()
    redaction.watch(telemetry)
    intake = Intake(sink, redaction=redaction)
    for signal, request in ((Signal.TRACES, SPANS), (Signal.LOGS, LOGS)):
        await intake.take("grpc", signal, Encoding.PROTOBUF, request.SerializeToString())
        await intake.take("http", signal, Encoding.JSON, json_body(request))
    assert len(sink.batches) == 4
    assert not [secret for secret in SECRETS.values() if secret in repr(sink.batches)]
    metrics = telemetry.prometheus().decode()
    telemetry.shutdown()
    for rule, count in {"email": 2, "card": 2, "iban": 2, "api-keys": 2}.items():
        assert f'tracejury_redacted_values_total{{rule="{rule}"}} {count}.0' in metrics


async def test_spans_of_log_events_hold_what_redaction_left() -> None:
    """They repeat the record's values under other keys, so they are made after the rules on its keys."""
    said = [text("session.id", "s1"), text("prompt", "the secret plan"), text("event.name", "user_prompt")]
    event = LogRecord(time_unix_nano=1, body=AnyValue(string_value="claude_code.user_prompt"), attributes=said)
    sink, rule = RecordingSink(), RedactionRule("prompts", key="prompt")
    intake = Intake(sink, redaction=RedactionStage(Redactor(TextRedactor([rule]))))
    await intake.take("grpc", Signal.LOGS, Encoding.PROTOBUF, logs(event).SerializeToString())
    (batch,) = sink.batches
    assert [s.name for s in batch.spans] == ["invoke_agent claude-code"]
    assert "secret" not in repr(batch)


async def test_of_a_body_that_could_not_be_decoded_a_note_is_kept(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither the dead-letter folder nor the log holds what nobody could redact."""

    def fail(*_: Any) -> None:
        raise ValueError(f"unexpected {SECRETS['email']}")

    monkeypatch.setattr(proto_decode, "groups", fail)
    kept: list[Any] = []
    intake = Intake(RecordingSink(), redaction=stage(), dead_letter=lambda *given: kept.append(given))
    for _ in range(TRIES):
        with pytest.raises(TracejuryError):
            await intake.take("grpc", Signal.TRACES, Encoding.PROTOBUF, SPANS.SerializeToString())
    assert len(kept) == 1
    assert kept[0][1] is Encoding.JSON
    assert b"withheld" in kept[0][2]
    assert "lovelace" not in repr(kept) + caplog.text
    assert "ValueError" in caplog.text


async def test_a_fault_of_redaction_stores_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its client may try again."""
    sink, redaction = RecordingSink(), stage()
    monkeypatch.setattr(TextRedactor, "candidates", lambda *_: 1 / 0)
    with pytest.raises(RetryableError):
        await Intake(sink, redaction=redaction).take(
            "grpc", Signal.TRACES, Encoding.PROTOBUF, SPANS.SerializeToString()
        )
    assert not sink.batches
