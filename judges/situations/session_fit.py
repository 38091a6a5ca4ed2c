"""Whether a session is the one that it was to be: the prompt by its four texts, and the answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import BaseModel, StrictBool, StringConstraints

from tracejury.judges.llm.answer import object_of
from tracejury.judges.llm.client import Prompt, PromptMessage
from tracejury.judges.writing.answers import TEXT, WritingAnswer
from tracejury.judges.writing.prompts import DATA_RULE, fenced
from tracejury.schemas.transcript import Transcript

from .session_prompts import PromptSettings, situation_texts
from .situation_session import Spoken

_RULES: Final = f"""\
A session of a user with an AI agent that has tools was written to show one situation. You check whether it does.

# Data
{DATA_RULE} `situation` says in four texts what is to happen in the session: as a whole, and what the user, the tools \
and the agent do. `session` is the session: the agent's instructions and tools, then its steps, each with a label such \
as E1.S2; `llm` is what the agent says and calls, `tool` a call with its result. `state`, where there is one, is what \
a harness observed of the tools' data before and after: it tells what the tools really did; user and agent did not see \
it.

# Rules
- Take the four texts one by one. A text fits if all that it says happens in the session, and nothing happens that it \
rules out. Whatever else goes wrong in the session, too, is a mismatch of the text that it is about.
- Judge by what the steps show, not by what somebody says that happened. What a text says that somebody does not \
notice must not be noticed; whether the user is satisfied shows in the user's last words.
- Where it is open whether a text fits, it does not.

# Answer
One JSON object with the keys `whole`, `user`, `tools` and `agent`, in this order, each with `reason`, a sentence that \
names the steps, and then `fits`, true or false."""

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


def fit_prompt(situation: str, session: Transcript, states: Mapping[str, Any], settings: PromptSettings) -> Prompt:
    """Asks whether a session is one of that situation, at temperature 0. `states`: JSON that was observed, by when."""
    steps = "\n".join(step.text for step in session.steps)
    shown = f"{situation_texts()[situation].shown}{fenced('session', f'{session.header}{steps}{session.closing}')}"
    try:
        told = "\n".join(f"{when}: {json.dumps(state)}" for when, state in states.items())
    except RecursionError:  # nested deeper than it can be written
        told = ""
    shown += fenced("state", told) if told else ""
    messages = (
        PromptMessage("system", _RULES, cache=True),
        PromptMessage("user", f"{shown}Does the session fit its four texts?"),
    )
    return settings.prompt(messages, SessionFit.answer_schema, 0.0)
