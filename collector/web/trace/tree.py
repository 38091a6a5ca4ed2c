"""The tree of a trace on a page: a bounded number of nodes with their timeline bars and errors.

The rest opens step by step: a closed node, or the rest of a list.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlencode

from tracejury.collector.queries.trace.trace_index import REST, TOP, TraceIndex
from tracejury.processors.trace_outline import RunOutline, SpanOutline, ToolCallOutline, TurnOutline
from tracejury.schemas.agent_errors import ErrorRole
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.text.counting import counted
from tracejury.schemas.text.naming import agent_name

from .shown_errors import ShownError

WHOLE: Final = 300
"""A trace of at most this many nodes is expanded."""

MOST: Final = 500
"""Nodes of a larger trace shown at first, besides those on the path to the selected one."""

WINDOW: Final = 100
"""Nodes of one list shown at once."""

THIN: Final = 0.4
"""Least width of a bar, percent."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar in the timeline, in percent of its width."""

    left: float
    width: float


@dataclass(frozen=True, slots=True)
class More:
    """Nodes left out before or after the shown part of a list: `count` from `start` on."""

    key: str
    start: int
    count: int


@dataclass(frozen=True, slots=True)
class Node:
    """A row of the tree.

    `kind`: run, turn, call, span or rest. `query` selects it; `state`: ok, error, unfinished, refused or ""; `note`:
    what it is, in a word; `below`: whether it has children, which are shown where `is_open`. `errors`: those that name
    a span of it, each with the role; `beneath`: errors decided at closed children by severity.
    """

    key: str
    kind: str
    label: str
    note: str
    hint: str
    state: str
    span_id: str
    query: str
    bar: Bar | None
    start: int
    end: int
    below: bool
    is_open: bool
    selected: bool
    errors: Sequence[tuple[ShownError, ErrorRole]] = ()
    beneath: Mapping[Severity, int] = field(default_factory=dict)
    before: More | None = None
    children: Sequence[Node] = ()
    after: More | None = None


@dataclass(frozen=True, slots=True)
class TreeOptions:
    """The view of a tree: the `selected` key, errors, only what failed or all, and the `opened` keys."""

    selected: str = ""
    errors: Sequence[ShownError] = ()
    errors_only: bool = False
    opened: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class Branch:
    """Part of a list of nodes."""

    nodes: Sequence[Node]
    before: More | None
    after: More | None


