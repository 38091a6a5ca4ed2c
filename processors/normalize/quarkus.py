"""Quarkus LangChain4j: a method of an AI service as the agent, its tools below, and GenAI attributes on model calls.

Source: https://docs.quarkiverse.io/quarkus-langchain4j (observability) and quarkiverse/quarkus-langchain4j
(`AiServicesProcessor`, `ToolSpanWrapper`). The span of a service's method has a name and no attributes:
`langchain4j.aiservices.SERVICE.METHOD`. Older versions write no attributes on `langchain4j.tools.TOOL` either.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tracejury.schemas.normalized import Kind
from tracejury.schemas.spans import LogRecord, Span

from .convention import Fields
from .dialect import GENAI, Dialect

_SERVICE: Final = "langchain4j.aiservices."
_TOOL: Final = "langchain4j.tools."


class Quarkus(Dialect):
    """Reads the spans that Quarkus LangChain4j names."""

    name = "quarkus-langchain4j"
    names = (_SERVICE, _TOOL)

    def read(self, span: Span, logs: Sequence[LogRecord]) -> Fields:
        """See `Convention`."""
        if span.name.startswith(_TOOL):
            found = GENAI.read_as(Kind.TOOL, span, logs)
            found["tool_name"] = found["tool_name"].removeprefix(_TOOL)
            return found
        found = GENAI.read_as(Kind.AGENT, span, logs)
        found["agent_name"] = found["agent_name"] or span.name.removeprefix(_SERVICE).rpartition(".")[0]
        return found
