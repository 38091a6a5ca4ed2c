"""Operations of GenAI spans that are neither a model's call nor a tool's by name: look-ups, memory, protocol calls.

Source: open-telemetry/semantic-conventions-genai v0.1.0 (`retrieval`, the memory operations, `mcp.*`) and what is
proposed there (`process.exit.code` on a tool's span, hand-offs).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from .convention import Fields
from .values import NOT_JSON, first, parse_json

SEARCH_MEMORY: Final = "search_memory"
MEMORY: Final = frozenset({SEARCH_MEMORY, "create_memory", "update_memory", "upsert_memory", "delete_memory"})
HANDOFF_TARGET: Final = "gen_ai.agent.handoff.target.name"
_QUERY: Final = "gen_ai.retrieval.query.text"
_DOCUMENTS: Final = "gen_ai.retrieval.documents"
_RECORDS: Final = "gen_ai.memory.records"
_PLACES: Final = {
    "query": "gen_ai.memory.query.text",
    "record_id": "gen_ai.memory.record.id",
    "store_id": "gen_ai.memory.store.id",
}
_EXIT_CODE: Final = "process.exit.code"
_PROTOCOL: Final = ("rpc.response.status_code", "rpc.jsonrpc.error_code")  # of the Model Context Protocol
_NO_ERROR: Final = frozenset({"", "0", "OK", "None", "null"})
_NOT_ALLOWED: Final = frozenset({"deny", "denied", "reject", "rejected", "require_approval"})


def retrieval_fields(attributes: Mapping[str, str]) -> Fields:
    """The query of a look-up as its input, the documents found as its output."""
    return {"input_text": attributes.get(_QUERY, ""), "output_text": attributes.get(_DOCUMENTS, "")}


def memory_fields(operation: str, attributes: Mapping[str, str]) -> Fields:
    """A memory operation as a call of a tool of its name.

    What a search finds is the result, what others write an argument. Arguments and result that the span itself states
    as a tool's are those.
    """
    arguments: dict[str, Any] = {name: attributes[key] for name, key in _PLACES.items() if attributes.get(key)}
    recorded = attributes.get(_RECORDS)
    result = recorded if operation == SEARCH_MEMORY else None
    if recorded is not None and operation != SEARCH_MEMORY:
        records = parse_json(recorded)
        arguments["records"] = recorded if records is NOT_JSON else records
    return {
        "tool_name": operation,
        "tool_call_id": attributes.get("gen_ai.tool.call.id", ""),
        "tool_arguments": arguments,
        "tool_result": result,
        "input_text": attributes.get(_PLACES["query"], ""),
        "output_text": result or "",
    }


def tool_failure(attributes: Mapping[str, str]) -> str:
    """The failure of a tool's call whose span has no error status: a command's exit code, a protocol's error.

    A call that was not allowed did not fail: there `error.type` tells of the decision. Proposals differ in its key, not
    in the last word of that.
    """
    kind = attributes.get("error.type", "")
    if (code := attributes.get(_EXIT_CODE, "")) not in _NO_ERROR:
        return kind or f"exit code {code}"
    if kind not in _NO_ERROR:
        decisions = (value.lower() for key, value in attributes.items() if key.endswith(".decision"))
        return "" if any(decision in _NOT_ALLOWED for decision in decisions) else kind
    code = first(attributes, *_PROTOCOL)
    return "" if code in _NO_ERROR else f"error {code}"
