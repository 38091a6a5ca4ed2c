"""The picture of a graph of agents and tools: columns of boxes from left to right, and curves between them.

What is called stands in the column after its nearest caller; within a column, what is called from further up stands
further up. All of it is deterministic, in one pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tracejury.schemas.call_graph import CallEdge, CalleeKind, CallGraph, CallNode

MOST_NODES: Final = 40
"""Boxes of a picture: those with most calls. The table beside it has all edges."""

WIDTH, HEIGHT, ACROSS, DOWN, MARGIN = 168, 38, 108, 14, 6
"""Of a box, between columns, between rows and around the picture, in CSS pixels."""
_LOOP: Final = 26
_THICK: Final = 6.0
_Place = tuple[CalleeKind, str]


@dataclass(frozen=True, slots=True)
class DrawnNode:
    """A box, by its upper left corner."""

    node: CallNode
    x: int
    y: int


@dataclass(frozen=True, slots=True)
class DrawnEdge:
    """A curve, as the `d` of an SVG path; `width`: of its line, more with more calls."""

    edge: CallEdge
    path: str
    width: float


@dataclass(frozen=True, slots=True)
class GraphPicture:
    """A picture in CSS pixels; `left`: agents and tools that are not in it; `box`: width and height of each box."""

    nodes: Sequence[DrawnNode]
    edges: Sequence[DrawnEdge]
    width: int
    height: int
    left: int
    box: tuple[int, int] = (WIDTH, HEIGHT)


def picture_of(graph: CallGraph) -> GraphPicture:
    """The picture of a graph's agents and tools with most calls; edges from outside are not drawn."""
    nodes = graph.nodes
    kept = {
        (node.kind, node.name): node
        for node in sorted(nodes, key=lambda n: (n.kind is CalleeKind.TOOL and not n.calls, -n.calls, n.kind, n.name))
    }
    kept = dict(list(kept.items())[:MOST_NODES])
    edges = [e for e in graph.edges if e.kind is not CalleeKind.ENTRY and {_from(e), _to(e)} <= kept.keys()]
    columns = _columns(kept, edges, {_to(e) for e in graph.edges if e.kind is CalleeKind.ENTRY})
    places: dict[_Place, tuple[int, int]] = {}
    for column in range(max(columns.values(), default=-1) + 1):
        own = [place for place in kept if columns[place] == column]
        own.sort(key=lambda place: (_height(place, edges, places), place))
        for row, place in enumerate(own):
            places[place] = (MARGIN + column * (WIDTH + ACROSS), MARGIN + _LOOP + row * (HEIGHT + DOWN))
    most = max((e.calls for e in edges), default=1) or 1
    return GraphPicture(
        [DrawnNode(kept[place], *corner) for place, corner in places.items()],
        [DrawnEdge(e, _path(places[_from(e)], places[_to(e)]), round(1 + _THICK * e.calls / most, 1)) for e in edges],
        max((x for x, _ in places.values()), default=0) + WIDTH + MARGIN + _LOOP,
        max((y for _, y in places.values()), default=0) + HEIGHT + MARGIN,
        len(nodes) - len(kept),
    )


def _from(edge: CallEdge) -> _Place:
    return CalleeKind.AGENT, edge.caller


def _to(edge: CallEdge) -> _Place:
    return (CalleeKind.TOOL if edge.kind is CalleeKind.TOOL else CalleeKind.AGENT), edge.callee


def _columns(nodes: Mapping[_Place, CallNode], edges: Iterable[CallEdge], begun: set[_Place]) -> dict[_Place, int]:
    """The column of each node: its distance from what was called from outside, 0 where nothing leads to it."""
    below: dict[_Place, list[_Place]] = {}
    for edge in edges:
        below.setdefault(_from(edge), []).append(_to(edge))
    called = {place for places in below.values() for place in places}
    found = {place: 0 for place in nodes if place in begun or place not in called}
    level, depth = list(found), 0
    while len(found) < len(nodes):
        depth += 1
        next_to_it = dict.fromkeys(place for above in level for place in below.get(above, ()))
        level = [place for place in next_to_it if place not in found]
        if not level:  # agents that only call each other
            level, depth = [next(place for place in nodes if place not in found)], 0
        found |= dict.fromkeys(level, depth)
    return found


def _height(place: _Place, edges: Iterable[CallEdge], places: Mapping[_Place, tuple[int, int]]) -> float:
    """The mean height of the callers that are placed already."""
    heights = [places[_from(e)][1] for e in edges if _to(e) == place and _from(e) in places]
    return sum(heights) / len(heights) if heights else 0.0


def _path(start: tuple[int, int], end: tuple[int, int]) -> str:
    """A curve from the right side of a box to the left side of another; back above both, or around the box itself."""
    (x, y), (to_x, to_y) = start, end
    right, middle, to_middle = x + WIDTH, y + HEIGHT // 2, to_y + HEIGHT // 2
    if to_x > x:
        half = (to_x - right) // 2
        return f"M{right} {middle} C{right + half} {middle} {to_x - half} {to_middle} {to_x} {to_middle}"
    if start == end:
        return (
            f"M{right} {middle - 8} C{right + _LOOP} {middle - 22} {right + _LOOP} {middle + 22} {right} {middle + 8}"
        )
    if to_x == x:
        bow = right + ACROSS // 2
        return f"M{right} {middle} C{bow} {middle} {bow} {to_middle} {right} {to_middle}"
    top = min(y, to_y) - _LOOP
    return f"M{x + WIDTH // 2} {y} C{x + WIDTH // 2} {top} {to_x + WIDTH // 2} {top} {to_x + WIDTH // 2} {to_y}"
