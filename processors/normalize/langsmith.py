"""LangSmith's OpenTelemetry exporter (`langsmith.*`): LangChain's and LangGraph's runs, and those of `@traceable`.

Source: the package langsmith, `_internal/otel/_otel_exporter.py`. The run's type is `langsmith.span.kind` (GenAI's
operation calls prompt templates "chat" and retrievers "embeddings"); inputs and outputs are JSON under `gen_ai.prompt`
and `gen_ai.completion`. A conversation is what LangSmith calls a thread: `session_id`, `thread_id` or
`conversation_id` of the metadata. `langsmith.trace.session_id` is the project, which all traces share.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tracejury.schemas.normalized import Kind
from tracejury.schemas.spans import LogRecord, Span

from .arguments import tool_definitions
from .convention import Fields
from .dialect import GENAI, Dialect
from .results import tool_fields
from .states import last_reply, state_messages
from .values import as_text, first, parse_object
from .wrappings import finish_reasons, wrapped_messages

_KIND: Final = "langsmith.span.kind"
_NAME: Final = "langsmith.trace.name"
_METADATA: Final = "langsmith.metadata."
_THREADS: Final = tuple(_METADATA + key for key in ("thread_id", "session_id", "conversation_id"))
_KINDS: Final = {
    "llm": Kind.LLM,
    "tool": Kind.TOOL,
    "retriever": Kind.RETRIEVER,
    "embedding": Kind.EMBEDDING,
}


class LangSmith(Dialect):
    """Reads what LangSmith's SDK exports."""

    name = "langsmith"
    marks = frozenset({_KIND, _NAME, "langsmith.span.id", "langsmith.span.dotted_order"})

    def read(self, span: Span, logs: Sequence[LogRecord]) -> Fields:
        """See `Convention`."""
        attributes = span.attributes
        kind = _KINDS.get(attributes.get(_KIND, ""), Kind.CHAIN)
        sent, written = attributes.get("gen_ai.prompt", ""), attributes.get("gen_ai.completion", "")
        found = GENAI.read_as(kind, span, logs)
        found["session_id"] = found["session_id"] or first(attributes, *_THREADS)
        found["agent_hint"] = found["agent_hint"] or attributes.get(f"{_METADATA}lc_agent_name", "")
        if kind is Kind.TOOL:
            return found | _tool(span, sent, written)
        found |= {"input_text": sent, "output_text": written}
        if kind is Kind.LLM:
            found |= _call(sent, written)
            found["finish_reasons"] = found["finish_reasons"] or finish_reasons(parse_object(written))
        else:
            found["input_messages"] = state_messages(sent)
            found["output_messages"] = last_reply(state_messages(written))
        return found


def _call(sent: str, written: str) -> Fields:
    request = parse_object(sent) or {}
    return {
        "input_messages": wrapped_messages(sent),
        "output_messages": wrapped_messages(written, "assistant"),
        "output_text": "",
        "tools": tool_definitions(request.get("tools")),
    }


def _tool(span: Span, sent: str, written: str) -> Fields:
    """A tool is given `{"input": ARGUMENTS as text}` by LangChain, its arguments by `@traceable`; it gives `output`."""
    attributes = span.attributes
    fields = tool_fields(_only(sent, "input"), _only(written, "output") if "gen_ai.completion" in attributes else None)
    output = parse_object(written) or {}
    return fields | {
        "tool_name": first(attributes, "gen_ai.serialized.name", _NAME) or span.name,
        "tool_description": attributes.get("gen_ai.serialized.doc", ""),
        "tool_call_id": _call_id(output.get("output", output)),
    }


def _only(text: str, key: str) -> str:
    """What stands under the only key of the object that `text` holds, if that is `key`."""
    value = parse_object(text)
    return as_text(value[key]) if value is not None and value.keys() == {key} else text


def _call_id(output: Any) -> str:
    message = output.get("kwargs", output) if isinstance(output, dict) else {}
    given = message.get("tool_call_id") if isinstance(message, Mapping) else ""
    return given if isinstance(given, str) else ""
