"""A recorded session of a coding agent to OTLP spans in the GenAI conventions.

One trace a session: each exchange (a user's prompt and what the agent did for it) is an `invoke_agent` span with a
`chat` span for each reply of the model and an `execute_tool` span for each call that has a result; a sub-agent's
replies stand under an `invoke_agent` span below the call that started it. `gen_ai.input.messages` of a `chat` span
holds what is new since the reply before. Ids are hashes of the session's id and of positions, so that a session that is
sent again, or that went on, or is told by a file in another format, gives the same spans. Input tokens include those
read from the cache and written to it, as the conventions have it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Final

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span, Status

from tracejury.collector.otlp.codec.encode import pairs, scope_of
from tracejury.collector.otlp.codec.groups import group
from tracejury.collector.otlp.codec.signals import SPANS
from tracejury.processors.normalize.claude_code import stopped_by_user
from tracejury.schemas.simulation import SESSION_END
from tracejury.schemas.text.moments import parse_since

SCOPE: Final = "tracejury.replay.session"
_MOST: Final = 2**53
_DEEPEST: Final = 8
"""Levels of sub-agents; those below are left out."""


@dataclass(slots=True)
class Call:
    """A tool call that a reply asked for. `result`: None where the file has none; times in unix nanos, 0 if unknown."""

    id: str
    name: str
    arguments: Any
    result: str | None = None
    failed: bool = False
    time: int = 0
    below: list[Reply] = field(default_factory=list)
    agent: str = ""


@dataclass(slots=True)
class Reply:
    """One reply of the model. `time`: when it was written; `received`: messages that are new to the model in it.

    `input_tokens` with those of the caches; None where the file has no figure.
    """

    time: int
    model: str = ""
    text: str = ""
    reasoning: str = ""
    calls: list[Call] = field(default_factory=list)
    received: list[Mapping[str, Any]] = field(default_factory=list)
    stop_reason: str = ""
    error: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None


@dataclass(slots=True)
class Exchange:
    """A user's prompt ("" where the file does not tell it) and the replies to it. `error`: why it ended early.

    `attributes`: of its root, in a simulated session.
    """

    prompt: str = ""
    time: int = 0
    replies: list[Reply] = field(default_factory=list)
    error: str = ""
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Session:
    """A session as a file tells it. `id`: unique to it, never "".

    `simulated`: attributes of a conversation as `tracejury talk` holds it: each exchange is a trace, whose root has
    them, and calls without a result have a span, too. `tools`: their definitions, where they are known.
    """

    id: str
    agent: str
    version: str = ""
    exchanges: list[Exchange] = field(default_factory=list)
    simulated: Mapping[str, Any] = field(default_factory=dict)
    tools: Sequence[Mapping[str, Any]] = ()

    def ids(self, exchange: int, *below: int) -> tuple[str, str]:
        """Trace and span id, as hex, of a reply (its number) or of a call (and its number) in a simulated session."""
        path = "/".join(map(str, (exchange, *below)))
        return _hash(f"{self.id}\n{exchange}", 16).hex(), _hash(f"{self.id}\n{path}", 8).hex()


def message(role: str, text: str) -> Mapping[str, Any]:
    """A message of text as the GenAI conventions write it."""
    return {"role": role, "parts": [{"type": "text", "content": text}]}


def result_message(call: Call) -> Mapping[str, Any]:
    """The result of a call as the model was sent it."""
    part = {"type": "tool_call_response", "id": call.id, "response": call.result}
    return {"role": "tool", "parts": [part]}


def time_of(entry: Mapping[str, Any]) -> int:
    """The entry's `timestamp` in unix nanos, 0 where it has none that can be read."""
    try:
        return parse_since(str(entry.get("timestamp") or ""), 0)
    except ValueError:
        return 0


def number(figures: Mapping[str, Any], key: str) -> int:
    """A count; 0 where there is none, or nonsense."""
    value = figures.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST else 0


def request_of(session: Session) -> ExportTraceServiceRequest:
    """All spans of the session as one request; without any time in the file, as if it had happened just now."""
    attributes = {"service.name": session.agent} | ({"service.version": session.version} if session.version else {})
    header = ResourceSpans(resource=Resource(attributes=pairs(attributes)))
    scope = ScopeSpans(scope=scope_of(SCOPE, ""))
    timed = any(e.time or any(r.time for r in e.replies) for e in session.exchanges)
    spans = _Spans(session, 0 if timed else time.time_ns())
    made = [span for at, exchange in enumerate(session.exchanges) for span in spans.exchange(at, exchange)]
    request: ExportTraceServiceRequest = group(SPANS, ((header, scope, span) for span in made))
    return request


