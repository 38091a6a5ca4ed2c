"""Lists of what is to be done that an agent keeps by calls, told by their form, whatever tool or language.

Such a list is sent again and again: its items stay while their states change (`TodoWrite`, `update_plan`, a checklist
that is written to a file). A list is new where its items changed; states alone change nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from tracejury.schemas.normalized import Json
from tracejury.schemas.trajectory import Turn, TurnKind

_MOST: Final = 200
"""Items of a list that are read, and entries of a call's arguments in which one is looked for."""
_LONGEST: Final = 400

_CHECKLIST: Final = re.compile(r"[ \t]{0,20}(?:[-*+\u2022]|\d{1,3}[.)])?[ \t]{0,4}\[([xX]|[^\w\n])\][ \t]+(\S.*)")
"""A line with a box before its text: `- [ ] read`, `2. [x] answer`."""
_BULLET: Final = re.compile(r"[\W_]{0,20}(?:\d{1,3}[.)])?[\W_]{0,20}")


@dataclass(frozen=True, slots=True)
class KeptList:
    """A list as one call writes it. `texts`: of the items, by what tells them apart; `states`: what else they hold.

    `field`: the key of the texts of items that are objects, else "". `to_do`: its form shows that it has states.
    """

    texts: Mapping[str, str]
    states: Mapping[str, str]
    field: str = ""
    to_do: bool = False


@dataclass(frozen=True, slots=True)
class ListChange:
    """How a list differs from the one before it, by words of items. `kept`: items of both; `began`: it is the first."""

    added: tuple[str, ...]
    dropped: tuple[str, ...] = ()
    kept: int = 0
    began: bool = False


def list_changes(turns: Iterable[Turn]) -> dict[int, ListChange]:
    """The changes of items by index of the turn, each list against the one that the same tool was last called with.

    An item that is gone counts if it still had its first state: done ones are often left out. A list that shares no
    item with the one before, and has no states, is the argument of another call.
    """
    lists: dict[str, KeptList] = {}
    first: dict[str, dict[str, str]] = {}
    found: dict[int, ListChange] = {}
    for turn in turns:
        for tool, values in _written(turn) if turn.kind is not TurnKind.INNER else ():
            before = lists.get(tool)
            now = list_in(values, before.field if before else "")
            if now is None:
                continue
            began = first.setdefault(tool, {})
            change = _change(before, now, began)
            if change is not None:
                found.setdefault(turn.index, change)
            lists[tool] = now
            first[tool] = {item: began.get(item, state) for item, state in now.states.items()}
    return found


def list_in(value: Json, field: str = "") -> KeptList | None:
    """The first list of items among these arguments, or the checklist in a text.

    `field`: the key of the texts, if the list before had one: items without it only say which state has changed.
    """
    entries = value.values() if isinstance(value, Mapping) else [value]
    return next((found for each in islice(entries, _MOST) if (found := _list(each, field)) is not None), None)


def _written(turn: Turn) -> Iterator[tuple[str, Json]]:
    """("", text) of the turn's reply, and (tool, arguments) of its calls."""
    yield "", turn.text
    yield from ((call.name, call.arguments) for call in turn.tool_calls if not call.closing)


def _change(before: KeptList | None, now: KeptList, first: Mapping[str, str]) -> ListChange | None:
    if before is None:
        return ListChange(tuple(now.texts.values()), began=True) if now.to_do else None
    kept = len(now.texts.keys() & before.texts.keys())
    added = tuple(text for item, text in now.texts.items() if item not in before.texts)
    gone = (item for item in before.texts if item not in now.texts)
    dropped = tuple(before.texts[item] for item in gone if before.states[item] and before.states[item] == first[item])
    is_list = kept or before.to_do or now.to_do
    return ListChange(added, dropped, kept) if is_list and (added or dropped) else None


def _list(value: object, field: str) -> KeptList | None:
    if isinstance(value, str):
        if "] " not in value:
            return None
        lines = (_CHECKLIST.match(line) for line in islice(value.split("\n"), _MOST) if "] " in line)
        boxes = [(match[2], match[1]) for match in lines if match]
        return _kept(boxes, to_do=True) if boxes else None
    if not isinstance(value, list) or not value:
        return None
    items = value[:_MOST]
    if all(isinstance(item, str) for item in items):
        return _kept([(item, "") for item in items], to_do=any(map(_CHECKLIST.match, items)))
    return _of_objects(items, field) if all(isinstance(item, Mapping) for item in items) else None


def _of_objects(items: Sequence[Mapping[str, object]], field: str) -> KeptList | None:
    if field:
        items = [item for item in items if isinstance(item.get(field), str)]
    field = field or _text_field(items)
    if not items or not field:
        return None
    rest = [{key: value for key, value in item.items() if key != field} for item in items]
    pairs = [(str(item[field]), _state(other)) for item, other in zip(items, rest, strict=True)]
    prose = sum(" " in text or not text.isascii() for text, _ in pairs)
    return _kept(pairs, field, to_do=2 * prose >= len(pairs) and any(_is_state(rest, key) for key in rest[0]))


def _text_field(items: Sequence[Mapping[str, object]]) -> str:
    """The key under which each item has words of its own, the longest; "" for none."""

    def weight(key: str) -> tuple[bool, int, int]:
        texts = [str(item[key]) for item in items]
        return len({*texts}) == len(texts), sum(" " in text for text in texts), sum(map(len, texts))

    keys = [key for key in items[0] if all(isinstance(item.get(key), str) and item[key] for item in items)]
    return max(keys, key=weight, default="")


def _is_state(items: Sequence[Mapping[str, object]], key: str) -> bool:
    """Whether the items have states under this key: yes or no, or one of a few words that several share."""
    values = [item.get(key) for item in items]
    if all(isinstance(value, bool) for value in values):
        return True
    words = [value for value in values if isinstance(value, str) and value and " " not in value]
    return len({*words}) < len(words) == len(values)


def _state(rest: Mapping[str, object]) -> str:
    return str(sorted(f"{key}: {value}" for key, value in rest.items() if isinstance(value, str | int)))[:_LONGEST]


def _kept(pairs: Iterable[tuple[str, str]], field: str = "", *, to_do: bool = False) -> KeptList:
    """Items are told apart by their words, without marks and numbers before them."""
    texts: dict[str, str] = {}
    states: dict[str, str] = {}
    for text, state in pairs:
        box = _CHECKLIST.match(text)
        words, mark = (box[2], box[1]) if box else (text[_BULLET.match(text).end() :], state)  # type: ignore[union-attr]  # may be empty
        item = " ".join(words[:_LONGEST].casefold().split())
        texts[item], states[item] = text, mark
    return KeptList(texts, states, field, to_do)
