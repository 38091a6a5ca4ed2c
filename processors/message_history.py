"""The oldest messages of a call, which a limit on attributes dropped, as the run's call before was sent them.

Frameworks send the whole history with every call, and limits drop the oldest attributes first; so what is missing at
the beginning stands in the call before, up to the message with which this one goes on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from tracejury.schemas.normalized import Message, NormalizedSpan

from .run_spans import TurnSpans

_LEAST_TEXT: Final = 4  # characters of a message by which two histories are laid side by side


def complete_histories(turns: Iterable[TurnSpans]) -> None:
    """Give each call of a run (in order of time) what its span lost of its input, where the call before has it."""
    before: NormalizedSpan | None = None
    for turn in turns:
        llm = turn.llm
        if llm is None or turn.inner:
            continue
        if llm.oldest_missing and before is not None:
            llm = turn.llm = _completed(llm, before.input_messages + before.output_messages)
        before = llm


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
