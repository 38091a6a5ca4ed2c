"""The calls about a subject: items dealt out to calls and chapters, within bounds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Final, Literal

from tracejury.schemas.checks import CheckItem
from tracejury.schemas.transcript import Chapter

from .case import AskedCheck, CheckCase

MOST_A_CALL: Final = 60
"""Items of one call."""

MOST_CHARACTERS: Final = 24_000
"""Characters of the items of one call."""

MOST_CALLS: Final = 5
"""Calls that the items of one check may fill; those beyond are left out, and counted."""

MOST_ITEM: Final = 2000
"""Characters of an item that are shown."""

Mode = Literal["together", "separate"]


@dataclass(frozen=True, slots=True)
class CheckQuestion:
    """A check's share of one call: its items at `positions` (none where the judge lists them), from number `first`."""

    asked: AskedCheck
    positions: tuple[int, ...]
    first: int

    @property
    def lists(self) -> bool:
        """Whether the judge lists the items."""
        return self.asked.check.items.lists

    @property
    def numbered(self) -> Mapping[int, CheckItem]:
        """Number to item."""
        return {number: self.asked.items[at] for number, at in enumerate(self.positions, self.first)}


Call = tuple[CheckQuestion, ...]

Reading = Sequence[tuple[int, Call]]
"""Calls that follow one another, each with the number (from 0) of the chapter that it shows."""

Share = tuple[AskedCheck, Sequence[int]]


def taken(asked: AskedCheck) -> int:
    """How many of a check's items are asked about."""
    return sum(map(len, _chunks(asked, range(len(asked.items)))[:MOST_CALLS]))


def readings(case: CheckCase, checks: Sequence[AskedCheck], mode: Mode, chapters: Sequence[Chapter]) -> list[Reading]:
    """All calls about these checks.

    An item is asked about with the first chapter that shows its step; one that stands nowhere, as a policy does, with
    every chapter that shows a step of the subject. Without chapters the record is shown whole.
    """
    shown = [{step.label for step in chapter.steps} for chapter in chapters]
    wide = {step.label for step in case.steps}
    shares: list[list[Share]] = [[] for _ in shown or [wide]]
    for asked in checks:
        for number, positions in _dealt(case, asked, shown or [wide], wide):
            shares[number].append((asked, positions))
    rows = zip_longest(*(_calls(share, mode) for share in shares))
    return [[(number, call) for number, call in enumerate(row) if call is not None] for row in rows]


def _dealt(
    case: CheckCase, asked: AskedCheck, shown: Sequence[set[str]], wide: set[str]
) -> Iterator[tuple[int, Sequence[int]]]:
    """A check's items by chapter."""
    first = {label: number for number, labels in reversed(list(enumerate(shown))) for label in labels}
    if asked.check.items.lists:
        yield max(number for number, labels in enumerate(shown) if number == 0 or case.answered in labels), ()
        return
    items = asked.items[: taken(asked)]
    for number, labels in enumerate(shown):
        positions = [
            at
            for at, item in enumerate(items)
            if (first.get(item.label, 0) == number if item.label else not labels.isdisjoint(wide))
        ]
        if positions:
            yield number, positions


def _calls(shares: Sequence[Share], mode: Mode) -> list[Call]:
    """Checks share a call as far as their items fit; each item has its own where they are asked about separately."""
    calls: list[list[CheckQuestion]] = []
    for asked, positions in shares:
        chunks = [[at] for at in positions] if mode == "separate" else _chunks(asked, positions)
        for chunk in chunks or [[]]:
            last = calls[-1] if calls and mode == "together" else []
            items = [item for question in last for item in question.numbered.values()]
            more = [asked.items[at] for at in chunk]
            if not last or not _fit([*items, *more]):
                calls.append(last := [])
                items = []
            last.append(CheckQuestion(asked, tuple(chunk), len(items) + 1))
    return [tuple(call) for call in calls]


def _chunks(asked: AskedCheck, positions: Sequence[int]) -> list[list[int]]:
    chunks: list[list[int]] = []
    size = 0
    for at in positions:
        size += _size(asked.items[at])
        if not chunks or len(chunks[-1]) == MOST_A_CALL or size > MOST_CHARACTERS:
            chunks.append([])
            size = _size(asked.items[at])
        chunks[-1].append(at)
    return chunks


def _fit(items: Sequence[CheckItem]) -> bool:
    return len(items) <= MOST_A_CALL and sum(map(_size, items)) <= MOST_CHARACTERS


def _size(item: CheckItem) -> int:
    return min(len(item.text), MOST_ITEM)
