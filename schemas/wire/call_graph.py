"""The JSON of a graph of agents and tools. From the first release on, keys are only ever added."""

from __future__ import annotations

from .base import OptionalText, WireModel


class CallNodeJson(WireModel):
    """An agent or a tool (`kind`), with the calls of it by all callers."""

    kind: str
    name: str
    calls: int
    failed: int


class CallEdgeJson(WireModel):
    """`calls` of a callee by an agent, `failed` of them.

    `kind`: `entry` of an agent that no other agent called (its caller is null), `agent` or `tool`. `given`: runs of the
    caller that could call it; `used`: those of them that did. Without calls it was available and never called.
    """

    kind: str
    caller: OptionalText
    callee: str
    calls: int
    failed: int
    given: int
    used: int


class CallGraphJson(WireModel):
    """Agents and tools, and who calls whom, most calls first, in `traces` traces.

    `left`: edges beyond the limit; `unknown_traces`: those that an earlier version judged, whose calls are not counted;
    `unknown`: as in lists.
    """

    nodes: list[CallNodeJson]
    edges: list[CallEdgeJson]
    traces: int
    left: int
    unknown_traces: int
    unknown: dict[str, list[str]]
