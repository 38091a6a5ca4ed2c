"""Redaction of decoded spans and log records.

Rules name what is no attribute by these keys: `span.name`, `span.status_message`, `event.name`, `scope.name`,
`scope.version`, `log.body`, `log.severity_text`. Ids, times, kinds, codes and the keys of attributes stay. A tracestate
in which a pattern matches is left out, as a mark would not be valid there. What was redacted bears the attribute
`tracejury.redacted`, a list of the rules' names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Final, NamedTuple, TypeVar

import orjson

from tracejury.schemas.batch import Batch
from tracejury.schemas.spans import LogRecord, Span, SpanEvent, SpanLink, StoredAttributes

from .candidates import Candidates
from .texts import KnownTexts, TextRedactor

Item = TypeVar("Item", Span, LogRecord)
MARK_KEY: Final = "tracejury.redacted"
_UNREAD: Final = frozenset({"double", "bool", "bytes", "empty"})
"""Types of attributes in which no pattern is searched."""
_SPAN_TEXTS: Final = {
    "span.name": "name", "span.status_message": "status_message",
    "scope.name": "scope_name", "scope.version": "scope_version",
}  # fmt: skip
_LOG_TEXTS: Final = {
    "event.name": "event_name", "log.body": "body", "log.severity_text": "severity_text",
    "scope.name": "scope_name", "scope.version": "scope_version",
}  # fmt: skip


class _Attributes(NamedTuple):
    texts: StoredAttributes
    types: Mapping[str, str]


@dataclass(slots=True)
class Redacted:
    """Counts of redacted places, by rule and key."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)

    def by_rule(self) -> Counter[str]:
        """The counts by rule alone."""
        total = Counter[str]()
        for (rule, _), count in self.counts.items():
            total[rule] += count
        return total


class Redactor:
    """Redacts batches; safe from several threads."""

    def __init__(self, texts: TextRedactor) -> None:
        self._texts = texts

    def batch(self, batch: Batch, redacted: Redacted) -> Batch:
        """The batch as it may be stored; itself where nothing is redacted."""
        items: Iterable[Span | LogRecord] = chain(batch.spans, batch.logs)
        resources = {id(item.resource_attributes): item.resource_attributes for item in items}
        texts = chain(map(_texts_of_span, batch.spans), map(_texts_of_log, batch.logs))
        values = (resource.values() for resource in resources.values())
        candidates = self._texts.candidates(_all(chain(_all(texts), values)))
        keys = chain(map(_keys_of_span, batch.spans), map(_keys_of_log, batch.logs), [resources.values()])
        taken = frozenset(filter(self._texts.takes, set(_all(_all(keys)))))
        if not candidates and not taken:
            return batch
        one = _OneBatch(self._texts, candidates, taken, redacted)
        spans, logs = [one.span(span) for span in batch.spans], [one.log(record) for record in batch.logs]
        return replace(batch, spans=spans, logs=logs) if redacted.counts else batch