class TreeView:
    """Builds the nodes of a trace once: it counts those shown."""

    def __init__(self, trace_index: TraceIndex, choice: TreeOptions) -> None:
        self._trace_index, self._choice = trace_index, choice
        self._path = set(trace_index.path(choice.selected)) if choice.selected else set()
        self._pins: dict[str, list[tuple[ShownError, ErrorRole]]] = {}
        self._beneath: dict[str, Counter[Severity]] = {}
        for shown in choice.errors:
            self._pin(shown)
        self._marked = self._find_marked() if choice.errors_only else None
        self._whole = len(trace_index.items) <= WHOLE
        self._left = MOST

    def top(self) -> Branch:
        """The tree from its top."""
        return self._list(TOP, None)

    def branch(self, key: str, start: int) -> Branch:
        """The children of a node from an offset on."""
        return self._list(key, max(0, start))

    def _pin(self, shown: ShownError) -> None:
        roles: dict[str, ErrorRole] = {}
        for span_id, role in shown.error.spans.items():
            if key := self._trace_index.key_of_span(span_id):
                roles.setdefault(key, role)
        for key, role in roles.items():
            self._pins.setdefault(key, []).append((shown, role))
            if role is ErrorRole.DECIDED:
                for above in self._trace_index.path(key)[:-1]:
                    self._beneath.setdefault(above, Counter())[shown.severity] += 1

    def _find_marked(self) -> set[str]:
        wrong = [key for key, item in self._trace_index.items.items() if _failed(item)]
        return {above for key in (*wrong, *self._pins) for above in self._trace_index.path(key)}

    def _list(self, key: str, start: int | None) -> Branch:
        keys: Sequence[str] = self._trace_index.below(key)
        if self._marked is not None:
            keys = [k for k in keys if k in self._marked]
        if start is None:
            on_path = next((i for i, k in enumerate(keys) if k in self._path), 0)
            start = max(0, on_path - WINDOW // 2) if on_path >= WINDOW else 0
        end = start + WINDOW
        shown = keys[start:end]
        self._left -= len(shown)
        return Branch(
            [self._node(k) for k in shown],
            More(key, max(0, start - WINDOW), start) if start else None,
            More(key, end, len(keys) - end) if len(keys) > end else None,
        )

    def _node(self, key: str) -> Node:
        item = self._trace_index.items.get(key)
        has = bool(self._trace_index.below(key))
        is_open = has and self._is_open(key)
        branch = self._list(key, None) if is_open else Branch((), None, None)
        label, note, hint, state = _words(item, len(self._trace_index.outline.remainder))
        start, end = (item.start, item.end) if item else (0, 0)
        span_id = _span_id(item)
        return Node(
            key=key,
            kind=key.partition(":")[0],
            label=label,
            note=note,
            hint=hint,
            state=state,
            span_id=span_id,
            query=urlencode({"span": span_id} if span_id else {"at": key}),
            bar=self._bar(start, end),
            start=start,
            end=end,
            below=has,
            is_open=is_open,
            selected=key == self._choice.selected,
            errors=self._pins.get(key, ()),
            beneath={} if is_open else self._beneath.get(key, {}),
            before=branch.before,
            children=branch.nodes,
            after=branch.after,
        )

    def _is_open(self, key: str) -> bool:
        if self._whole or key in self._choice.opened or (key in self._path and key != self._choice.selected):
            return True
        if key == self._choice.selected:
            return True
        if self._left <= 0:
            return False
        if self._choice.errors_only:
            return True
        return not key.startswith(("run:", "span:")) or self._trace_index.above(key) in (TOP, REST)

    def _bar(self, start: int, end: int) -> Bar | None:
        extent = self._trace_index.extent
        length = extent.end - extent.start
        if not start or length <= 0:
            return None
        width = min(max(100 * (end - start) / length, THIN), 100.0)
        left = min(max(100 * (start - extent.start) / length, 0.0), 100.0 - width)
        return Bar(round(left, 2), round(width, 2))


def _failed(item: RunOutline | TurnOutline | ToolCallOutline | SpanOutline | None) -> bool:
    match item:
        case RunOutline():
            return item.status == "error"
        case ToolCallOutline():
            return item.state in ("error", "refused")
        case TurnOutline() | SpanOutline():
            return item.failed
    return False


def _span_id(item: RunOutline | TurnOutline | ToolCallOutline | SpanOutline | None) -> str:
    if item is None:
        return ""
    return item.span_id or (item.id if isinstance(item, RunOutline) else "")


_STATES: Final = {"error": "error", "refused": "refused", "unknown": "", "ok": "ok"}


def _words(
    item: RunOutline | TurnOutline | ToolCallOutline | SpanOutline | None, rest: int
) -> tuple[str, str, str, str]:
    """Label, note, hint and state."""
    match item:
        case RunOutline():
            return agent_name(item.name), item.role + ", inferred" * item.inferred, item.goal, item.status
        case TurnOutline():
            state = "error" if item.failed else "ok" if item.closed else "unfinished"
            return f"Turn {item.index}", item.kind, item.hint, state
        case ToolCallOutline():
            return item.name or "tool", "tool", item.hint, _STATES[item.state]
        case SpanOutline():
            return item.name or "span", item.kind or "span", "", "error" if item.failed else ""
    return "Outside of agent runs", counted(rest, "span"), "", ""
