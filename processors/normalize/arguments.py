"""Tool arguments and tool schemas out of the wrappings that instrumentations put around them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from tracejury.schemas.normalized import Json, ToolDefinition

from .literals import parse_literal, read_value
from .values import NOT_JSON, parse_array, parse_json, parse_object, text_of

_SCHEMA_TYPES: Final = frozenset(
    {"string", "number", "integer", "boolean", "object", "array", "null", "any", "image", "audio"}
)
_SHORT: Final = 20_000
_PARAMETER_KEYS: Final = ("parameters", "input_schema", "inputSchema", "parameters_json_schema", "json_schema")


_CALL_NAMES: Final = ("tool_name", "toolName", "name", "tool")
_CALL_ARGUMENTS: Final = ("arguments", "args", "input", "parameters", "kwargs")
_CALL_KEYS: Final = frozenset({*_CALL_NAMES, *_CALL_ARGUMENTS, "id", "type", "call_id", "tool_call_id", "toolCallId"})
_RECORDS: Final = frozenset({"input_str", "calling", "_raw", "INVALID_JSON"})
"""LangChain's callback (the arguments, and the same as text), CrewAI's tool use, OpenLLMetry and Pydantic AI where it
was no JSON."""

_QUOTES: Final = ("'", '"')
_NOTED: Final = "arguments="  # in the notation of CrewAI's call
_ADDED: Final = ("sanitize_inputs_outputs", "instructions_override", "security_context")
"""Keys that frameworks put beside the model's own arguments."""


def parse_arguments(text: str, parameters: Mapping[str, Any] | None = None) -> Json:
    """Arguments as an object where `text` holds one (in JSON or Python's notation; unwrapped), else the text itself.

    `parameters`, the tool's object schema, gives names to positional arguments and to a bare single string.
    """
    inner = _unquoted(text) if text[:1] in _QUOTES else text
    value = parse_json(inner)
    if value is NOT_JSON:
        value = parse_literal(inner)
    if value is NOT_JSON:
        return _name_bare(text, parameters)
    return unwrap(value, parameters)


def _unquoted(text: str) -> str:
    """An object that was encoded twice, or put in quotes."""
    if text[:2] == "'{" and text[-2:] == "}'":
        return text[1:-1]
    items = parse_array(f"[{text}]") if text[:1] == '"' else None
    return text_of(items[0]) if items and len(items) == 1 else text


def function_input(text: str) -> str:
    """Input of a decorated function: the one text among its arguments, else all as recorded."""
    value = parse_object(text)
    if value is None or not value.keys() <= {"args", "kwargs"}:
        return text
    args, kwargs = value.get("args"), value.get("kwargs")
    values = [*(args if isinstance(args, list) else ()), *(kwargs.values() if isinstance(kwargs, dict) else ())]
    return values[0] if len(values) == 1 and isinstance(values[0], str) else text


def unwrap(value: Any, parameters: Mapping[str, Any] | None = None) -> Json:
    """The plain arguments out of the objects in which they are recorded.

    `{"args": [...], "kwargs": {...}, ...}`, `{"kwargs": {...}}`, `{"input_str": "...", "inputs": {...}, ...}` and a
    whole call `{"name": ..., "arguments": {...}}`; without keys that the framework adds and the tool does not know.
    """
    if not isinstance(value, dict):
        return value if isinstance(value, str | list | int | float | bool) else None
    if not _RECORDS.isdisjoint(value):
        return _from_record(value, parameters)
    kwargs = value.get("kwargs")
    args = value.get("args", [])
    if isinstance(kwargs, dict) and isinstance(args, list | dict):
        kwargs = _without_added(kwargs, parameters)
        if isinstance(args, dict):
            return {**args, **kwargs}
        return _with_positional(args, kwargs, parameters) if args else kwargs
    return _without_added(_of_call(value, parameters), parameters)


def _from_record(value: dict[str, Any], parameters: Mapping[str, Any] | None) -> Json:
    """Arguments out of an object that records the call in its framework's own way."""
    if "calling" in value:
        return _from_calling(value["calling"], parameters)
    text = next((value[key] for key in ("input_str", "_raw", "INVALID_JSON") if key in value), None)
    inputs = value.get("inputs")
    if isinstance(inputs, dict) and inputs:
        return _without_added(inputs, parameters)
    return parse_arguments(text, parameters) if isinstance(text, str) else value


def _from_calling(call: Any, parameters: Mapping[str, Any] | None) -> Json:
    if isinstance(call, dict) and isinstance(call.get("arguments"), dict):
        return _without_added(call["arguments"], parameters)
    text = call if isinstance(call, str) else ""
    at = text.find(_NOTED)
    written = parse_literal(text[at + len(_NOTED) :].rstrip(")")) if at >= 0 else NOT_JSON
    return _without_added(written, parameters) if isinstance(written, dict) else text or None


