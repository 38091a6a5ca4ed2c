"""What a run had been told when it began: the conversation that its first call was sent.

What was observed belongs to the conversation: a result that stands in the call's own input counts as seen, whichever
run, trace or earlier turn of the user obtained it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from ..schemas.normalized import Message
from ..schemas.trajectory import AgentRun
from .failure_text import reported_failure

_RESULTS: Final = frozenset({"tool", "tool-response", "function"})


def opening_messages(run: AgentRun) -> tuple[Message, ...]:
    """The messages that the run's first LLM call was sent."""
    return next((t.new_messages for t in run.turns if t.llm is not None), ())


def informed(run: AgentRun, obtained: Mapping[str, bool]) -> bool:
    """Whether data that was observed before a run stands in its first call's input.

    `obtained`: texts of the trace's other runs, and whether the run that said it had obtained data. An answer from
    before that no run of the trace gave has a history that nobody can see here, so it counts as observed.
    """
    return any(_informs(message, obtained) for message in opening_messages(run))


def _informs(message: Message, obtained: Mapping[str, bool]) -> bool:
    text = message.text.strip()
    if not text:
        return False
    if message.role in _RESULTS:
        return reported_failure(text) is None
    return obtained.get(text, message.role == "assistant")


def obtained_texts(runs: Iterable[tuple[AgentRun, bool]]) -> dict[str, bool]:
    """What runs said, and whether one that said it had obtained data."""
    obtained: dict[str, bool] = {}
    for run, succeeded in runs:
        for text in (run.answer.strip(), *(t.text.strip() for t in run.turns)):
            if text:
                obtained[text] = obtained.get(text, False) or succeeded
    return obtained
