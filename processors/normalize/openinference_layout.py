"""Where OpenInference's flattened lists stand among a call's attributes: told by the keys alone.

Every call of an agent has the keys of some earlier one, so that they are read once and the values by their places.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from .values import as_index

FlatMessage = tuple[int, int, tuple[str, ...], tuple[int, ...]]
"""Places of role and content, -1 for none; names and places of other fields, which most messages have none of."""

_INPUT: Final = "llm.input_messages."
_OUTPUT: Final = "llm.output_messages."
_TOOLS: Final = "llm.tools."
_ROLE: Final = "message.role"
_CONTENT: Final = "message.content"
_SCHEMA: Final = "tool.json_schema"
_MOST: Final = 512
_LONGEST: Final = 20_000  # characters of the keys of a layout that is remembered


@dataclass(frozen=True, slots=True)
class Layout:
    """Places among the attributes, each list in order of its indices, which may start anywhere.

    `schemas`: of the tools' definitions. `is_late`: there are input messages, but not the first two.
    """

    inputs: tuple[FlatMessage, ...]
    outputs: tuple[FlatMessage, ...]
    schemas: tuple[int, ...]
    is_late: bool


def layout_of(keys: tuple[str, ...]) -> Layout:
    """The layout of a call's attributes with these keys."""
    layout = _known.get(keys)
    if layout is None:
        layout = _read(keys)
        if sum(map(len, keys)) <= _LONGEST:
            if len(_known) >= _MOST:
                _known.clear()
            _known[keys] = layout
    return layout


_known: Final[dict[tuple[str, ...], Layout]] = {}


def _read(keys: tuple[str, ...]) -> Layout:
    lists: dict[str, dict[int, dict[str, int]]] = {_INPUT: {}, _OUTPUT: {}, _TOOLS: {}}
    for at, key in enumerate(keys):
        prefix = next((p for p in lists if key.startswith(p)), "")
        index, _, name = key[len(prefix) :].partition(".")
        number = as_index(index) if prefix else None
        if number is not None:
            lists[prefix].setdefault(number, {})[name] = at
    inputs, outputs, tools = ([items[i] for i in sorted(items)] for items in lists.values())
    return Layout(
        tuple(_message(fields) for fields in inputs),
        tuple(_message(fields) for fields in outputs),
        tuple(fields[_SCHEMA] for fields in tools if _SCHEMA in fields),
        bool(inputs) and min(lists[_INPUT]) > 1,
    )


def _message(fields: dict[str, int]) -> FlatMessage:
    others = {name: at for name, at in fields.items() if name not in (_ROLE, _CONTENT)}
    return fields.get(_ROLE, -1), fields.get(_CONTENT, -1), tuple(others), tuple(others.values())
