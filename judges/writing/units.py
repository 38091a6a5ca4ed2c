"""Units for which a model writes, such as task cards: one conversation each, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from tracejury.judges.llm.case import Outcomes
from tracejury.judges.llm.client import Prompt

from .answers import TextChecks

Unit = TypeVar("Unit")


@dataclass(frozen=True, slots=True)
class WrittenText:
    """What a model wrote under one name. `texts`: empty where they are left out, for `failure`, in one line.

    `written`: how often they were written. `checks`: of the last texts that were checked.
    """

    name: str
    texts: tuple[str, ...] = ()
    written: int = 0
    checks: TextChecks | None = None
    failure: str = ""


@dataclass(frozen=True, slots=True)
class WrittenUnit(Generic[Unit]):
    """A unit with what was written for it. `failure`: why nothing was asked or answered, in one line."""

    unit: Unit
    written: tuple[WrittenText, ...] = ()
    failure: str = ""

    @property
    def complete(self) -> bool:
        """Whether nothing was left out."""
        return not self.failure and not any(one.failure for one in self.written)


Writing = Generator[Sequence[Prompt], Outcomes, WrittenUnit[Unit]]
Writer = Callable[[Unit], Writing[Unit]]
"""The conversation about a unit; it raises PermanentError, in one line, where nothing can be asked."""
