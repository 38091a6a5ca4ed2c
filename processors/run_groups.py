"""Owned spans by run and turn: all that an agent run is built from.

Frameworks send the whole history with every call, and limits drop the oldest attributes first; so what is missing at
the beginning stands in the call before, up to the message with which this one goes on.

Where content was not to be captured, a program's own log lines may tell the arguments of its calls. A line counts where
it names the tool, ends with its arguments as one JSON object (`Calling search function with args: {"query": "Elbe"}`)
and was written in the tool's span or one around it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, Final

from tracejury.schemas.makers import maker
from tracejury.schemas.normalized import Kind, Message, NormalizedSpan

from .delegation import delegates, is_called_handoff
from .normalize.values import parse_object
from .ownership import Ownership
from .run_names import name_of
from .run_spans import RunSpans, SubRunStart, TurnSpans
from .span_tree import SpanTree, time_key
from .task import goal_from_request, goal_from_span
from .turns import group_turns

_REACH: Final = 16  # levels of wrappers between a TOOL span and the agent run that it starts

_make: Final = maker(RunSpans)

_LEAST_TEXT: Final = 4  # characters of a message by which two histories are laid side by side


_DEEPEST: Final = 3
_LINE: Final = re.compile(r"([^{}\n]{1,200}?)\b(?:arg|args|arguments|kwargs|parameters)\W{1,4}(\{.*\})\s*", re.DOTALL)
_WORD: Final = re.compile(r"[\w.-]+")


def group_runs(tree: SpanTree, ownership: Ownership) -> list[RunSpans]:
    """All runs, managers in order of start, each followed by what it started."""
    own: dict[str, list[NormalizedSpan]] = {run: [] for run in ownership.runs}
    for one in tree.order:
        run = ownership.owner[one.raw.span_id]
        if run and (run != one.raw.span_id or (one.kind is not Kind.AGENT and run != ownership.inferred.get(run))):
            own[run].append(one)
    started = _started(tree, ownership, own)
    grouped: dict[str, list[TurnSpans]] = {}
    for run, spans in own.items():
        grouped[run] = turns = group_turns(run, spans, started[run], tree)
        complete_histories(turns)
        add_logged_arguments(turns, tree)
        for turn in turns:
            if turn.agents:
                turn.started_by = _started_by(turn, tree, ownership)
    place = {run: at for turns in grouped.values() for at, turn in enumerate(turns) for run in turn.agents}
    found: dict[str, RunSpans] = {}
    for run, turns in grouped.items():
        known = tree.spans.get(run)
        holds = known is not None and (known.kind is Kind.AGENT or bool(ownership.inferred.get(run)))
        span = known if holds else None  # else it only holds the run
        goal, above = goal_from_span(span), ownership.runs[run]
        found[run] = _make(
            id=run,
            above=above if above in found else "",
            name=name_of(run, span, goal, turns, found, tree, ownership),
            span=span,
            goal=goal,
            turns=turns,
            asked="" if goal or run in ownership.inferred else _asked(run, tree, ownership),
            parent_turn=place.get(run),
            last_span=ownership.segments.get(run, [span])[-1],
            status=_status(run, span, turns, tree, ownership),
            inferred=run in ownership.inferred,
            beside=run in ownership.beside,
        )
    return list(found.values())


def _started(
    tree: SpanTree, ownership: Ownership, own: Mapping[str, Sequence[NormalizedSpan]]
) -> dict[str, list[SubRunStart]]:
    """Run id to the runs right below it."""
    started: dict[str, list[SubRunStart]] = {run: [] for run in ownership.runs}
    for run, above in ownership.runs.items():
        span = tree.spans.get(run) or min(own[run], key=time_key, default=None)
        if above and span is not None:
            start = ownership.starts.get(run)
            started[above].append(SubRunStart(run, span, start.llm_span_id if start else ""))
    return started


def _started_by(spans: TurnSpans, tree: SpanTree, ownership: Ownership) -> dict[str, str]:
    """TOOL span id, or the request's call id, to the run that it started."""
    calls = {c.raw.span_id for c in spans.calls}
    found: dict[str, str] = {}
    for run in spans.agents:
        if start := ownership.starts.get(run):
            if start.call_id or not is_called_handoff(start.name):  # else that call's name tells it (calls.py)
                found.setdefault(start.call_id, run)
            continue
        if run in calls:
            found.setdefault(run, run)
            continue
        for ancestor in islice(tree.ancestors(run), _REACH):
            if ancestor in calls:
                found.setdefault(ancestor, run)
            if ancestor in calls or ancestor == ownership.runs[run]:
                break
    return found


