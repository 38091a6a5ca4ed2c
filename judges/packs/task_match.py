"""The task of a session: named by an attribute of one of its spans."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ...schemas.spans import Span, StoredAttributes
from .task_cards import TaskCard

_METADATA: Final = ("metadata.", "association.properties.")
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
            for key, values in named.items():
                values.update(_values(attributes, key))
    for key, values in named.items():
        if len(values) > 1:
            first, second = sorted(values)[:2]
            return TaskMatch(problem=f"the session names two tasks in {key}: {first[:60]!r} and {second[:60]!r}")
        if values:
            (task,) = values
            return TaskMatch(task, cards.get(task))
    return TaskMatch()


def _values(attributes: StoredAttributes, key: str) -> Iterator[str]:
    """The values of a key among attributes and metadata, without empty ones."""
    for name, value in attributes.items():
        if name == key or (name.endswith(f".{key}") and name.removesuffix(key).endswith(_METADATA)):
            found = value
        elif name.rpartition(".")[2] == "metadata" and key in value:
            found = _in_object(value, key)
        else:
            continue
        if found.strip():
            yield found.strip()


def _in_object(text: str, key: str) -> str:
    """The value of a key of a JSON object as text, "" for none."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    value = data.get(key) if isinstance(data, dict) else None
    return value if isinstance(value, str) else str(value) if isinstance(value, int) else ""
