"""The configuration of Kafka."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Annotated, Final, Literal, Self

from pydantic import BeforeValidator, Field, SecretStr, model_validator

from tracejury.collector.auth.key_file import Project
from tracejury.collector.otlp.codec.signals import Encoding
from tracejury.schemas.config_base import MIB, Seconds, Section

TopicName = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,249}$")]
Variable = Annotated[str, Field(pattern=r"^(\$\{[A-Za-z_][A-Za-z0-9_]*\})?$")]

Option = Annotated[
    SecretStr, BeforeValidator(lambda value: str(value).lower() if isinstance(value, bool | int) else value)
]

OWN_OPTIONS: Final = frozenset(
    (
        "bootstrap.servers", "group.id", "group.protocol", "enable.auto.commit", "enable.auto.offset.store",
        "auto.offset.reset", "enable.idempotence", "acks", "request.required.acks", "message.timeout.ms",
        "delivery.timeout.ms", "message.max.bytes", "enable.partition.eof", "logger", "error_cb", "on_delivery",
    )
)  # fmt: skip
"""Options of librdkafka that cannot be set: on them rests that nothing acknowledged is lost."""


class TopicEncoding(StrEnum):
    """The encoding of a topic's messages, named as by the OpenTelemetry Collector's kafka exporter."""

    PROTOBUF = "otlp_proto"
    JSON = "otlp_json"

    @property
    def of_body(self) -> Encoding:
        """The same of a request's body."""
        return Encoding.PROTOBUF if self is TopicEncoding.PROTOBUF else Encoding.JSON


class TopicConfig(Section):
    """A topic that workers read and receivers write to."""

    name: TopicName
    """Its name."""
    signal: Literal["traces", "logs"]
    """What is in it."""
    encoding: TopicEncoding = TopicEncoding.PROTOBUF
    """How: `otlp_proto` or `otlp_json`."""
    project: Project = ""
    """The project that its messages belong to; "" is the default one."""
    trusted_header: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]*$", max_length=64)] = ""
    """The header with a message's project, which then counts instead. Set it only where Kafka's ACLs let trusted
    producers alone write to the topic, or with `header_secret`; "" reads no header."""


_ADDRESS: Final = re.compile(r"[^\s,]+:\d{1,5}")
_TOPICS: Final = (
    TopicConfig(name="otlp_spans", signal="traces"),
    TopicConfig(name="otlp_logs", signal="logs"),
)


class KafkaConfig(Section):
    """Kafka between receivers and workers."""

    brokers: Annotated[tuple[str, ...], Field(min_length=1)]
    """HOST:PORT of some brokers of the cluster."""
    options: dict[str, Option] = Field(default={})
    """Options of librdkafka by their names, such as `security.protocol`, `sasl.username` and `ssl.ca.location`;
    `${NAME}` in a value is the environment variable NAME."""
    topics: tuple[TopicConfig, ...] = _TOPICS
    """The topics; by default those of the OpenTelemetry Collector."""
    group: Annotated[str, Field(min_length=1, max_length=255)] = "tracejury"
    """The consumer group of all workers of one store."""
    group_protocol: Literal["auto", "consumer", "classic"] = "auto"
    """How the group shares partitions: `consumer` (KIP-848), `classic` (cooperative-sticky), or `auto`: the first
    where the brokers have it."""
    dead_letter_topic: TopicName = "tracejury_dead_letters"
    """The topic for messages that cannot be stored, with the reason in their headers."""
    header_secret: Variable = ""
    """`${NAME}`: the variable with the secret by which receivers sign the project in `trusted_header`, and without
    which workers take none; "" signs nothing."""
    max_message_bytes: Annotated[int, Field(ge=10_000, le=1_000_000_000)] = 1_000_000
    """Bytes of a message that receivers write, before compression; at most the topics' `max.message.bytes`."""
    delivery_seconds: Seconds = 8.0
    """How long a receiver waits for the brokers before it refuses a request retryably."""
    inflight_messages: Annotated[int, Field(ge=1)] = 1024
    """Messages that a worker decodes and stores at once; beyond it its partitions are paused."""
    inflight_bytes: Annotated[int, Field(ge=MIB)] = 64 * MIB
    """Bytes of them."""
    max_lag: Annotated[int, Field(ge=1)] | None = None
    """Messages behind in one partition beyond which `/readyz` says so; null never does."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if wrong := [one for one in self.brokers if not _ADDRESS.fullmatch(one)]:
            raise ValueError(f"brokers: {wrong[0][:64]!r} is not HOST:PORT")
        if not self.topics:
            raise ValueError("topics: name one at least")
        names = [topic.name for topic in self.topics]
        if self.dead_letter_topic in names or len(set(names)) < len(names):
            raise ValueError("each topic stands once, and the dead-letter topic is another one")
        if taken := sorted(OWN_OPTIONS & self.options.keys()):
            raise ValueError(f"options: {taken[0]} cannot be set, since no loss rests on it")
        return self
