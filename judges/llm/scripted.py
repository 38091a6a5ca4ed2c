"""A language model that plays a script: for tests, trials and whatever must run without a key."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from tracejury.schemas.errors import LlmError, TracejuryError

from .client import Prompt, Reply

Line = str | Reply | TracejuryError
"""The scripted answer to one prompt: the text of a reply, all of it, or an error that is raised."""

Script = Callable[[Prompt], Line]

CHARACTERS_PER_TOKEN: Final = 4


@dataclass(slots=True)
class ScriptedClient:
    """Implements `Client`. `script` says what comes back; `prompts` are those it was given, in order.

    Tokens are estimated from lengths, so that spend and limits have something to count.
    """

    script: Script
    model: str = "scripted"
    prompts: list[Prompt] = field(default_factory=list)

    @classmethod
    def playing(cls, lines: Iterable[Line], model: str = "scripted") -> ScriptedClient:
        """Plays `lines` one after another; after the last one there is no reply."""
        left = iter(lines)
        return cls(lambda _: next(left, LlmError("the script has come to its end")), model)

    async def complete(self, prompt: Prompt) -> Reply:
        """The script's reply; an error in it is raised."""
        return self.reply(prompt)

    def reply(self, prompt: Prompt) -> Reply:
        """As `complete`, without an event loop."""
        self.prompts.append(prompt)
        line = self.script(prompt)
        if isinstance(line, TracejuryError):
            raise line
        if isinstance(line, Reply):
            return line
        tokens = prompt.characters // CHARACTERS_PER_TOKEN
        return Reply(line, self.model, tokens, output_tokens=len(line) // CHARACTERS_PER_TOKEN, finish_reason="stop")


def finding(label: str, quote: str, **changes: Any) -> dict[str, Any]:
    """One sound finding of an answer; `changes` are fields of it."""
    return {
        "label": label,
        "quote": quote,
        "dimensions": ["LC"],
        "category": "Tool Output Misinterpretation",
        "severity": "HIGH",
        "why": "The step says what its evidence does not.",
        "title": "Result misread",
        "shown_at": None,
        "also_at": [],
        "material": True,
        "cut": False,
    } | changes


def answer(
    prompt: Prompt,
    findings: Iterable[Mapping[str, Any]] = (),
    scores: Mapping[str, int | None] | None = None,
    **more: Any,
) -> str:
    """A well-formed answer to a prompt: `findings`, and a verdict of each judge that its schema names.

    `scores`: judge to score, 2 where it is not given; `more`: other fields of the answer.
    """
    given = scores or {}
    properties = prompt.schema.get("properties", {})
    judges = properties.get("verdicts", {}).get("items", {}).get("properties", {}).get("judge", {}).get("enum", ())
    scored = [{"judge": j, "reasons": f"What {j} looked at.", "score": given.get(j, 2)} for j in judges]
    labels = runs(prompt)
    verdicts = [{"run": label, **one} for label in labels for one in scored] if labels else scored
    empty: dict[str, Any] = {"findings": [dict(f) for f in findings], "verdicts": verdicts, "summary": None}
    filled = {name: empty.get(name, []) for name in properties} | more
    return json.dumps(filled, ensure_ascii=False)


def runs(prompt: Prompt) -> list[str]:
    """The labels of the runs that a prompt about several shows, none for one about a single run."""
    properties = prompt.schema.get("properties", {}).get("verdicts", {}).get("items", {}).get("properties", {})
    if "run" not in properties:
        return []
    return list(dict.fromkeys(_RUN.findall("".join(message.text for message in prompt.messages[1:]))))


_RUN: Final = re.compile(r"^Run (R\d+) of agent ", re.MULTILINE)
