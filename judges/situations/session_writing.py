"""Sessions of situations written by a model: which there are to be, and the conversation about one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar

from tracejury.judges.llm.conversation import AskResult, ask, together
from tracejury.judges.writing.answers import WritingAnswer
from tracejury.judges.writing.units import Writing, WrittenText, WrittenUnit

from .session_prompts import NamedUsers, PromptSettings, SessionPlan
from .situation_types import named_situations
from .tool_groups import ToolGroup

Answered = TypeVar("Answered", bound=WritingAnswer)


def session_plans(groups: Iterable[ToolGroup], each: int) -> list[SessionPlan]:
    """One session, or `each`, per situation and tool group that has the tools for it."""
    return [
        SessionPlan(situation, group, number)
        for group in groups
        for situation in named_situations()
        if group.can_show(situation.name)
        for number in range(1, each + 1)
    ]


def write_session(plan: SessionPlan, settings: PromptSettings) -> Writing[SessionPlan]:
    """The plan with its session, or why there is none.

    Raises:
        TracejuryError: the model did not answer; it can be asked later.
    """
    (named,) = yield from together([ask(plan.names_prompt(settings), NamedUsers.read)])
    if (users := _answer(named)) is None:
        return _left_out(plan, named)
    (said,) = yield from together([ask(plan.session_prompt(users, settings), plan.read)])
    if (session := _answer(said)) is None:
        return _left_out(plan, said)
    return WrittenUnit(replace(plan, written=session))


def _answer(said: AskResult[Answered]) -> Answered | None:
    if said.error is not None:
        raise said.error
    return said.answer


def _left_out(plan: SessionPlan, said: AskResult[Answered]) -> WrittenUnit[SessionPlan]:
    return WrittenUnit(plan, (WrittenText(plan.situation.name, failure=said.failure),))
