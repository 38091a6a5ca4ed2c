"""Criteria of judges, as data: criteria sets (a folder of YAML files) and single judges of users' own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationInfo,
    field_validator,
    model_validator,
)

from tracejury.schemas.taxonomy import TRAIL, TRAIL_CATEGORIES, Dimension, Severity

from .case import Stage


def _lines(value: Any) -> Any:
    """A text without white space at the ends of its lines; whatever else it is, as it is."""
    return "\n".join(line.rstrip() for line in value.strip().splitlines()) if isinstance(value, str) else value


Text = Annotated[str, StringConstraints(min_length=1, max_length=2000), Field(strict=True)]
Instructions = Annotated[str, BeforeValidator(_lines), StringConstraints(max_length=8000), Field(strict=True)]
"""A user's own words to a judge; their lines stay apart in its prompt."""
Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$", max_length=60)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Score = Literal[0, 1, 2, 3]

GPA_JUDGES: Final[Mapping[Dimension, str]] = {
    Dimension.PLAN_QUALITY: "plan-quality",
    Dimension.PLAN_ADHERENCE: "plan-adherence",
    Dimension.GOAL_FULFILMENT: "goal-fulfilment",
    Dimension.LOGICAL_CONSISTENCY: "logical-consistency",
    Dimension.EXECUTION_EFFICIENCY: "execution-efficiency",
    Dimension.TOOL_SELECTION: "tool-selection",
    Dimension.TOOL_CALLING: "tool-calling",
}
"""The seven of "What is your agent's GPA?": dimension to the name of its judge."""


class Data(BaseModel):
    """The base of what a file of criteria holds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @field_validator("*", mode="before")
    @classmethod
    def _one_line(cls, value: Any, info: ValidationInfo) -> Any:
        """Texts may be folded over lines in the file; a prompt has them in one, but for instructions."""
        return " ".join(value.split()) if isinstance(value, str) and info.field_name != "instructions" else value


class Example(Data):
    """A few-shot slot: what a step says, and the finding it deserves."""

    step: Text
    finding: Text


class Principle(Data):
    """A rule for all judges of a set. `stages`: the prompts that it is part of."""

    text: Text
    stages: tuple[Stage, ...] = tuple(Stage)


Confidence = dict[Severity, Share]


class Criteria(Data):
    """The criteria of one judge. `dimension` None: a judge of a user's own.

    `categories`: the leaves of `taxonomy` that its findings may use. `scale`: what each score from 0 to 3 means.
    `procedure`: how it comes to its answer, in order; `reasons`: what its verdict's reasons hold, "" for a sentence.
    `runs`: whose agent runs it judges; `stages`: when it is asked; `needs`: without a plan there is nothing to judge.
    `confidence`: of its findings by severity, where it differs from the set's. `instructions`: what it has to know or
    to heed besides.
    """

    version: Annotated[int, Field(ge=1)]
    name: Name
    title: Text
    dimension: Dimension | None = None
    taxonomy: Text = TRAIL
    categories: Annotated[tuple[Text, ...], Field(min_length=1)]
    definition: Text
    in_scope: Annotated[tuple[Text, ...], Field(min_length=1)]
    out_of_scope: tuple[Text, ...] = ()
    procedure: tuple[Text, ...] = ()
    scale: dict[Score, Text]
    reasons: Annotated[str, StringConstraints(max_length=2000), Field(strict=True)] = ""
    examples: tuple[Example, ...] = ()
    runs: Literal["all", "manager", "sub-agents"] = "all"
    stages: Annotated[tuple[Stage, ...], Field(min_length=1)] = (Stage.WINDOW, Stage.CLOSING)
    needs: Literal["plan"] | None = None
    confidence: Confidence | None = None
    instructions: Instructions = ""

    @property
    def code(self) -> str:
        """The code for it in prompts and answers: the dimension's two letters, or its name."""
        return self.dimension.value if self.dimension else self.name

    @model_validator(mode="after")
    def _sound(self) -> Self:
        if set(self.scale) != {0, 1, 2, 3}:
            raise ValueError("scale: say what each of 0, 1, 2 and 3 means")
        if self.taxonomy == TRAIL and (unknown := set(self.categories) - set(TRAIL_CATEGORIES)):
            raise ValueError(f"categories: not of the taxonomy {TRAIL!r}: {', '.join(sorted(unknown))}")
        if len(set(self.categories)) != len(self.categories):
            raise ValueError("categories: one stands there twice")
        owner = GPA_JUDGES[self.dimension] if self.dimension else None
        if owner and owner != self.name:
            raise ValueError(
                f"dimension {self.dimension} belongs to the judge {owner!r}; leave it out for one of your own"
            )
        if not owner and self.name in GPA_JUDGES.values():
            raise ValueError(
                f"name: {self.name!r} is a built-in judge: choose another name, or give its dimension, too"
            )
        if Stage.PLAN in self.stages and len(self.stages) > 1:
            raise ValueError("stages: plan stands alone, as nothing after the plan is shown then")
        _complete(self.confidence)
        return self


class Rules(Data):
    """The shared part of a criteria set: rules, what the severities mean, how to score, how sure findings are.

    `plan_severities`: what they mean of a plan that is judged alone, None where it is the same.
    """

    version: Annotated[int, Field(ge=1)]
    title: Text
    principles: Annotated[tuple[Principle, ...], Field(min_length=1)]
    severities: dict[Severity, Text]
    plan_severities: dict[Severity, Text] | None = None
    verdict: Text
    confidence: Confidence

    @field_validator("principles", mode="before")
    @classmethod
    def _plain(cls, value: Any) -> Any:
        return [{"text": p} if isinstance(p, str) else p for p in value] if isinstance(value, list) else value

    @model_validator(mode="after")
    def _sound(self) -> Self:
        for key, meanings in (("severities", self.severities), ("plan_severities", self.plan_severities)):
            if meanings is not None and set(meanings) != set(Severity):
                raise ValueError(f"{key}: say what each of LOW, MEDIUM and HIGH means")
        _complete(self.confidence)
        return self


class CriteriaSet(Data):
    """Judges and what they share. `name`: of the built-in set or the folder."""

    name: Text
    rules: Rules
    judges: tuple[Criteria, ...]

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        names = [j.name for j in self.judges]
        if twice := sorted({n for n in names if names.count(n) > 1}):
            raise ValueError(f"two judges are named {twice[0]!r}")
        return self

    def judge(self, name: str) -> Criteria:
        """The judge of that name.

        Raises:
            KeyError: there is none.
        """
        return {j.name: j for j in self.judges}[name]

    def confidence(self, judge: str, severity: Severity) -> float:
        """How sure a finding of that judge and severity is: in [0, 1]."""
        return (self.judge(judge).confidence or self.rules.confidence)[severity]

    def version_text(self, judge: str) -> str:
        """The rules and the judge's criteria as canonical text: whatever changes them changes it."""
        return f"{self.rules.model_dump_json()}\n{self.judge(judge).model_dump_json()}"

    def joined(self, others: tuple[Criteria, ...]) -> CriteriaSet:
        """This set with further judges.

        Raises:
            ValueError: a name is there already.
        """
        return CriteriaSet(name=self.name, rules=self.rules, judges=(*self.judges, *others))


def _complete(confidence: Confidence | None) -> None:
    if confidence is not None and set(confidence) != set(Severity):
        raise ValueError("confidence: give a number from 0 to 1 for each of LOW, MEDIUM and HIGH")
