"""Checks as data: what `pack.yaml` may say of one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, Self

from pydantic import (
    BeforeValidator,
    Field,
    InstanceOf,
    PlainSerializer,
    StringConstraints,
    ValidationInfo,
    field_validator,
    model_validator,
)

from tracejury.judges.llm import leniency
from tracejury.judges.llm.criteria_types import Data, Name, Share, Text
from tracejury.schemas.checks import ItemAnswer
from tracejury.schemas.shown import shown_line
from tracejury.schemas.taxonomy import Dimension, Severity

from .item_source import ItemSource, none_found

MOST_POINTS: Final = 100
"""The highest best answer of a scale of numbers."""
MOST_NAMES: Final = 20
"""Answers of a scale of names."""
MOST_ANSWERS: Final = 40
"""Answers of a scale that says what each means."""
MOST_RUNS: Final = 25
"""Times that one question is asked."""
MOST_CATEGORY: Final = 100
"""Characters of an item that is the category of its finding."""

Word = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=60)]
"""A word of a scale."""

OF_MEASURE: Final = ItemSource("of", "no answers to its checks", none_found, asks=False)
"""The source of a measure over other checks, which has no items of its own."""


class Answer(Data):
    """A word of a scale: what it means, and of a finding with it whatever is not as of its check.

    `rank`: of an answer below the best on a scale without an order. Of the answers to one item from several chapters,
    proven ones count first, then those of the highest rank, then the first.
    """

    meaning: Text
    rank: Annotated[int, Field(ge=1)] | None = None
    category: Text | None = None
    severity: Severity | None = None
    confidence: Share | None = None


class Criterion(Data):
    """An item of a check of criteria, and of its findings whatever is not as of the check.

    With a `category` of its own, its text is their title.
    """

    text: Text
    category: Text | None = None
    severity: Severity | None = None


def _source(value: Any, info: ValidationInfo) -> Any:
    """A source by its name; `sources` of the context has those that there are."""
    if not isinstance(value, str):
        return value
    sources: Mapping[str, ItemSource] = (info.context or {}).get("sources", {})
    if value not in sources:
        raise ValueError(f"no source {value[:40]!r}: use one of {', '.join(sorted(sources))}")
    return sources[value]


def _words(value: Any) -> Any:
    """YAML 1.1 reads yes and no as truth values, and numbers as such."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) if isinstance(value, int) else value


