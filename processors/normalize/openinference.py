"""OpenInference (Arize): `openinference.span.kind` and flattened `llm.*`, `tool.*`, `input.*`, `output.*` keys.

Source: the OpenInference semantic conventions, and what instrumentations of it were seen to send: SDKs with an
attribute limit drop the oldest attributes first, so any of them may be missing and indices may start anywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ...schemas.normalized import Kind, NormalizedSpan
from ...schemas.spans import LogRecord, Span
from .arguments import as_schema, parse_arguments
from .convention import exceptions, unread_log_text
from .openinference_llm import read_llm
from .values import as_index, as_int, first, parse_array, parse_json, text_list

_KIND: Final = "openinference.span.kind"
_MANAGED: Final = "smolagents.managed_agents."

_KINDS: Final = {
    "LLM": Kind.LLM,
    "EMBEDDING": Kind.EMBEDDING,
    "CHAIN": Kind.CHAIN,
    "RETRIEVER": Kind.RETRIEVER,
    "RERANKER": Kind.RERANKER,
    "TOOL": Kind.TOOL,
    "AGENT": Kind.AGENT,
    "GUARDRAIL": Kind.GUARDRAIL,
    "EVALUATOR": Kind.EVALUATOR,
}


class OpenInference:
    """Reads OpenInference spans."""

    name = "openinference"

    def recognises(self, span: Span, logs: Sequence[LogRecord]) -> bool:  # noqa: ARG002 - it writes no log records
        """The span kind, which every instrumentation sets, or the messages that only LLM spans carry."""
        return _KIND in span.attributes or _has_messages(span)

    def normalize(self, span: Span, logs: Sequence[LogRecord]) -> NormalizedSpan:
        """See `Convention`."""
        attributes = span.attributes
        kind = _KINDS.get(attributes.get(_KIND, "LLM").upper(), Kind.OTHER)
        common: dict[str, Any] = {
            "raw": span,
            "kind": kind,
            "convention": self.name,
            "agent_name": attributes.get("agent.name", ""),
            "session_id": attributes.get("session.id", ""),
            "input_text": attributes.get("input.value", ""),
            "output_text": attributes.get("output.value", ""),
            "exceptions": exceptions(span, logs),
            "log_text": unread_log_text(logs),
        }
        if kind is Kind.LLM:
            common |= read_llm(attributes)
        elif kind is Kind.TOOL:
            common |= _tool(span)
        elif kind is Kind.AGENT:
            common |= _agent(attributes)
        return NormalizedSpan(**common)


def _has_messages(span: Span) -> bool:
    return any(k.startswith(("llm.output_messages.", "llm.input_messages.")) for k in span.attributes)


def _tool(span: Span) -> dict[str, Any]:
    """`tool.parameters` holds the tool's schema, or in some instrumentations the arguments of the call."""
    attributes = span.attributes
    recorded = parse_json(attributes.get("tool.parameters", ""))
    schema = as_schema(recorded)
    arguments = parse_arguments(attributes.get("input.value", ""), schema)
    if arguments in ("", None) and schema is None and isinstance(recorded, dict):
        arguments = recorded
    return {
        "tool_name": attributes.get("tool.name", "") or span.name,
        "tool_call_id": first(attributes, "tool_call.id", "tool.id"),
        "tool_description": attributes.get("tool.description", ""),
        "tool_arguments": arguments,
        "tool_result": attributes.get("output.value"),
        "tool_parameters": schema,
    }


def _agent(attributes: Mapping[str, str]) -> dict[str, Any]:
    managed = {
        index: value
        for key, value in attributes.items()
        if key.startswith(_MANAGED)
        and key.endswith(".name")
        and (index := as_index(key[len(_MANAGED) : -len(".name")])) is not None
    }
    return {
        "agent_name": first(attributes, "agent.name", "graph.node.id"),
        "agent_id": attributes.get("agent.id", ""),
        "managed_agents": tuple(managed[i] for i in sorted(managed)),
        "tool_names": text_list(parse_array(attributes.get("smolagents.tools_names", ""))),
        "max_steps": as_int(attributes.get("smolagents.max_steps")),
    }
