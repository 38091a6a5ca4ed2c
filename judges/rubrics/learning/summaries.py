"""Reasons summed up to rubrics, batch by batch, and rubrics to fewer ones (SCOPE, step 3; SPUR, step 2)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import AfterValidator, BaseModel, StrictInt, StringConstraints

from tracejury.judges.llm.answer import list_of, object_of
from tracejury.judges.llm.case import Outcomes
from tracejury.judges.llm.client import Prompt
from tracejury.judges.llm.conversation import Asking, ask, together
from tracejury.judges.rubrics.rubric_set import Label
from tracejury.judges.writing.answers import TEXT, WritingAnswer
from tracejury.judges.writing.prompts import fenced, prompt_text
from tracejury.schemas.shown import shown_line

from .training import Learning

BATCH: Final = 20
"""Reasons, or rubrics, of one question."""
OF_A_BATCH: Final = 5
"""Rubrics that several batches are summed up to, each."""
MOST_TEXT: Final = 300

_NOT_IN_NAMES: Final = re.compile(r"[^a-z0-9]+")
MOST_NAME: Final = 60


def _name(value: str) -> str:
    """A name as categories are written."""
    return _NOT_IN_NAMES.sub("-", value[: 4 * MOST_NAME].lower()).lstrip("-0123456789")[:MOST_NAME].strip("-")


class RubricDraft(BaseModel):
    """A rubric as a model words it. `covers`: numbers of lines."""

    model_config = WritingAnswer.model_config

    name: Annotated[str, AfterValidator(_name), StringConstraints(min_length=1)]
    text: Annotated[str, AfterValidator(lambda text: shown_line(text, MOST_TEXT)), StringConstraints(min_length=1)]
    covers: tuple[StrictInt, ...]


class RubricDrafts(WritingAnswer):
    """The rubrics of one question."""

    answer_schema = object_of(rubrics=list_of(object_of(name=TEXT, text=TEXT, covers=list_of({"type": "integer"}))))

    rubrics: tuple[RubricDraft, ...]

    def problem(self, lines: int, most: int) -> str:
        """What is to be mended, "" for nothing. `lines`: how many there are."""
        unknown = [n for one in self.rubrics for n in one.covers if not 1 <= n <= lines]
        twice = [name for name, times in Counter(one.name for one in self.rubrics).items() if times > 1]
        if not 1 <= len(self.rubrics) <= most:
            return f"there are {len(self.rubrics)} rubrics: 1 to {most} are asked for"
        if twice:
            return f"two rubrics have the name {twice[0]}"
        return f"covers: there is no line {unknown[0]}, only 1 to {lines}" if unknown else ""


@dataclass(frozen=True, slots=True)
class Sign:
    """A reason, or (with a `name`) a rubric that sums some up. `reasons`: their offsets among all."""

    text: str
    reasons: frozenset[int]
    name: str = ""


Signs = Mapping[tuple[Label, str], Sequence[Sign]]
"""By label and area (its name and sentence, "" for none)."""


def sum_up(
    signs: Signs, most: int, how: Learning, counts: Counter[str], refused: dict[Label, str]
) -> Generator[Sequence[Prompt], Outcomes, Signs]:
    """The rubrics of each group, batch by batch, and again until at most `most` are left.

    `refused`: takes, by label, why an answer was of no use.

    Raises:
        TracejuryError: a call was not answered.
    """
    found: dict[tuple[Label, str], Sequence[Sign]] = {}
    left = signs
    while left:
        batches = [
            (group, own[at : at + BATCH], most if len(own) <= BATCH else OF_A_BATCH)
            for group, own in left.items()
            for at in range(0, len(own), BATCH)
        ]
        said = yield from together(summary(*batch, how, counts, refused) for batch in batches)
        found |= {group: [] for group in left}
        for (group, *_), rubrics in zip(batches, said, strict=True):
            found[group] = [*found[group], *rubrics]
        left = {group: found[group] for group in left if len(found[group]) > most}
    return found


def summary(
    group: tuple[Label, str],
    signs: Sequence[Sign],
    most: int,
    how: Learning,
    counts: Counter[str],
    refused: dict[Label, str],
) -> Asking[list[Sign]]:
    """At most `most` rubrics for these signs; none, and counted, where the answer is of no use.

    Raises:
        TracejuryError: the call was not answered.
    """
    label, area = group
    unit = fenced("area", area) if area else ""
    unit += fenced("signs", "\n".join(f"{number}. {sign.text}" for number, sign in enumerate(signs, 1)))
    question = prompt_text(
        __package__,
        "summary",
        word=how.words(label).told,
        area=" by the `area`" if area else "",
        most=most,
        length=MOST_TEXT,
    )
    prompt = how.prompt(prompt_text(__package__, "rubrics_rules"), unit, question, RubricDrafts)
    said = yield from ask(prompt, RubricDrafts.read, lambda answer: answer.problem(len(signs), most))
    if said.error:
        raise said.error
    if said.answer is None:
        refused.setdefault(label, said.failure)
        counts["batches-lost"] += 1
        counts["reasons-lost"] += len(frozenset().union(*(sign.reasons for sign in signs)))
        return []
    return _kept(said.answer, signs, most, counts)


def _kept(answer: RubricDrafts, signs: Sequence[Sign], most: int, counts: Counter[str]) -> list[Sign]:
    """The rubrics that cover anything, of one name the one that covers most, and of all so many as are asked for."""
    found: dict[str, Sign] = {}
    for one in answer.rubrics:
        known = {number for number in one.covers if 1 <= number <= len(signs)}
        counts["numbers-unknown"] += len({*one.covers}) - len(known)
        if not known:
            counts["rubrics-without-reason"] += 1
            continue
        sign = Sign(one.text, frozenset().union(*(signs[number - 1].reasons for number in known)), one.name)
        other = found.setdefault(one.name, sign)
        counts["rubrics-surplus"] += other is not sign
        if len(sign.reasons) > len(other.reasons):
            found[one.name] = sign
    kept = sorted(found.values(), key=lambda sign: -len(sign.reasons))[:most]
    counts["rubrics-surplus"] += len(found) - len(kept)
    return kept
