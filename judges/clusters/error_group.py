"""Errors as they are clustered, and groups of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

MOST_TEXTS: Final = 200
"""Distinct texts up to which a model reads all of them, and small clusters that it reads one of each where more."""

LONGEST: Final = 2_000
"""Characters of a text that are compared; the rest is left out."""


@dataclass(frozen=True, slots=True, order=True)
class ClusteredError:
    """An error as far as it is clustered. `text`: its category and reason; `tool`: that it is about, "" for none.

    `seen`: when first, unix nanos.
    """

    text: str
    id: str
    taxonomy: str = ""
    category: str = ""
    tool: str = ""
    seen: int = 0

    @property
    def block(self) -> tuple[str, str]:
        """Errors of different taxonomies or tools are never compared."""
        return self.taxonomy, self.tool


@dataclass(frozen=True, slots=True)
class ErrorGroup:
    """Errors taken for alike, in order. `example`: the one that stands for them.

    `name`: a category or terms, or, `named`, what a model called their type.
    """

    errors: tuple[ClusteredError, ...]
    example: ClusteredError
    name: str
    named: bool = False

    @property
    def tool(self) -> str:
        """The tool that they are about, "" for none."""
        return self.example.tool


@dataclass(frozen=True, slots=True)
class Grouped:
    """All errors once: in groups, the largest first, or `single`, like no others."""

    groups: Sequence[ErrorGroup]
    single: Sequence[ClusteredError] = ()


def error_text(category: str, reason: str) -> str:
    """The text by which an error is compared."""
    return " ".join(f"{category}: {reason}".split())[:LONGEST]


def largest_first(groups: Iterable[ErrorGroup]) -> list[ErrorGroup]:
    """Groups by size, equal ones by the example."""
    return sorted(groups, key=lambda group: (-len(group.errors), group.example))


def by_text(errors: Iterable[ClusteredError]) -> list[ErrorGroup]:
    """A group for each distinct text of a taxonomy and tool."""
    return _by(errors, lambda error: (error.block, error.text))


def by_category(errors: Iterable[ClusteredError]) -> Grouped:
    """A group for each category of a taxonomy and tool: what can be told without comparing texts."""
    return Grouped(_by(errors, lambda error: (error.block, error.category)))


def _by(errors: Iterable[ClusteredError], key: Callable[[ClusteredError], Hashable]) -> list[ErrorGroup]:
    found: defaultdict[Hashable, list[ClusteredError]] = defaultdict(list)
    for error in sorted(errors):
        found[key(error)].append(error)
    return largest_first(ErrorGroup(tuple(own), own[0], own[0].category) for own in found.values())
