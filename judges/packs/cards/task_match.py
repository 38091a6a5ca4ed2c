"""The task of a session: named by an attribute of one of its spans."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tracejury.schemas.spans import Span, StoredAttributes

from .task_cards import TaskCard

_METADATA: Final = (".metadata.", ".association.properties.")
"""What conventions put before the keys of metadata, after a prefix of their own."""


@dataclass(frozen=True, slots=True)
class TaskMatch:
    """The task that a session names ("": none) and its card. `problem`: one line why it cannot be told, else ""."""

    id: str = ""
    card: TaskCard | None = None
    problem: str = ""


def match_task(spans: Iterable[Span], cards: Mapping[str, TaskCard], keys: Sequence[str]) -> TaskMatch:
    """The task of the session that these spans are of: by the first of `keys` that any of them has.

    Attributes of span and resource count, and metadata.
    """
    named: dict[str, set[str]] = {key: set() for key in keys}
    for span in spans:
        for attributes in (span.attributes, span.resource_attributes):
            for key, value in _named(attributes, keys):
                named[key].add(value)
    for key, values in named.items():
        if len(values) > 1:
            first, second = sorted(values)[:2]
            return TaskMatch(problem=f"the session names two tasks in {key}: {first[:60]!r} and {second[:60]!r}")
        if values:
            (task,) = values
            return TaskMatch(task, cards.get(task))
    return TaskMatch()


def _named(attributes: StoredAttributes, keys: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The keys that are among attributes and metadata, with their values, without empty ones."""
    endings = (*keys, "metadata")
    for name, value in attributes.items():
        if name.endswith(endings):
            for key in keys:
                if found := _value(name, value, key).strip():
                    yield key, found


def _value(name: str, value: str, key: str) -> str:
    """The value that an attribute gives to a key, "" for none."""
    if name.endswith(key):
        before = name.removesuffix(key)
        return value if not before or before.endswith(_METADATA) else ""
    return _in_object(value, key) if name.endswith("metadata") and key in value else ""


def _in_object(text: str, key: str) -> str:
    """The value of a key of a JSON object as text, "" for none."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    value = data.get(key) if isinstance(data, dict) else None
    return value if isinstance(value, str) else str(value) if isinstance(value, int) else ""
