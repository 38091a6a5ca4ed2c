"""The JSON of a diagnosis, as types. Keys are only ever added."""

from __future__ import annotations

# pydantic, which writes the OpenAPI document from these, asks for this TypedDict before Python 3.12.
from typing_extensions import TypedDict


class ConventionJson(TypedDict):
    """A convention and how many spans are written in it; `name` is null for spans that are written in none."""

    name: str | None
    spans: int


class ScopeJson(TypedDict):
    """What wrote spans: an instrumentation scope."""

    name: str
    version: str
    spans: int


class AgentSeenJson(TypedDict):
    """An agent under an agent (null: a manager)."""

    name: str
    parent: str | None
    runs: int
    llm_calls: int
    tool_calls: int


class ToolSeenJson(TypedDict):
    """A tool: its calls, and how many of them have known arguments, known results, an error, a span."""

    name: str
    calls: int
    arguments: int
    results: int
    failed: int
    spans: int


class ContentsJson(TypedDict):
    """LLM calls, and how many of them have what was sent, what was written, tool definitions, token counts."""

    llm_calls: int
    inputs: int
    outputs: int
    tools: int
    tokens: int


class RemedyJson(TypedDict):
    """What mends a gap; `source`: where that was read."""

    do: str
    source: str | None


class GapJson(TypedDict):
    """Something that the traces do not tell; `severity` LOW is a mere remark."""

    kind: str
    severity: str
    title: str
    what: str
    lost: str
    remedies: list[RemedyJson]
    span_ids: list[str]


class DiagnosisJson(TypedDict):
    """What the latest traces of a service, or one trace, show; gaps worst first. `open`: traces still open."""

    services: list[str]
    trace_ids: list[str]
    open: int
    spans: int
    conventions: list[ConventionJson]
    scopes: list[ScopeJson]
    agents: list[AgentSeenJson]
    tools: list[ToolSeenJson]
    contents: ContentsJson
    gaps: list[GapJson]


class DoctorPage(TypedDict):
    """Diagnoses: one of a trace or of a service, or one a service."""

    items: list[DiagnosisJson]
    next: None
