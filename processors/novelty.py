"""New messages of a call: frameworks send the whole history with every call."""

from __future__ import annotations

from collections.abc import Sequence

from tracejury.schemas.normalized import Message

from .run_spans import TurnSpans


def new_messages(turns: Sequence[TurnSpans]) -> list[tuple[Message, ...]]:
    """The input messages of each turn's call that are new; a message sent twice is known only as often as it was.

    An inner call (a tool's own) has a conversation of its own: all of it is new, and the run is told nothing.
    """
    if sum(turn.llm is not None and not turn.inner for turn in turns) < 2:  # noqa: PLR2004 - many runs have no other
        return [turn.llm.input_messages if turn.llm else () for turn in turns]
    known: dict[int, int] = {}  # how often each was sent in one call, or written
    sent: dict[int, int] = {}  # how often each was sent in the call before
    before: tuple[Message, ...] = ()
    found: list[tuple[Message, ...]] = []
    for turn in turns:
        llm = turn.llm
        if llm is None or turn.inner:
            found.append(llm.input_messages if llm else ())
            continue
        if llm.input_messages[: len(before)] != before:
            before, sent = (), {}
        new = []
        for message in llm.input_messages[len(before) :]:  # most calls are sent what the one before was, and more
            key = message_key(message)
            sent[key] = times = sent.get(key, 0) + 1
            if times > known.get(key, 0):
                known[key] = times
                new.append(message)
        for message in llm.output_messages:
            key = message_key(message)
            known[key] = known.get(key, 0) + 1
        before = llm.input_messages
        found.append(tuple(new))
    return found


def message_key(message: Message) -> int:
    """The identity of a message among those of a run or session, within this process.

    A hash, for which a string keeps its own: comparing histories byte by byte costs more than the rest.
    """
    requests = tuple((r.call_id, r.name) for r in message.tool_requests) if message.tool_requests else ()
    return hash((message.role, message.text, message.tool_call_id, requests))
