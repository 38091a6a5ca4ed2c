"""Answers that fit a JSON schema and quote the prompt: what a fair model might say of any transcript."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from zlib import crc32

STEP: Final = re.compile(r"^(S\d+)\b")
LONGEST_QUOTE: Final = 80
LEAST_QUOTE: Final = 12
LABELS: Final = frozenset({"label", "step", "at"})
QUOTES: Final = frozenset({"quote", "evidence"})
NAMED: Final = frozenset({"judge"})
"""A list of objects that name one of these has one for each."""
EMPTY: Final = frozenset({"also_at", "retracted", "rejected"})
"""Lists that stay empty: what they would hold depends on more than the schema."""


@dataclass(frozen=True, slots=True)
class Quote:
    """A line that stands in the step with this label."""

    label: str
    text: str


def quotes(prompt: str) -> Iterator[Quote]:
    """The quotable lines of a prompt's steps: our lines start in the first column, recorded text is indented."""
    label = ""
    for line in prompt.splitlines():
        if not line.startswith(" "):
            found = STEP.match(line)
            label = found[1] if found else ""
        elif label and len(line.strip()) >= LEAST_QUOTE:
            yield Quote(label, line.strip()[:LONGEST_QUOTE].rstrip())


def answer(schema: Mapping[str, Any], prompt: str, findings: int = 1) -> Any:
    """A value that fits `schema`; every list of objects with a quote has `findings` items, each of another line."""
    found = list(quotes(prompt))
    turn = crc32(prompt.encode("utf-8", "replace"))
    chosen = [found[(turn + i * 7) % len(found)] for i in range(min(findings, len(found)))]
    return _Filler(schema, chosen).fill(schema, "", 0)


class _Filler:
    def __init__(self, root: Mapping[str, Any], chosen: Sequence[Quote]) -> None:
        self._root = root
        self._chosen = chosen

    def fill(self, schema: Mapping[str, Any], name: str, number: int) -> Any:
        schema = self._resolved(schema)
        values = [schema["const"]] if "const" in schema else schema.get("enum")
        if values:
            return _from_enum(values, self._label(number) if name in LABELS else "")
        kind = schema.get("type")
        kinds = kind if isinstance(kind, list) else [kind]
        if "object" in kinds or "properties" in schema:
            return {key: self.fill(below, key, number) for key, below in schema.get("properties", {}).items()}
        if "array" in kinds:
            return self._items(schema, name, number)
        if "boolean" in kinds:
            return False
        if "string" in kinds:
            return self._text(name, number)[: schema.get("maxLength", 10_000)]
        return max(schema.get("minimum", 0), min(schema.get("maximum", 2), 2))

    def _items(self, schema: Mapping[str, Any], name: str, number: int) -> list[Any]:
        items = self._resolved(schema.get("items", {}))
        least = schema.get("minItems", 0)
        if name in EMPTY:
            return [self.fill(items, name, number)] * least
        if QUOTES & set(items.get("properties", {})):
            return [self.fill(items, name, i) for i in range(max(len(self._chosen), least))]
        for named, below in items.get("properties", {}).items():
            if (names := self._resolved(below).get("enum")) and named in NAMED:
                return [self.fill(items, name, number) | {named: each} for each in names]
        if least or items.get("enum"):
            return [self.fill(items, name, number)] * max(least, 1)
        return []

    def _text(self, name: str, number: int) -> str:
        if name in LABELS:
            return self._label(number)
        if name in QUOTES:
            return self._chosen[number].text if number < len(self._chosen) else ""
        return f"the {name.replace('_', ' ') or 'text'} of a scripted answer"

    def _label(self, number: int) -> str:
        return self._chosen[number].label if number < len(self._chosen) else "S1"

    def _resolved(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        while "$ref" in schema:
            below: Any = self._root
            for part in schema["$ref"].removeprefix("#/").split("/"):
                below = below[part]
            schema = below
        for choice in schema.get("anyOf") or schema.get("oneOf") or ():
            if choice.get("type") != "null":
                return self._resolved(choice)
        return schema


def _from_enum(values: Sequence[Any], wanted: str) -> Any:
    if wanted in values:
        return wanted
    numbers = [v for v in values if isinstance(v, int) and not isinstance(v, bool)]
    return (2 if 2 in numbers else numbers[0]) if numbers else values[0]