def _of_call(value: dict[str, Any], parameters: Mapping[str, Any] | None) -> dict[str, Any]:
    """The arguments of a call that is recorded whole; a tool may itself have arguments of these names."""
    if parameters is not None or not value.keys() <= _CALL_KEYS or len(value) == 1:
        return value
    named = any(text_of(value.get(k)) for k in _CALL_NAMES)
    inner = [v for k in _CALL_ARGUMENTS if isinstance(v := value.get(k), dict)]
    return inner[0] if named and len(inner) == 1 else value


def _without_added(arguments: dict[str, Any], parameters: Mapping[str, Any] | None) -> dict[str, Any]:
    if not any(key in arguments for key in _ADDED):
        return arguments
    known = property_names(parameters)
    return {k: v for k, v in arguments.items() if k not in _ADDED or k in known}


def _with_positional(args: list[Any], kwargs: dict[str, Any], parameters: Mapping[str, Any] | None) -> Json:
    names = list(property_names(parameters))
    if len(args) == 1 and isinstance(args[0], dict) and not kwargs and set(args[0]) <= set(names):
        return args[0]
    if len(args) <= len(names):
        return {**dict(zip(names, args, strict=False)), **kwargs}
    return {"args": args, **kwargs} if kwargs else args


def _name_bare(text: str, parameters: Mapping[str, Any] | None) -> Json:
    """A tool of one string argument is recorded as the bare string by some; what was meant as JSON is kept as it is."""
    names = list(property_names(parameters))
    return {names[0]: text} if len(names) == 1 and text and text.lstrip()[:1] not in ("{", "[") else text


def property_names(parameters: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Names of an object schema's properties, in order."""
    properties = (parameters or {}).get("properties")
    return tuple(properties) if isinstance(properties, dict) else ()


def as_schema(value: Any) -> dict[str, Any] | None:
    """`value` as an object schema if it is one or a plain map of property schemas, else None (it holds arguments).

    In a plain map (smolagents' `inputs`) a property is optional where it is `nullable` or has a default.
    """
    if not isinstance(value, dict):
        return None
    if isinstance(value.get("properties"), dict) or (value.get("type") == "object" and not value.get("properties")):
        return value
    if not all(_is_property(schema) for schema in value.values()):
        return None
    required = [name for name, schema in value.items() if not schema.get("nullable") and "default" not in schema]
    return {"type": "object", "properties": value, "required": required}


def _is_property(schema: Any) -> bool:
    if not isinstance(schema, dict):
        return False
    kind = schema.get("type")
    if isinstance(kind, list):
        return all(isinstance(k, str) and k in _SCHEMA_TYPES for k in kind)
    return kind in _SCHEMA_TYPES if isinstance(kind, str) else "anyOf" in schema or "$ref" in schema


def tool_definition(value: Any) -> ToolDefinition | None:
    """A definition out of its JSON: OpenAI's `{"type": "function", "function": {...}}`, flat, or Anthropic's."""
    if not isinstance(value, dict):
        return None
    inner = value.get("function")
    body: dict[str, Any] = inner if isinstance(inner, dict) else value
    name, description = body.get("name"), body.get("description")
    if not isinstance(name, str) or not name:
        return None
    parameters = next((body[k] for k in _PARAMETER_KEYS if isinstance(body.get(k), dict)), None)
    return ToolDefinition(name, description if isinstance(description, str) else "", parameters)


def parse_definition(text: str) -> ToolDefinition | None:
    """A definition out of JSON text. Every call of a run carries the same ones, so short texts are remembered."""
    return _remembered(text) if len(text) <= _SHORT else tool_definition(parse_object(text))


@lru_cache(maxsize=512)
def _remembered(text: str) -> ToolDefinition | None:
    return tool_definition(parse_object(text))


def definitions(text: str) -> tuple[ToolDefinition, ...]:
    """Tool definitions out of a JSON list of them, however it is encoded, or of one."""
    value = read_value(text)
    return tool_definitions([value] if isinstance(value, dict) else value)


def tool_definitions(items: Any) -> tuple[ToolDefinition, ...]:
    """Tool definitions out of a list of them: objects, their JSON text, or Gemini's lists of declarations."""
    found: list[ToolDefinition] = []
    for item in items if isinstance(items, list) else ():
        declared = _declared(item) if isinstance(item, dict) else None
        for one in declared if declared is not None else (item,):
            tool = parse_definition(one) if isinstance(one, str) else tool_definition(one)
            found += [tool] if tool else []
    return tuple(found)


def _declared(item: dict[str, Any]) -> list[Any] | None:
    some = item.get("function_declarations", item.get("functionDeclarations"))
    return some if isinstance(some, list) else None
