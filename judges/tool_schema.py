"""Arguments of a call checked against the JSON schema of its tool."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from tracejury.schemas.json_types import JSON_TYPES
from tracejury.schemas.normalized import Json, ToolDefinition
from tracejury.schemas.trajectory import ToolCall

_UNKNOWN: Final = "takes no argument"
_MISSING: Final = "needs the argument"
_MISTYPED: Final = "takes another type for"
_CALLED: Final = {
    _UNKNOWN: "is called with {}, which it does not take,",
    _MISSING: "is called without {}",
    _MISTYPED: "is called with another type for {}",
}
_REASON: Final = re.compile(rf"({'|'.join(_CALLED)}) ('[A-Za-z_][A-Za-z_.-]{{0,39}}'), so this call ")


def parameters_of(call: ToolCall, tools: Iterable[ToolDefinition]) -> Mapping[str, Any] | None:
    """The parameters of the call's tool as its span or the tools of its run have them, None where neither does."""
    if call.span is not None and call.span.tool_parameters is not None:
        return call.span.tool_parameters
    return next((t.parameters for t in tools if t.name == call.name), None)


def violation(arguments: Json, parameters: Mapping[str, Any] | None) -> str:
    """The violation of a JSON object schema by `arguments`, in a few words; "" for none or unknown."""
    if not isinstance(parameters, Mapping) or not isinstance(arguments, Mapping):
        return ""
    properties = parameters.get("properties")  # without any, all arguments are allowed
    if not isinstance(properties, Mapping) or not all(isinstance(v, Mapping) for v in properties.values()):
        return ""
    unknown = [str(k) for k in arguments if k not in properties]
    if unknown and not parameters.get("additionalProperties"):
        return f"{_UNKNOWN} {unknown[0][:40]!r}"
    required = parameters.get("required", ())
    listed = required if isinstance(required, list | tuple) else ()
    missing = [k for k in listed if isinstance(k, str) and k not in arguments]
    return f"{_MISSING} {missing[0][:40]!r}" if missing else ""


def mistyped(arguments: Json, parameters: Mapping[str, Any] | None) -> str:
    """The first argument whose value has not the JSON type that its schema names, "" if none or not decidable."""
    properties = parameters.get("properties") if isinstance(parameters, Mapping) else None
    if not isinstance(properties, Mapping) or not isinstance(arguments, Mapping):
        return ""
    for name, value in arguments.items():
        schema = properties.get(name)
        wanted = schema.get("type") if isinstance(schema, Mapping) else None
        expected = JSON_TYPES.get(wanted) if isinstance(wanted, str) else None
        if expected is not None and value is not None and not _is_of(value, expected):
            return str(name)
    return ""


def reason_of_refusal(arguments: Json, parameters: Mapping[str, Any] | None) -> str:
    """As `violation`, for a call that was turned down: then another type is a reason, too."""
    name = mistyped(arguments, parameters)
    return violation(arguments, parameters) or (f"{_MISTYPED} {name[:40]!r}" if name else "")


def how_called(explanation: str) -> str:
    """How calls of the tool break its schema, such as "is called without 'order_id'"; "" where it is not told.

    `explanation`: of a rule that says so by `reason_of_refusal`. Only bare names are read: those that a pattern's
    template keeps, so that they are of all its errors.
    """
    found = _REASON.search(explanation)
    return _CALLED[found[1]].format(found[2]) if found else ""


def breach(arguments: Json, parameters: Mapping[str, Any] | None) -> str:
    """As `reason_of_refusal`, for a call that ran: what has a default may be missing.

    Some frameworks list every property as required. A schema without properties tells nothing.
    """
    properties = parameters.get("properties") if isinstance(parameters, Mapping) else None
    if parameters is None or not isinstance(properties, Mapping):
        return ""
    required = parameters.get("required")
    listed = required if isinstance(required, list | tuple) else ()
    given = {name for name, about in properties.items() if isinstance(about, Mapping) and "default" in about}
    needed = [name for name in listed if isinstance(name, str) and name not in given]
    return reason_of_refusal(arguments, {**parameters, "required": needed})


def _is_of(value: object, expected: tuple[type, ...]) -> bool:
    if isinstance(value, bool):
        return bool in expected
    return isinstance(value, expected) or (expected == (int,) and isinstance(value, float) and value.is_integer())
