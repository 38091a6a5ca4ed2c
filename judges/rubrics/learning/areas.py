"""The areas that sessions are judged by, as a model finds them in a few sessions without labels (SCOPE, step 1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Final

from pydantic import AfterValidator, BaseModel, StringConstraints

from tracejury.judges.llm.answer import list_of, object_of
from tracejury.judges.llm.conversation import Asking, ask
from tracejury.judges.llm.fence import fence
from tracejury.judges.llm.passages import shares, shortened
from tracejury.judges.llm.record import whole
from tracejury.judges.rubrics.rubric_set import MOST_AREAS, Area
from tracejury.judges.writing.answers import TEXT, WritingAnswer
from tracejury.judges.writing.prompts import prompt_text
from tracejury.schemas.errors import PermanentError
from tracejury.schemas.shown import shown_line

from .training import CREATIVE, LabelledSession, Learning

SAMPLE: Final = 10
"""Sessions that are shown."""
ROOM: Final = 160_000
"""Characters of all of them together; long ones are cut in their middle."""
_NAME: Final = 60


class AreaDraft(BaseModel):
    """An area as a model words it."""

    model_config = WritingAnswer.model_config

    name: Annotated[str, AfterValidator(lambda name: shown_line(name, _NAME)), StringConstraints(min_length=1)]
    text: Annotated[str, AfterValidator(lambda text: shown_line(text, 300)), StringConstraints(min_length=1)]


class AreaDrafts(WritingAnswer):
    """All areas."""

    answer_schema = object_of(areas=list_of(object_of(name=TEXT, text=TEXT)))

    areas: tuple[AreaDraft, ...]

    @property
    def problem(self) -> str:
        """What is to be mended, "" for nothing."""
        names = {one.name.casefold() for one in self.areas}
        if not 1 <= len(self.areas) <= MOST_AREAS:
            return f"there are {len(self.areas)} areas: 1 to {MOST_AREAS} are asked for"
        return "" if len(names) == len(self.areas) else "two areas have one name"


def find_areas(
    sessions: Sequence[LabelledSession], how: Learning, room: int, counts: Counter[str]
) -> Asking[tuple[Area, ...]]:
    """The areas, by name. `sessions`: in the order of training; `room`: characters for all that are shown.

    Raises:
        PermanentError: the model names none, in one line.
        TracejuryError: the call was not answered.
    """
    texts = [whole(one.recorded.record.transcript) for one in sessions[:SAMPLE]]
    cut = map(shortened, texts, shares([*map(len, texts)], room))
    unit = "".join(fence("session", text, text) for text in cut)
    question = prompt_text(__package__, "areas", most=MOST_AREAS)
    prompt = how.prompt(prompt_text(__package__, "areas_rules"), unit, question, AreaDrafts, CREATIVE)
    said = yield from ask(prompt, AreaDrafts.read, lambda answer: answer.problem)
    if said.error:
        raise said.error
    drafts = said.answer.areas if said.answer else ()
    found: dict[str, Area] = {}
    for one in drafts:
        found.setdefault(one.name.casefold(), Area(name=one.name, text=one.text))
    if not found:
        raise PermanentError(f"the model named no areas ({said.failure or 'none'}): take another one, or --no-areas")
    kept = [*found.values()][:MOST_AREAS]
    counts["areas-surplus"] += len(drafts) - len(kept)
    return tuple(sorted(kept, key=lambda area: area.name))
