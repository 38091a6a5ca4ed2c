"""A panel: who sits, who is asked, and what makes another version."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tracejury.judges.llm.case import Stage
from tracejury.judges.llm.criteria import Criteria, CriteriaSet, load_set
from tracejury.judges.llm.members import LlmJudges, llm_judges_of
from tracejury.schemas.errors import ConfigError

PANEL = llm_judges_of(load_set("production"), "gpt-x", parameters={"temperature": 0})
REST = ("logical-consistency", "execution-efficiency", "tool-selection", "tool-calling")


@pytest.mark.parametrize(
    ("role", "stage", "has_plan", "asked"),
    [
        ("manager", Stage.PLAN, True, ("plan-quality",)),
        ("manager", Stage.PLAN, False, ()),
        ("sub-agent", Stage.PLAN, True, ("plan-quality",)),
        ("manager", Stage.WINDOW, True, ("plan-adherence", *REST)),
        ("manager", Stage.WINDOW, False, REST),
        ("manager", Stage.CLOSING, True, ("plan-adherence", "goal-fulfilment", *REST)),
        ("manager", Stage.CLOSING, False, ("goal-fulfilment", *REST)),
        ("sub-agent", Stage.CLOSING, True, ("plan-adherence", "goal-fulfilment", *REST)),
        ("sub-agent", Stage.CLOSING, False, ("goal-fulfilment", *REST)),
    ],
)
def test_who_is_asked(role: str, stage: Stage, asked: tuple[str, ...], *, has_plan: bool) -> None:
    """By the run's role, the stage, and whether there is a plan."""
    assert PANEL.asked(role, stage, has_plan=has_plan) == asked


def test_a_judge_of_managers_does_not_see_sub_agents() -> None:
    """As published, the goal is the user's: the paper's set asks managers only."""
    paper = llm_judges_of(load_set("paper"), "gpt-x")
    assert "goal-fulfilment" in paper.asked("manager", Stage.CLOSING, has_plan=False)
    assert paper.asked("sub-agent", Stage.CLOSING, has_plan=False) == REST


@pytest.mark.parametrize(
    ("names", "sit"),
    [
        ((), tuple(j.name for j in PANEL.criteria.judges)),
        (("tool-calling", "plan-quality"), ("plan-quality", "tool-calling")),
        (("TC", "pq", "TC"), ("plan-quality", "tool-calling")),
    ],
)
def test_judges_are_chosen_by_name_or_code(names: tuple[str, ...], sit: tuple[str, ...]) -> None:
    """In the set's order, each once; none named means all."""
    assert tuple(j.name for j in llm_judges_of(PANEL.criteria, "m", names).judges) == sit


def test_an_unknown_judge_is_refused() -> None:
    """With one line that says which there are."""
    with pytest.raises(
        ConfigError, match="no judge named 'tone' in the criteria set 'production': it has plan-quality"
    ):
        llm_judges_of(PANEL.criteria, "m", ["tone"])


def with_judge(criteria: CriteriaSet, name: str, **changes: Any) -> CriteriaSet:
    """The set with one judge changed."""
    judges = tuple(Criteria.model_validate(j.model_dump() | changes) if j.name == name else j for j in criteria.judges)
    return CriteriaSet(name=criteria.name, rules=criteria.rules, judges=judges)


@pytest.mark.parametrize(
    ("other", "differs"),
    [
        (replace(PANEL), False),
        (replace(PANEL, judges=PANEL.judges[-1:]), False),
        (replace(PANEL, criteria=with_judge(PANEL.criteria, "tool-selection", definition="Other.")), False),
        (replace(PANEL, criteria=with_judge(PANEL.criteria, "tool-calling", definition="Other.")), True),
        (replace(PANEL, criteria=load_set("paper")), True),
        (replace(PANEL, model="gpt-y"), True),
        (replace(PANEL, parameters={"temperature": 1}), True),
        (replace(PANEL, mode="separate"), True),
        (replace(PANEL, max_answer_tokens=99), True),
    ],
)
def test_a_version_changes_with_what_the_judge_is_told(other: LlmJudges, *, differs: bool) -> None:
    """Its own criteria, the rules, model, parameters and mode; not with who sits beside it or how it is described."""
    version = PANEL.version("tool-calling")
    assert len(version) == 12
    assert int(version, 16) >= 0
    assert (other.version("tool-calling") != version) is differs


def test_the_order_of_parameters_makes_no_version() -> None:
    """They are a mapping."""
    one, two = ({"a": 1, "b": 2}, {"b": 2, "a": 1})
    assert replace(PANEL, parameters=one).version("tool-calling") == replace(PANEL, parameters=two).version(
        "tool-calling"
    )
