"""What the judges of a count of hens say, and what became of it."""

from __future__ import annotations

import asyncio
import threading

from judging_bench import TRACE
from llm_bench import LlmBench

from tracejury.judges.llm.client import Prompt, Reply
from tracejury.judges.llm.scripted import answer, finding
from tracejury.schemas.verdicts import Outcome

MANAGER = "0a".rjust(16, "0")


def hens(prompt: Prompt) -> str:
    """Every call finds fault with the count in yard 0, where it is shown."""
    quote = "I count 1 hens in yard 0."
    return answer(prompt, [finding("S1", quote)] if quote in prompt.messages[1].text else [])


def outcomes(llm: LlmBench, trace_id: str = TRACE) -> dict[str, Outcome]:
    """By judge, of the manager's run."""
    return {judge: row.outcome for (subject, judge), row in llm.words(trace_id).items() if subject == MANAGER}


class Held:
    """Holds every call until it is let go; counts those at once."""

    model = "scripted"

    def __init__(self) -> None:
        self.free = threading.Event()
        self.now = self.most = 0

    async def complete(self, prompt: Prompt) -> Reply:
        self.now += 1
        self.most = max(self.most, self.now)
        while not self.free.is_set():  # noqa: ASYNC110  another thread lets it go
            await asyncio.sleep(0.005)
        self.now -= 1
        return Reply(answer(prompt), self.model)
