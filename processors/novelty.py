"""New messages of a call: frameworks send the whole history with every call."""

from __future__ import annotations

from collections.abc import Sequence

from tracejury.schemas.normalized import Message, NormalizedSpan

MessageKey = tuple[str, int, int, str, tuple[tuple[str, str], ...]]


class Novelty:
    """Remembers what one run's calls have been sent and have written, call by call."""

    def __init__(self) -> None:
        self._known: dict[MessageKey, int] = {}
        self._first: NormalizedSpan | None = None
        self._before: tuple[Message, ...] = ()
        self._sent: dict[MessageKey, int] = {}
        self._calls: list[tuple[NormalizedSpan | None, bool]] = []
        self._new: list[tuple[Message, ...]] = []

    @property
    def calls(self) -> int:
        """How many it knows."""
        return len(self._calls)

    def is_continued_by(self, calls: Sequence[tuple[NormalizedSpan | None, bool]]) -> bool:
        """Whether these calls are those of the last time, perhaps with further ones."""
        return calls[: len(self._calls)] == self._calls

    def of_calls(self, calls: Sequence[tuple[NormalizedSpan | None, bool]]) -> list[tuple[Message, ...]]:
        """What is new in each call of a run, given with whether it is an inner one; of known ones it is known."""
        self._new += [self.of_turn(llm, inner=inner) for llm, inner in calls[len(self._calls) :]]
        self._calls = list(calls)
        return self._new

    def of_turn(self, llm: NormalizedSpan | None, *, inner: bool) -> tuple[Message, ...]:
        """The input messages of the turn's call that are new; a message sent twice is known only as often as it was.

        An `inner` call (a tool's own) has a conversation of its own: all of it is new, and the run is told nothing.
        """
        if llm is None or inner:
            return llm.input_messages if llm else ()
        if self._first is None:
            self._first = llm  # many runs have no other call, so it is read for the second one
            return llm.input_messages
        if not self._known:
            self._read(self._first)
        return self._read(llm)

    def _read(self, llm: NormalizedSpan) -> tuple[Message, ...]:
        """The messages of a call that are new; from then on they are known, and so is what it wrote."""
        known, before, self._before = self._known, self._before, llm.input_messages
        if llm.input_messages[: len(before)] != before:
            before, self._sent = (), {}
        sent, new = self._sent, []
        for message in llm.input_messages[len(before) :]:  # most calls are sent what the one before was, and more
            key = message_key(message)
            sent[key] = times = sent.get(key, 0) + 1
            if times > known.get(key, 0):
                known[key] = times
                new.append(message)
        for message in llm.output_messages:
            key = message_key(message)
            known[key] = known.get(key, 0) + 1
        return tuple(new)


def message_key(message: Message) -> MessageKey:
    """The identity of a message among those of a run or session.

    The text goes in as its hash, which a string keeps: comparing histories byte by byte costs more than the rest.
    """
    requests = tuple((r.call_id, r.name) for r in message.tool_requests) if message.tool_requests else ()
    return (message.role, hash(message.text), len(message.text), message.tool_call_id, requests)
