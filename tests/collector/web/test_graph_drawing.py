"""The picture of a graph: boxes that do not overlap, columns by distance, bounded whatever is called."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tracejury.collector.web.graph_drawing import HEIGHT, MOST_NODES, WIDTH, GraphPicture, picture_of
from tracejury.schemas.call_graph import CallEdge, CalleeKind, CallGraph

ENTRY, AGENT, TOOL = CalleeKind
NAMES = st.sampled_from([f"n{number}" for number in range(60)] + ["", "<b>"])
EDGES = st.lists(
    st.builds(CallEdge, st.sampled_from([AGENT, TOOL, ENTRY]), NAMES, NAMES, st.integers(0, 9), st.just(0)),
    max_size=150,
    unique_by=lambda edge: (edge.kind, edge.caller, edge.callee),
)


def at(picture: GraphPicture, kind: CalleeKind, name: str) -> tuple[int, int]:
    """The corner of a box."""
    return next((one.x, one.y) for one in picture.nodes if (one.node.kind, one.node.name) == (kind, name))


def test_callees_stand_to_the_right_of_their_nearest_caller() -> None:
    """A manager, its sub-agents, their tools; the curve goes from box to box."""
    edges = [
        CallEdge(ENTRY, "", "manager", 1), CallEdge(AGENT, "manager", "writer", 2), CallEdge(TOOL, "writer", "mail", 4),
        CallEdge(TOOL, "manager", "search", 1), CallEdge(AGENT, "writer", "manager", 1),
    ]  # fmt: skip
    picture = picture_of(CallGraph(edges))
    columns = [at(picture, AGENT, "manager")[0], at(picture, AGENT, "writer")[0], at(picture, TOOL, "mail")[0]]
    assert columns == sorted(set(columns))
    assert at(picture, TOOL, "search")[0] == columns[1]
    x, y = at(picture, AGENT, "manager")
    drawn = next(one for one in picture.edges if one.edge.callee == "writer")
    assert drawn.path.startswith(f"M{x + WIDTH} {y + HEIGHT // 2} C")
    assert drawn.width < next(one for one in picture.edges if one.edge.callee == "mail").width


def test_what_only_calls_itself_in_a_circle_is_drawn() -> None:
    """Such as where the entries are beyond the limit."""
    edges = [CallEdge(AGENT, "a", "b", 1), CallEdge(AGENT, "b", "a", 1), CallEdge(AGENT, "c", "c", 1)]
    assert len(picture_of(CallGraph(edges)).nodes) == 3


@given(EDGES)
def test_a_picture_is_sound(edges: list[CallEdge]) -> None:
    """All boxes lie within it and beside each other; all curves are between boxes of it."""
    graph = CallGraph(edges)
    picture = picture_of(graph)
    assert len(picture.nodes) == min(MOST_NODES, len(graph.nodes))
    assert picture.left == len(graph.nodes) - len(picture.nodes)
    corners = {(one.x, one.y) for one in picture.nodes}
    assert len(corners) == len(picture.nodes)
    assert len({(x // (WIDTH + 1), y // (HEIGHT + 1)) for x, y in corners}) == len(corners)
    assert all(0 <= x <= picture.width - WIDTH and 0 <= y <= picture.height - HEIGHT for x, y in corners)
    drawn = {(one.node.kind, one.node.name) for one in picture.nodes}
    inner = [edge for edge in edges if edge.kind is not ENTRY and (AGENT, edge.caller) in drawn]
    assert sum((edge.kind, edge.callee) in drawn for edge in inner) == len(picture.edges)
