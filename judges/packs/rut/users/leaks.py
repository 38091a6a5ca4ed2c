"""LEAK by code: names and identifiers of an oracle that a user cannot know."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tracejury.judges.names import find_name
from tracejury.judges.packs.cards.oracle import Oracle, ToolPattern
from tracejury.schemas.shown import folded

_TECHNICAL: Final = re.compile(r"[^\W\d_]\S*[\W\d_]|_[^\W\d_]|[a-z][A-Z]")
"""In a name that is no plain word: `get_order`, `getOrder`, `order.get`, `order2`. A plain word, such as `refund`, is
said without knowing the tool."""

_IDENTIFIER: Final = re.compile(r"[^\W\d_]\D*\d|\w_\w|^\d{6,}$")
"""In a value that names a record: a letter before a digit (`A-1042`), an underscore, or six digits."""

_SEVERAL: Final = re.compile(r"\s|^\d{4}-\d\d")
"""In several words, which are no name, and in dates."""

_LONGEST: Final = 200
_SHORTEST: Final = 4  # "A4", "Q3" and "v2" are everyday words


def leaks(oracle: Oracle, instruction: str, turns: Sequence[str]) -> str:
    """The names of tools, keys and identifiers in these turns that the instruction does not show, in one line."""
    known, found = folded(instruction), []
    for name, kind in sorted(_secrets(oracle).items()):
        said = saying(turns, name)
        if said and find_name(known, folded(name)) < 0:
            found.append(f'turn {", ".join(map(str, said))} says "{name}", {kind}')
    return f"{'; '.join(found)}: the instruction does not show it" if found else ""


def _secrets(oracle: Oracle) -> dict[str, str]:
    """What it is, by name or identifier."""
    patterns: list[ToolPattern] = [*oracle.forbidden, *(s.of for s in oracle.state if s.of is not None)]
    for step in oracle.steps:
        patterns += [step, *step.equivalent]
    tools = {*oracle.writes, *(tool for pair in oracle.exclusive for tool in pair), *(one.tool for one in patterns)}
    keys, values = set[str](), set[str]()
    for assertion in oracle.state:
        path = assertion.path.split(".") if isinstance(assertion.path, str) else assertion.path
        keys |= {part for part in path if isinstance(part, str)}
    for name, value in leaves([one.arguments for one in patterns]):
        (keys if name else values).add(value)
    return (
        dict.fromkeys(filter(is_identifier, values), "an identifier")
        | dict.fromkeys((key for key in keys if _has(_TECHNICAL, key)), "a key")
        | dict.fromkeys((tool for tool in tools if _has(_TECHNICAL, tool)), "the name of a tool")
    )


def is_identifier(value: str) -> bool:
    """Whether a value names a record."""
    return len(value) >= _SHORTEST and _has(_IDENTIFIER, value)


def saying(turns: Sequence[str], name: str) -> list[int]:
    """The numbers, from 1, of the turns that say a name."""
    return [number for number, turn in enumerate(turns, 1) if find_name(folded(turn), folded(name)) >= 0]


def _has(pattern: re.Pattern[str], name: str) -> bool:
    return len(name) <= _LONGEST and not _SEVERAL.search(name) and pattern.search(name) is not None


def leaves(value: Any) -> Iterator[tuple[bool, str]]:
    """Each key (True) and each text or whole number (False) in a JSON value."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield True, str(key)
            yield from leaves(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner)
    elif isinstance(value, str | int) and not isinstance(value, bool):
        yield False, str(value)
