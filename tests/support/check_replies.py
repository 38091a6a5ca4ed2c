"""Replies to the prompts of checks, as a model writes them: what is asked is read from the prompt itself."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from tracejury.judges.llm.client import Prompt

_BLOCK: Final = re.compile(r"^# (?P<check>[a-z0-9-]+)\n(?:(?!^# ).*\n?)*", re.MULTILINE)
_NUMBERS: Final = re.compile(r"^Items? (\d+)(?: to (\d+))?\.$", re.MULTILINE)


def numbers(prompt: Prompt | str) -> dict[str, list[int]]:
    """The numbers of the items that a prompt asks about, by check; [] for those that the judge lists."""
    text = prompt if isinstance(prompt, str) else prompt.messages[-1].text
    found: dict[str, list[int]] = {}
    for block in _BLOCK.finditer(text.rpartition("===\n")[2]):
        named = _NUMBERS.search(block[0])
        found[block["check"]] = list(range(int(named[1]), int(named[2] or named[1]) + 1)) if named else []
    return found


def entry(check: str, number: int | None = None, answer: object = "yes", **changes: Any) -> dict[str, Any]:
    """One entry of `answers`; `changes` are fields of it."""
    return {
        "check": check,
        "item": number,
        "mention": None,
        "reason": "It is so." if answer == "yes" else "It is not so.",
        "answer": answer,
        "label": None,
        "quote": None,
    } | changes


def reply(
    prompt: Prompt | str,
    changed: Mapping[int, Mapping[str, Any]] | None = None,
    listed: Iterable[Mapping[str, Any]] = (),
    **more: Any,
) -> str:
    """Yes to each item but those `changed`; `listed`: entries of what the judge lists; `more`: other fields."""
    asked = [(check, number) for check, own in numbers(prompt).items() for number in own]
    answers = [entry(check, number) | dict((changed or {}).get(number, {})) for check, number in asked]
    empty: dict[str, Any] = {"answers": [*answers, *map(dict, listed)], "also": [], "summary": None}
    return json.dumps(empty | more, ensure_ascii=False)