def _asked(run: str, tree: SpanTree, ownership: Ownership) -> str:
    """The task as the nearest call around the run that reaches another agent says it: some tell it nowhere else."""
    above = ownership.runs[run]
    around = (tree.spans.get(span_id) for span_id in (run, *islice(tree.ancestors(run), _REACH)))
    tools = (s for s in around if s is not None and s.kind is Kind.TOOL)
    own = (s for s in tools if run == s.span_id or ownership.owner[s.span_id] == above)
    return next((goal_from_request(s) for s in own if delegates(s.tool_name, s.tool_arguments)), "")


def _status(
    run: str, span: NormalizedSpan | None, turns: Sequence[TurnSpans], tree: SpanTree, ownership: Ownership
) -> str:
    """Of its own spans, else of the tool that the run worked for."""
    own = span or tree.spans.get(run)
    if own is None:
        return "unfinished"
    if span is None and (own.kind is Kind.LLM or run in ownership.inferred):
        # Calls with no span around them that is theirs alone end as the last one did.
        own = next((t.llm for t in reversed(turns) if t.llm is not None and not t.inner), own)
    twin = ownership.twins.get(own.raw.span_id)
    spans = [own, *ownership.segments.get(run, ())]
    if spans[-1].raw.pending:
        return "unfinished"
    return "error" if any(s.is_error for s in spans) or (twin is not None and twin.is_error) else "ok"


def complete_histories(turns: Iterable[TurnSpans]) -> None:
    """Give each call of a run (in order of time) what its span lost of its input, where the call before has it."""
    before: NormalizedSpan | None = None
    for turn in turns:
        llm = turn.llm
        if llm is None or turn.inner:
            continue
        if llm.oldest_missing and before is not None:
            llm = turn.llm = _completed(llm, before.input_messages + before.output_messages)
        elif llm.continues_input and before is not None:
            llm = turn.llm = _continued(llm, (*before.input_messages, *before.output_messages))
        before = llm


def _continued(llm: NormalizedSpan, before: Sequence[Message]) -> NormalizedSpan:
    """The call with all that was sent: what is new may begin with the reply before it, and repeat the instructions."""
    new = [m for m in llm.input_messages if m.role not in ("system", "developer") or m not in before]
    if new and before and _same(new[0], before[-1]):
        new = new[1:]
    return replace(llm, input_messages=(*before, *new))


def _completed(llm: NormalizedSpan, before: Sequence[Message]) -> NormalizedSpan:
    """The first message that is left may itself have lost a part, so it is the second that is looked for."""
    left = llm.input_messages
    for skipped in (0, 1):
        if len(left) <= skipped:
            break
        at = _place(left[skipped], before)
        if at >= skipped:
            return replace(llm, input_messages=(*before[:at], *left[skipped:]))
    return llm


def _place(message: Message, history: Sequence[Message]) -> int:
    """Last index of `message` in `history`, -1 for none, or if it is too short to be identified."""
    if len(message.text) < _LEAST_TEXT and not message.tool_requests:
        return -1
    alike = (i for i in range(len(history) - 1, -1, -1) if _same(history[i], message))
    return next(alike, -1)


def _same(one: Message, other: Message) -> bool:
    ids = [r.call_id for r in one.tool_requests] == [r.call_id for r in other.tool_requests]
    return one.role == other.role and one.text == other.text and one.tool_call_id == other.tool_call_id and ids


def add_logged_arguments(turns: Sequence[TurnSpans], tree: SpanTree) -> None:
    """Give tool spans of a run (turns in order of time) the arguments that lines around them tell.

    Only where as many lines name a tool as it has spans there: else it is not known which call a line is of.
    """
    lacking: defaultdict[tuple[str, str], list[tuple[TurnSpans, int]]] = defaultdict(list)
    for turn in turns:
        for at, call in enumerate(turn.calls):
            if call.tool_arguments is None and (source := _logging_span(call, tree)):
                lacking[source, call.tool_name].append((turn, at))
    for (source, name), places in lacking.items():
        found = list(_arguments_in(tree.spans[source], name))
        if len(found) == len(places):
            for (turn, at), arguments in zip(places, found, strict=True):
                turn.calls[at] = replace(turn.calls[at], tool_arguments=arguments)


def _logging_span(call: NormalizedSpan, tree: SpanTree) -> str:
    """The nearest span, from the tool's own to its agent's, whose log lines tell arguments of that tool."""
    for span_id in (call.raw.span_id, *islice(tree.ancestors(call.raw.span_id), _DEEPEST)):
        span = tree.spans[span_id]
        if span.log_text and next(_arguments_in(span, call.tool_name), None) is not None:
            return span_id
        if span.kind is Kind.AGENT:
            break
    return ""


def _arguments_in(span: NormalizedSpan, tool: str) -> Iterator[Mapping[str, Any]]:
    for line in span.log_text:
        found = _LINE.fullmatch(line)
        if found and tool in _WORD.findall(found[1]) and (arguments := parse_object(found[2])) is not None:
            yield arguments
