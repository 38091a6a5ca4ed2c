"""A conversation of judges, played with given replies."""

from __future__ import annotations

from typing import TypeVar

from tracejury.judges.llm.client import Prompt, Reply
from tracejury.judges.llm.conversation import Asking

T = TypeVar("T")


def played(asking: Asking[T], *texts: str) -> tuple[T, list[Prompt]]:
    """What comes of these replies, and the prompts that were sent."""
    left, sent = list(texts), list[Prompt]()
    try:
        prompt = next(asking)
        while True:
            sent.append(prompt)
            prompt = asking.send(Reply(left.pop(0), "m"))
    except StopIteration as end:
        came: T = end.value
        return came, sent
