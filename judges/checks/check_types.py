"""Checks and packs as data: what `pack.yaml` may say."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, field_validator, model_validator

from tracejury.judges.llm.criteria_types import Data, Name, Share, Text
from tracejury.schemas.taxonomy import Dimension, Severity


class ItemSource(StrEnum):
    """Where the items of a check are from."""

    STATES = "states"  # thoughts and actions of the exchange's manager
    OBSERVATIONS = "observations"  # listed by the judge: what was retrieved and appears in the answer
    ANSWERS = "answers"  # the answer of the exchange, as one item
    POLICIES = "policies"  # of the task card and the service
    CALLS = "calls"  # attempted calls; answered by structure
    COMPLETION = "completion"  # whether the task was completed; answered by structure
    CRITERIA = "criteria"  # of the check itself
    FAILURE = "failure"  # that of a task without an oracle, as one item; none where it did not fail
    ORACLE = "oracle"  # the outcome of the task by the oracle of its card; answered by structure
    FINDINGS = "findings"  # what was found before; asked about by reviews (`judges/reviews`), never by packs


MOST_POINTS: Final = 100
"""The highest best answer of a scale of numbers."""
MOST_ANSWERS: Final = 20
"""Answers of a scale of names."""

ANSWERED_BY_STRUCTURE = frozenset({ItemSource.CALLS, ItemSource.COMPLETION, ItemSource.ORACLE})
"""Sources whose items need no model."""


class Check(Data):
    """One closed question about each item of a subject; its `name` is the judge's.

    `measure`: the letter of the measure that its answers give. `scale`: a number n for 0 to n, best last, or names,
    best first. `question`: asked of each item; `best`: what the best answer means; `also`: what else below the best
    is reported, though it is no item (category to meaning). `dimension`: of its findings; they join an error of
    detectors or GPA judges that has the cause of this dimension and stands where they do.
    """

    name: Name
    measure: Annotated[str, Field(pattern=r"^[A-Z][A-Za-z]{0,11}$")]
    title: Text
    definition: Text
    """The measure's definition, for people."""
    subject: Literal["exchange", "session", "agent-run", "trace"]
    items: ItemSource
    scale: int | tuple[Name, ...] = ("yes", "no")
    question: Text | None = None
    best: Text | None = None
    category: Text
    """Of a finding at an item below the best answer."""
    also: dict[Text, Text] = Field(default={})
    dimension: Dimension | None = None
    severity: Severity = Severity.MEDIUM
    confidence: Share = 0.5
    doubtful: dict[Name, Share] = Field(default={})
    """Confidence of findings by answer, where it is not `confidence`."""
    criteria: dict[Name, Text] = Field(default={})
    """The items of a check of criteria: name to text."""
    reports: bool = True
    """Whether an item below the best answer is an error."""
    explain: Text

    @property
    def answers(self) -> tuple[str, ...]:
        """The words of the scale, best first."""
        return tuple(map(str, range(self.scale, -1, -1))) if isinstance(self.scale, int) else self.scale

    def category_of(self, answer: str) -> str:
        """The category of a finding at an item with this answer: the one of `also` that the answer names, if any."""
        named = answer.replace("-", " ")
        return named if named in self.also else self.category

    @property
    def asks(self) -> bool:
        """Whether a model is asked."""
        return self.items not in ANSWERED_BY_STRUCTURE

    @field_validator("scale", mode="before")
    @classmethod
    def _words(cls, value: Any) -> Any:
        """YAML 1.1 reads yes and no as truth values."""
        if isinstance(value, list | tuple) and MOST_ANSWERS >= len(value) > 1:
            words = {True: "yes", False: "no"}
            return tuple(words[w] if isinstance(w, bool) else w for w in value)
        if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= MOST_POINTS:
            return value
        raise ValueError(f"must be a number from 1 to {MOST_POINTS}, or a list of 2 to {MOST_ANSWERS} names")

    @model_validator(mode="after")
    def _sound(self) -> Self:
        if self.asks and not (self.question and self.best):
            raise ValueError("question and best: say what is asked of each item, and what the best answer means")
        if bool(self.criteria) is not (self.items is ItemSource.CRITERIA):
            raise ValueError("criteria: the items of a check with `items: criteria`, and of no other")
        if len(set(self.answers)) != len(self.answers):
            raise ValueError("scale: one answer stands there twice")
        return self
