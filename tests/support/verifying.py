"""Scripts of judges whose findings are verified: prompts are told apart by their purpose."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from check_replies import reply

from tracejury.judges.llm.client import Prompt
from tracejury.judges.reviews.verify import PURPOSE

STANDS = {"answer": "stands", "reason": "S1 says so."}
REFUTED = {"answer": "refuted", "reason": "S1 counts what it was asked to count."}
CANNOT_TELL = {"answer": "cannot-tell", "reason": "The yard is not shown."}


def is_verification(prompt: Prompt) -> bool:
    return prompt.purpose == PURPOSE


def verifying(prompt: Prompt, *said: Mapping[str, Any]) -> str:
    """The verifier's reply: one of `said` for each item in order, the last for all further ones."""
    return reply(prompt, {number: said[min(number, len(said)) - 1] for number in range(1, 100)})


def judges_and_verifier(judge: Callable[[Prompt], str], *said: Mapping[str, Any]) -> Callable[[Prompt], str]:
    """One model that plays both."""
    return lambda prompt: verifying(prompt, *said) if is_verification(prompt) else judge(prompt)
