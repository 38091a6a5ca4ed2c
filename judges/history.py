"""What a run had been told when it began: the conversation that its first call was sent.

What was observed belongs to the conversation: a result that stands in the call's own input counts as seen, whichever
run, trace or earlier turn of the user obtained it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tracejury.schemas.normalized import Message
from tracejury.schemas.trajectory import AgentRun

from .failure_text import reported_failure

_RESULTS: Final = frozenset({"tool", "tool-response", "function"})


def opening_messages(run: AgentRun) -> tuple[Message, ...]:
    """The messages that the run's first LLM call was sent."""
    return next((t.new_messages for t in run.turns if t.llm is not None), ())


Told = tuple[tuple[str, bool], ...] | None
"""Texts that a run had been told, each with whether it informs where no run of the trace said it; None: one does."""


def told_before(run: AgentRun) -> Told:
    """The texts of a run's first call's input; None where one of them is data that a call obtained."""
    told = [(message, text) for message in opening_messages(run) if (text := message.text.strip())]
    if any(message.role in _RESULTS and reported_failure(text) is None for message, text in told):
        return None
    return tuple((text, message.role == "assistant") for message, text in told if message.role not in _RESULTS)


def informed(told: Told, obtained: Mapping[str, bool]) -> bool:
    """Whether data that was observed before a run stands in what it was told (see `told_before`).

    `obtained`: texts of the trace's other runs, and whether the run that said it had obtained data. An answer from
    before that no run of the trace gave has a history that nobody can see here, so it counts as observed.
    """
    return told is None or any(obtained.get(text, default) for text, default in told)
