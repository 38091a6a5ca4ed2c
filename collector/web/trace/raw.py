"""The raw span: attributes, events, links, resource, scope and joined log records, as text; and files sent with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from anyio import CapacityLimiter
from fastapi import FastAPI, Request, Response

from tracejury.collector.web.site import Site, page, rebuilding
from tracejury.processors.media import SpanMedia, media_of
from tracejury.schemas.errors import NotFoundError
from tracejury.schemas.filters import an_id
from tracejury.schemas.media import PDF
from tracejury.schemas.spans import LogRecord, Span
from tracejury.schemas.text.moments import iso_time

from .marks import Shown, show
from .media import is_shown
from .pages import DOWNLOAD, plain

MAX_ROWS: Final = 300
"""Lines of one group on the page; the text has all."""

MAX_VALUE: Final = 2_000
MAX_ALL: Final = 400_000
"""Characters of all values on the page."""

BYTES: Final = "application/octet-stream"
_KINDS: Final = ("unspecified", "internal", "server", "client", "producer", "consumer")
_STATUS: Final = ("unset", "ok", "error")


Pairs = Sequence[tuple[str, str]]


def add_raw(app: FastAPI, site: Site, few: CapacityLimiter) -> None:
    """`/traces/{id}/spans/{id}/raw`, `raw.txt` with all of it, and `media/{digest}`, on `few` threads, a file in it."""

    @page(app, "/traces/{trace_id}/spans/{span_id}/raw")
    def raw(request: Request, trace_id: str, span_id: str) -> Response:
        span, logs = _found(site, trace_id, span_id)
        return site.render(request, "trace/raw.html", raw=span, groups=shown_groups(span, logs))

    @page(app, "/traces/{trace_id}/spans/{span_id}/raw.txt")
    def text(trace_id: str, span_id: str) -> Response:
        return plain("".join(raw_text(*_found(site, trace_id, span_id))), "tracejury-span.txt")

    @rebuilding(app, "/traces/{trace_id}/spans/{span_id}/media/{digest}", few)
    def media(trace_id: str, span_id: str, digest: str) -> Response:
        sent = media_of(*_found(site, trace_id, span_id))
        one = next((one for one in sent if one.digest and one.digest == digest), None)
        if one is None:
            raise NotFoundError("no picture, sound or file of that SHA-256 was sent with this span")
        return _file(one)


def _file(one: SpanMedia) -> Response:
    """The bytes: shown in place if a browser may, else a download of which it makes nothing."""
    shown = is_shown(one)
    kind = one.kind if shown or one.kind == PDF else BYTES
    ending = kind.partition("/")[2] if kind != BYTES else "bin"
    place = f'{"inline" if shown else "attachment"}; filename="tracejury-{one.digest[:12]}.{ending}"'
    headers = {**DOWNLOAD, "Content-Disposition": place, "Cache-Control": "private, max-age=300"}
    return Response(one.data, media_type=kind, headers=headers)


def _found(site: Site, trace_id: str, span_id: str) -> tuple[Span, Sequence[LogRecord]]:
    found = site.reader.trace_queries.raw_span(an_id(trace_id), an_id(span_id))
    if found is None:
        raise NotFoundError(f"trace {an_id(trace_id)[:64]!r} has no span {an_id(span_id)[:64]!r}")
    return found


def raw_groups(span: Span, logs: Sequence[LogRecord]) -> Iterator[tuple[str, Pairs]]:
    """All names and values of a span by heading."""
    yield "Span", _span_pairs(span)
    yield "Attributes", _typed(span.attributes, span.attribute_types)
    for number, event in enumerate(span.events):
        yield (
            f"Event {number}",
            [("name", event.name), ("time", _time(event.time)), *sorted(event.attributes.items())],
        )
    for number, link in enumerate(span.links):
        state = [("trace_state", link.trace_state)] if link.trace_state else []
        ids = [("trace_id", link.trace_id), ("span_id", link.span_id)]
        yield f"Link {number}", [*ids, *state, *sorted(link.attributes.items())]
    yield "Resource", _typed(span.resource_attributes, span.resource_attribute_types)
    yield "Scope", [(n, v) for n, v in (("name", span.scope_name), ("version", span.scope_version)) if v]
    for number, record in enumerate(logs):
        yield f"Log record {number}", _log_pairs(record)


def raw_text(span: Span, logs: Sequence[LogRecord]) -> Iterator[str]:
    """The span as plain text, exactly as stored."""
    for title, pairs in raw_groups(span, logs):
        if pairs:
            yield f"== {title}\n"
            for name, value in pairs:
                yield f"{name}: {value}\n"
            yield "\n"


def shown_groups(span: Span, logs: Sequence[LogRecord]) -> Sequence[tuple[str, Sequence[tuple[str, Shown]], int]]:
    """Heading, lines and the number of lines left out: a span bounded in lines and characters."""
    left = MAX_ALL
    rows = 3 * MAX_ROWS
    groups = []
    for title, pairs in raw_groups(span, logs):
        lines = []
        for name, value in pairs[: max(0, min(MAX_ROWS, rows))]:
            shown = show(value, limit=max(0, min(MAX_VALUE, left)))
            left -= min(len(value), MAX_VALUE)
            lines.append((name[:300], shown))
        rows -= len(lines)
        if pairs:
            groups.append((title, lines, len(pairs) - len(lines)))
        if len(groups) > MAX_ROWS:
            break
    return groups


def _span_pairs(span: Span) -> Pairs:
    stated = (
        ("trace_id", span.trace_id),
        ("span_id", span.span_id),
        ("parent_span_id", span.parent_span_id),
        ("name", span.name),
        ("kind", _named(_KINDS, span.kind)),
        ("start", _time(span.start)),
        ("end", _time(span.end)),
        ("status", _named(_STATUS, span.status_code)),
        ("status_message", span.status_message),
        ("service", span.service),
        ("trace_state", span.trace_state),
        ("flags", f"{span.flags:#x}" if span.flags else ""),
        ("received", _time(span.received_at)),
        ("pending", "yes: announced, not ended" if span.pending else ""),
        ("dropped_attributes", str(span.dropped_attributes or "")),
        ("dropped_events", str(span.dropped_events or "")),
        ("dropped_links", str(span.dropped_links or "")),
        ("values cut by our limits", str(span.cut or "")),
    )
    return [(name, value) for name, value in stated if value]


def _log_pairs(record: LogRecord) -> Pairs:
    stated = (
        ("event_name", record.event_name),
        ("time", _time(record.time or record.observed_time)),
        ("severity", record.severity_text or str(record.severity_number or "")),
        ("body", record.body),
    )
    return [*((name, value) for name, value in stated if value), *_typed(record.attributes, record.attribute_types)]


def _typed(values: Mapping[str, str], types: Mapping[str, str]) -> Pairs:
    return [(f"{key} ({types[key]})" if key in types else key, value) for key, value in sorted(values.items())]


def _named(names: Sequence[str], number: int) -> str:
    return names[number] if 0 <= number < len(names) else str(number)


def _time(nanos: int) -> str:
    return f"{iso_time(nanos)} ({nanos})" if nanos else ""
