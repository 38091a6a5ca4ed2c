"""What a fair model would say of the traces of trail_folder, to judges' prompts, the matcher's and the baseline's."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from llm_scripts import Call, Play

from tracejury.judges.llm.client import Prompt, PromptMessage
from tracejury.judges.llm.scripted import answer, finding


def said(prompt: Prompt) -> str:
    """A grounded finding at the answering call (span 5), one without evidence; the matcher pairs by span."""
    text = "\n".join(m.text for m in prompt.messages)
    properties = prompt.schema["properties"]
    if "matches" in properties:
        return json.dumps({"matches": _same_place(prompt.messages[1].text)})
    if "errors" in properties:
        return json.dumps({"errors": [_trail(5), _trail(99)], "scores": {}})
    if "S4 llm" not in text:
        return answer(prompt)
    invented = finding("S2", "a quote that stands nowhere", dimensions=["TC"], category="Formatting Errors")
    return answer(prompt, [finding("S4", "The mean is 42.", severity="HIGH"), invented])


def _same_place(lists: str) -> list[dict[str, int]]:
    listed = re.findall(r"^([EF])(\d+) at (\d+)$", lists, re.MULTILINE)
    errors, findings = ([(int(n), at) for kind, n, at in listed if kind == wanted] for wanted in "EF")
    return [{"error": e, "finding": f} for e, at in errors for f, there in findings if at == there]


def _trail(number: int) -> dict[str, str]:
    return {
        "category": "Goal Deviation",
        "location": f"{number:016X}",
        "evidence": "The mean is 42.",
        "description": "It made that up.",
        "impact": "HIGH",
    }


def over_http(call: Call) -> Play:
    """The same for the HTTP server's script."""
    messages = tuple(PromptMessage(m["role"], _text(m["content"])) for m in call.body["messages"])
    return Play(text=said(Prompt(messages, call.schema)))


def _text(content: str | list[Mapping[str, Any]]) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content)
