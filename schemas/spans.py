"""Spans and log records in their stored form: the one form that normalisers read, live or rebuilt.

Attribute values are text, as the OpenTelemetry Collector's ClickHouse exporter writes them: strings as they
are, everything else as JSON text (bytes: base64). `attribute_types` names the type of each value that was not a
string ("int", "double", "bool", "bytes", "array", "kvlist", "empty"), so that the original can be restored.
All times are int unix nanoseconds; ids are lower-case hex (trace 32, span 16 digits), "" where there is none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

StoredAttributes = Mapping[str, str]

STATUS_UNSET, STATUS_OK, STATUS_ERROR = 0, 1, 2
FLAG_HAS_IS_REMOTE, FLAG_IS_REMOTE = 0x100, 0x200  # opentelemetry.proto.trace.v1.SpanFlags


@dataclass(frozen=True, slots=True)
class SpanEvent:
    """One event of a span; `time` in unix nanos."""

    time: int
    name: str
    attributes: StoredAttributes
    attribute_types: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SpanLink:
    """A link from a span to another one, perhaps in another trace."""

    trace_id: str
    span_id: str
    trace_state: str = ""
    attributes: StoredAttributes = field(default_factory=dict)
    attribute_types: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Span:
    """One span as it is stored.

    `received_at` is our own clock at acceptance (unix nanos). `pending` marks a start announcement that is not a
    finished span. `cut` counts the values that a limit of ours shortened or dropped.
    """

    trace_id: str
    span_id: str
    parent_span_id: str
    name: str
    start: int
    end: int
    attributes: StoredAttributes = field(default_factory=dict)
    attribute_types: Mapping[str, str] = field(default_factory=dict)
    events: tuple[SpanEvent, ...] = ()
    links: tuple[SpanLink, ...] = ()
    kind: int = 0  # opentelemetry.proto.trace.v1.Span.SpanKind
    status_code: int = STATUS_UNSET
    status_message: str = ""
    service: str = ""
    resource_attributes: StoredAttributes = field(default_factory=dict)
    resource_attribute_types: Mapping[str, str] = field(default_factory=dict)
    scope_name: str = ""
    scope_version: str = ""
    trace_state: str = ""
    flags: int = 0
    dropped_attributes: int = 0
    dropped_events: int = 0
    dropped_links: int = 0
    received_at: int = field(default=0, compare=False)
    pending: bool = False
    cut: int = 0
    tenant: str = ""

    @property
    def is_root(self) -> bool:
        """Whether it has no parent, or one that its own process says is remote."""
        remote = FLAG_HAS_IS_REMOTE | FLAG_IS_REMOTE
        return not self.parent_span_id or (self.flags & remote) == remote

    def beats(self, other: Span) -> bool:
        """Whether this row replaces `other` of the same id: finished beats pending, then the later end, then ours."""
        return (not self.pending, self.end) >= (not other.pending, other.end)

    def collides(self, other: Span) -> bool:
        """Whether `other` of the same id is another span: both are finished, with other names and starts."""
        return self.start != other.start and self.name != other.name and not self.pending and not other.pending


@dataclass(frozen=True, slots=True)
class LogRecord:
    """One log record; GenAI message content may arrive as such. `body` is text or JSON text (`body_type` "kvlist")."""

    trace_id: str
    span_id: str
    time: int
    observed_time: int
    event_name: str = ""
    body: str = ""
    body_type: str = "string"
    attributes: StoredAttributes = field(default_factory=dict)
    attribute_types: Mapping[str, str] = field(default_factory=dict)
    severity_number: int = 0
    severity_text: str = ""
    service: str = ""
    resource_attributes: StoredAttributes = field(default_factory=dict)
    scope_name: str = ""
    scope_version: str = ""
    flags: int = 0
    received_at: int = field(default=0, compare=False)
    cut: int = 0
    tenant: str = ""
