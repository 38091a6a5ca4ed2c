"""Where no model is named: checks by structure need none."""

from __future__ import annotations

from tracejury.judges.llm.client import Prompt, Reply
from tracejury.schemas.errors import LlmError


class NoModel:
    """Implements `Client`, and what is known of a model: nothing."""

    model = ""
    missing_keys = ""
    max_input_tokens = 128_000

    def count_tokens(self, text: str) -> int:
        """A guess: nobody reads it."""
        return len(text) // 4

    async def complete(self, prompt: Prompt) -> Reply:  # noqa: ARG002  see `Client`
        """See `Client`.

        Raises:
            LlmError: always.
        """
        raise LlmError("no model is named: set judges.model")
