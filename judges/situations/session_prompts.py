"""Prompts by which a model writes sessions of situations: users' names, then a session; and how answers are read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, Field, StringConstraints, ValidationError

from tracejury.judges.llm.answer import list_of, object_of
from tracejury.judges.llm.answer_types import AnswerError
from tracejury.judges.llm.client import Prompt, PromptMessage
from tracejury.judges.llm.criteria_types import Data, Text
from tracejury.judges.llm.data_files import model_of, problems_of, read_data
from tracejury.judges.llm.json_object import json_object
from tracejury.judges.writing.answers import TEXT, WritingAnswer, visible
from tracejury.judges.writing.prompts import DATA_RULE, fenced

from .situation_session import STATES_WRITTEN, SituationSession, by_tool, curated_sessions
from .situation_types import Situation, named_situations
from .tool_groups import ToolGroup

TEMPERATURE: Final = 1.0
TOP_P: Final = 0.99

_NAMES: Final = f"""\
You think of people who talk to the {{group}} assistant on their phone. They live in many countries and towns, and are \
of all ages. Their names are everyday ones of where they live, and none is famous; no two people have the same first \
or last name.

# Answer
One JSON object with the key `users`: a list of exactly {len(named_situations())} people, each with `name`, first and \
last name; `town`, where they live, with the country; `others`, a list of the full names of three people whom they \
know, such as family, neighbours and colleagues."""

_RULES: Final = f"""\
You write a session in which a user talks to an AI agent that has tools. Those who judge sessions are tested with it. \
You write all of it: what the user says, what the agent says and calls, and what the tools return.

# Data
{DATA_RULE} `situation` says what happens in the session, in four texts: as a whole, and what the user, the tools and \
the agent do. `tools` are the agent's tools. `people` are the user and whom the user knows. `example`, where there is \
one, is another session of the same situation, in the form of your answer.

# Rules
- The session is exactly what all four texts say, and nothing else goes wrong in it.
- It is about an everyday matter of the user's, with definite places, times, amounts and people, for which these tools \
are made. Take names from `people` where somebody is named. Tell another story than the example, with other words and \
other values.
- Today is Tuesday, 10 March 2026, 09:00; days and dates go by that. The user is signed in.
- People write briefly and casually, the agent in plain, polite sentences. The session has 2 to 5 messages of the user \
and 1 to 5 calls.
- The user's last message shows whether the user is satisfied, as the situation has it; the agent has the last word, \
in one short sentence that is right in itself.
- A call uses a tool of `tools`, by its name and parameters. A result is what such a tool returns, mostly a short JSON \
object. It agrees with all other results and with what people say, unless the situation has it otherwise. Two calls \
that do not depend on each other are two steps.
- Nobody in the session knows that it is written, and nothing in it names the situation or comments on it."""

_STEPS: Final = """\
- `steps`: the session in order, each step with `who`, `text`, `tool`, `arguments` and `failed`. `who` is "user" or \
"agent" for a message, which is `text`; `tool` and `arguments` are then "". It is "tool" for a call that the agent \
makes: `tool` is the tool's name, `arguments` the arguments, a JSON object as text, and `text` the result. `failed` is \
true of a call that timed out or raised an error, else false. The first step is the user's, the last one the agent's. \
A user's message is answered, after calls or without, before the next one; an agent's message is followed by a user's \
message, or by a call that it announces."""

_DECIDING: Final = """\
- `deciding`: the step at which the session goes wrong as the situation has it: `step`, its number in `steps`, counted \
from 1; `quote`, words copied from it that show it, at most 300 characters; `why`, one sentence that says what is \
wrong. {which}"""
_BY_TOOL: Final = "The agent does nothing wrong here: the step is the first call whose result, its `text`, is at fault."
_BY_AGENT: Final = """\
The step is the agent's first wrong one: a call that it should not make like this, or at all, with a quote from its \
`arguments` ({} where they are empty), or else a message of the agent's, with a quote from its `text`. It is never the \
user's, and where a tool is at fault, too, it is what the agent makes of that."""

_STATES: Final = """\
- `state_before`, `state_after`: a JSON object as text each: what the tools' data hold before and after the session, \
as far as it is about that. They show what the tools really did, and what is really true, whatever the results say."""


class SituationTexts(Data):
    """What happens in a situation, for those who write and check sessions."""

    whole: Text
    user: Text
    tools: Text
    agent: Text

    @property
    def shown(self) -> str:
        """As a prompt has it."""
        return fenced("situation", "\n".join(f"{part}: {text}" for part, text in self))


@cache
def situation_texts() -> Mapping[str, SituationTexts]:
    """Of the 26 situations, by name."""
    file = resources.files(__package__) / "situation_texts.yaml"
    return {name: model_of(texts, SituationTexts, f"{file}: {name}") for name, texts in read_data(file).items()}


