"""The kind of a span, by a few attributes only: this runs in the agent's own thread."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

AGENT: Final = "agent"
TOOL: Final = "tool"

_KINDS: Final[Mapping[str, Mapping[object, str]]] = {
    "openinference.span.kind": {"AGENT": AGENT, "TOOL": TOOL},
    "gen_ai.operation.name": {"invoke_agent": AGENT, "execute_tool": TOOL},
    "traceloop.span.kind": {"agent": AGENT, "tool": TOOL},
    "langfuse.observation.type": {"agent": AGENT, "tool": TOOL},
    "ai.operationId": {"ai.toolCall": TOOL},
}
_TOOL_NAME: Final = "gen_ai.tool.name"
_MARKS: Final = frozenset({*_KINDS, _TOOL_NAME})


def kind_of(attributes: Mapping[str, object] | None) -> str:
    """AGENT, TOOL or "" (anything else, or not known yet); by the marks of the common conventions."""
    found = plain(attributes)
    if _MARKS.isdisjoint(found):  # as most are: one call instead of one for each mark
        return ""
    for key, kinds in _KINDS.items():
        value = found.get(key)
        if isinstance(value, str) and (kind := kinds.get(value)):
            return kind
    return TOOL if _TOOL_NAME in found else ""


def plain(attributes: Mapping[str, Any] | None) -> dict[str, Any]:
    """A copy of a span's attributes, taken at once: their owner may change them, and each look-up there is slow."""
    return getattr(attributes, "copy", lambda: dict(attributes or {}))()
