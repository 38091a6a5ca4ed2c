"""The weights of rubrics, and which of bad sessions are make-or-break (SCOPE, step 3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pydantic import BaseModel, StrictBool, StrictInt

from tracejury.judges.llm.answer import list_of, object_of
from tracejury.judges.llm.conversation import Asking, ask
from tracejury.judges.rubrics.rubric_set import Label
from tracejury.judges.writing.answers import WritingAnswer
from tracejury.judges.writing.prompts import fenced

from .summaries import RULES, Sign
from .training import Learning

USUAL: Final = 5
"""Of a rubric to which the model gives none."""
_WEIGHTS: Final = range(1, 11)

_QUESTION: Final = """\
Each numbered line under `rubrics` is a sign of sessions of which each is {word}. How much does each weigh?

Answer with one JSON object, `weights`: a list with one entry for each line, in their order, with:
- `rubric`: its number
- `weight`: a whole number from 1 (hardly matters) to 10 (matters most), by how important the sign is for whether a \
session is good or bad; use the range
- `make_or_break`: {make_or_break}"""
_MAKE_OR_BREAK: Final = {
    "good": "false",
    "bad": "true where a single case of it makes a session bad, whatever else in it is good; else false",
}


class RubricWeight(BaseModel):
    """The weight of one rubric by its number."""

    model_config = WritingAnswer.model_config

    rubric: StrictInt
    weight: StrictInt
    make_or_break: StrictBool


class RubricWeights(WritingAnswer):
    """All weights."""

    answer_schema = object_of(
        weights=list_of(
            object_of(rubric={"type": "integer"}, weight={"type": "integer"}, make_or_break={"type": "boolean"})
        )
    )

    weights: tuple[RubricWeight, ...]

    def problem(self, rubrics: int) -> str:
        """What is to be mended, "" for nothing."""
        given = Counter(one.rubric for one in self.weights)
        if odd := [n for n in given if not 1 <= n <= rubrics]:
            return f"there is no rubric {odd[0]}, only 1 to {rubrics}"
        if wrong := [one for one in self.weights if one.weight not in _WEIGHTS]:
            return f"rubric {wrong[0].rubric} has the weight {wrong[0].weight}: 1 to {_WEIGHTS[-1]} are asked for"
        once = [number for number in range(1, rubrics + 1) if given[number] != 1]
        return f"rubric {once[0]} has {given[once[0]]} weights: one is asked for" if once else ""


@dataclass(frozen=True, slots=True)
class Weighed:
    """A rubric's weight, and whether it is make-or-break."""

    weight: int = USUAL
    make_or_break: bool = False


def weigh(rubrics: Sequence[Sign], label: Label, how: Learning, counts: Counter[str]) -> Asking[list[Weighed]]:
    """The weights of the rubrics of one label, in their order.

    Raises:
        TracejuryError: the call was not answered.
    """
    unit = fenced("rubrics", "\n".join(f"{number}. {one.text}" for number, one in enumerate(rubrics, 1)))
    question = _QUESTION.format(word=how.word(label), make_or_break=_MAKE_OR_BREAK[label])
    prompt = how.prompt(RULES, unit, question, RubricWeights)
    said = yield from ask(prompt, RubricWeights.read, lambda answer: answer.problem(len(rubrics)))
    if said.error:
        raise said.error
    given = {one.rubric: one for one in reversed(said.answer.weights if said.answer else ())}
    counts["numbers-unknown"] += sum(not 1 <= number <= len(rubrics) for number in given)
    found: list[Weighed] = []
    for number in range(1, len(rubrics) + 1):
        one = given.get(number)
        known = one is not None and one.weight in _WEIGHTS
        counts["weights-missing"] += not known
        decides = one is not None and one.make_or_break and label == "bad"
        found.append(Weighed(one.weight if one is not None and known else USUAL, decides))
    return found
