"""Answers that fit a JSON schema and quote the prompt: what a fair model might say of any transcript."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from zlib import crc32

SCHEMA_MARK: Final = "JSON schema:\n"
"""What precedes the schema where it stands in the prompt."""
STEP: Final = re.compile(r"^(S\d+)\b")
RUN: Final = re.compile(r"^Run (R\d+) of agent ", re.MULTILINE)
"""A run's heading in a record of several."""
AFTER: Final = re.compile(r"^(?:===|End of|$)")
"""Begins what belongs to no step."""
LONGEST_QUOTE: Final = 80
LEAST_QUOTE: Final = 12
LABELS: Final = frozenset({"label", "step", "at", "shown_at"})
USUAL: Final = frozenset({"MEDIUM"})
"""Chosen where there is a choice."""
QUESTION: Final = 250
"""Characters at the end of a prompt that say what is asked."""
QUOTES: Final = frozenset({"quote", "evidence"})
NAMED: Final = frozenset({"judge"})
"""A list of objects that name one of these has one for each."""
EMPTY: Final = frozenset({"also_at", "retracted", "rejected", "look"})
"""Lists that stay empty: what they would hold depends on more than the schema."""
FALSE: Final = frozenset({"cut", "done"})
"""Flags that a sound answer seldom sets."""


@dataclass(frozen=True, slots=True)
class Quote:
    """A line that stands in the step with this label."""

    label: str
    text: str


def quotes(prompt: str) -> Iterator[Quote]:
    """The quotable lines of a prompt's steps: our lines start in the first column, recorded text is indented."""
    label = ""
    for line in prompt.split("\n"):
        if found := STEP.match(line):
            label = found[1]
        elif AFTER.match(line):
            label = ""
        elif label and line.startswith(" ") and len(line.strip()) >= LEAST_QUOTE:
            yield Quote(label, line.strip()[:LONGEST_QUOTE].rstrip())


def answer(schema: Mapping[str, Any], prompt: str, findings: int = 1) -> Any:
    """A value that fits `schema`; every list of objects with a quote has `findings` items, each of another line."""
    found = list(quotes(prompt))
    turn = crc32(prompt.encode("utf-8", "replace"))
    chosen = [found[(turn + i * 7) % len(found)] for i in range(min(findings, len(found)))]
    question = (prompt.rpartition(SCHEMA_MARK)[0] or prompt)[-QUESTION:]
    return _Filler(schema, chosen, question, list(dict.fromkeys(RUN.findall(prompt)))).fill(schema, "", 0)


class _Filler:
    def __init__(self, root: Mapping[str, Any], chosen: Sequence[Quote], question: str, runs: Sequence[str]) -> None:
        self._root = root
        self._chosen = chosen
        self._runs = runs
        self._words = {*re.findall(r"[\w-]+", question), *USUAL}

    def fill(self, schema: Mapping[str, Any], name: str, number: int) -> Any:
        schema = self._resolved(schema)
        values = [schema["const"]] if "const" in schema else schema.get("enum")
        if values:
            return self._from_enum(values, self._label(number) if name in LABELS else "")
        kind = schema.get("type")
        kinds = kind if isinstance(kind, list) else [kind]
        if "object" in kinds or "properties" in schema:
            return {key: self.fill(below, key, number) for key, below in schema.get("properties", {}).items()}
        if "array" in kinds:
            return self._items(schema, name, number)
        if "boolean" in kinds:
            return name not in FALSE
        if "string" in kinds:
            return self._text(name, number)[: schema.get("maxLength", 10_000)]
        return max(schema.get("minimum", 0), min(schema.get("maximum", 2), 2))

    def _items(self, schema: Mapping[str, Any], name: str, number: int) -> list[Any]:
        items = self._resolved(schema.get("items", {}))
        least = schema.get("minItems", 0)
        if name in EMPTY:
            return [self.fill(items, name, number)] * least
        who = self._resolved(items.get("properties", {}).get("judge", {})).get("enum")
        if who and "run" in items["properties"]:
            return [
                self.fill(items, name, number) | {"run": run, "judge": judge} for run in self._runs for judge in who
            ]
        if who:
            return [self.fill(items, name, number) | {"judge": judge} for judge in who]
        if QUOTES & set(items.get("properties", {})):
            return [self.fill(items, name, i) for i in range(max(len(self._chosen), least))]
        for named, below in items.get("properties", {}).items():
            if (names := self._resolved(below).get("enum")) and named in NAMED:
                return [self.fill(items, name, number) | {named: each} for each in names]
        return [self.fill(items, name, number)] * (max(least, 1) if least or items.get("enum") else 0)

    def _text(self, name: str, number: int) -> str:
        if name in LABELS:
            return self._label(number)
        if name in QUOTES:
            return self._chosen[number].text if number < len(self._chosen) else ""
        return f"the {name.replace('_', ' ') or 'text'} of a scripted answer"

    def _from_enum(self, values: Sequence[Any], wanted: str) -> Any:
        """The wanted value, else the first that the question names, such as the codes of the judges asked."""
        if wanted in values:
            return wanted
        numbers = [v for v in values if isinstance(v, int) and not isinstance(v, bool)]
        if numbers:
            return 2 if 2 in numbers else numbers[0]
        return next((v for v in values if v in self._words), values[0])

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
