"""Texts, marks and parents in a raw export, read without any of the code that is measured."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from tracejury.collector.otlp.codec.groups import Request, rows, schema_of
from tracejury.collector.otlp.codec.signals import SPANS
from tracejury.schemas.batch import Batch

SpanKey = tuple[str, str]

_ERROR: Final = 2
_TOOL: Final = re.compile(
    r"openinference\.span\.kind=TOOL$|operation\.name=execute_tool$|span\.kind=tool$|ai\.toolCall$|observation\.type=tool$"
)
_LLM: Final = re.compile(
    r"openinference\.span\.kind=LLM$|operation\.name=(chat(\.completions)?|a?(text_)?completion|generate_content)$"
    r"|\.do(Generate|Stream)$|llm\.request\.type=a?(chat|completion)$|^llm\.\w+\.model=|observation\.type=generation$"
)
_AGENT: Final = "invoke_agent "  # clients may write a call's attributes on the span that they find open
_TOOL_KEY: Final = re.compile(r"tool|function\.name", re.IGNORECASE)
_CREATION: Final = re.compile(r"operation\.name=create_agent$")
_SESSION_KEY: Final = re.compile(r"(session|conversation|thread|group)[._]?id$", re.IGNORECASE)
_ESCAPED: Final = re.compile(r"\\{1,16}u([0-9a-fA-F]{4})")
_NOISE: Final = re.compile(r"(?:\\{1,16}[nrtbf]|[^\w\\]|\\)+")


@dataclass(frozen=True, slots=True)
class RawSpan:
    """A span of the export; `pairs` are its attributes as (key, text)."""

    key: SpanKey
    parent: SpanKey | None
    name: str
    start: int
    error: bool
    pairs: tuple[tuple[str, str], ...]
    texts: tuple[str, ...]
    links: tuple[str, ...]

    def says(self, pattern: re.Pattern[str]) -> bool:
        """Whether an attribute, written `key=value`, matches."""
        return any(len(v) < 80 and pattern.search(f"{k}={v}") for k, v in self.pairs)  # noqa: PLR2004 - marks are short


@dataclass(frozen=True)
class Export:
    """All that one program sent, in any order."""

    spans: Mapping[SpanKey, RawSpan]
    log_texts: tuple[str, ...]
    tools: frozenset[SpanKey] = field(default=frozenset())
    llms: frozenset[SpanKey] = field(default=frozenset())

    @cached_property
    def folded(self) -> str:
        """Every text in it, folded, so that quoting and escaping make no difference."""
        texts = [t for s in self.spans.values() for t in (s.name, *s.texts)]
        return " " + fold(" \n ".join([*texts, *self.log_texts])) + " "

    def stands(self, text: str, outside: str = "") -> bool:
        """Whether that text stands anywhere, however it is quoted; not as a part of the text `outside` only."""
        folded, whole = fold(text).strip(), fold(outside).strip()
        if not folded or not whole or folded not in whole:
            return folded in self.folded
        return folded in self.folded.replace(whole, " ")

    @cached_property
    def lost_parents(self) -> frozenset[SpanKey]:
        """Spans that others name as their parent and that never came: what a killed process leaves behind."""
        return frozenset(s.parent for s in self.spans.values() if s.parent and s.parent not in self.spans)

    @cached_property
    def bare(self) -> bool:
        """Whether no span is below another, none is linked: calls of a client, with nothing around them."""
        return not any(s.parent or s.links for s in self.spans.values())

    def above(self, key: SpanKey) -> Iterator[SpanKey]:
        """The ancestors of a span, nearest first; the last may be a span that never came."""
        seen = {key}
        span = self.spans.get(key)
        while span and span.parent and span.parent not in seen:
            seen.add(span.parent)
            yield span.parent
            span = self.spans.get(span.parent)

    def marked(self, name: str) -> frozenset[SpanKey]:
        """Spans that name an agent as one: in an attribute, a name that is no tool's, or as a field of a text."""
        word = re.compile(rf"(?<![A-Za-z0-9_]){re.escape(name)}(?![A-Za-z0-9])")
        pair = re.compile(rf"(agent|author|coworker|sender|source)[a-z_]*[\\'\"]*\s*[:=]\s*[\\'\"]*{re.escape(name)}\b")
        found = (k for k, s in self.spans.items() if self._marks(s, name, word, pair))
        return frozenset(k for k in found if not self.spans[k].says(_CREATION))

    def _marks(self, span: RawSpan, name: str, word: re.Pattern[str], pair: re.Pattern[str]) -> bool:
        if span.key not in self.tools and word.search(span.name):
            return True
        if any(value == name and not _TOOL_KEY.search(key) for key, value in span.pairs):
            return True
        return any(name in text and pair.search(text) for text in span.texts)

    def executions(self, tool: str) -> int:
        """The number of a tool's executions that have a span (a twin below its twin is none)."""
        naming = self._executing(tool)
        return sum(1 for k in naming if not any(a in naming for a in self.above(k)))

    def failed(self, tool: str) -> bool:
        """Whether the span of some execution of a tool has the status of an error."""
        return any(self.spans[k].error for k in self._executing(tool))

    def _executing(self, tool: str) -> set[SpanKey]:
        word = re.compile(rf"(?<![A-Za-z0-9_]){re.escape(tool)}(?![A-Za-z0-9_])")
        spans = (self.spans[k] for k in self.tools)
        return {s.key for s in spans if word.search(s.name) or any(v == tool and "name" in k for k, v in s.pairs)}

    @cached_property
    def calls(self) -> tuple[RawSpan, ...]:
        """LLM spans that are not inside another one."""
        return tuple(self.spans[k] for k in self.llms if not any(a in self.llms for a in self.above(k)))

    @cached_property
    def together(self) -> Mapping[str, str]:
        """Trace id to what stands for all traces that links or a session tie to it."""
        of: dict[str, str] = {}

        def find(x: str) -> str:
            while of.setdefault(x, x) != x:
                x = of[x]
            return x

        for span in self.spans.values():
            trace = span.key[0]
            sessions = [f"session {v}" for k, v in span.pairs if v and _SESSION_KEY.search(k)]
            for other in (*span.links, *sessions):
                of[find(trace)] = find(other)
            find(trace)
        return {x: find(x) for x in list(of)}


