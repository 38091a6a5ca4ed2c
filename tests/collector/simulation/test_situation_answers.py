"""Hostile answers of the model that writes sessions: they are refused, or make whole traces."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from situation_scripts import session, users
from sizes import sized

from tracejury.collector.otlp.codec.groups import rows
from tracejury.collector.otlp.codec.otlp_json import parse, render
from tracejury.collector.simulation.situation_traces import label_lines, labelled_traces
from tracejury.judges.llm.answer_types import AnswerError
from tracejury.judges.situations.session_prompts import NamedUsers, PromptSettings, SessionPlan
from tracejury.judges.situations.situation_types import all_situations, named_situations
from tracejury.judges.situations.tool_groups import tool_groups

GROUP = tool_groups()[0]
PLANS = {situation.name: SessionPlan(situation, GROUP) for situation in named_situations()}
USERS = NamedUsers.read(users())
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(["agent", "tool", "{}"])
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


def written(plan: SessionPlan, **changed: Any) -> str:
    prompt = plan.session_prompt(USERS, PromptSettings(4000))
    return session(prompt.schema, "\n".join(message.text for message in prompt.messages), **changed)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all values within."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, inner in items for place in places(inner, (*path, key)))]


def with_value(whole: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    at = whole
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return whole


@settings(max_examples=sized(150, 3000), deadline=None)
@given(st.sampled_from(sorted(PLANS)), st.data(), VALUES)
def test_an_answer_with_any_value_anywhere_is_refused_or_makes_whole_traces(
    name: str, data: st.DataObject, value: Any
) -> None:
    plan = PLANS[name]
    answer = json.loads(written(plan))
    path = data.draw(st.sampled_from(places(answer)))
    try:
        read = plan.read(json.dumps(with_value(answer, path, value)))
    except AnswerError:
        return
    made = labelled_traces(read, GROUP.offered(name), "generator")
    spans = {(s.trace_id.hex(), s.span_id.hex()) for _, _, s in rows(parse(json.loads(render(made.request))))}
    lines = [json.loads(line) for line in label_lines([made]).encode().splitlines()]
    assert [line["kind"] for line in lines] == ["session", *["annotation"] * (not all_situations()[name].good)]
    assert all((line["trace_id"], line["span_id"]) in spans for line in lines[1:])


@settings(max_examples=sized(100, 2000), deadline=None)
@given(VALUES | st.text().map(lambda text: {"steps": text}) | st.text())
def test_any_other_reply_is_refused(value: Any) -> None:
    reply = value if isinstance(value, str) else json.dumps(value)
    for read in (PLANS["correct"].read, NamedUsers.read):
        with pytest.raises(AnswerError):
            read(reply)


STEPS = json.loads(written(PLANS["trace-leak"]))["steps"]
CALL = {"step": 2, "quote": '"note"', "why": "x"}
DEEP = "[" * 100_000


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"steps": STEPS[1:]}, "after the beginning comes user, not agent"),
        ({"steps": STEPS[:-1]}, "the last one must be the agent's answer"),
        ({"steps": [*STEPS[:2], *STEPS[4:]]}, ""),
        ({"steps": [STEPS[0], *STEPS]}, "after user comes agent or tool, not user"),
        (
            {"steps": [STEPS[0], {**STEPS[2], "tool": "rm"}, *STEPS[3:]], "deciding": CALL},
            "`tool` must be one of get_account",
        ),
        ({"steps": [STEPS[0], {**STEPS[2], "arguments": "[1]"}, *STEPS[3:]]}, "steps.1.arguments"),
        ({"steps": [STEPS[0], {**STEPS[2], "arguments": DEEP}, *STEPS[3:]]}, "it is no JSON"),
        ({"steps": [STEPS[0], {**STEPS[2], "arguments": '{"a": NaN}'}, *STEPS[3:]]}, "it is no JSON"),
        ({"steps": [{**STEPS[0], "tool": "get_account"}, *STEPS[1:]]}, "`tool` names the tool of a call"),
        ({"steps": STEPS * 20}, "steps"),
        ({"deciding": {"step": 1, "quote": "Please", "why": "x"}}, "step 1 is the user's"),
        ({"deciding": {"step": 9, "quote": "Please", "why": "x"}}, "there are 6 steps"),
        ({"deciding": {"step": 4, "quote": "nowhere", "why": "x"}}, "step 4 has no such text"),
        ({"deciding": {"step": 3, "quote": '"note": 1', "why": "x"}}, "step 3 has no such arguments"),
        ({"deciding": None}, "deciding"),
    ],
)
def test_a_session_in_disorder_is_refused(changed: dict[str, Any], told: str) -> None:
    plan = PLANS["trace-leak"]
    if not told:
        deciding = {"step": 2, "quote": "Let me", "why": "x"}
        assert len(plan.read(written(plan, **changed | {"deciding": deciding})).steps) == 4
        return
    with pytest.raises(AnswerError) as refused:
        plan.read(written(plan, **changed))
    assert told in str(refused.value)


def test_what_decides_follows_from_the_situation_and_states_stand_where_they_are_asked_for() -> None:
    """A quote of the result where only the tool is at fault; what else an answer names is no key of it."""
    by_tool = PLANS["wrong-action-silent"]
    deciding = {"step": 3, "quote": '"note": 1', "why": "x"}
    assert by_tool.read(written(by_tool, deciding=deciding)).state_after == '{"notes": [2]}'
    for wrong in ({"deciding": deciding | {"step": 4}}, {"state_after": ""}, {"state_before": "{"}):
        with pytest.raises(AnswerError):
            by_tool.read(written(by_tool, **{"deciding": deciding} | wrong))
    for key in ("situation", "group", "deciding", "good"):
        answer = json.loads(written(PLANS["correct"])) | {key: "correct"}
        with pytest.raises(AnswerError, match="there is no such key"):
            PLANS["correct"].read(json.dumps(answer))
