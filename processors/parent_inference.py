"""Inferring the parents of runs below a missing span: the run that they belong to, or that started them.

While a step or an agent is still running (or its span was lost), its LLM and TOOL spans name a parent that nobody
knows. What such a call was sent tells more: the replies and requests of earlier calls of the same run stand in it, and
a sub-agent's task stands in the arguments of the request that started it.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import islice
from typing import Any, Final

from ..schemas.normalized import Kind, Message, NormalizedSpan, ToolRequest
from .code import caller_with
from .delegation import addressee, delegates, is_handoff
from .span_tree import SpanTree, time_key

_LEAST_REPLY: Final = 16  # characters; shorter replies ("ok") identify nothing
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
    tree: SpanTree, owner: Mapping[str, str], runs: Mapping[str, str], unknown: Iterable[str] | None = None
) -> InferredParents:
    """Infer the parents of runs under a missing parent.

    `owner`: span to run; `runs`: run to the run above ("" for none).

    `unknown`: the runs whose parents are inferred, if not those.
    """
    if unknown is None:
        unknown = (run for run in runs if run not in tree.spans or (run in tree.orphans and not runs[run]))
    unknown = set(unknown)
    if not unknown:
        return InferredParents()
    history = _History(tree, runs)
    work = sorted((s for s in tree.order if s.kind in (Kind.LLM, Kind.TOOL) and owner[s.raw.span_id]), key=time_key)
    for span in work:
        run = owner[span.raw.span_id]
        if run in unknown and (span.kind is Kind.TOOL or span.input_messages):
            unknown.discard(run)
            history.place(span, run)
        if not unknown:
            break
        history.add(span, history.found.adopted.get(run, run))
    return history.found


@dataclass(slots=True)
class _History:
    """Requests and replies of the calls so far, by run."""

    tree: SpanTree
    runs: Mapping[str, str]
    found: InferredParents = field(default_factory=InferredParents)
    asked: dict[str, str] = field(default_factory=dict)
    handed: dict[str, RunStart] = field(default_factory=dict)
    hinted: dict[str, str] = field(default_factory=dict)
    said: dict[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    prompts: dict[str, set[str]] = field(default_factory=dict)
    replies: deque[tuple[str, RunStart]] = field(default_factory=lambda: deque(maxlen=_RECENT_REPLIES))
    requests: deque[tuple[ToolRequest, RunStart]] = field(default_factory=lambda: deque(maxlen=_RECENT_REQUESTS))

    def add(self, span: NormalizedSpan, run: str) -> None:
        """Remember what a call of `run` said and asked for."""
        if span.run_hint:
            self.hinted.setdefault(span.run_hint, run)
        if span.kind is not Kind.LLM:
            return
        self.names[run] = self.names.get(run) or span.agent_name
        self.prompts.setdefault(run, set()).update(_system(span))
        for request in span.tool_requests:
            start = RunStart(run, span.raw.span_id, request.call_id, request.name)
            if request.call_id:
                self.asked[request.call_id] = run
                if is_handoff(request.name, request.arguments):
                    self.handed[request.call_id] = start
            self.requests.append((request, start))
        for message in span.output_messages:
            if len(message.text) >= _LEAST_REPLY:
                self.said[message.text] = run
                self.replies.append((message.text.strip(), RunStart(run, span.raw.span_id, "", "")))

    def place(self, span: NormalizedSpan, own: str) -> None:
        """Infer the parent of run `own`, whose first span is `span`."""
        run = self.hinted.get(span.run_hint, "") if span.run_hint else ""
        if not run:
            run = self.asked.get(span.tool_call_id, "") if span.kind is Kind.TOOL else self._continued(span)
        if own not in self.tree.spans and run and self._goes_on(run, span) and not self._is_below(run, own):
            self.found.adopted[own] = run
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
                return self.handed.get(call_id)
        return None

    def _continued(self, span: NormalizedSpan) -> str:
        for message in reversed(span.input_messages):
            run = self.asked.get(message.tool_call_id) or self.said.get(message.text)
            run = run or next((found for r in message.tool_requests if (found := self.asked.get(r.call_id))), None)
            run = run or self._quoted_request(message)
            if run:
                return run
        for text, start in reversed(self.replies):
            if len(text) >= _LEAST_QUOTED and any(text in message.text for message in span.input_messages):
                return start.run
        return ""

    def _quoted_request(self, message: Message) -> str:
        """The run whose request's id the text holds: smolagents writes earlier calls into messages so."""
        if message.role != "tool-call":
            return ""
        ids = ((start.call_id, start.run) for _, start in self.requests if len(start.call_id) >= _LEAST_ID)
        return next((run for call_id, run in ids if call_id in message.text), "")

    def _started(self, task: str, own: str) -> RunStart | None:
        taken = {s.call_id for s in self.found.started.values() if s.call_id}
        for request, start in reversed(self.requests):
            if (
                start.run != own
                and start.call_id not in taken
                and any(text in task for text in _task_texts(request.arguments))
            ):
                delegated = delegates(request.name, request.arguments)
                return replace(start, to=addressee(request.name, request.arguments)) if delegated else start
        for reply, start in reversed(self.replies):
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
        if run not in self.prompts or span.kind is not Kind.LLM:
            return run in self.prompts
        name, prompts, own = self.names[run], self.prompts[run], _system(span)
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
