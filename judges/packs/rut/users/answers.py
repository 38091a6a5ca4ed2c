"""What models answer when a user is written or verified."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import BeforeValidator, Field, StringConstraints

from tracejury.judges.llm.answer import list_of, object_of
from tracejury.judges.llm.answer_types import AnswerError
from tracejury.judges.packs.cards.user_turns import Turns
from tracejury.judges.writing.answers import CHECK, TEXT, CheckWord, TextCheck, TextChecks, WritingAnswer, visible
from tracejury.schemas.shown import folded


class TurnsAnswer(WritingAnswer):
    """What the user says, in order."""

    answer_schema = object_of(turns=list_of(TEXT))

    turns: Annotated[Turns, BeforeValidator(visible)]


_Entry = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=1000)]
Entries = Annotated[tuple[_Entry, ...], BeforeValidator(visible), Field(min_length=1, max_length=10)]


class Material(WritingAnswer):
    """What difficult users weave in."""

    answer_schema = object_of(
        side_information=list_of(TEXT),
        pseudo_parameters=list_of(TEXT),
        side_goals=list_of(TEXT),
        conflicting_conditions=list_of(TEXT),
    )

    side_information: Entries
    pseudo_parameters: Entries
    side_goals: Entries
    conflicting_conditions: Entries


class TurnChecks(TextChecks):
    """The three checks of what a user says."""

    answer_schema = object_of(intent=CHECK, infer=CHECK, leak=CHECK)

    intent: TextCheck
    infer: TextCheck
    leak: TextCheck

    def failed(self, check: str, reason: str) -> TurnChecks:
        """The same, where code found a fault, too, for `reason`; "" for none."""
        if not reason:
            return self
        said: TextCheck = getattr(self, check)
        told = f"{reason}. {said.reason}" if said.answer is CheckWord.FAIL else reason
        return self.model_copy(update={check: TextCheck.model_construct(reason=told, answer=CheckWord.FAIL)})


def read_turns(text: str, count: int, ideal: Sequence[str] = ()) -> TurnsAnswer:
    """Exactly so many turns, which are not the ideal ones.

    Raises:
        AnswerError: as `WritingAnswer.read`, or they are no such turns.
    """
    answer = TurnsAnswer.read(text)
    if len(answer.turns) != count:
        raise AnswerError(f"turns: {count} are needed, not {len(answer.turns)}")
    if [*map(folded, answer.turns)] == [*map(folded, ideal)]:
        raise AnswerError("turns: they are the ideal turns, but must be in the words of the user that is described")
    return answer
