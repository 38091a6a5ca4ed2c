"""Scripted models that label errors and merge labels into types."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

_ENTRY = re.compile(r"^ (\d+)\. (?:\(tool (\S+)\) )?(.*)$", re.MULTILINE)

Answering = Callable[[str], str]
"""The answer to all that a prompt says."""


def named_by(label_of: Callable[[str, str], str], type_of: Callable[[str, str], str]) -> Answering:
    """Labels each error by tool and text, and merges labels that have one type by tool and label."""

    def answer(prompt: str) -> str:
        entries = [(int(number), tool, text) for number, tool, text in _ENTRY.findall(prompt)]
        if "=== errors" in prompt:
            labels = [{"error": number, "label": label_of(tool, text)} for number, tool, text in entries]
            return json.dumps({"labels": labels})
        types: dict[str, list[int]] = {}
        for number, tool, label in entries:
            types.setdefault(type_of(tool, label.removesuffix(" [a type]")), []).append(number)
        return json.dumps({"types": [{"name": name, "labels": numbers} for name, numbers in types.items()]})

    return answer
