"""Whether a session is the one that it was to be: the prompt by its four texts, and the answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import BaseModel, StrictBool, StringConstraints

from tracejury.judges.llm.answer import object_of
from tracejury.judges.llm.client import Prompt
from tracejury.judges.llm.record import whole
from tracejury.judges.writing.answers import TEXT, WritingAnswer
from tracejury.judges.writing.prompts import fenced, prompt_text
from tracejury.schemas.transcript import Transcript

from .session_prompts import situation_prompt, situation_texts
from .situation_session import Spoken

_FIT: Final = object_of(reason=TEXT, fits={"type": "boolean"})


class TextFit(BaseModel):
    """Whether one text fits, with the reason."""

    model_config = WritingAnswer.model_config

    reason: Annotated[Spoken, StringConstraints(max_length=4000)]
    fits: StrictBool


class SessionFit(WritingAnswer):
    """Whether each of the four texts fits."""

    answer_schema = object_of(whole=_FIT, user=_FIT, tools=_FIT, agent=_FIT)

    whole: TextFit
    user: TextFit
    tools: TextFit
    agent: TextFit

    @property
    def mismatch(self) -> str:
        """The first text that does not fit, with the reason, in one line; "" where all do."""
        misfits = (f"{name}: {' '.join(fit.reason.split())}" for name, fit in self if not fit.fits)
        return next(misfits, "")


def fit_prompt(situation: str, session: Transcript, states: Mapping[str, Any], max_tokens: int) -> Prompt:
    """Asks whether a session is one of that situation, at temperature 0. `states`: JSON that was observed, by when."""
    shown = f"{situation_texts()[situation].shown}{fenced('session', whole(session))}"
    try:
        told = "\n".join(f"{when}: {json.dumps(state)}" for when, state in states.items())
    except RecursionError:  # nested deeper than it can be written
        told = ""
    shown += f"{fenced('state', told) if told else ''}Does the session fit its four texts?"
    return situation_prompt(prompt_text(__package__, "fit"), shown, SessionFit.answer_schema, max_tokens, 0.0)
