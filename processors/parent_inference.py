"""Inferring the parents of runs below a missing span: the run that they belong to, or that started them.

While a step or an agent is still running (or its span was lost), its LLM and TOOL spans name a parent that nobody
knows. What such a call was sent tells more: the replies and requests of earlier calls of the same run stand in it, and
a sub-agent's task stands in the arguments of the request that started it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import islice
from typing import Any, Final

from tracejury.schemas.normalized import Kind, Message, NormalizedSpan, ToolRequest

from .code import caller_with
from .delegation import addressee, delegates
from .leaves import Leaf
from .span_index import SpanIndex
from .span_tree import SpanTree, TimeKey, time_key

_LEAST_ID: Final = 12
_LEAST_QUOTED: Final = 80  # a reply quoted inside another message
_LONGEST_REPLY: Final = 20_000
_MOST_LITERALS: Final = 32
_LEAST_TASK: Final = 16
_LONGEST_TASK: Final = 200  # of a task are compared
_RECENT_REPLIES: Final = 4
_RECENT_REQUESTS: Final = 16
_LITERAL: Final = re.compile(r"""["']([^"'\\\n]{24,200})""")
"""The beginning of a string in the code that a code agent writes."""

_Entry = tuple[Any, ...]  # of a CallLog


@dataclass(frozen=True, slots=True)
class RunStart:
    """The start of a run: the parent run, its LLM call, call id and tool name; `to`: the agent it names."""

    run: str
    llm_span_id: str
    call_id: str
    name: str
    to: str = ""


@dataclass(slots=True)
class InferredParents:
    """`adopted`: id of a run to the id of the run that it is a part of. `started`: id of a run to its start."""

    adopted: dict[str, str] = field(default_factory=dict)
    started: dict[str, RunStart] = field(default_factory=dict)


def infer_parents(
    index: SpanIndex, tree: SpanTree, owner: Mapping[str, str], runs: Mapping[str, str], unknown: Iterable[str]
) -> InferredParents:
    """Infer the parents of `unknown` runs, each from what calls had said and asked for before its first span.

    `owner`: span of the tree to run; `runs`: run to the run above ("" for none).
    """
    unknown = set(unknown)
    if not unknown:
        return InferredParents()
    history = _History(index, tree, owner, runs)
    for key, span, run in _firsts(index, tree, owner, unknown):
        history.place(span, run, key)
    return history.found


def without_parents(tree: SpanTree, runs: Mapping[str, str]) -> list[str]:
    """The runs below a missing span."""
    return [run for run in runs if run not in tree.spans or (run in tree.orphans and not runs[run])]


def _firsts(
    index: SpanIndex, tree: SpanTree, owner: Mapping[str, str], unknown: set[str]
) -> list[tuple[TimeKey, NormalizedSpan, str]]:
    """The first span of each run that may tell where it belongs, in order of time."""
    firsts: dict[str, tuple[TimeKey, NormalizedSpan, str]] = {}
    for span in tree.order:
        run = owner[span.raw.span_id]
        if run not in unknown:
            continue
        for own in (span, _first(index.leaves.groups.get(span.raw.span_id, ()))):
            if own is not None and _tells(own):
                first = (time_key(own), own, run)
                firsts[run] = min(first, firsts.get(run, first), key=lambda one: one[0])
    return sorted(firsts.values(), key=lambda one: one[0])


def _first(leaves: Sequence[Leaf]) -> NormalizedSpan | None:
    """The first of a group that tells; calls begin no earlier than the step around them."""
    found: tuple[TimeKey, NormalizedSpan] | None = None
    for at, span in leaves:
        if found is not None and found[0][0] < at[0]:
            break
        if _tells(span) and (found is None or time_key(span) < found[0]):
            found = time_key(span), span
    return found[1] if found is not None else None


def _tells(span: NormalizedSpan) -> bool:
    return span.kind is Kind.TOOL or (span.kind is Kind.LLM and bool(span.input_messages))


@dataclass(slots=True)
class _History:
    """Requests and replies of the calls before a span, by run."""

    index: SpanIndex
    tree: SpanTree
    owner: Mapping[str, str]
    runs: Mapping[str, str]
    found: InferredParents = field(default_factory=InferredParents)
    placed: dict[str, TimeKey] = field(default_factory=dict)  # adopted runs, from when on their calls are the other's
    before: TimeKey = (0, 0, "")

    def _run(self, span: NormalizedSpan, at: TimeKey) -> str:
        """The run that the span belongs to, "" for none, or where the span's place shows that it is no call."""
        span_id = span.raw.span_id
        known = self.tree.spans.get(span_id)
        if known is None:
            run = self.owner[self.index.leaves.holder[span_id]]
        else:
            run = self.owner[span_id] if known.kind is span.kind else ""
        return self.found.adopted[run] if run in self.placed and self.placed[run] <= at else run

    def _earlier(self, entries: Sequence[_Entry]) -> Iterator[tuple[_Entry, str]]:
        """The entries before the span in question and their runs, the latest first."""
        for at in range(bisect_left(entries, (self.before,)) - 1, -1, -1):
            entry = entries[at]
            if run := self._run(entry[2], entry[0]):
                yield entry, run

    def _latest(self, entries: Sequence[_Entry]) -> str:
        return next((run for _, run in self._earlier(entries)), "")

    def _recent(self, entries: Sequence[_Entry], most: int) -> Iterator[tuple[Any, RunStart]]:
        """The latest requests or replies, and their calls as a start."""
        for (*_, span, said), run in islice(self._earlier(entries), most):
            asked = (said.call_id, said.name) if isinstance(said, ToolRequest) else ("", "")
            yield said, RunStart(run, span.raw.span_id, *asked)

    @property
    def _replies(self) -> Iterator[tuple[str, RunStart]]:
        return self._recent(self.index.log.replies, _RECENT_REPLIES)

    @property
    def _requests(self) -> Iterator[tuple[ToolRequest, RunStart]]:
        return self._recent(self.index.log.requests, _RECENT_REQUESTS)

    def _asked(self, call_id: str) -> str:
        return self._latest(self.index.log.asked.get(call_id, ()))

    def _said(self, text: str) -> str:
        return self._latest(self.index.log.said.get(text, ()))

    def _hinted(self, hint: str) -> str:
        found = list(self._earlier(self.index.log.hinted.get(hint, ()))) if hint else []
        return found[-1][1] if found else ""

    def place(self, span: NormalizedSpan, own: str, at: TimeKey) -> None:
        """Infer the parent of run `own`, whose first span is `span`."""
        self.before = at
        run = self._hinted(span.run_hint)
        if not run:
            run = self._asked(span.tool_call_id) if span.kind is Kind.TOOL else self._continued(span)
        if own not in self.tree.spans and run and self._goes_on(run, span) and not self._is_below(run, own):
            self.found.adopted[own], self.placed[own] = run, at
            return
        alone = own not in self.tree.spans and not self.runs.get(own)
        if alone and (handed := self._handed_over(span)) and not self._is_below(handed.run, own):
            self.found.started[own] = handed
            return
        task = next((m.text for m in reversed(span.input_messages) if m.role == "user"), "")
        start = self._started(task, own) if len(task) >= _LEAST_TASK else None
        if start and not self.runs.get(own) and not self._is_below(start.run, own):
            self.found.started[own] = start

    def _handed_over(self, span: NormalizedSpan) -> RunStart | None:
        """The hand-off with which the history ends that a call was sent."""
        for message in reversed(span.input_messages):
            call_id = message.tool_call_id or next((r.call_id for r in message.tool_requests if r.call_id), "")
            if call_id:
                entries = self.index.log.handed.get(call_id, ())
                return next((start for _, start in self._recent(entries, 1)), None)
        return None

    def _continued(self, span: NormalizedSpan) -> str:
        for message in reversed(span.input_messages):
            run = self._asked(message.tool_call_id) or self._said(message.text)
            run = run or next((found for r in message.tool_requests if (found := self._asked(r.call_id))), "")
            run = run or self._quoted_request(message)
            if run:
                return run
        for text, start in self._replies:
            if len(text) >= _LEAST_QUOTED and any(text in message.text for message in span.input_messages):
                return start.run
        return ""

    def _quoted_request(self, message: Message) -> str:
        """The run whose request's id the text holds: smolagents writes earlier calls into messages so."""
        if message.role != "tool-call":
            return ""
        requests = reversed(list(self._requests))
        ids = ((start.call_id, start.run) for _, start in requests if len(start.call_id) >= _LEAST_ID)
        return next((run for call_id, run in ids if call_id in message.text), "")

    def _started(self, task: str, own: str) -> RunStart | None:
        taken = {s.call_id for s in self.found.started.values() if s.call_id}
        for request, start in self._requests:
            if (
                start.run != own
                and start.call_id not in taken
                and any(text in task for text in _task_texts(request.arguments))
            ):
                delegated = delegates(request.name, request.arguments)
                return replace(start, to=addressee(request.name, request.arguments)) if delegated else start
        for reply, start in self._replies:
            if start.run == own:
                continue
            if name := caller_with(reply, task, _LEAST_TASK):
                return replace(start, name=name)
            if any(literal in task for literal in _literals(reply)):
                return start
        return None

    def _is_below(self, run: str, other: str) -> bool:
        """Whether `run` is `other` or was started by it: no run is a part of its own sub-agent."""
        seen = set()
        while run and run not in seen:
            if run == other:
                return True
            seen.add(run)
            started = self.found.started.get(run)
            run = started.run if started else self.runs.get(run, "")
            run = self.found.adopted.get(run, run)
        return False

    def _goes_on(self, run: str, span: NormalizedSpan) -> bool:
        """The run was not over at that time, and is not another agent that was handed the same history."""
        agent = self.tree.spans.get(run)
        if agent is not None and not agent.raw.pending and not agent.raw.start <= span.raw.start <= agent.raw.end:
            return False
        calls = [call for (*_, call), own in self._earlier(self.index.log.calls) if own == run]
        if not calls or span.kind is not Kind.LLM:
            return bool(calls)
        name = next((call.agent_name for call in reversed(calls) if call.agent_name), "")
        prompts, own = {text for call in calls for text in _system(call)}, _system(span)
        return (not name or span.agent_name in ("", name)) and (not own or not prompts or not prompts.isdisjoint(own))


@lru_cache(maxsize=64)
def _literals(reply: str) -> tuple[str, ...]:
    found = _LITERAL.finditer(reply, 0, _LONGEST_REPLY)
    return tuple(literal[1].strip() for literal in islice(found, _MOST_LITERALS))


def _task_texts(arguments: Any) -> Iterator[str]:
    values = arguments.values() if isinstance(arguments, dict) else (arguments,)
    return (v.strip()[:_LONGEST_TASK] for v in values if isinstance(v, str) and len(v.strip()) >= _LEAST_TASK)


def _system(span: NormalizedSpan) -> list[str]:
    return [m.text for m in span.input_messages[:2] if m.role in ("system", "developer")]