@dataclass(slots=True)
class _Spans:
    """`clock`: start of the last span; each begins later than the one before, or equal times would mix their order."""

    session: Session
    clock: int
    trace: str = ""

    def exchange(self, at: int, exchange: Exchange) -> Iterator[Span]:
        path, simulated = f"{at}", self.session.simulated
        self.trace = f"{self.session.id}\n{at}" if simulated else self.session.id
        last = exchange.replies[-1] if exchange.replies else None
        start = self._start(exchange.time)
        below = list(self._replies(path, exchange.replies, start, 0))
        attributes = self._agent(self.session.agent)
        if exchange.prompt:
            attributes["gen_ai.input.messages"] = _json([message("user", exchange.prompt)])
        if last and last.text and not last.calls:
            attributes["gen_ai.output.messages"] = _json([message("assistant", last.text)])
        end = max((s.end_time_unix_nano for s in below), default=start)
        name, root = f"invoke_agent {self.session.agent}", ""
        if simulated:
            root = f"{at}/user"
            said = {key: value for key, value in attributes.items() if key.endswith(".messages")}
            ends = {SESSION_END: True} if exchange is self.session.exchanges[-1] else {}
            given = {"gen_ai.operation.name": "invoke_agent", **said, **simulated, **exchange.attributes, **ends}
            yield self._span(root, "", "invoke_agent", start, end, given, "", Span.SPAN_KIND_CLIENT)
        yield self._span(path, root, name, start, end, attributes, exchange.error)
        yield from below

    def _replies(self, path: str, replies: Sequence[Reply], start: int, depth: int) -> Iterator[Span]:
        before = start
        for number, reply in enumerate(replies):
            own = f"{path}/{number}"
            begun = self._start(before)
            written = max(reply.time, begun)
            name = f"chat {reply.model}".strip()
            yield self._span(own, path, name, begun, written, self._chat(reply), reply.error)
            before = written
            for place, call in enumerate(reply.calls):
                if call.result is None and not call.below and not self.session.simulated:
                    continue
                for span in self._call(f"{own}/{place}", path, call, written, depth):
                    yield span
                    before = max(before, span.end_time_unix_nano)

    def _call(self, path: str, parent: str, call: Call, asked: int, depth: int) -> Iterator[Span]:
        start = self._start(asked)
        below: list[Span] = []
        if call.below and depth < _DEEPEST:
            below = list(self._replies(f"{path}/agent", call.below, start, depth + 1))
        end = max((call.time, start, *(s.end_time_unix_nano for s in below)))
        arguments = call.arguments if isinstance(call.arguments, str) else _json(call.arguments)
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": call.name,
            "gen_ai.tool.call.id": call.id,
            "gen_ai.tool.call.arguments": arguments,
            "gen_ai.conversation.id": self.session.id,
        }
        if call.result is not None:
            attributes["gen_ai.tool.call.result"] = call.result
        failed = call.failed and not stopped_by_user(call.result or "")
        error = ((call.result or "").strip() or "error") if failed else ""
        yield self._span(path, parent, f"execute_tool {call.name}", start, end, attributes, error)
        if below:
            agent = call.agent or call.name
            yield self._span(f"{path}/agent", path, f"invoke_agent {agent}", start, end, self._agent(agent), "")
            yield from below

    def _agent(self, name: str) -> dict[str, Any]:
        return {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": name,
            "gen_ai.conversation.id": self.session.id,
        }

    def _chat(self, reply: Reply) -> dict[str, Any]:
        parts: list[Mapping[str, Any]] = []
        if reply.reasoning:
            parts.append({"type": "reasoning", "content": reply.reasoning})
        if reply.text:
            parts.append({"type": "text", "content": reply.text})
        parts += [
            {"type": "tool_call", "id": call.id, "name": call.name, "arguments": call.arguments} for call in reply.calls
        ]
        attributes: dict[str, Any] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": reply.model,
            "gen_ai.conversation.id": self.session.id,
            "gen_ai.output.messages": _json(
                [{"role": "assistant", "parts": parts, "finish_reason": reply.stop_reason}]
            ),
        }
        if self.session.tools:
            attributes["gen_ai.tool.definitions"] = _json(self.session.tools)
        if reply.received:
            attributes["gen_ai.input.messages"] = _json(reply.received)
        if reply.stop_reason:
            attributes["gen_ai.response.finish_reasons"] = [reply.stop_reason]
        figures = {
            "input_tokens": reply.input_tokens,
            "output_tokens": reply.output_tokens,
            "cache_read.input_tokens": reply.cache_read,
            "cache_write.input_tokens": reply.cache_write,
        }
        return attributes | {f"gen_ai.usage.{key}": n for key, n in figures.items() if n is not None}

    def _start(self, earliest: int) -> int:
        self.clock = max(earliest, self.clock + 1)
        return self.clock

    def _span(
        self,
        path: str,
        parent: str,
        name: str,
        start: int,
        end: int,
        attributes: Mapping[str, Any],
        error: str,
        kind: Span.SpanKind.ValueType = Span.SPAN_KIND_INTERNAL,
    ) -> Span:
        span = Span(
            trace_id=_hash(self.trace, 16),
            span_id=_hash(f"{self.session.id}\n{path}", 8),
            parent_span_id=_hash(f"{self.session.id}\n{parent}", 8) if parent else b"",
            name=_whole(name),
            kind=kind,
            start_time_unix_nano=start,
            end_time_unix_nano=max(end, start),
            attributes=pairs({k: _whole(v) if isinstance(v, str) else v for k, v in attributes.items()}),
        )
        if error:
            span.status.CopyFrom(Status(code=Status.STATUS_CODE_ERROR, message=_whole(error)))
        return span


def _hash(text: str, size: int) -> bytes:
    return blake2b(text.encode(errors="replace"), digest_size=size).digest()


def _whole(text: str) -> str:
    """The text without lone surrogates, which JSON may hold and OTLP may not."""
    return text.encode(errors="replace").decode()


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
