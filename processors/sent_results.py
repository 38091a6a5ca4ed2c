"""Results that a run's later calls were sent, found for the requests that they answer.

By call id, else by the tool's name, else by order, as the spans of calls are (matching.py): Gemini and local models
give calls no ids, and some clients number the calls of each reply anew. A result without an id answers what the model
asked for last. One that may answer several requests answers none.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from tracejury.schemas.normalized import Message, ToolRequest

from .failures import failure_in
from .names import same_name
from .run_spans import TurnSpans

_ROLES: Final = frozenset({"tool", "function"})  # OpenAI's older API: "function", before there were ids
_RETOLD: Final = _ROLES | {"tool-response"}
_MOST: Final = 512  # requests or results of a turn beyond which only ids count


@dataclass(frozen=True, slots=True)
class SentResults:
    """Results as the model was sent them: by call id, and those of one turn by the request's position."""

    by_id: Mapping[str, Message] = field(default_factory=dict)
    by_request: Mapping[int, Message] = field(default_factory=dict)

    def of(self, call_id: str, position: int = -1) -> Message | None:
        """The result of the request at `position` (negative: nobody asked), else of the call with that id."""
        found = self.by_request.get(position)
        return self.by_id.get(call_id) if found is None and call_id else found


def failure_of(result: Message) -> str:
    """The failure that a result tells of, "" for none: its dialect has a mark for it, else how its text begins."""
    return (result.text or "error") if result.failed else failure_in(result.text)


def sent_results(
    turns: Sequence[TurnSpans], new: Sequence[Sequence[Message]], *, shows_tools: bool = True
) -> list[SentResults]:
    """The results of each turn's calls; `new`: the new messages of each turn (novelty.py).

    Where no tool has a span (`shows_tools`), what smolagents retells in a message of its own role is one, too.
    """
    roles = _ROLES if shows_tools else _RETOLD
    # The results of tools that the provider ran stand in the reply itself.
    results = [m for t in turns if t.llm for m in t.llm.output_messages if m.tool_call_id and m.role in roles]
    results += (m for messages in new for m in messages if m.tool_call_id or m.role in roles)
    by_id = {m.tool_call_id: m for m in results if m.tool_call_id}
    asked = {r.call_id for turn in turns for r in _requests(turn)} if results else set()
    if len(by_id) == len(results) and by_id.keys() <= asked:  # as nearly always
        return [SentResults(by_id)] * len(turns)
    known = asked.union(call.tool_call_id for turn in turns for call in turn.calls) - {""}
    answers: list[list[Message]] = [[] for _ in turns]
    last = -1  # the turn that asked last
    for at, turn in enumerate(turns):
        if turn.inner or turn.llm is None:
            continue
        answered = last
        for message in new[at]:
            if message.tool_requests:  # of a reply without a span, unless it is the last one in other words
                answered = last if _names(message.tool_requests) == _names(_requests(turns[last])) else -1
            elif answered >= 0 and (message.tool_call_id or message.role in roles):
                answers[answered].append(message)
        last = at if turn.llm.tool_requests else last
    return [
        SentResults(by_id, _by_request(_requests(turn), found, by_id, known)) if found else SentResults(by_id)
        for turn, found in zip(turns, answers, strict=True)
    ]


def _requests(turn: TurnSpans) -> Sequence[ToolRequest]:
    return turn.llm.tool_requests if turn.llm is not None else ()


def _names(requests: Sequence[ToolRequest]) -> list[str]:
    return [request.name for request in requests]


def _by_request(
    requests: Sequence[ToolRequest], answers: Sequence[Message], by_id: Collection[str], known: Collection[str]
) -> dict[int, Message]:
    found: dict[int, Message] = {}
    if max(len(requests), len(answers)) > _MOST:
        return found
    loose: list[Message] = []
    for message in answers:
        same = (i for i, r in enumerate(requests) if r.call_id == message.tool_call_id and i not in found)
        if message.tool_call_id not in known:
            loose.append(message)
        elif (at := next(same, -1)) >= 0:
            found[at] = message
    waiting = [i for i, r in enumerate(requests) if i not in found and r.call_id not in by_id]
    nameless: list[Message] = []
    for message in loose:
        free = [i for i in waiting if not (message.tool_call_id and requests[i].call_id)]  # else the ids differ
        named = (i for i in free if same_name(requests[i].name, message.name))
        if not message.name:
            nameless.append(message)
        elif (at := next(named, -1)) >= 0:
            found[at] = message
            waiting.remove(at)
    in_order = list(zip(waiting, nameless, strict=False))
    if len(nameless) == len(waiting) and not any(m.tool_call_id and requests[i].call_id for i, m in in_order):
        found.update(in_order)
    return found
