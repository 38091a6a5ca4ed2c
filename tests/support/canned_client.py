"""A language model that answers by a function of the prompt and remembers what it was asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tracejury.judges.llm.client import Prompt, Reply
from tracejury.schemas.errors import TracejuryError


@dataclass(slots=True)
class CannedClient:
    """`answer` gives the text of the reply, or the error to raise."""

    answer: Callable[[Prompt], str | TracejuryError]
    model: str = "canned"
    asked: list[Prompt] = field(default_factory=list)

    async def complete(self, prompt: Prompt) -> Reply:
        """The function's answer, with its lengths as token counts."""
        self.asked.append(prompt)
        said = self.answer(prompt)
        if isinstance(said, TracejuryError):
            raise said
        return Reply(said, self.model, input_tokens=prompt.characters, output_tokens=len(said), cost=0.5)
