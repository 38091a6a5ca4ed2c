"""OpenInference (Arize): `openinference.span.kind` and flattened `llm.*`, `tool.*`, `input.*`, `output.*` keys.

Source: the OpenInference semantic conventions, and what instrumentations of it were seen to send: SDKs with an
attribute limit drop the oldest attributes first, so any of them may be missing and indices may start anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from tracejury.processors.names import canonical, without_method
from tracejury.schemas.normalized import Kind
from tracejury.schemas.spans import LogRecord, Span

from .arguments import as_schema, parse_arguments, unwrap
from .convention import Fields
from .openinference_llm import read_llm
from .openinference_recorded import is_call, recorded_output, visible
from .results import read_result
from .states import last_reply, state_messages
from .values import as_index, as_int, first, parse_array, parse_json, parse_object, text_list, text_of

_KIND: Final = "openinference.span.kind"
_MANAGED: Final = "smolagents.managed_agents."

_METADATA_NAMES: Final = ("lc_agent_name", "agent_name")
_CURRENT: Final = "current_agent_name="
_QUOTED: Final = re.compile(r"'([^'\\]{1,200})'")
_BRACKETED: Final = re.compile(r"agent_run \[(.{1,200})\]")
_CALLED: Final = re.compile(r"Tool Name: ([A-Za-z_][\w-]{0,100})\s")
_TAIL: Final = 300  # characters of a notation in which the current agent's name stands

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
    marks = frozenset({_KIND})

    def recognises(self, span: Span, logs: Sequence[LogRecord]) -> bool:  # noqa: ARG002 - it writes no log records
        """The span kind, which every instrumentation sets, or the messages that only LLM spans carry."""
        return _KIND in span.attributes or _has_messages(span)

    def read(self, span: Span, logs: Sequence[LogRecord]) -> Fields:  # noqa: ARG002 - see above
        """See `Convention`."""
        attributes = span.attributes
        kind = _KINDS.get(attributes.get(_KIND, "LLM").upper(), Kind.OTHER)
        found: Fields = {
            "kind": kind,
            "session_id": attributes.get("session.id", ""),
            "input_text": visible(attributes.get("input.value", "")),
            "output_text": visible(attributes.get("output.value", "")),
        }
        if kind is Kind.LLM:
            found |= read_llm(attributes)
            if not is_call(span.name, found, found["output_text"]):
                found["kind"] = Kind.CHAIN
        elif kind is Kind.TOOL:
            found |= _tool(span)
        elif kind in (Kind.CHAIN, Kind.AGENT):
            found |= _told(found)
            found["input_messages"] = state_messages(found["input_text"])
            found["output_messages"] = last_reply(state_messages(found["output_text"]))
        if kind is Kind.CHAIN:
            found["managed_agents"] = _crew(attributes)
        if kind is Kind.AGENT:
            found |= _agent(span)
            found["output_messages"] = found["output_messages"] or recorded_output(found["output_text"])
        elif hint := _agent_hint(attributes, noted=kind is Kind.CHAIN):
            found["agent_hint"] = hint
        return found


def _told(found: Fields) -> Fields:
    """A step's input and output without what a workflow hands itself (LlamaIndex), in which no user's word stands.

    Its input is the state of its machinery, its output an event in Python's notation, cut after 200 characters.
    """
    given, returned = found["input_text"], found["output_text"]
    return {
        "input_text": "" if given.startswith('{"init_state": {') else given,
        "output_text": "" if returned.startswith("StopEvent(") else returned,
    }


def _has_messages(span: Span) -> bool:
    return any(k.startswith(("llm.output_messages.", "llm.input_messages.")) for k in span.attributes)


def _tool(span: Span) -> Fields:
    """`tool.parameters` holds the tool's schema, or in some instrumentations the arguments of the call."""
    attributes = span.attributes
    recorded = parse_json(attributes.get("tool.parameters", ""))
    schema = as_schema(recorded)
    given = visible(attributes.get("input.value", ""))
    arguments = parse_arguments(given, schema) if given else None
    if arguments is None and schema is None and isinstance(recorded, dict):
        arguments = unwrap(recorded)
    output = attributes.get("output.value")
    output = None if output is not None and output != visible(output) else output
    quoted = attributes.get("output.mime_type") == "application/json"
    result = read_result(output, quoted=quoted) if output else None
    return {
        "tool_name": _tool_name(attributes) or without_method(span.name),
        "tool_call_id": first(attributes, "tool_call.id", "tool.id") or (result.call_id if result else ""),
        "tool_description": attributes.get("tool.description", ""),
        "tool_arguments": arguments,
        "tool_result": result.text if result else output,
        "tool_parameters": schema,
        "failure": result.failure if result else "",
    }


def _tool_name(attributes: Mapping[str, str]) -> str:
    """The tool's name; of a title, the name that models call it by, where the description begins with that."""
    name = attributes.get("tool.name", "")
    called = _CALLED.match(attributes.get("tool.description", "")) if " " in name else None
    return called[1] if called and canonical(called[1]) == canonical(name) else name


def _agent_hint(attributes: Mapping[str, str], *, noted: bool) -> str:
    """The agent that the span names: an attribute, LangChain's metadata, or LlamaIndex's own notation (`noted`)."""
    if name := attributes.get("agent.name") or attributes.get("tool.agent_role"):
        return name
    metadata = attributes.get("metadata", "")
    if "agent_name" in metadata:
        fields = parse_object(metadata) or {}
        return next((name for key in _METADATA_NAMES if (name := text_of(fields.get(key)))), "")
    for key in ("input.value", "output.value") if noted else ():
        value = attributes.get(key, "")
        at = value.find(_CURRENT, max(0, len(value) - _TAIL))
        if at >= 0 and (found := _QUOTED.match(value, at + len(_CURRENT))):
            return found[1]
    return ""


def _named(span_name: str) -> str:
    """The agent's name in `agent_run [name]` (Google ADK), "" in any other."""
    found = _BRACKETED.fullmatch(span_name)
    return found[1] if found else ""


def _crew(attributes: Mapping[str, str]) -> tuple[str, ...]:
    """The agents that a program lists on the span around them (CrewAI)."""
    listed = parse_array(attributes.get("crew_agents", "")) or []
    return tuple(name for agent in listed if isinstance(agent, dict) and (name := text_of(agent.get("role"))))


def _agent(span: Span) -> Fields:
    attributes = span.attributes
    managed = {
        index: value
        for key, value in attributes.items()
        if key.startswith(_MANAGED)
        and key.endswith(".name")
        and (index := as_index(key[len(_MANAGED) : -len(".name")])) is not None
    }
    return {
        "agent_name": first(attributes, "agent.name", "graph.node.id") or _named(span.name),
        "agent_id": attributes.get("agent.id", ""),
        "managed_agents": tuple(managed[i] for i in sorted(managed)),
        "tool_names": text_list(parse_array(first(attributes, "smolagents.tools_names", "agent.tools"))),
        "max_steps": as_int(attributes.get("smolagents.max_steps")),
        "model": attributes.get("llm.model_name", ""),
        "input_tokens": as_int(attributes.get("llm.token_count.prompt")),
        "output_tokens": as_int(attributes.get("llm.token_count.completion")),
    }
