"""A `Sink` that writes to Kafka: what is acknowledged stands on all in-sync replicas."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

from tracejury.collector.otlp.client.export_request import ExportRequest, ExportSignal, OriginCache, RequestPacker
from tracejury.collector.otlp.codec import otlp_json
from tracejury.collector.otlp.codec.encode import log_message, span_message
from tracejury.collector.otlp.codec.signals import SCHEMAS, Signal
from tracejury.processors.log_spans import with_log_spans
from tracejury.schemas.batch import Batch
from tracejury.schemas.spans import LogRecord, Span

from .config import TopicEncoding
from .projects import MessageProjects
from .sender import Outgoing, Sender

Item: TypeAlias = Span | LogRecord

LEFT_OUT: Final = "larger than a message may be (kafka.max_message_bytes) left out"
INLINE_BYTES: Final = 16 * 1024
"""Batches up to this size are encoded on the event loop."""


class KafkaSink:
    """Messages of one trace each, with its id (hex) as their key: a trace's partition does not change.

    Log records have that of the trace that workers put them in; others have no key.
    """

    def __init__(self, sender: Sender, projects: MessageProjects, most_bytes: int) -> None:
        self._sender, self._projects, self._most = sender, projects, most_bytes

    async def submit(self, batch: Batch) -> int:
        """See `Sink`; what is left out are items that are too large for a message."""
        if batch.size > INLINE_BYTES:
            messages, left_out = await asyncio.to_thread(self._messages, batch)
        else:
            messages, left_out = self._messages(batch)
        await self._sender.send(messages)
        return left_out

    def _messages(self, batch: Batch) -> tuple[list[Outgoing], int]:
        origins, messages, left_out = OriginCache(), list[Outgoing](), 0
        placed, _ = with_log_spans(batch.logs)
        for signal, groups in (
            (Signal.TRACES, _grouped(batch.spans, batch.spans)),
            (Signal.LOGS, _grouped(batch.logs, placed)),
        ):
            for (tenant, trace_id), group in groups.items():
                topic = self._projects.topic_of(signal, tenant)
                for request in _packed(signal, group, origins, self._most):
                    for body in self._bodies(request, topic.encoding):
                        if body is None:
                            left_out += 1
                            continue
                        headers = self._projects.headers(topic, tenant, body)
                        messages.append(Outgoing(topic.name, body, trace_id.encode() or None, headers))
        return messages, left_out

    def _bodies(self, request: ExportRequest, encoding: TopicEncoding) -> Iterator[bytes | None]:
        """The request in messages that are small enough; None for each item that is too large alone."""
        body = request.body
        if encoding is TopicEncoding.JSON:
            body = otlp_json.render(SCHEMAS[Signal(request.signal)].request.FromString(body))
        if len(body) <= self._most:
            yield body
        elif request.items == 1:
            yield None
        else:
            for half in request.halves():
                yield from self._bodies(half, encoding)


def _grouped(items: Iterable[Item], placed: Iterable[Item]) -> dict[tuple[str, str], list[Item]]:
    """The items by project and trace, which `placed`, the same with what workers make of them, tells."""
    groups: dict[tuple[str, str], list[Item]] = {}
    for item, known in zip(items, placed, strict=True):
        groups.setdefault((item.tenant, known.trace_id), []).append(item)
    return groups


def _packed(signal: Signal, items: Iterable[Item], origins: OriginCache, most: int) -> Iterator[ExportRequest]:
    packer = RequestPacker(ExportSignal(signal), most)
    for item in items:
        if isinstance(item, Span):
            message, types = span_message(item, item.trace_state), item.resource_attribute_types
            yield from packer.put(message, message.ByteSize(), origins.of(item, types))
        else:
            record = log_message(item)
            yield from packer.put(record, record.ByteSize(), origins.of(item, {}))
    yield from packer.flush()
