"""The graph of agents and tools: who calls whom, how often, and how often that fails."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class CalleeKind(StrEnum):
    """The end of an edge: an agent's run that no agent began, one that an agent began, or a tool."""

    ENTRY = "entry"
    AGENT = "agent"
    TOOL = "tool"


@dataclass(frozen=True, slots=True)
class CallEdge:
    """`calls` of a callee by an agent (`caller`: its name, "" of an ENTRY), `failed` of them.

    `given`: runs of the caller that could call it, `used`: those of them that did. An edge without calls is of a tool
    or agent that was available and never called, or that was used: then other edges tell its calls, those of the agents
    whose runs it begins, or of another form of its name. A call fails by an error, or is refused; that of an agent by
    its run's end.
    """

    kind: CalleeKind
    caller: str
    callee: str
    calls: int = 0
    failed: int = 0
    given: int = 0
    used: int = 0

    @property
    def shown(self) -> bool:
        """Whether no other edge tells its calls."""
        return bool(self.calls) or not self.used


@dataclass(frozen=True, slots=True)
class CallNode:
    """An agent or a tool, with the calls of it by all callers."""

    kind: CalleeKind
    name: str
    calls: int
    failed: int


@dataclass(frozen=True, slots=True)
class CallGraph:
    """The edges with most calls first, of `traces` traces; `left`: edges beyond a limit.

    `unknown`: traces that an earlier version judged, whose calls are not among them.
    """

    edges: Sequence[CallEdge]
    traces: int = 1
    left: int = 0
    unknown: int = 0

    @property
    def nodes(self) -> list[CallNode]:
        """Agents, then tools, those with most calls first; what is only available is one, too."""
        sums: dict[tuple[CalleeKind, str], list[int]] = {}
        for edge in self.edges:
            if edge.kind is not CalleeKind.ENTRY:
                sums.setdefault((CalleeKind.AGENT, edge.caller), [0, 0])
            kind = CalleeKind.TOOL if edge.kind is CalleeKind.TOOL else CalleeKind.AGENT
            own = sums.setdefault((kind, edge.callee), [0, 0])
            own[0] += edge.calls
            own[1] += edge.failed
        found = [CallNode(kind, name, calls, failed) for (kind, name), (calls, failed) in sums.items()]
        return sorted(found, key=lambda node: (node.kind, -node.calls, node.name))

    @property
    def never_called(self) -> list[CallEdge]:
        """The edges to what was available and never called, by caller."""
        return sorted((e for e in self.edges if not e.calls and not e.used), key=lambda e: (e.caller, e.kind, e.callee))


def by_calls(edge: CallEdge) -> tuple[int, int, CalleeKind, str, str]:
    """The order of edges: most calls first, then what most runs had."""
    return -edge.calls, -edge.given, edge.kind, edge.caller, edge.callee
