"""Reasons summed up to rubrics, batch by batch, and rubrics to fewer ones (SCOPE, step 3; SPUR, step 2)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BaseModel, BeforeValidator, StrictInt, StringConstraints

from tracejury.judges.llm.answer import list_of, object_of
from tracejury.judges.llm.case import Outcomes
from tracejury.judges.llm.client import Prompt
from tracejury.judges.llm.conversation import Asking, ask, together
from tracejury.judges.rubrics.rubric_set import Label
from tracejury.judges.writing.answers import TEXT, WritingAnswer
from tracejury.judges.writing.prompts import DATA_RULE, fenced
from tracejury.schemas.shown import shown_line

from .training import Learning

BATCH: Final = 20
"""Reasons, or rubrics, of one question."""
OF_A_BATCH: Final = 5
"""Rubrics that several batches are summed up to, each."""
MOST_TEXT: Final = 300

_NOT_IN_NAMES: Final = re.compile(r"[^a-z0-9]+")
_MOST_NAME: Final = 60

RULES: Final = f"""\
You write rubrics by which a judge tells good sessions of AI agents from bad ones. A session is a conversation between \
a user and an agent that may call tools. A rubric is one sign that a judge can look for in the record of any session.

{DATA_RULE}"""

_QUESTION: Final = """\
Each numbered line under `signs` says why some session is {word}{area}. Sum them up to at most {most} \
{rubrics}: put together what means the same, and leave out what fits no other line if there would be too many.

A rubric is about what was done, said or left out, so that whoever reads the record of another session can say how \
strongly it holds there. It names no user, value, date or single case, and does not mention labels, lines or areas.

Answer with one JSON object, `rubrics`: a list with, for each rubric:
- `name`: two to five lower-case English words, joined by hyphens; no two alike
- `text`: one sentence of at most {length} characters
- `covers`: the numbers of all lines that it sums up, at least one; a line belongs to the one rubric that fits it \
best"""


def _name(value: Any) -> Any:
    """A name as categories are written."""
    written = (
        _NOT_IN_NAMES.sub("-", value[: 4 * _MOST_NAME].lower()).lstrip("-0123456789")
        if isinstance(value, str)
        else value
    )
    return written[:_MOST_NAME].strip("-") if isinstance(written, str) else written


class RubricDraft(BaseModel):
    """A rubric as a model words it. `covers`: numbers of lines."""

    model_config = WritingAnswer.model_config

    name: Annotated[str, BeforeValidator(_name), StringConstraints(min_length=1)]
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
    """A reason, or (with a `name`) a rubric that sums some up. `reasons`: their offsets among all of the label."""

    text: str
    reasons: frozenset[int]
    name: str = ""


@dataclass(slots=True)
class Group:
    """Signs of one label that are summed up until at most `most` are left, once at least.

    `area`: its name and sentence, "" for none.
    """

    signs: list[Sign]
    label: Label
    most: int
    area: str = ""
    batch: int = BATCH

    def batches(self) -> Iterator[tuple[Sequence[Sign], int]]:
        """What is summed up next, each with the most rubrics of it."""
        most = self.most if len(self.signs) <= self.batch else OF_A_BATCH
        for at in range(0, len(self.signs), self.batch):
            yield self.signs[at : at + self.batch], most


def sum_up(groups: Sequence[Group], how: Learning, counts: Counter[str]) -> Generator[Sequence[Prompt], Outcomes, None]:
    """Leave rubrics in the place of the groups' signs. A batch whose answer is of no use is lost, and counted.

    Raises:
        TracejuryError: a call was not answered.
    """
    left = [group for group in groups if group.signs]
    while left:
        batches = [(group, *batch) for group in left for batch in group.batches()]
        said = yield from together(_summary(*batch, how, counts) for batch in batches)
        for group in left:
            own = (signs for (of, *_), signs in zip(batches, said, strict=True) if of is group)
            group.signs = [sign for signs in own for sign in signs]
        left = [group for group in left if len(group.signs) > group.most]


def _summary(group: Group, signs: Sequence[Sign], most: int, how: Learning, counts: Counter[str]) -> Asking[list[Sign]]:
    unit = fenced("area", group.area) if group.area else ""
    unit += fenced("signs", "\n".join(f"{number}. {sign.text}" for number, sign in enumerate(signs, 1)))
    question = _QUESTION.format(
        word=how.word(group.label),
        area=" by the `area`" if group.area else "",
        most=most,
        rubrics="rubric" if most == 1 else "rubrics",
        length=MOST_TEXT,
    )
    prompt = how.prompt(RULES, unit, question, RubricDrafts)
    said = yield from ask(prompt, RubricDrafts.read, lambda answer: answer.problem(len(signs), most))
    if said.error:
        raise said.error
    if said.answer is None:
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
