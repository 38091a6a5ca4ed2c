"""The weights of rubrics, and which of bad sessions are make-or-break (SCOPE, step 3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from pydantic import BaseModel, StrictBool, StrictInt

from tracejury.judges.llm.answer import list_of, object_of
from tracejury.judges.llm.conversation import Asking, ask
from tracejury.judges.rubrics.rubric_set import Label, Rubric
from tracejury.judges.writing.answers import WritingAnswer
from tracejury.judges.writing.prompts import fenced, prompt_text

from .training import Learning

_WEIGHTS: Final = range(1, 11)

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


def weigh(rubrics: Sequence[Rubric], label: Label, how: Learning, counts: Counter[str]) -> Asking[list[Rubric]]:
    """The rubrics of one label with their weights, in their order; one to which the model gives none keeps its own.

    Raises:
        TracejuryError: the call was not answered.
    """
    unit = fenced("rubrics", "\n".join(f"{number}. {one.text}" for number, one in enumerate(rubrics, 1)))
    question = prompt_text(__package__, "weights", word=how.words(label).told, make_or_break=_MAKE_OR_BREAK[label])
    prompt = how.prompt(prompt_text(__package__, "rubrics_rules"), unit, question, RubricWeights)
    said = yield from ask(prompt, RubricWeights.read, lambda answer: answer.problem(len(rubrics)))
    if said.error:
        raise said.error
    given = {one.rubric: one for one in reversed(said.answer.weights if said.answer else ())}
    counts["numbers-unknown"] += sum(not 1 <= number <= len(rubrics) for number in given)
    found: list[Rubric] = []
    for number, rubric in enumerate(rubrics, 1):
        one = given.get(number, RubricWeight(rubric=number, weight=0, make_or_break=False))
        known = one.weight in _WEIGHTS
        counts["weights-missing"] += not known
        decides = one.make_or_break and label == "bad"
        weight = one.weight if known else rubric.weight
        found.append(rubric.model_copy(update={"weight": weight, "make_or_break": decides}))
    return found
