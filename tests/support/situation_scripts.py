"""A scripted model that writes sessions of situations, and says whether they fit."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from tracejury.judges.situations.situation_types import named_situations

TOOLS = {
    "groups": [
        {"name": "kitchen", "tools": [{"name": "preheat", "description": "Heat the oven.", "parameters": {}}]},
        {
            "name": "garden",
            "tools": [
                {"name": name, "description": f"{name} the beds.", "parameters": {"type": "object", "properties": {}}}
                for name in ("water", "weed")
            ],
        },
    ]
}
SITUATIONS = len(named_situations())


def users() -> str:
    """Names for all situations."""
    told = {"town": "Ghent, Belgium", "others": ["A. Ba", "C. De", "E. Fi"]}
    return json.dumps({"users": [{"name": f"User {number}", **told} for number in range(SITUATIONS)]})


def session(schema: Mapping[str, Any], prompt: str, **changed: Any) -> str:
    """A session with the keys that are asked for; the first tool is called. `changed`: keys of the answer."""
    called: Any = re.search(r'"type": "function", "name": "(\w+)"', prompt)
    user: Any = re.search(r"user: (.*),", prompt)
    message = {"tool": "", "arguments": "", "failed": False}
    steps = [
        {"who": "user", "text": f"Please do it. Yours, {user[1]}", **message},
        {"who": "agent", "text": "Let me see.", **message},
        {"who": "tool", "text": '{"note": 1}', "tool": called[1], "arguments": '{"note":2}', "failed": False},
        {"who": "agent", "text": "It is done.", **message},
        {"who": "user", "text": "Hm.", **message},
        {"who": "agent", "text": "Good-bye.", **message},
    ]
    deciding = {"step": 3, "quote": '"note"', "why": "It notes the wrong thing."}
    states = {"state_before": '{"notes": []}', "state_after": '{"notes": [2]}'}
    answer = {"steps": steps, "deciding": deciding, **states} | changed
    return json.dumps({key: value for key, value in answer.items() if key in schema["properties"]})


def sound(schema: Mapping[str, Any], prompt: str) -> str:
    """What a model answers that does as it is told."""
    return users() if "users" in schema["properties"] else session(schema, prompt)
