"""A scripted model that writes and checks simulated users."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from tracejury.judges.llm.client import Prompt
from tracejury.judges.packs.cards.user_turns import Behaviour
from tracejury.judges.packs.rut.users.answers import Material
from tracejury.judges.packs.rut.users.prompt_text import BEHAVIOURS

CARD = {
    "id": "refund-7",
    "instruction": "The customer wants order A-1042 refunded.",
    "policies": ["Refund by certificate only."],
    "oracle": {
        "steps": [
            {"id": "look", "tool": "get_order", "arguments": {"order_id": "A-1042"}},
            {"id": "pay", "tool": "refund", "arguments": {"order_id": "A-1042", "eur": 20, "note": ""}, "write": True},
        ],
        "order": [["look", "pay"]],
        "forbidden": [{"tool": "delete_account"}],
    },
}
IDEAL = ("I want my money back for order A-1042.",)
PASSED = {"reason": "It holds.", "answer": "pass"}


def text_of(prompt: Prompt) -> str:
    """All that a prompt says after the rules."""
    return "\n".join(message.text for message in prompt.messages[1:])


def checks(**failed: str) -> str:
    """The answer of a checker; `failed`: reasons by check."""
    answers = dict.fromkeys(("intent", "infer", "leak"), PASSED)
    return json.dumps(answers | {name: {"reason": why, "answer": "fail"} for name, why in failed.items()})


def user_of(text: str) -> Behaviour:
    """The user that a question describes."""
    return next((one for one, described in BEHAVIOURS.items() if described in text), Behaviour.IDEAL)


def sound(schema: Mapping[str, Any], text: str) -> str:
    """What a model answers that does as it is told."""
    if "turns" in schema["properties"]:
        (count,) = re.findall(r"a list of exactly (\d+) text", text)
        said = [f"{user_of(text)} {number}: my money for order A-1042!" for number in range(1, int(count) + 1)]
        return json.dumps({"turns": said})
    if "intent" in schema["properties"]:
        return checks()
    return json.dumps({kind: [f"Some {kind}.", "Some more."] for kind in Material.model_fields})


def scripted(change: Callable[[Prompt, Behaviour], str | None]) -> Callable[[Prompt], str]:
    """A sound model, but for the prompts for which `change` has another answer."""

    def play(prompt: Prompt) -> str:
        text = text_of(prompt)
        return change(prompt, user_of(text)) or sound(prompt.schema, text)

    return play
