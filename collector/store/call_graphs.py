"""The graph of a service's agents and tools, summed over the rows of judged traces. All of it blocks."""

from __future__ import annotations

from typing import Any, Final

from tracejury.schemas.call_graph import CallEdge, CalleeKind, CallGraph
from tracejury.schemas.queries.call_graph import CallGraphQuery

from .lists.conditions import ARRIVED, EVERY
from .pending_traces import JUDGED
from .scope import TenantRows

_TRACES: Final = (
    f"traces FINAL WHERE {EVERY} AND {JUDGED} AND {ARRIVED} >= {{since:Int64}} AND {ARRIVED} < {{until:Int64}} "
    "AND Simulated = {simulated:Bool} AND ({service:String} = '' OR ServiceName = {service:String})"
)
_COUNTED: Final = f"SELECT count(), countIf(notEmpty(`Runs.Id`) AND empty(`Edges.Kind`)) FROM {_TRACES}"
_EDGES: Final = f"""
SELECT edge.1 AS kind, edge.2 AS caller, edge.3 AS callee, sum(edge.4) AS calls, sum(edge.5), sum(edge.6) AS given,
    sum(edge.7) AS used, count() OVER ()
FROM
(
    SELECT arrayJoin(arrayZip(`Edges.Kind`, `Edges.Caller`, `Edges.Callee`, `Edges.Calls`, `Edges.Failed`,
        `Edges.Given`, `Edges.Used`)) AS edge
    FROM {_TRACES}
)
GROUP BY kind, caller, callee HAVING calls > 0 OR used = 0
ORDER BY calls DESC, given DESC, kind, caller, callee LIMIT {{limit:UInt64}}
"""


class StoredCallGraphs(TenantRows):
    """The graphs of one tenant's services. Raises RetryableError for what may pass, StoreError for the rest."""

    def ask(self, query: CallGraphQuery) -> CallGraph:
        """The edges with most calls of the traces that arrived in that time."""
        values: dict[str, Any] = {name: getattr(query, name) for name in ("since", "until", "service", "simulated")}
        traces, unknown = self._scope.select(_COUNTED, **values)[0]
        rows = self._scope.select(_EDGES, **values, limit=query.limit)
        edges = [CallEdge(CalleeKind(kind), *rest) for kind, *rest, _ in rows]
        return CallGraph(edges, traces, (rows[0][-1] if rows else 0) - len(edges), unknown)
