"""Traces of a tool or an agent alone, and the trace of their session that they belong to.

Hooks, threads and processes of their own write each span into a trace of its own, which shares nothing but the session
with the others. A session's id alone joins nothing, for many programs give all that they do one ("default"). A tool's
span belongs to the trace of its session and service that asked for it shortly before, by its call id, else by its name
and arguments, if no span shows that request's execution; an agent's to the calls in its time that were sent what it
states as its input, or that gave its answer. Where two traces would do, it stays apart.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from tracejury.schemas.normalized import Kind, NormalizedSpan

from .code import caller_in_code, writes_code
from .loose_calls import fits
from .open_requests import OpenRequest, OpenRequests, same_arguments
from .span_tree import time_key
from .task import goal_from_span

AROUND: Final = 600_000_000_000
"""Nanos at most between a request and its execution: how long a trace may be quiet."""

_MOST_AGENTS: Final = 64  # agents of a session that are looked at
_LAST_REPLIES: Final = 8  # with code, of all runs of the session, that may have called a tool
_BESIDE: Final = frozenset({Kind.OTHER, Kind.CHAIN, Kind.RETRIEVER})

Session = tuple[str, str, str]
"""Tenant, service and id of the session."""
Traces = Mapping[str, Sequence[NormalizedSpan]]


def lone_span(spans: Sequence[NormalizedSpan]) -> NormalizedSpan | None:
    """The span of a tool, or of an agent that states texts, that a trace is of; None for any other trace.

    None as well where no session is stated.
    """
    kinds = {s.kind for s in spans} - _BESIDE
    if kinds not in ({Kind.TOOL}, {Kind.AGENT}) or session_of(spans) is None:
        return None
    first = min((s for s in spans if s.kind in kinds), key=time_key)
    if first.raw.parent_span_id or (first.kind is Kind.AGENT and not (goal_from_span(first) or first.output)):
        return None
    return first


def session_of(spans: Sequence[NormalizedSpan]) -> Session | None:
    """The session that a trace states."""
    span = next((s for s in spans if s.session_id), None)
    return (span.raw.tenant, span.raw.service, span.session_id) if span else None


def joined_by_session(traces: Traces, group_of: Callable[[str], str]) -> Iterator[tuple[str, str]]:
    """Ids of such traces with a trace that each belongs to.

    `group_of`: a trace's id to the id of those that are known to be one with it.
    """
    alone: defaultdict[Session | None, list[tuple[NormalizedSpan, str]]] = defaultdict(list)
    for trace, spans in traces.items():
        if (span := lone_span(spans)) is not None:
            alone[session_of(spans)].append((span, trace))
    if not alone:
        return
    apart = {trace for found in alone.values() for _, trace in found}
    calls: defaultdict[Session | None, list[tuple[NormalizedSpan, str]]] = defaultdict(list)
    for trace, spans in traces.items():
        if trace not in apart and (session := session_of(spans)) in alone:
            calls[session] += ((s, group_of(trace)) for s in spans if s.kind in (Kind.LLM, Kind.TOOL))
    for session, own in calls.items():
        own.sort(key=lambda one: time_key(one[0]))
        alone[session].sort(key=lambda one: time_key(one[0]))
        yield from _tools(alone[session], own)
        agents = [one for one in alone[session] if one[0].kind is Kind.AGENT][:_MOST_AGENTS]
        yield from ((trace, home) for span, trace in agents if (home := _agents_home(span, own)))


def _tools(
    alone: Sequence[tuple[NormalizedSpan, str]], calls: Sequence[tuple[NormalizedSpan, str]]
) -> Iterator[tuple[str, str]]:
    requests = OpenRequests()
    for span, group in calls:
        if span.kind is Kind.LLM:
            requests.add(span, group)
    for span, group in calls:
        if span.kind is Kind.TOOL:
            requests.given(span, group)
    replies = [(span, group) for span, group in calls if span.kind is Kind.LLM and writes_code(span)]
    for span, trace in alone:
        if span.kind is Kind.TOOL and (home := _tools_home(span, requests) or _called_in_code(span, replies)):
            yield trace, home


def _tools_home(span: NormalizedSpan, requests: OpenRequests) -> str:
    """Who asked for the call that a tool's span shows; a second record of it has its id, too."""

    def near(one: OpenRequest) -> bool:
        return one.at <= span.raw.start <= one.at + AROUND

    def asked_for(one: OpenRequest) -> bool:
        return near(one) and same_arguments(one.request, span)

    if same := [one for one in requests.with_id(span) if near(one)]:
        same[-1].taken = True
        return same[-1].holder
    return requests.holder_by_content(span, asked_for) or ""


def _called_in_code(span: NormalizedSpan, replies: Sequence[tuple[NormalizedSpan, str]]) -> str:
    """Whose last replies before a tool's span call it in code; "" where nobody's do, or several's."""
    at = bisect_right(replies, span.raw.start, key=lambda one: one[0].raw.start)
    near = [
        (s, group) for s, group in replies[max(0, at - _LAST_REPLIES) : at] if span.raw.start <= s.raw.start + AROUND
    ]
    latest = {group: s.output for s, group in near}
    return caller_in_code(latest, span) or ""


def _agents_home(agent: NormalizedSpan, calls: Sequence[tuple[NormalizedSpan, str]]) -> str:
    inside: defaultdict[str, list[NormalizedSpan]] = defaultdict(list)
    for span, group in calls:
        raw = span.raw
        if span.kind is Kind.LLM and agent.raw.start <= raw.start and (agent.raw.pending or raw.end <= agent.raw.end):
            inside[group].append(span)
    homes = [group for group, own in inside.items() if fits(agent, own)]
    return homes[0] if len(homes) == 1 else ""
