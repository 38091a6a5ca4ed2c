"""The areas that sessions are judged by, as a model finds them in a few sessions without labels (SCOPE, step 1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Final

from pydantic import AfterValidator, BaseModel, StringConstraints

from tracejury.judges.llm.answer import list_of, object_of
from tracejury.judges.llm.conversation import Asking, ask
from tracejury.judges.llm.passages import shares, shortened
from tracejury.judges.llm.record import fence
from tracejury.judges.rubrics.rubric_set import MOST_AREAS, Area
from tracejury.judges.writing.answers import TEXT, WritingAnswer
from tracejury.judges.writing.prompts import DATA_RULE
from tracejury.schemas.errors import PermanentError
from tracejury.schemas.shown import shown_line
from tracejury.schemas.transcript import Transcript

from .training import CREATIVE, LabelledSession, Learning

SAMPLE: Final = 10
"""Sessions that are shown."""
ROOM: Final = 160_000
"""Characters of all of them together; long ones are cut in their middle."""
_HEADER: Final = 0.25
"""Share of a session's room that prompt and tools of the agent take at most."""
_NAME: Final = 60

_RULES: Final = f"""\
You find out by what the sessions of AI agents should be judged. A session is a conversation between a user and an \
agent that may call tools.

{DATA_RULE} Each `session` is the record of one session: the agent's prompt and tools, then its steps with their \
labels (E1.S1 is the first step of the first exchange). `input` is what the model was sent; `wrote`, `reasoning` and \
`calls` are the agent's own. `= E1.S4` stands for text shown there. Cuts are marked, and ours."""

_QUESTION: Final = f"""\
By which areas can one tell whether such sessions are good? A good session has right tool work and right conduct of \
the agent. Name 1 to {MOST_AREAS} areas that overlap as little as \
possible and together cover what matters to users and to whoever runs the agent: both what is said and what is done \
with tools. An area fits any session of these kinds, good or bad; it names no user, value or single case.

Answer with one JSON object, `areas`: a list with, for each area, `name` (one to four words, such as "tool use") and \
`text` (one sentence that says what is looked at)."""


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
    drawn = [one.recorded.record.transcript for one in sessions[:SAMPLE]]
    given = shares([one.characters for one in drawn], room)
    unit = "".join(fence("session", text, text) for text in map(_shown, drawn, given))
    prompt = how.prompt(_RULES, unit, _QUESTION, AreaDrafts, CREATIVE)
    said = yield from ask(prompt, AreaDrafts.read, lambda answer: answer.problem)
    if said.error:
        raise said.error
    found: dict[str, Area] = {}
    for one in said.answer.areas if said.answer else ():
        found.setdefault(one.name.casefold(), Area(name=one.name, text=one.text))
    if not found:
        raise PermanentError(f"the model named no areas ({said.failure or 'none'}): take another one, or --no-areas")
    counts["areas-surplus"] += (len(said.answer.areas) if said.answer else 0) - len(found)
    counts["areas-surplus"] += max(len(found) - MOST_AREAS, 0)
    return tuple(sorted([*found.values()][:MOST_AREAS], key=lambda area: area.name))


def _shown(transcript: Transcript, room: int) -> str:
    """A record of at most about so many characters; recorded lines stay indented."""
    steps = "".join(_lined(step.text) for step in transcript.steps) + _lined(transcript.closing)
    header = shortened(_lined(transcript.header), max(int(room * _HEADER), room - len(steps)))
    return header + shortened(steps, max(room - len(header), 0))


def _lined(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"
