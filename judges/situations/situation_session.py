"""One simulated session of a situation as data: who says, calls and gets what, and the step that decides it."""

from __future__ import annotations

import json
from collections.abc import Collection
from functools import cache
from importlib import resources
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, BeforeValidator, Field, StringConstraints, model_validator

from tracejury.judges.llm.criteria_types import Name
from tracejury.judges.llm.data_files import read_model
from tracejury.judges.writing.answers import WritingAnswer, visible
from tracejury.schemas.shown import folded

from .situation_types import Situation, all_situations, named_situations

STATES_NEEDED: Final = frozenset({"wrong-action-silent", "trusted-wrong-fact"})
"""Situations that only the state of the tools' data tells from `correct`."""
STATES_WRITTEN: Final = STATES_NEEDED | {"correct"}
"""Situations of which a model writes states: with those of `correct`, a state tells nothing by being there."""


def _parsed(value: Any) -> Any:
    """What JSON text says; whatever else stands in a file, as it is."""
    try:
        parsed = json.loads(value) if isinstance(value, str) else value
        json.dumps(parsed, allow_nan=False)
    except (ValueError, TypeError, RecursionError):
        raise ValueError("it is no JSON") from None
    return parsed


def _arguments(value: Any) -> Any:
    return {} if value == "" else _parsed(value)


def _json_text(value: Any) -> Any:
    return value if value == "" else json.dumps(_parsed(value), ensure_ascii=False)


Spoken = Annotated[str, BeforeValidator(visible), StringConstraints(strip_whitespace=True, max_length=8000)]
# The last one is the first to run.
Json = Annotated[str, StringConstraints(max_length=8000), BeforeValidator(_json_text), BeforeValidator(visible)]
Arguments = Annotated[dict[str, Any], BeforeValidator(_arguments), BeforeValidator(visible)]


class SessionStep(BaseModel):
    """A step of a session. `who`: "tool" is a call, of the agent, with `tool`, `arguments` and its result as `text`.

    `failed`: the call timed out or raised an error.
    """

    model_config = WritingAnswer.model_config

    who: Literal["user", "agent", "tool"]
    text: Annotated[Spoken, Field(min_length=1)]
    tool: Annotated[str, BeforeValidator(visible)] = ""
    arguments: Arguments = {}
    failed: Annotated[bool, Field(strict=True)] = False


class DecidingStep(BaseModel):
    """The step at which a session goes wrong, its number from 1. `why`: a sentence for people.

    Where the agent's conduct is appropriate, it is the result of a call, and `quote` is from that; else what the agent
    says, or that it makes a call, of whose arguments the quote is.
    """

    model_config = WritingAnswer.model_config

    step: Annotated[int, Field(ge=1, strict=True)]
    quote: Annotated[Spoken, Field(min_length=1, max_length=500)]
    why: Annotated[Spoken, Field(min_length=1, max_length=500)]


class SituationSession(WritingAnswer):
    """A session. `state_before`, `state_after`: JSON of the tools' data, "" where nobody observes it."""

    situation: Name
    group: Name
    steps: Annotated[tuple[SessionStep, ...], Field(min_length=2, max_length=60)]
    deciding: DecidingStep | None = None
    state_before: Json = ""
    state_after: Json = ""

    @model_validator(mode="after")
    def _sound(self) -> Self:
        if self.situation not in {one.name for one in named_situations()}:
            raise ValueError(f"situation: there is none named {self.situation!r}")
        for problem in (_order(self.steps), _deciding(self), _states(self)):
            if problem:
                raise ValueError(problem)
        return self

    def unknown_tool(self, offered: Collection[str]) -> str:
        """Why it cannot be a session with these tools, in one line, "" where it can."""
        places = (f"steps.{at}" for at, one in enumerate(self.steps) if one.who == "tool" and one.tool not in offered)
        return next((f"{place}: `tool` must be one of {', '.join(offered)}" for place in places), "")


_MAY_FOLLOW: Final = {"": "user", "user": "agent or tool", "tool": "agent or tool", "agent": "user or tool"}


def _order(steps: tuple[SessionStep, ...]) -> str:
    """Each exchange: the user, calls with or without words before them, an answer."""
    before = ""
    for at, step in enumerate(steps):
        if step.who not in (may := _MAY_FOLLOW[before]):
            return f"steps.{at}: after {before or 'the beginning'} comes {may}, not {step.who}"
        if (step.who == "tool") != bool(step.tool):
            return f"steps.{at}: `tool` names the tool of a call, and is empty elsewhere"
        before = step.who
    return "" if before == "agent" else "steps: the last one must be the agent's answer"


def _deciding(session: SituationSession) -> str:
    deciding, situation = session.deciding, all_situations()[session.situation]
    if deciding is None or situation.good:
        return "" if (deciding is None) == situation.good else "deciding: a session has it unless it is correct"
    if deciding.step > len(session.steps):
        return f"deciding.step: there are {len(session.steps)} steps"
    step = session.steps[deciding.step - 1]
    if step.who == "user" or (by_tool(situation) and step.who != "tool"):
        return f"deciding.step: step {deciding.step} is the {step.who}'s, which decides nothing here"
    part = "arguments" if step.who == "tool" and not by_tool(situation) else "text"
    text = json.dumps(step.arguments, ensure_ascii=False) if part == "arguments" else step.text
    return "" if _bare(deciding.quote) in _bare(text) else f"deciding.quote: step {deciding.step} has no such {part}"


def _bare(text: str) -> str:
    """However JSON is spaced."""
    return "".join(folded(text).split())


def by_tool(situation: Situation) -> bool:
    """Whether the result of a call decides it: the agent does nothing wrong."""
    return situation.conduct == "appropriate"


def _states(session: SituationSession) -> str:
    if bool(session.state_before) != bool(session.state_after):
        return "state_before and state_after: both are needed, or none"
    missing = session.situation in STATES_NEEDED and not session.state_before
    return "state_before and state_after: they show what the tool really did or knows" if missing else ""


class _Examples(BaseModel):
    model_config = WritingAnswer.model_config

    sessions: tuple[SituationSession, ...]


@cache
def curated_sessions() -> tuple[SituationSession, ...]:
    """The sessions written by hand: nine of `correct`, one per tool group, and one of each other situation."""
    folder = resources.files(__package__) / "examples"
    return tuple(
        session
        for situation in named_situations()
        for session in read_model(folder / f"{situation.name}.yaml", _Examples).sessions
    )
