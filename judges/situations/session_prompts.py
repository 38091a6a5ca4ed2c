"""Sessions of situations written by a model: first users' names, then a session; and how answers are read."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, Field, StringConstraints, ValidationError

from tracejury.judges.llm.answer import list_of, object_of
from tracejury.judges.llm.answer_types import AnswerError
from tracejury.judges.llm.case import Outcomes
from tracejury.judges.llm.client import Prompt, PromptMessage
from tracejury.judges.llm.conversation import ask, together
from tracejury.judges.llm.criteria_types import Data, Text
from tracejury.judges.llm.data_files import model_of, problems_of, read_data
from tracejury.judges.llm.json_object import json_object
from tracejury.judges.writing.answers import TEXT, WritingAnswer, visible
from tracejury.judges.writing.prompts import fenced, prompt_text

from .situation_session import STATES_WRITTEN, SituationSession, by_tool, curated_sessions
from .situation_types import Situation, named_situations
from .tool_groups import OfferedTool, ToolGroup

TEMPERATURE: Final = 1.0
TOP_P: Final = 0.99


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


def situation_prompt(
    rules: str, shown: str, schema: Mapping[str, Any], max_tokens: int, temperature: float, repeat: int = 0
) -> Prompt:
    """A prompt of those who write and check sessions."""
    messages = (PromptMessage("system", rules, cache=True), PromptMessage("user", shown))
    return Prompt(
        messages,
        schema,
        max_tokens=max_tokens,
        purpose="situation",
        repeat=repeat,
        temperature=temperature,
        top_p=TOP_P,
    )


@dataclass(frozen=True, slots=True)
class SessionPlan:
    """A session to write: the `number`th, from 1, of its situation and tool group."""

    situation: Situation
    group: ToolGroup
    number: int = 1

    @property
    def tools(self) -> tuple[OfferedTool, ...]:
        """The tools of the session."""
        return self.group.offered(self.situation.name)

    def write(self, max_tokens: int) -> Generator[Sequence[Prompt], Outcomes, SituationSession | str]:
        """The conversation in which a model writes it. The session, or why there is none, in one line.

        Raises:
            OverBudgetError, RetryableError: it can be asked later.
            PromptTooLongError: the model cannot read the prompt.
        """
        (named,) = yield from together([ask(self.names_prompt(max_tokens), NamedUsers.read)])
        if named.answer is None:
            return named.failure
        (said,) = yield from together([ask(self.session_prompt(named.answer, max_tokens), self.read)])
        return said.answer or said.failure

    def names_prompt(self, max_tokens: int) -> Prompt:
        """Asks for users; it is the same for all sessions of a group with one number."""
        rules = prompt_text(__package__, "names", group=self.group.name, count=len(named_situations()))
        return situation_prompt(rules, "Name them.", NamedUsers.answer_schema, max_tokens, TEMPERATURE, self.number - 1)

    def session_prompt(self, users: NamedUsers, max_tokens: int) -> Prompt:
        """Asks for the session; a bad one is shown the curated session of its situation."""
        situation = self.situation
        user = users.users[named_situations().index(situation)]
        rules = f"{prompt_text(__package__, 'session')}\n{prompt_text(__package__, 'steps')}"
        tools = "\n".join(json.dumps(tool.definition) for tool in self.tools)
        people = f"user: {user.name}, {user.town}\nknows: {', '.join(user.others)}"
        shown = f"{situation_texts()[situation.name].shown}{fenced('tools', tools)}{fenced('people', people)}"
        if not situation.good:
            which = prompt_text(__package__, "by_tool" if by_tool(situation) else "by_agent")
            rules += f"\n{prompt_text(__package__, 'deciding', which=which)}"
            example = next(one for one in curated_sessions() if one.situation == situation.name)
            shown += fenced("example", json.dumps(_data(example), ensure_ascii=False))
        if situation.name in STATES_WRITTEN:
            rules += f"\n{prompt_text(__package__, 'states')}"
        schema = _schema(situation)
        return situation_prompt(rules, f"{shown}Write the session.", schema, max_tokens, TEMPERATURE, self.number - 1)

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
        if problem := session.unknown_tool([tool.name for tool in self.tools]):
            raise AnswerError(problem)
        return session


def session_plans(groups: Iterable[ToolGroup], each: int) -> list[SessionPlan]:
    """One session, or `each`, per situation and tool group that has the tools for it."""
    return [
        SessionPlan(situation, group, number)
        for group in groups
        for situation in named_situations()
        if group.can_show(situation.name)
        for number in range(1, each + 1)
    ]


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
