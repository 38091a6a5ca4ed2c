"""Runs under a missing parent: the run that they belong to, or that started them, is found by what earlier calls say.

While a step or an agent is still running (or its span was lost), its LLM and TOOL spans name a parent that nobody
knows. What such a call was sent tells more: the id of the run, the replies and requests of earlier calls of the same
run stand in it, or a hand-off; and a sub-agent's task stands in the arguments of the request that started it.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import islice
from typing import Any, Final

from tracejury.schemas.normalized import Kind, Message, NormalizedSpan, ToolRequest

from .code import caller_with
from .delegation import addressee, delegates, is_handoff
from .ownership import Ownership, RunStart, is_below
from .span_tree import SpanTree

_LEAST_ID: Final = 12
_LEAST_REPLY: Final = 16  # characters; shorter replies ("ok") identify nothing
_LEAST_QUOTED: Final = 80  # a reply quoted inside another message
_LONGEST_REPLY: Final = 20_000
_MOST_LITERALS: Final = 32
_LEAST_TASK: Final = 16
_LONGEST_TASK: Final = 200  # of a task are compared
_RECENT_REPLIES: Final = 4
_RECENT_REQUESTS: Final = 16
_LITERAL: Final = re.compile(r"""["']([^"'\\\n]{24,200})""")
"""The beginning of a string in the code that a code agent writes."""


def infer_missing_parents(tree: SpanTree, ownership: Ownership) -> Ownership:
    """The same ownership with the runs below a missing span in, or below, those that they belong to."""
    runs = ownership.runs
    without = {run for run in runs if run not in tree.spans or (run in tree.orphans and not runs[run])}
    return infer_parents(tree, ownership, without)


def infer_parents(tree: SpanTree, ownership: Ownership, unknown: Iterable[str]) -> Ownership:
    """The same ownership with the parents of `unknown` runs, each inferred from the calls before its first span."""
    waiting = set(unknown)
    if not waiting:
        return ownership
    history = _History(tree, above=dict(ownership.runs))
    for span in tree.by_time:
        run = ownership.owner[span.raw.span_id]
        if span.kind not in (Kind.LLM, Kind.TOOL) or not run:
            continue
        if run in waiting and (span.kind is Kind.TOOL or span.input_messages):
            waiting.remove(run)
            history.place(span, run)
            if not waiting:
                break
        history.add(span, history.adopted.get(run, run))
    return ownership.related(history.started, history.adopted)


@dataclass(slots=True)
class _Speaker:
    """What the calls of a run so far say of its agent. `name`: the first, `prompts`: all system prompts."""

    name: str = ""
    prompts: set[str] = field(default_factory=set)


@dataclass(slots=True)
class _History:
    """Requests and replies of the calls so far, in order of time.

    `adopted`: id of a run to the run that it is a part of; `started`: id of a run to its start; `above`: run to the one
    that it is below. By call id or text: `asked`, `said` the run that did so last, `handed` the last hand-off; by the
    hint of a run: `hinted` the first run that bears it.
    """

    tree: SpanTree
    above: dict[str, str]
    adopted: dict[str, str] = field(default_factory=dict)
    started: dict[str, RunStart] = field(default_factory=dict)
    speakers: dict[str, _Speaker] = field(default_factory=dict)
    hinted: dict[str, str] = field(default_factory=dict)
    asked: dict[str, str] = field(default_factory=dict)
    said: dict[str, str] = field(default_factory=dict)
    handed: dict[str, RunStart] = field(default_factory=dict)
    requests: deque[tuple[ToolRequest, RunStart]] = field(default_factory=lambda: deque(maxlen=_RECENT_REQUESTS))
    replies: deque[tuple[str, RunStart]] = field(default_factory=lambda: deque(maxlen=_RECENT_REPLIES))

    def add(self, span: NormalizedSpan, run: str) -> None:
        """Enter an LLM or TOOL span of a run."""
        if span.run_hint:
            self.hinted.setdefault(span.run_hint, run)
        if span.kind is not Kind.LLM:
            return
        speaker = self.speakers.setdefault(run, _Speaker())
        speaker.name = speaker.name or span.agent_name
        speaker.prompts.update(_system(span))
        for request in span.tool_requests:
            start = RunStart(run, span.raw.span_id, request.call_id, request.name)
            self.requests.append((request, start))
            if request.call_id:
                self.asked[request.call_id] = run
                if is_handoff(request.name, request.arguments):
                    self.handed[request.call_id] = start
        for message in span.output_messages:
            if len(message.text) >= _LEAST_REPLY:
                self.said[message.text] = run
                self.replies.append((message.text.strip(), RunStart(run, span.raw.span_id, "", "")))

    def place(self, span: NormalizedSpan, own: str) -> None:
        """Infer the parent of run `own`, whose first span is `span`."""
        run = self.hinted.get(span.run_hint, "")
        if not run:
            run = self.asked.get(span.tool_call_id, "") if span.kind is Kind.TOOL else self._continued(span)
        absent, alone = own not in self.tree.spans, not self.above.get(own)
        if absent and run and self._goes_on(run, span) and not is_below(run, own, self.above):
            self.adopted[own] = self.above[own] = run
            return
        start = self._handed_over(span) if absent and alone else None
        if start is None or is_below(start.run, own, self.above):
            task = next((m.text for m in reversed(span.input_messages) if m.role == "user"), "")
            start = self._tasked(task, own) if alone and len(task) >= _LEAST_TASK else None
        if start is not None and not is_below(start.run, own, self.above):
            self.started[own], self.above[own] = start, start.run

    def _continued(self, span: NormalizedSpan) -> str:
        """The run whose requests or replies stand in the history that a call was sent."""
        for message in reversed(span.input_messages):
            run = self.asked.get(message.tool_call_id) or self.said.get(message.text)
            run = run or next((found for r in message.tool_requests if (found := self.asked.get(r.call_id))), "")
            if run or (run := self._quoted_request(message)):
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

    def _goes_on(self, run: str, span: NormalizedSpan) -> bool:
        """The run was not over at that time, and is not another agent that was handed the same history."""
        agent = self.tree.spans.get(run)
        if agent is not None and not agent.raw.pending and not agent.raw.start <= span.raw.start <= agent.raw.end:
            return False
        speaker = self.speakers.get(run)
        if speaker is None or span.kind is not Kind.LLM:
            return speaker is not None
        if speaker.name and span.agent_name not in ("", speaker.name):
            return False
        own = _system(span)
        return not own or not speaker.prompts or not speaker.prompts.isdisjoint(own)

    def _handed_over(self, span: NormalizedSpan) -> RunStart | None:
        """The hand-off with which the history ends that a call was sent."""
        for message in reversed(span.input_messages):
            call_id = message.tool_call_id or next((r.call_id for r in message.tool_requests if r.call_id), "")
            if call_id:
                return self.handed.get(call_id)
        return None

    def _tasked(self, task: str, own: str) -> RunStart | None:
        """The request, or the reply in words or code, that gave a run its task."""
        taken = {s.call_id for s in self.started.values() if s.call_id}
        for request, start in reversed(self.requests):
            if (
                start.run != own
                and start.call_id not in taken
                and any(text in task for text in task_texts(request.arguments))
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


@lru_cache(maxsize=64)
def _literals(reply: str) -> tuple[str, ...]:
    found = _LITERAL.finditer(reply, 0, _LONGEST_REPLY)
    return tuple(literal[1].strip() for literal in islice(found, _MOST_LITERALS))


def task_texts(arguments: Any) -> Iterator[str]:
    """What in the arguments of a request may be a task, cut to what is compared."""
    values = arguments.values() if isinstance(arguments, dict) else (arguments,)
    return (v.strip()[:_LONGEST_TASK] for v in values if isinstance(v, str) and len(v.strip()) >= _LEAST_TASK)


def _system(span: NormalizedSpan) -> list[str]:
    return [m.text for m in span.input_messages[:2] if m.role in ("system", "developer")]
