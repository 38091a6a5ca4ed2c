"""Texts for an agent, made of the types of its errors. A person reads them first: their words come from spans.

After "Talk, evaluate, diagnose" (TED): error insights as they are, notes for a person to edit, and checklists.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from typing import Any, Final

from tracejury.schemas.shown import shown

_LONGEST: Final = 200
"""Characters of a name or value out of a schema."""

_MOST: Final = 50
"""Arguments of a tool, and values of one, that a checklist names."""


class FixKind(StrEnum):
    """The form of the text."""

    INSERT = "insert"  # for the agent's instructions
    NOTES = "notes"  # for a person to edit
    CHECKLIST = "checklist"  # two user turns before the first


@dataclass(frozen=True, slots=True)
class Fix:
    """Texts for an agent: one, or the user turns of a checklist. `author`: of notes, else "".

    `id`: of this fix, for the attribute `tracejury.fix.id` of the agent's resource; notes keep it when edited.
    """

    kind: FixKind
    texts: tuple[str, ...]
    author: str = ""

    @property
    def id(self) -> str:
        """The kind and 12 hex digits."""
        said = json.dumps([self.kind, self.author, *self.texts])
        return f"{self.kind}-{sha256(said.encode()).hexdigest()[:12]}"


def make_fix(kind: FixKind, types: Sequence[str], tools: Mapping[str, Mapping[str, Any]], author: str = "") -> Fix:
    """The fix of these error types, by name; `tools`: JSON schemas of parameters."""
    listed = [f"{at}. {_line(name)}" for at, name in enumerate(dict.fromkeys(types), 1)]
    match kind:
        case FixKind.INSERT:
            text = "\n".join(["Mistakes that agents made in such tasks before. Avoid each of them:", *listed])
            return Fix(kind, (f"{text}\n",))
        case FixKind.NOTES:
            entries = [f"{line}\n   Instead: " for line in listed]
            head = [
                "# Notes on mistakes",
                f"Author: {_line(author)}",
                "",
                "Mistakes made before, and what to do instead:",
            ]
            return Fix(kind, ("\n".join([*head, *entries]) + "\n",), _line(author))
    first = "\n".join(["Before each step, check that you do not make one of these mistakes:", *listed])
    checks = [text for tool in sorted(tools) if (text := tool_checklist(tool, tools[tool]))]
    then = ["Before you call one of these tools, check its arguments:", *checks] if checks else []
    return Fix(kind, tuple(f"{text}\n" for text in (first, "\n".join(then)) if text))


def tool_checklist(tool: str, parameters: Mapping[str, Any]) -> str:
    """What a schema asks of each argument: required or not, type, enum, format; "" where it says nothing."""
    properties = parameters.get("properties")
    if not isinstance(properties, Mapping) or not properties:
        return ""
    required = parameters.get("required")
    needed = set(map(str, required)) if isinstance(required, list | tuple) else set()
    lines = [f"Tool {_line(tool)}:"]
    for name, said in list(properties.items())[:_MOST]:
        asked = ["required" if name in needed else "optional", *_of_argument(said if isinstance(said, Mapping) else {})]
        lines.append(f"- {_line(str(name))}: {', '.join(asked)}")
    return "\n".join(lines)


def _of_argument(said: Mapping[str, Any]) -> Iterator[str]:
    kinds = said.get("type")
    named = [kinds] if isinstance(kinds, str) else kinds if isinstance(kinds, list | tuple) else []
    if named:
        yield "of type " + " or ".join(_line(str(one)) for one in named)
    values = said.get("enum")
    if isinstance(values, list | tuple) and values:
        more = " or another allowed value" if len(values) > _MOST else ""
        yield "one of " + ", ".join(_line(json.dumps(one, ensure_ascii=False)) for one in values[:_MOST]) + more
    if isinstance(said.get("format"), str):
        yield f"format {_line(said['format'])}"


def _line(text: str) -> str:
    return " ".join(shown(text).split())[:_LONGEST]
