"""The configuration of Kafka: each mistake is one clear line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tracejury.collector.config import CollectorConfig, load_config
from tracejury.collector.otlp.kafka.client import check_kafka
from tracejury.schemas.errors import ConfigError

BROKERS = {"brokers": ["b:9092"]}
REFUSED = [
    ({**BROKERS, "options": {"acks": 1}}, "options: acks cannot be set, since no loss rests on it"),
    (
        {**BROKERS, "options": {"sasl.password": "${KAFKA_UNSET}"}},
        "kafka.options.sasl.password: the environment variable KAFKA_UNSET is not set",
    ),
    (
        {**BROKERS, "header_secret": "${KAFKA_UNSET}"},
        "kafka.header_secret: the environment variable KAFKA_UNSET is not set",
    ),
    ({**BROKERS, "header_secret": "written here"}, "kafka.header_secret: must match pattern"),
    ({**BROKERS, "options": {"no.such": "1"}}, 'kafka.options: No such configuration property: "no.such"'),
    ({"brokers": ["b"]}, "brokers: 'b' is not HOST:PORT"),
    ({"brokers": []}, "kafka.brokers: must have at least 1 item"),
    ({**BROKERS, "dead_letter_topic": "otlp_logs"}, "the dead-letter topic is another one"),
    ({**BROKERS, "topics": [{"name": "a", "signal": "metrics"}]}, "kafka.topics.0.signal: must be"),
    (
        {**BROKERS, "topics": [{"name": "a", "signal": "logs", "encoding": "jaeger"}]},
        "kafka.topics.0.encoding: must be",
    ),
]


@pytest.mark.parametrize(("kafka", "line"), REFUSED)
def test_mistakes_are_refused(tmp_path: Path, kafka: dict[str, object], line: str) -> None:
    """Where the file is read, or where the client is made."""
    pytest.importorskip("confluent_kafka")
    file = tmp_path / "kafka.yaml"
    file.write_text(json.dumps({"kafka": kafka}))
    with pytest.raises(ConfigError) as refused:
        _check(load_config(file))
    assert line in str(refused.value)
    assert "\n" not in str(refused.value)
    assert "written here" not in str(refused.value)


def test_a_receiver_before_kafka_needs_no_store() -> None:
    """What it does not use it names; a worker uses the limits of receivers for what it reads."""
    given = {"kafka": BROKERS, "store": {"retention_days": 3}, "limits": {"items": 5}, "intake": {"client_share": 1}}
    roles = {
        role: list(CollectorConfig.model_validate({**given, "role": role}).ignored) for role in ("receive", "work")
    }
    assert roles == {"receive": ["store"], "work": []}
    options = CollectorConfig.model_validate({"kafka": {**BROKERS, "options": {"socket.keepalive.enable": True}}}).kafka
    assert options is not None
    check_kafka(options)


def _check(config: CollectorConfig) -> None:
    assert config.kafka is not None
    check_kafka(config.kafka)
