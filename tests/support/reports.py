"""Detectors' reports about what an agent says, and judges that answer them by a script."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from tracejury.judges.base import Context
from tracejury.judges.llm.client import Prompt
from tracejury.judges.llm.scripted import answer
from tracejury.judges.reviews.candidates import PURPOSE
from tracejury.schemas.findings import Draft
from tracejury.schemas.taxonomy import Dimension, Severity
from tracejury.schemas.trajectory import Trace


@dataclass(frozen=True, slots=True)
class Reporting:
    """A detector with a built-in one's name: each word of `reported` that an LLM call says, with that confidence."""

    reported: Mapping[str, float]
    name: str = "unsupported-detail"
    version: int = 1

    def detect(self, trace: Trace, ctx: Context) -> Iterable[Draft]:  # noqa: ARG002  the protocol's signature
        for run in trace.runs:
            for turn in run.turns:
                for word, confidence in self.reported.items():
                    if turn.llm and word in turn.text:
                        yield Draft(
                            "",
                            turn.llm.span_id,
                            "Language-only",
                            (Dimension.LOGICAL_CONSISTENCY,),
                            Severity.MEDIUM,
                            confidence,
                            word,
                            f"the call says {word}",
                            agent_run_id=run.id,
                            turn=turn.index,
                            title=f"Says {word}",
                        )


def items(prompt: Prompt) -> dict[int, str]:
    """The items of a question by number: their label and text."""
    return items_of(prompt.messages[-1].text)


def items_of(message: str) -> dict[int, str]:
    """The same of the last message."""
    text = message.partition("=== end of items")[0]
    found = re.findall(r"(?m)^(\d+)(?: (\S+))?\n (.*)$", text)
    return {int(number): f"{label} {told}".strip() for number, label, told in found}


def reply(said: Mapping[int, tuple[str, str]]) -> str:
    """An answer to a question about reports: item to (answer, reason)."""
    entries = [
        {"check": "reports", "item": n, "mention": None, "reason": why, "answer": word, "label": None, "quote": None}
        for n, (word, why) in said.items()
    ]
    return json.dumps({"answers": entries, "also": [], "summary": None})


def answering(words: Mapping[str, tuple[str, str]], first: Callable[[Prompt], str] = answer) -> Callable[[Prompt], str]:
    """A script: `first` for all but the question about reports; there (answer, reason) by a word of the item."""

    def script(prompt: Prompt) -> str:
        if prompt.purpose != PURPOSE:
            return first(prompt)
        asked = items(prompt)
        return reply({n: said for n, told in asked.items() for word, said in words.items() if word in told})

    return script