class _OneBatch:
    """Its spans share resources, which are redacted once. `taken`: the keys of which a rule takes values."""

    def __init__(self, texts: TextRedactor, candidates: Candidates, taken: frozenset[str], redacted: Redacted) -> None:
        self._texts, self._candidates, self._taken, self._redacted = texts, candidates, taken, redacted
        self._known: KnownTexts = {}
        self._resources: dict[int, tuple[_Attributes, list[str]]] = {}

    def span(self, span: Span) -> Span:
        resource, names = self._resource(span.resource_attributes, span.resource_attribute_types)
        if not self._touches(_keys_of_span(span), _texts_of_span(span)):
            return self._finish(span, span.attributes, span.attribute_types, resource, names) if names else span
        found = list(names)
        plain = self._plain(span, _SPAN_TEXTS, found)
        attributes = self._attributes(span.attributes, span.attribute_types, found)
        events = tuple(self._event(event, found) for event in span.events)
        links = tuple(self._link(link, found) for link in span.links)
        trace_state = self._trace_state(span.trace_state, found)
        if not found:
            return span
        changed = replace(span, **plain, events=events, links=links, trace_state=trace_state)
        return self._finish(changed, *attributes, resource, found)

    def log(self, record: LogRecord) -> LogRecord:
        resource, names = self._resource(record.resource_attributes, {})
        if not self._touches(_keys_of_log(record), _texts_of_log(record)):
            return self._finish(record, record.attributes, record.attribute_types, resource, names) if names else record
        found = list(names)
        plain = self._plain(record, _LOG_TEXTS, found, unread=record.body_type in _UNREAD)
        attributes = self._attributes(record.attributes, record.attribute_types, found)
        if not found:
            return record
        if plain.get("body", record.body) != record.body and not _is_json(plain["body"], record.body_type):
            plain["body_type"] = "string"
        return self._finish(replace(record, **plain), *attributes, resource, found)

    def _touches(self, keys: Iterable[Collection[str]], texts: Iterable[Collection[str]]) -> bool:
        untouched = all(map(self._candidates.keys().isdisjoint, texts)) and all(map(self._taken.isdisjoint, keys))
        return not untouched

    def _finish(
        self, item: Item, texts: StoredAttributes, types: Mapping[str, str], resource: _Attributes, found: list[str]
    ) -> Item:
        """The span or record with its mark and resource."""
        names = json_names(set(found) | _names_in(texts.get(MARK_KEY, "")))
        changes: dict[str, Any] = {
            "attributes": {**texts, MARK_KEY: names},
            "attribute_types": {**types, MARK_KEY: "array"},
            "resource_attributes": resource.texts,
            "service": resource.texts.get("service.name", ""),
        }
        if isinstance(item, Span):
            changes["resource_attribute_types"] = resource.types
        return replace(item, **changes)

    def _resource(self, texts: StoredAttributes, types: Mapping[str, str]) -> tuple[_Attributes, list[str]]:
        known = self._resources.get(id(texts))  # alive as long as the batch is
        if known is None:
            names: list[str] = []
            new = _Attributes(texts, types)
            if self._touches([texts], [texts.values()]):
                new = self._attributes(texts, types, names)
            known = self._resources[id(texts)] = (new, names)
        return known

    def _attributes(self, texts: StoredAttributes, types: Mapping[str, str], found: list[str]) -> _Attributes:
        out: dict[str, str] = {}
        out_types = dict(types)
        for key, text in texts.items():
            kind = types.get(key, "string")
            ours = key == MARK_KEY and _names_in(text) <= self._texts.names and _names_in(text)
            new = text if ours else self._value(key, text, found, read=kind not in _UNREAD)
            if new is not None:
                out[key] = new
            if new is None or (new is not text and new != text and not _is_json(new, kind)):
                out_types.pop(key, None)
        return _Attributes(out, out_types)

    def _value(self, key: str, text: str, found: list[str], *, read: bool = True) -> str | None:
        if text not in self._candidates and key not in self._taken:
            return text
        here: list[str] = []
        new = self._texts.value(key, text, here, patterns=read, places=self._candidates.get(text), known=self._known)
        for name in here:
            self._redacted.counts[name, key] += 1
        found += here
        return new

    def _plain(
        self, item: Span | LogRecord, fields: Mapping[str, str], found: list[str], *, unread: bool = False
    ) -> dict[str, Any]:
        """The fields that are no attributes; `unread`: no pattern is searched in the body."""
        texts = ((key, name, getattr(item, name)) for key, name in fields.items())
        return {
            name: self._value(key, text, found, read=not (unread and key == "log.body")) or ""
            for key, name, text in texts
            if text
        }

    def _event(self, event: SpanEvent, found: list[str]) -> SpanEvent:
        name = self._value("event.name", event.name, found) or ""
        texts, types = self._attributes(event.attributes, event.attribute_types, found)
        return SpanEvent(event.time, name, texts, types)

    def _link(self, link: SpanLink, found: list[str]) -> SpanLink:
        texts, types = self._attributes(link.attributes, link.attribute_types, found)
        trace_state = self._trace_state(link.trace_state, found)
        return replace(link, attributes=texts, attribute_types=types, trace_state=trace_state)

    def _trace_state(self, text: str, found: list[str]) -> str:
        return text if not text or self._value("span.trace_state", text, found) == text else ""


def json_names(names: set[str]) -> str:
    """The names of rules as a stored array."""
    return orjson.dumps(sorted(names)).decode()


def _names_in(mark: str) -> set[str]:
    """The names in a mark, which may be another collector's; what a client made up gives none."""
    try:
        names = orjson.loads(mark)
    except orjson.JSONDecodeError:
        return set()
    return {name for name in names if isinstance(name, str) and name[:1] != "["} if isinstance(names, list) else set()


def _is_json(text: str, kind: str) -> bool:
    """Whether a changed value still is of its type."""
    return kind in ("array", "kvlist") and text[:1] == ("[" if kind == "array" else "{") and _loads(text)


def _loads(text: str) -> bool:
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return True


# Groups, so that sets go through them at once: a request has many thousand keys and texts.
_all: Final = chain.from_iterable


def _keys_of_span(span: Span) -> Iterator[Collection[str]]:
    yield span.attributes
    yield _SPAN_TEXTS
    for event in span.events:
        yield event.attributes
    for link in span.links:
        yield link.attributes
    if span.events:
        yield ("event.name",)
    if span.trace_state or span.links:
        yield ("span.trace_state",)


def _keys_of_log(record: LogRecord) -> Iterator[Collection[str]]:
    yield record.attributes
    yield _LOG_TEXTS


def _texts_of_span(span: Span) -> Iterator[Collection[str]]:
    yield span.name, span.status_message, span.scope_name, span.scope_version, span.trace_state
    yield span.attributes.values()
    for event in span.events:
        yield (event.name,)
        yield event.attributes.values()
    for link in span.links:
        yield (link.trace_state,)
        yield link.attributes.values()


def _texts_of_log(record: LogRecord) -> Iterator[Collection[str]]:
    yield record.event_name, record.body, record.severity_text, record.scope_name, record.scope_version
    yield record.attributes.values()
