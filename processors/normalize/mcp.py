"""Requests of the Model Context Protocol, on the client's or the server's side, that say so without GenAI's keys.

Sources: OpenTelemetry's conventions (`mcp.method.name`, `rpc.method`), Logfire's instrumentation (`request` and
`response` as JSON), servers that name their tool alone (`mcp.tool.name`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tracejury.schemas.normalized import Kind
from tracejury.schemas.spans import LogRecord, Span

from .convention import Fields, MarkedConvention
from .genai_operations import tool_failure
from .results import tool_fields
from .values import as_text, first, parse_object, text_of

_CALL: Final = "tools/call"
_METHOD: Final = "mcp.method.name"
_TOOL: Final = "mcp.tool.name"
_ARGUMENTS: Final = ("mcp.tool.arguments", "mcp.request.arguments", "mcp.tool.input")
_RESULTS: Final = ("response", "mcp.tool.result", "mcp.tool.output", "mcp.response.result")


class ModelContextProtocol(MarkedConvention):
    """Reads a protocol's requests: calls of tools, and others as steps."""

    name = "mcp"
    marks = frozenset({_METHOD, _TOOL, "mcp.session.id", "rpc.jsonrpc.version", "request"})

    def recognises(self, span: Span, logs: Sequence[LogRecord]) -> bool:
        """A method or a tool of the protocol, or a call in a key or name that programs of any kind have."""
        attributes = span.attributes
        if not super().recognises(span, logs):
            return False
        return _METHOD in attributes or _TOOL in attributes or _calls(span)

    def read(self, span: Span, logs: Sequence[LogRecord]) -> Fields:  # noqa: ARG002 - it writes no log records
        """See `Convention`."""
        attributes = span.attributes
        if not (_calls(span) or _TOOL in attributes):
            return {"kind": Kind.CHAIN, "failure": tool_failure(attributes)}
        asked = parse_object(attributes.get("request", "")) or {}
        parameters = asked.get("params")
        given: Mapping[str, Any] = parameters if isinstance(parameters, dict) else {}
        arguments = as_text(given.get("arguments")) or first(attributes, *_ARGUMENTS)
        recorded = next((attributes[key] for key in _RESULTS if key in attributes), None)
        fields = tool_fields(arguments, recorded)
        return fields | {
            "kind": Kind.TOOL,
            "tool_name": first(attributes, "gen_ai.tool.name", _TOOL) or text_of(given.get("name")) or _named(span),
            "failure": fields["failure"] or tool_failure(attributes),
        }


def _calls(span: Span) -> bool:
    """Whether the request is a call of a tool; some put the tool's name behind the method."""
    method = first(span.attributes, _METHOD, "rpc.method")
    if method:
        return method.startswith(_CALL)
    return _CALL in span.name and f'"{_CALL}"' in span.attributes.get("request", "")


def _named(span: Span) -> str:
    """The tool's name behind the method, in that or in the span's name."""
    texts = (first(span.attributes, _METHOD, "rpc.method"), span.name)
    return next((name for text in texts if (name := text.partition(_CALL)[2].strip(" /"))), span.name)