def fold(text: str) -> str:
    """`text` as its words, a space between them."""
    return _NOISE.sub(" ", _ESCAPED.sub(lambda m: chr(int(m[1], 16)), text))


def export_of(requests: Iterable[Request]) -> Export:
    """The requests as what stands in them."""
    spans: dict[SpanKey, RawSpan] = {}
    logs: list[str] = []
    for request in requests:
        for _, _, item in rows(request):
            if schema_of(request) is SPANS:
                span = _span(item)
                spans[span.key] = span
            else:
                texts = [*_texts(item.body), *(t for a in item.attributes for t in _texts(a.value))]
                logs += texts
    return _export(spans, logs)


def export_of_rows(batch: Batch) -> Export:
    """Stored rows as what stands in them; a nested value is one text, and a log record stands for its unsent span."""
    beside: defaultdict[SpanKey, list[str]] = defaultdict(list)
    spans: dict[SpanKey, RawSpan] = {}
    for log in batch.logs:
        key, pairs = (log.trace_id, log.span_id), tuple(log.attributes.items())
        beside[key] += (log.body, *log.attributes.values())
        texts = tuple(beside[key])
        spans[key] = RawSpan(key, None, log.event_name, log.time, error=False, pairs=pairs, texts=texts, links=())
    for row in batch.spans:
        key = row.trace_id, row.span_id
        events = [t for e in row.events for t in (e.name, *e.attributes.values())]
        spans[key] = RawSpan(
            key=key,
            parent=(row.trace_id, row.parent_span_id) if row.parent_span_id else None,
            name=row.name,
            start=row.start,
            error=row.status_code == _ERROR,
            pairs=tuple(row.attributes.items()),
            texts=(*row.attributes.values(), *events, row.status_message, *beside[key]),
            links=tuple(link.trace_id for link in row.links),
        )
    return _export(spans, [text for log in batch.logs for text in (log.body, *log.attributes.values())])


def _export(spans: Mapping[SpanKey, RawSpan], logs: Iterable[str]) -> Export:
    tools = frozenset(k for k, s in spans.items() if s.says(_TOOL))
    llms = frozenset(k for k, s in spans.items() if s.says(_LLM) and not s.name.startswith(_AGENT))
    return Export(spans, tuple(logs), tools, llms)


def _span(item: Any) -> RawSpan:
    trace = item.trace_id.hex()
    pairs = [(a.key, t) for a in item.attributes for t in _texts(a.value)]
    events = [t for e in item.events for t in (e.name, *(t for a in e.attributes for t in _texts(a.value)))]
    return RawSpan(
        key=(trace, item.span_id.hex()),
        parent=(trace, item.parent_span_id.hex()) if any(item.parent_span_id) else None,
        name=item.name,
        start=item.start_time_unix_nano,
        error=item.status.code == _ERROR,
        pairs=tuple(pairs),
        texts=(*(t for _, t in pairs), *events, item.status.message),
        links=tuple(link.trace_id.hex() for link in item.links),
    )


def _texts(value: Any) -> Iterator[str]:
    """The texts and numbers in an OTLP value, keys of maps included."""
    kind = value.WhichOneof("value")
    if kind == "string_value":
        yield value.string_value
    elif kind in {"int_value", "double_value"}:
        yield str(getattr(value, kind))
    elif kind == "array_value":
        for child in value.array_value.values:
            yield from _texts(child)
    elif kind == "kvlist_value":
        for pair in value.kvlist_value.values:
            yield pair.key
            yield from _texts(pair.value)
