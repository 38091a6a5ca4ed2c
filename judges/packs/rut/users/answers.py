"""What models answer when a user is written or verified: schemas, and strict reading. A reply is hostile text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any, Final, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, ValidationError

from tracejury.judges.llm.answer import list_of, object_of
from tracejury.judges.llm.answer_types import AnswerError
from tracejury.judges.llm.data_files import problems_of
from tracejury.judges.llm.json_object import json_object
from tracejury.judges.packs.cards.user_turns import Turns
from tracejury.schemas.shown import folded, shown

TEXT: Final = {"type": "string"}


def _shown(value: Any) -> Any:
    """Texts without what the eye does not see: they are spoken to agents, and printed."""
    if isinstance(value, list):
        return [_shown(one) for one in value]
    return shown(value) if isinstance(value, str) else value


class WritingAnswer(BaseModel):
    """The base of these answers: no further keys; errors do not repeat values."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    @property
    def unscored(self) -> Mapping[str, str]:
        """Nothing: an answer is whole, or it is refused."""
        return {}


class TurnsAnswer(WritingAnswer):
    """What the user says, in order."""

    turns: Annotated[Turns, BeforeValidator(_shown)]


Entry = Annotated[str, BeforeValidator(_shown), StringConstraints(strip_whitespace=True, min_length=1, max_length=1000)]
Entries = Annotated[tuple[Entry, ...], Field(min_length=1, max_length=10)]


class Material(WritingAnswer):
    """What difficult users weave in."""

    side_information: Entries
    pseudo_parameters: Entries
    side_goals: Entries
    conflicting_conditions: Entries


class CheckWord(StrEnum):
    """The answer of a check."""

    PASS = "pass"  # noqa: S105  no password
    WARNING = "warning"
    FAIL = "fail"


class TurnCheck(BaseModel):
    """The answer of one check, with its reason."""

    model_config = WritingAnswer.model_config

    reason: Annotated[str, BeforeValidator(_shown), StringConstraints(strip_whitespace=True, max_length=4000)]
    answer: CheckWord


class TurnChecks(WritingAnswer):
    """The three checks of what a user says."""

    intent: TurnCheck
    infer: TurnCheck
    leak: TurnCheck

    @property
    def complaints(self) -> str:
        """Why the checks failed, a line each; "" where none did."""
        failed = ((name, check) for name, check in self if check.answer is CheckWord.FAIL)
        return "\n".join(f"{name.upper()}: {' '.join(check.reason.split())}" for name, check in failed)

    def with_leak(self, reason: str) -> TurnChecks:
        """The same, where code found a leak, too; "" for none."""
        if not reason:
            return self
        said = f"{reason}. {self.leak.reason}" if self.leak.answer is CheckWord.FAIL else reason
        return self.model_copy(update={"leak": TurnCheck.model_construct(reason=said, answer=CheckWord.FAIL)})


_CHECK: Final = object_of(reason=TEXT, answer={"type": "string", "enum": [*CheckWord]})
SCHEMAS: Final[Mapping[type[WritingAnswer], Mapping[str, Any]]] = {
    TurnsAnswer: object_of(turns=list_of(TEXT)),
    Material: object_of(**dict.fromkeys(Material.model_fields, list_of(TEXT))),
    TurnChecks: object_of(**dict.fromkeys(TurnChecks.model_fields, _CHECK)),
}
"""In the subset that strict structured outputs allow."""

Answer = TypeVar("Answer", bound=WritingAnswer)


def read_answer(text: str, kind: type[Answer]) -> Answer:
    """The answer in a reply.

    Raises:
        AnswerError: it is none, in one line that tells the model what to mend.
    """
    reply = json_object(text, next(iter(kind.model_fields)))
    try:
        return kind.model_validate(reply)
    except ValidationError as error:
        raise AnswerError(problems_of(error)) from None


def read_turns(text: str, count: int, ideal: Sequence[str] = ()) -> TurnsAnswer:
    """Exactly so many turns, which are not the ideal ones.

    Raises:
        AnswerError: as `read_answer`, or they are no such turns.
    """
    answer = read_answer(text, TurnsAnswer)
    if len(answer.turns) != count:
        raise AnswerError(f"turns: {count} are needed, not {len(answer.turns)}")
    if [*map(folded, answer.turns)] == [*map(folded, ideal)]:
        raise AnswerError("turns: they are the ideal turns, but must be in the words of the user that is described")
    return answer