class Check(Data):
    """One closed question about each item of a subject; its `name` is the judge's.

    `measure`: the letter of the measure that its answers give. `scale`: a number n for 0 to n, best last; names, best
    first; or words, best first, to what each means, or the name of such a mapping (`scales` of the context).
    `question`: asked of each item; `best`: what the best answer means; `also`: what else is reported, though it is no
    item (category to meaning). `dimension`: of its findings; they join an error of detectors or GPA judges that has the
    cause of this dimension and stands where they do.
    """

    name: Name
    measure: Annotated[str, Field(pattern=r"^[A-Z][A-Za-z]{0,11}$")]
    title: Text
    definition: Text
    """The measure's definition, for people."""
    subject: Literal["exchange", "session", "agent-run", "trace"]
    items: Annotated[
        InstanceOf[ItemSource], BeforeValidator(_source), PlainSerializer(lambda source: source.name, return_type=str)
    ] = OF_MEASURE
    scale: int | dict[Word, Answer] | tuple[Name, ...] = ("yes", "no")
    question: Text | None = None
    best: Text | None = None
    category: Text = ""
    """Of a finding at an item below the best answer."""
    also: dict[Text, Text] = Field(default={})
    dimension: Dimension | None = None
    severity: Severity = Severity.MEDIUM
    confidence: Share = 0.5
    criteria: dict[Name, Text | Criterion] = Field(default={})
    """The items of a check of criteria: name to text."""
    reports: bool = True
    """Whether an item below the best answer is an error."""
    quoted: bool = True
    """Whether an answer below the best needs a quote; without one it is at fault at the answer."""
    unproven: Literal["left-out", "best"] = "left-out"
    """What an answer counts as whose quote does not stand: as none, or as the best one."""
    settles: Literal["best", "worst"] | None = None
    """The answer that settles an item for the rest of the session: the check of a session is asked of each exchange
    that has ended, about the items that are not settled yet."""
    runs: int = 1
    """How often each question is asked; more than half of the answers decide."""
    of: tuple[Name, ...] = ()
    """The checks whose answers the measure is of: nothing is asked for it."""
    averaged: bool = True
    """Whether the measure is part of AVG and of the order of the worst sessions."""
    validates: bool = False
    """Whether a session with a value below 1 is invalid: in no measure of any pack."""
    persona: bool = False
    """Whether it is asked of sessions with a simulated user's persona alone."""
    shows: tuple[Name, ...] = ()
    """Keys of the task card that are shown beside the items."""
    explain: Text

    @property
    def answers(self) -> tuple[str, ...]:
        """The words of the scale, best first."""
        return tuple(map(str, range(self.scale, -1, -1))) if isinstance(self.scale, int) else tuple(self.scale)

    @property
    def meanings(self) -> Mapping[str, Answer]:
        """What the words of the scale mean, as far as it says."""
        return self.scale if isinstance(self.scale, dict) else {}

    @property
    def categories(self) -> Mapping[str, str]:
        """The categories of its findings, each with what it means."""
        named = [(one.category, one.meaning) for one in self.meanings.values() if one.category]
        named += [(one.category, one.text) for one in self._criteria.values() if one.category]
        own = {} if self.of else {self.category: self.explain}
        return dict(named) | own | self.also

    @property
    def asks(self) -> bool:
        """Whether a model is asked."""
        return self.items.asks

    @property
    def settling(self) -> str:
        """The answer that settles an item, "" for none."""
        return "" if self.settles is None else self.answers[0 if self.settles == "best" else -1]

    @property
    def at_exchanges(self) -> bool:
        """Whether it is asked when an exchange has ended."""
        return self.subject == "exchange" or self.items.early or self.settles is not None

    @property
    def _criteria(self) -> Mapping[str, Criterion]:
        return {n: one if isinstance(one, Criterion) else Criterion(text=one) for n, one in self.criteria.items()}

    def criteria_texts(self) -> Mapping[str, str]:
        """The items of a check of criteria: name to text."""
        return {name: one.text for name, one in self._criteria.items()}

    def told(self, answer: ItemAnswer) -> tuple[str, Severity, float, str]:
        """Category, severity, confidence and own title ("": none) of the finding at an item below the best answer.

        Where no quote is needed, things that were not done are at fault at one place: the item is the category, unless
        one is named for it.
        """
        word = self.meanings.get(answer.answer)
        item = self._criteria.get(answer.item.partition(":")[0])
        named = (one for one in (word, item) if one is not None)
        category = next((one.category for one in named if one.category), None)
        severity = next((one.severity for one in (word, item) if one is not None and one.severity), self.severity)
        sure = self.confidence if word is None or word.confidence is None else word.confidence
        fallback = self.category if self.quoted else shown_line(answer.item, MOST_CATEGORY)
        title = leniency.title(item.text) if item is not None and item.category else ""
        return category or fallback, severity, sure, title

    @field_validator("scale", mode="before")
    @classmethod
    def _scale(cls, value: Any, info: ValidationInfo) -> Any:
        if isinstance(value, str):
            value = (info.context or {}).get("scales", {}).get(value)
        if isinstance(value, Mapping) and MOST_ANSWERS >= len(value) > 1:
            return {_words(word): {"meaning": said} if isinstance(said, str) else said for word, said in value.items()}
        if isinstance(value, list | tuple) and MOST_NAMES >= len(value) > 1:
            return tuple(_words(word) if isinstance(word, bool) else word for word in value)
        if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= MOST_POINTS:
            return value
        raise ValueError(
            f"must be a number from 1 to {MOST_POINTS}, a list of 2 to {MOST_NAMES} names, "
            f"or a mapping of 2 to {MOST_ANSWERS} answers"
        )

    @field_validator("runs")
    @classmethod
    def _runs(cls, value: int) -> int:
        return odd_runs(value)

    @model_validator(mode="after")
    def _sound(self) -> Self:
        if bool(self.of) is not (self.items is OF_MEASURE):
            raise ValueError("items: say where they are from, or `of` which checks it is a measure")
        if not (self.category or self.of):
            raise ValueError("category: name that of a finding at an item below the best answer")
        if self.asks and not (self.question and (self.best or self.meanings)):
            raise ValueError("question and best: say what is asked of each item, and what the best answer means")
        if bool(self.criteria) is not (self.items.name == "criteria"):
            raise ValueError("criteria: the items of a check with `items: criteria`, and of no other")
        if len(set(self.answers)) != len(self.answers):
            raise ValueError("scale: one answer stands there twice")
        if self.settles and (not self.asks or self.items.lists or self.items.early or self.subject != "session"):
            raise ValueError("settles: only items of a session that a model is asked about settle, by their scale")
        if self.of and self.subject != "session":
            raise ValueError("subject: a measure `of` other checks is of the session")
        return self


def odd_runs(value: int) -> int:
    """A number of runs, so that more than half of them can agree.

    Raises:
        ValueError: it is even, or there are too many.
    """
    if not 0 < value <= MOST_RUNS or value % 2 == 0:
        raise ValueError(f"must be an odd number from 1 to {MOST_RUNS}, so that more than half of them decide")
    return value
