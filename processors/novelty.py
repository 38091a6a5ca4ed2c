"""Which messages of a call its run has not been sent before: frameworks send the whole history with every call."""

from __future__ import annotations

from collections import Counter

from ..schemas.normalized import Message, NormalizedSpan

_Key = tuple[str, str, str, tuple[tuple[str, str], ...]]


class Novelty:
    """Remembers what one run's calls have been sent and have written, call by call."""

    def __init__(self) -> None:
        self._known: Counter[_Key] = Counter()

    def new_messages(self, llm: NormalizedSpan) -> tuple[Message, ...]:
        """The input messages of `llm` that are new; a message sent twice is known only as often as it was."""
        sent: Counter[_Key] = Counter()
        new = []
        for message in llm.input_messages:
            key = _key(message)
            sent[key] += 1
            if sent[key] > self._known[key]:
                new.append(message)
        for key, times in sent.items():
            self._known[key] = max(self._known[key], times)
        self._known.update(_key(m) for m in llm.output_messages)
        return tuple(new)


def _key(message: Message) -> _Key:
    requests = tuple((r.call_id, r.name) for r in message.tool_requests)
    return (message.role, message.text, message.tool_call_id, requests)
