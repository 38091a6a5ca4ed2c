"""Joining traces: some programs write one run into many traces, tied by an id or a link alone.

A trace's keys name what it may share with others. Traces that share one belong together, unless they say that they
are of different tasks. Log events that came without ids belong to the traces of their session (`log_spans.py`), a trace
whose parents stand in another one to that one (`parents_elsewhere.py`), and the trace of a tool's or an agent's span
alone to the one of its session that it fits (`session_joins.py`). Nothing else joins traces: neither time, nor texts,
nor one service, nor a session's id by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from tracejury.schemas.normalized import Kind, NormalizedSpan
from tracejury.schemas.trajectory import Trace, TraceState

from .log_spans import MARK, PREFIXES, session_trace
from .parents_elsewhere import joined_by_parents, parents_elsewhere
from .rebuild import rebuild
from .session_joins import joined_by_session

MOST_TRACES: Final = 256
"""Of one run; beyond that what ties them is no run."""

_LEAST_ID: Final = 12  # characters; shorter ids of calls are not unique
_MOST_LINKED: Final = 1  # other traces that one span's links may name: one that names several gathers a batch
_BARE: Final = frozenset({Kind.LLM, Kind.EMBEDDING, Kind.OTHER})
_MESSAGE_IDS: Final = ("messaging.message.conversation_id", "messaging.message.id")

Traces = Mapping[str, Sequence[NormalizedSpan]]


def join_keys(spans: Iterable[NormalizedSpan]) -> frozenset[str]:
    """Keys that the trace of `spans` (all of one trace id) may share with others; always its own id.

    Span links tie a trace to the one they name; a stated task id and a message's id tie those that state it. Where a
    trace shows nothing but calls of a model, the client's session and the ids of tool calls do so, too; where it shows
    nothing but tools, their calls' ids.
    """
    spans = list(spans)
    keys = {f"trace:{span.raw.trace_id}" for span in spans[:1]}
    bare = all(s.kind in _BARE for s in spans)
    tools = not bare and all(s.kind in (Kind.TOOL, Kind.OTHER) for s in spans)
    for span in spans:
        raw = span.raw
        if raw.links:
            linked = {link.trace_id for link in raw.links} - {raw.trace_id, ""}
            if 0 < len(linked) <= _MOST_LINKED:
                keys.add(f"trace:{linked.pop()}")
        if span.task_id:
            keys.add(f"task:{span.task_id}")
        attributes = raw.attributes
        for name in _MESSAGE_IDS:
            if value := attributes.get(name):
                keys.add(f"message:{value}")
        if bare and span.kind is Kind.LLM:
            keys.update(_client_keys(span))
        elif tools and len(span.tool_call_id) >= _LEAST_ID:
            keys.add(f"call:{raw.service}:{raw.scope_name}:{span.tool_call_id}")
    return frozenset(keys)


def log_traces(spans: Iterable[NormalizedSpan]) -> frozenset[str]:
    """Ids that traces of log events without ids have, where they are of the same program and session as `spans`."""
    sessions = {
        (s.raw.tenant, s.raw.service, s.session_id)
        for s in spans
        if s.raw.name.startswith(PREFIXES) and s.session_id and MARK not in s.raw.attributes
    }
    return frozenset(session_trace(*session) for session in sessions)


def _client_keys(span: NormalizedSpan) -> Iterator[str]:
    client = f"{span.raw.service}:{span.raw.scope_name}"
    if span.session_id:
        yield f"session:{span.raw.service}:{span.session_id}"
    for message in (*span.input_messages, *span.output_messages):
        ids = [r.call_id for r in message.tool_requests] + [message.tool_call_id]
        yield from (f"call:{client}:{call_id}" for call_id in ids if len(call_id) >= _LEAST_ID)


def groups_of(traces: Traces) -> list[tuple[str, ...]]:
    """Ids of the traces that belong together, each group and all groups in order of their first span's start.

    Traces of log events that belong to others come last: no group has the id of one.

    A call's id that several traces' models gave out is not unique and joins nothing, and a trace whose span ids
    another of its group has is left alone: span ids are only unique within a trace.
    """
    told = _told(traces)
    order = sorted(traces, key=lambda t: (t in told, _start(traces[t]), t))
    ambiguous = _ambiguous(traces)
    groups = _Groups(traces, order)
    holder: dict[str, str] = {}
    for trace in order:
        tasks, sessions = groups.tasks[trace], groups.sessions[trace]
        of_session = {f"{task} {session}" for task in tasks for session in sessions}
        keys = join_keys(traces[trace]) | told.get(trace, set()) | of_session
        for key in sorted(keys - ambiguous):
            groups.join(holder.setdefault(key, trace), trace, by_task=key.startswith("task:"))
    for part, home in joined_by_parents(traces):
        groups.join(home, part)
    for alone, home in joined_by_session(traces, groups.find):
        groups.join(home, alone)
    found: dict[str, list[str]] = {}
    for trace in order:
        found.setdefault(groups.find(trace), []).append(trace)
    return [tuple(group) for group in found.values()]


class _Groups:
    """Traces that are one so far, each group under one of them: its size, tasks, sessions and span ids."""

    def __init__(self, traces: Traces, order: Sequence[str]) -> None:
        self._leader = {t: t for t in order}
        self._size = dict.fromkeys(order, 1)
        self._ids = {t: {s.span_id for s in traces[t]} for t in order}
        self.tasks = {t: {f"task:{s.task_id}" for s in traces[t] if s.task_id} for t in order}
        self.sessions = {t: {s.session_id for s in traces[t] if s.session_id} for t in order}

    def find(self, trace: str) -> str:
        """The trace that stands for the group."""
        leader = self._leader
        while leader[trace] != trace:
            leader[trace] = leader[leader[trace]]
            trace = leader[trace]
        return trace

    def join(self, first: str, second: str, *, by_task: bool = False) -> None:
        """Make one group of two traces', unless it would be too large, or what they state or their ids clash.

        `by_task`: a task ties them, which several sessions may try.
        """
        one, other = self.find(first), self.find(second)
        if one == other or self._size[one] + self._size[other] > MOST_TRACES:
            return
        if _clash(self.tasks[one], self.tasks[other]) or not self._ids[one].isdisjoint(self._ids[other]):
            return
        if by_task and _clash(self.sessions[one], self.sessions[other]):
            return
        self._leader[other] = one
        self._size[one] += self._size[other]
        self.tasks[one] |= self.tasks[other]
        self.sessions[one] |= self.sessions[other]
        self._ids[one] |= self._ids[other]


def _told(traces: Traces) -> dict[str, set[str]]:
    """Traces of log events with the keys of those that they belong to."""
    found: dict[str, set[str]] = {}
    for trace, spans in traces.items():
        for told in log_traces(spans) & traces.keys():
            found.setdefault(told, set()).add(f"trace:{trace}")
    return found


def rebuild_joined(traces: Traces, *, state: TraceState = TraceState.SETTLED) -> list[Trace]:
    """One `Trace` a group; it bears the id of the trace that began first."""
    elsewhere = parents_elsewhere(traces)
    return [
        rebuild(
            (s for t in group for s in traces[t]),
            state=state,
            elsewhere={parent for t in group for parent in elsewhere.get(t, ())},
        )
        for group in groups_of(traces)
    ]


def _start(spans: Sequence[NormalizedSpan]) -> int:
    return min((s.raw.start or s.raw.end for s in spans), default=0)


def _clash(one: set[str], other: set[str]) -> bool:
    return bool(one) and bool(other) and one.isdisjoint(other)


def _ambiguous(traces: Traces) -> set[str]:
    """Keys of calls that more than one trace's model asked for."""
    given = Counter(key for spans in traces.values() for key in {k for s in spans for k in _requested_keys(s)})
    return {key for key, times in given.items() if times > 1}


def _requested_keys(span: NormalizedSpan) -> Iterator[str]:
    if span.kind is Kind.LLM:
        client = f"{span.raw.service}:{span.raw.scope_name}"
        yield from (f"call:{client}:{r.call_id}" for r in span.tool_requests)


def together(states: Iterable[TraceState]) -> TraceState:
    """The state of traces that are one: open as long as one of them is, incomplete if one of them is."""
    found = set(states)
    return next(s for s in (TraceState.OPEN, TraceState.INCOMPLETE, TraceState.SETTLED) if s in found)
