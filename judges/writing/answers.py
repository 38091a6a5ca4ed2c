"""Answers of models that write or verify a text: a class with its schema, read strictly. A reply is hostile text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Final, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, StringConstraints, ValidationError
from pydantic_core import to_json

from tracejury.judges.llm.answer import object_of
from tracejury.judges.llm.answer_types import AnswerError
from tracejury.judges.llm.data_files import problems_of
from tracejury.judges.llm.json_object import json_object
from tracejury.schemas.shown import shown

TEXT: Final = {"type": "string"}


def visible(value: Any) -> Any:
    """A text, or the texts of a list, without what the eye does not see: they are shown to agents and people."""
    if isinstance(value, list):
        return [visible(one) for one in value]
    return shown(value) if isinstance(value, str) else value


def json_value(value: Any) -> Any:
    """The value of a JSON text, or of a file, without what the eye does not see; not deeper than it can be written.

    Raises:
        ValueError: it is none.
    """
    try:
        parsed = json.loads(value) if isinstance(value, str) else value
        seen = json.loads(visible(json.dumps(parsed, ensure_ascii=False, allow_nan=False)))
        to_json([[[[seen]]]])  # pydantic writes only so deep, and it stands in an answer
    except (ValueError, TypeError, RecursionError):
        raise ValueError("it is no JSON") from None
    return seen


class WritingAnswer(BaseModel):
    """The base of answers: no further keys; errors do not repeat values.

    `answer_schema`: JSON schema of the answer, in the subset that strict structured outputs allow.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    answer_schema: ClassVar[Mapping[str, Any]]

    @property
    def unscored(self) -> Mapping[str, str]:
        """Nothing: an answer is whole, or it is refused."""
        return {}

    @classmethod
    def read(cls, text: str) -> Self:
        """The answer in a reply.

        Raises:
            AnswerError: it is none, in one line that tells the model what to mend.
        """
        reply = json_object(text, next(iter(cls.model_fields)))
        try:
            return cls.model_validate(reply)
        except ValidationError as error:
            raise AnswerError(problems_of(error)) from None


class CheckWord(StrEnum):
    """The answer of a check."""

    PASS = "pass"  # noqa: S105  no password
    WARNING = "warning"
    FAIL = "fail"


class TextCheck(BaseModel):
    """The answer of one check, with its reason."""

    model_config = WritingAnswer.model_config

    reason: Annotated[str, BeforeValidator(visible), StringConstraints(strip_whitespace=True, max_length=4000)]
    answer: CheckWord


CHECK: Final = object_of(reason=TEXT, answer={"type": "string", "enum": [*CheckWord]})


class TextChecks(WritingAnswer):
    """The base of what is checked of a text: fields that are a `TextCheck` each."""

    @property
    def complaints(self) -> str:
        """Why the checks failed, a line each; "" where none did."""
        failed = ((name, check) for name, check in self if check.answer is CheckWord.FAIL)
        return "\n".join(f"{name.upper()}: {' '.join(check.reason.split())}" for name, check in failed)
