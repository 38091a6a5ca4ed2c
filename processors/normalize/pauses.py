"""Exceptions by which a program pauses for a person's answer, hands over, or stops listening: no failures.

Frameworks raise them through the spans that are open, which record them as errors. Sources: LangGraph's `errors.py`,
Pydantic AI's `exceptions.py`, Strands' `InterruptException`, and Python's own of generators.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from tracejury.schemas.normalized import ExceptionInfo

_READ: Final = 80
_PAUSES: Final = re.compile(
    r"\b(?:\w+\.){0,8}(?:GraphInterrupt|NodeInterrupt|GraphBubbleUp|ParentCommand|InterruptException|ApprovalRequired"
    r"|CallDeferred|GeneratorExit|StopAsyncIteration|HandoffException)\b"
)


def is_pause(exceptions: Sequence[ExceptionInfo], message: str) -> bool:
    """Whether the last exception of a failed span, or the beginning of its status message, names such a one."""
    last = exceptions[-1] if exceptions else ExceptionInfo("", "")
    return bool(_PAUSES.match(last.type[-_READ:]) or _PAUSES.match((last.message or message)[:_READ]))
