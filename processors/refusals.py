"""Calls that were turned down for their arguments: such a tool never ran, though a span shows the attempt."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from tracejury.schemas.json_types import JSON_TYPES
from tracejury.schemas.normalized import Json

_OPENING: Final = 600
_OF_ARGUMENTS: Final = re.compile(
    r"\b(?:\d+ validation errors?\b|validationerror\b"
    r"|missing \d+ required|missing a required argument|unexpected keyword argument|required positional argument"
    r"|(?:invalid|wrong|unexpected|malformed|missing|unknown|unsupported) (?:\w+ ){0,2}(?:arguments?|parameters?)\b"
    r"|(?:arg(?:ument)?s?|parameters?)(?: \S+){0,3} (?:is|are) "
    r"(?:required|missing|invalid|unknown|expected|not (?:valid|allowed|expected|present|in the tool))\b"
    r"|arguments? (?:parsing|validation|binding)\b|pars(?:e|ing)(?: \w+){0,2} arguments\b"
    r"|invalid (?:json )?input for tool|invalid json input|type validation failed"
    r"|is a required property|field required)",
    re.IGNORECASE,
)


def refused(complaint: str, arguments: Json, schema: Mapping[str, Any] | None) -> bool:
    """Whether a failed call was refused for its arguments before the tool ran.

    `complaint`: what is known of the failure. It must speak of arguments; where the tool's parameters are known
    (`schema`, a JSON object schema), they must not take these either, since a tool may fail at what it calls itself.
    """
    return bool(_OF_ARGUMENTS.search(complaint[:_OPENING])) and not _takes(arguments, schema)


def _takes(arguments: Json, schema: Mapping[str, Any] | None) -> bool:
    """Whether the parameters are known and fit; a bare text does for the only one, unless it was meant as JSON."""
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(properties, Mapping) or arguments is None:
        return False
    if not isinstance(arguments, Mapping):
        return len(properties) == 1 and not (isinstance(arguments, str) and arguments.lstrip()[:1] in ("{", "["))
    required = schema.get("required") if isinstance(schema, Mapping) else None
    missing = isinstance(required, list | tuple) and any(name not in arguments for name in required)
    return not missing and all(k in properties and _is_of(v, properties[k]) for k, v in arguments.items())


def _is_of(value: object, schema: object) -> bool:
    named = schema.get("type") if isinstance(schema, Mapping) else None
    expected = JSON_TYPES.get(named) if isinstance(named, str) else None
    if expected is None or value is None:
        return True
    return bool in expected if isinstance(value, bool) else isinstance(value, expected)