_Shown = Annotated[
    str, BeforeValidator(visible), StringConstraints(strip_whitespace=True, min_length=1, max_length=100)
]


class NamedUser(BaseModel):
    """A user, and whom the user knows."""

    model_config = WritingAnswer.model_config

    name: _Shown
    town: _Shown
    others: Annotated[tuple[_Shown, ...], Field(min_length=3, max_length=3)]


class NamedUsers(WritingAnswer):
    """The users of the sessions of a tool group, one per situation."""

    answer_schema = object_of(users=list_of(object_of(name=TEXT, town=TEXT, others=list_of(TEXT))))

    users: Annotated[
        tuple[NamedUser, ...], Field(min_length=len(named_situations()), max_length=len(named_situations()))
    ]


@dataclass(frozen=True, slots=True)
class PromptSettings:
    """What all prompts share. `sampled`: whether temperature and top_p are sent, which some models refuse."""

    max_tokens: int
    sampled: bool = True

    def prompt(
        self, messages: tuple[PromptMessage, ...], schema: Mapping[str, Any], temperature: float, repeat: int = 0
    ) -> Prompt:
        """A prompt of one such call."""
        sampled = (temperature, TOP_P) if self.sampled else (None, None)
        return Prompt(
            messages, schema, max_tokens=self.max_tokens, purpose="situation", repeat=repeat,
            temperature=sampled[0], top_p=sampled[1],
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class SessionPlan:
    """A session to write: the `number`th, from 1, of its situation and tool group; `written`: None until it is."""

    situation: Situation
    group: ToolGroup
    number: int = 1
    written: SituationSession | None = None

    def names_prompt(self, settings: PromptSettings) -> Prompt:
        """Asks for users; it is the same for all sessions of a group with one number."""
        asked = (PromptMessage("user", _NAMES.format(group=self.group.name)),)
        return settings.prompt(asked, NamedUsers.answer_schema, TEMPERATURE, self.number - 1)

    def session_prompt(self, users: NamedUsers, settings: PromptSettings) -> Prompt:
        """Asks for the session; a bad one is shown the curated session of its situation."""
        situation = self.situation
        user = users.users[named_situations().index(situation)]
        keys = [_STEPS]
        if not situation.good:
            keys.append(_DECIDING.format(which=_BY_TOOL if by_tool(situation) else _BY_AGENT))
        keys += [_STATES] if situation.name in STATES_WRITTEN else []
        listed = "\n".join(keys)
        rules = f"{_RULES}\n\n# Answer\nOne JSON object with these keys, in this order:\n{listed}"
        tools = "\n".join(json.dumps(tool.definition) for tool in self.group.offered(situation.name))
        people = f"user: {user.name}, {user.town}\nknows: {', '.join(user.others)}"
        shown = f"{situation_texts()[situation.name].shown}{fenced('tools', tools)}{fenced('people', people)}"
        if not situation.good:
            example = next(one for one in curated_sessions() if one.situation == situation.name)
            shown += fenced("example", json.dumps(_data(example), ensure_ascii=False))
        messages = (PromptMessage("system", rules, cache=True), PromptMessage("user", f"{shown}Write the session."))
        return settings.prompt(messages, _schema(situation), TEMPERATURE, self.number - 1)

    def read(self, text: str) -> SituationSession:
        """The session in a reply.

        Raises:
            AnswerError: it is none, or not one with these tools, in one line that tells the model what to mend.
        """
        reply = json_object(text, "steps")
        known = {"situation": self.situation.name, "group": self.group.name}
        if wrong := [key for key in reply if key not in _schema(self.situation)["properties"]]:
            raise AnswerError(f"{wrong[0][:60]!r}: there is no such key")
        try:
            session = SituationSession.model_validate({**reply, **known})
        except ValidationError as error:
            raise AnswerError(problems_of(error)) from None
        if problem := session.unknown_tool([tool.name for tool in self.group.offered(self.situation.name)]):
            raise AnswerError(problem)
        return session


def _schema(situation: Situation) -> dict[str, Any]:
    who = {"type": "string", "enum": ["user", "agent", "tool"]}
    step = object_of(who=who, text=TEXT, tool=TEXT, arguments=TEXT, failed={"type": "boolean"})
    keys: dict[str, Any] = {"steps": list_of(step)}
    if not situation.good:
        keys["deciding"] = object_of(step={"type": "integer"}, quote=TEXT, why=TEXT)
    if situation.name in STATES_WRITTEN:
        keys |= {"state_before": TEXT, "state_after": TEXT}
    return object_of(**keys)


def _data(session: SituationSession) -> Mapping[str, Any]:
    """A bad session as a model is asked to write it."""
    data = session.model_dump(
        include={"steps", "deciding", *(("state_before", "state_after") if session.state_after else ())}
    )
    for step in data["steps"]:
        step["arguments"] = json.dumps(step["arguments"], ensure_ascii=False) if step["tool"] else ""
    return data
