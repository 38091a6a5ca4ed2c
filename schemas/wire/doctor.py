"""The JSON of a diagnosis, as types. Keys are only ever added."""

from __future__ import annotations

from .base import OptionalText, WireModel


class ConventionJson(WireModel):
    """A convention and how many spans are written in it; `name` is null for spans that are written in none."""

    name: OptionalText
    spans: int


class ScopeJson(WireModel):
    """The writer of spans: an instrumentation scope."""

    name: str
    version: str
    spans: int


class AgentSeenJson(WireModel):
    """An agent under an agent (null: a manager)."""

    name: str
    parent: OptionalText
    runs: int
    llm_calls: int
    tool_calls: int


class ToolSeenJson(WireModel):
    """A tool: its calls, and how many of them have known arguments, known results, an error, a span."""

    name: str
    calls: int
    arguments: int
    results: int
    failed: int
    spans: int


class ContentsJson(WireModel):
    """LLM calls, and how many of them have what was sent, what was written, tool definitions, token counts."""

    llm_calls: int
    inputs: int
    outputs: int
    tools: int
    tokens: int


class RemedyJson(WireModel):
    """A remedy for a gap; `source`: where that was read."""

    do: str
    source: OptionalText


class GapJson(WireModel):
    """Something that the traces do not tell; `severity` LOW is a mere remark."""

    kind: str
    severity: str
    title: str
    what: str
    lost: str
    remedies: list[RemedyJson]
    span_ids: list[str]


class DiagnosisJson(WireModel):
    """A diagnosis of the latest traces of a service, or of one trace; gaps worst first. `open`: traces still open."""

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


class DoctorPage(WireModel):
    """Diagnoses: one of a trace or of a service, or one a service."""

    items: list[DiagnosisJson]
    next: None
