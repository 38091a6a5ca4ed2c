"""MLflow's spans (`mlflow.*`), as its tracing SDK and its autologging export them over OTLP.

Source: https://mlflow.org/docs/latest/genai/tracing (span schema) and the package mlflow, `tracing/constant.py`. Values
are JSON texts, in some versions even types and names; inputs and outputs of a model's call are the client's request and
response, of everything else the function's arguments and its result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from tracejury.schemas.normalized import Kind
from tracejury.schemas.spans import LogRecord, Span

from .arguments import definitions, tool_definitions
from .convention import Fields, MarkedConvention
from .results import read_result, tool_fields
from .states import last_reply, state_messages
from .values import as_int, as_text, first, parse_object
from .wrappings import finish_reasons, wrapped_messages

_TYPE: Final = "mlflow.spanType"
_INPUTS: Final = "mlflow.spanInputs"
_OUTPUTS: Final = "mlflow.spanOutputs"
_KINDS: Final = {
    "AGENT": Kind.AGENT,
    "CHAT_MODEL": Kind.LLM,
    "LLM": Kind.LLM,
    "TOOL": Kind.TOOL,
    "RETRIEVER": Kind.RETRIEVER,
    "EMBEDDING": Kind.EMBEDDING,
    "RERANKER": Kind.RERANKER,
    "GUARDRAIL": Kind.GUARDRAIL,
    "EVALUATOR": Kind.EVALUATOR,
}


class MLflow(MarkedConvention):
    """Reads MLflow's own attributes."""

    name = "mlflow"
    marks = frozenset({_TYPE, _INPUTS, _OUTPUTS, "mlflow.traceRequestId"})

    def read(self, span: Span, logs: Sequence[LogRecord]) -> Fields:  # noqa: ARG002 - it writes no log records
        """See `Convention`."""
        attributes = span.attributes
        kind = _KINDS.get(_plain(attributes, _TYPE).upper(), Kind.CHAIN)
        sent, written = attributes.get(_INPUTS, ""), attributes.get(_OUTPUTS, "")
        found: Fields = {
            "kind": kind,
            "session_id": _plain(attributes, "mlflow.trace.session"),
            "input_text": _unquoted(sent),
            "output_text": _unquoted(written),
        }
        if kind is Kind.TOOL:
            found |= {"tool_name": span.name} | tool_fields(sent, attributes.get(_OUTPUTS))
        elif kind is Kind.LLM:
            found |= _call(attributes, sent, written)
        else:
            found["input_messages"] = state_messages(sent)
            found["output_messages"] = last_reply(state_messages(written))
        if kind is Kind.AGENT:
            found["agent_name"] = span.name
        return found


def _call(attributes: Mapping[str, str], sent: str, written: str) -> Fields:
    request, response = parse_object(sent) or {}, parse_object(written) or {}
    usage = parse_object(attributes.get("mlflow.chat.tokenUsage", "")) or {}
    named = first(request, "model") if isinstance(request.get("model"), str) else ""
    return {
        "input_messages": wrapped_messages(_unquoted(sent)),
        "output_messages": wrapped_messages(_unquoted(written), "assistant"),
        "tools": definitions(attributes.get("mlflow.chat.tools", "")) or tool_definitions(request.get("tools")),
        "model": _plain(attributes, "mlflow.llm.model") or named,
        "max_tokens": as_int(as_text(request.get("max_tokens", request.get("max_completion_tokens")))),
        "finish_reasons": finish_reasons(response),
        "input_tokens": as_int(as_text(usage.get("input_tokens"))),
        "output_tokens": as_int(as_text(usage.get("output_tokens"))),
    }


def _plain(attributes: Mapping[str, str], key: str) -> str:
    return attributes.get(key, "").strip('"')


def _unquoted(text: str) -> str:
    """A string that is written as JSON as itself, everything else as it is."""
    return read_result(text, quoted=True).text if text[:1] == '"' else text
