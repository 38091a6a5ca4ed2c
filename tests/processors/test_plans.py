"""The turns at which a plan is looked for, and the lists whose changes make a new one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from sizes import sized
from small_traces import Did, Said, run
from trajectories import TRAIL, load

from tracejury.processors import phases
from tracejury.processors.kept_lists import list_changes
from tracejury.processors.plans import planning_turns
from tracejury.processors.rebuild import rebuild
from tracejury.schemas.normalized import Kind
from tracejury.schemas.trajectory import Turn, TurnKind

LOOK = Did("look", {"q": "x"}, "y", span_id="t")


def turns(*said: Said) -> tuple[Turn, ...]:
    """The turns of a run, of which nothing is marked as a plan."""
    made = run("r", *said).turns
    return tuple(replace(turn, llm=replace(turn.llm, kind=Kind.LLM) if turn.llm else None) for turn in made)


def says(text: str = "", *did: Did, kind: TurnKind = TurnKind.ACT, **more: Any) -> Said:
    return Said("l", text, did, kind=kind, **more)


DONE = says("Done.")
PLANS = says("Look, then answer.", kind=TurnKind.PLAN)


@pytest.mark.parametrize(
    ("run_of", "means", "found"),
    [
        ((says("Hm.", LOOK), DONE), False, (0,)),
        ((says("", LOOK), DONE), True, ()),
        ((says("", LOOK), says("Now.", LOOK), DONE), True, ()),
        ((says("", LOOK), says("word " * 50, LOOK), DONE), True, (1,)),
        ((says("", Did("ask", {"task": "word " * 50})), DONE), True, (0,)),
        ((says("", Did("ask", {"parts": ["one", "two"]})), DONE), True, (0,)),
        ((says("", observed="6"), says("word " * 50, observed="7"), DONE), False, (1,)),
        ((says("Hm.", step_error="no such name"), DONE), False, (0,)),
        ((says("Hm.", LOOK),), True, ()),
        ((DONE,), True, ()),
        ((says("Hello."), DONE), False, ()),
        ((says("Look, then answer."), DONE), True, (0,)),
        ((says("Look, then answer."), says("", LOOK), DONE), True, (1,)),
        ((PLANS, says("I look.", LOOK), DONE), False, (0,)),
        ((PLANS, DONE), True, (0,)),
        ((PLANS, DONE), False, ()),
        ((says("Hm.", LOOK), says("Look again."), says("", LOOK), DONE), True, (0, 2)),
        ((says("Hm.", LOOK), says("Look again."), DONE), True, (0, 1)),
        ((says("Hm.", LOOK), PLANS, DONE), True, (0, 1)),
        ((says("Hm.", LOOK), says("by a tool", kind=TurnKind.INNER), DONE), True, (0,)),
    ],
)
def test_where_a_plan_is_looked_for(
    run_of: tuple[Said, ...],
    means: bool,  # noqa: FBT001 - a table
    found: tuple[int, ...],
) -> None:
    """By what was run and said, in a run that had a choice."""
    assert planning_turns(turns(*run_of), means=means) == found


@pytest.mark.trail
def test_no_word_decides_whether_a_judge_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Real runs have as many turns to ask about where no prompt is known to want a plan."""
    if not TRAIL.exists():
        pytest.skip("the shared TRAIL traces are absent")
    recorded = [spans for file in sorted(TRAIL.iterdir())[:: sized(6, 1)] for spans in load(file).values()]
    known = [(one.id, one.plans) for spans in recorded for one in rebuild(spans).runs]
    monkeypatch.setattr(phases, "_wanted", lambda _: TurnKind.ACT)
    unknown = [(one.id, one.plans) for spans in recorded for one in rebuild(spans).runs]
    assert [(one, len(plans)) for one, plans in known] == [(one, len(plans)) for one, plans in unknown]
    assert known != unknown


def test_what_is_marked_as_a_plan_is_one_without_a_choice() -> None:
    """By the operation of its span, whatever else the run did."""
    assert run("r", PLANS).plans == (0,)
    assert run("r", PLANS, says("I look.", LOOK), DONE).plans == (0,)


def words_alone(state: str = "pending", *texts: str) -> dict[str, object]:
    return {"plan": [{"step": text, "status": state} for text in texts or ("Read", "Sort them", "Answer")]}


CHECKLIST = "Status:\n- [ ] read all\n- [x] sort\n"
LONGER = {
    "todos": [
        {"id": "1", "content": "Read all", "activeForm": "Reading all of it", "status": "pending"},
        {"id": "2", "content": "Sort", "activeForm": "Sorting what was read", "status": "pending"},
    ]
}


def with_items(*items: dict[str, Any]) -> dict[str, Any]:
    """The longer list with its items changed, in order; {} for an item that is gone."""
    given = zip(LONGER["todos"], items, strict=True)
    return {"todos": [old | new for old, new in given if new]}


@pytest.mark.parametrize(
    ("first", "then", "changed"),
    [
        (words_alone(), words_alone("completed"), None),
        (words_alone(), words_alone("pending", "Read", "Sort them", "Count", "Answer"), (("Count",), ())),
        (words_alone(), words_alone("pending", "Ask her", "Look it up", "Answer him"), (3, 3)),
        (words_alone(), words_alone("pending", "Read", "Sort them"), ((), ("Answer",))),
        (LONGER, with_items({"status": "done"}, {"status": "started"}), None),
        (LONGER, {"todos": [{"id": "1", "status": "done"}]}, None),
        (LONGER, with_items({"content": "Read"}, {"activeForm": "Sorting by name"}), (("Sorting by name",), 1)),
        (with_items({"status": "done"}, {}), with_items({"status": "done"}, {"status": "pending"}), (1, ())),
        ({"steps": ["1. read", "2. sort"]}, {"steps": ["\u2705 1. read", "[x] sort"]}, None),
        ({"steps": ["read", "sort"]}, {"steps": ["sort"]}, None),
        ({"steps": ["read", "sort"]}, {"steps": ["read", "ask", "sort"]}, (("ask",), ())),
        ({"queries": ["Rhine", "Elbe"]}, {"queries": ["Oder"]}, None),
        ({"lines": [{"sku": "a", "count": 2}]}, {"lines": [{"sku": "b", "count": 1}]}, None),
        ({"text": CHECKLIST}, {"text": CHECKLIST.replace("[ ]", "[x]")}, None),
        ({"text": CHECKLIST}, {"text": CHECKLIST + "* [ ] answer"}, (("answer",), ())),
        ({"text": "[1] Smith 2020"}, {"text": "[1] Smith 2020\n[2] Mills 2021"}, None),
        ({"q": "a"}, {"q": "b"}, None),
        ({"odd": [{"x": [1], "y": "a b"}, {"x": {}, "y": "c d"}]}, {"odd": [{"x": None}, {}]}, None),
        ({"odd": [" ", "*"]}, [{}, []], None),
    ],
)
def test_a_list_changes_with_its_items(first: Any, then: Any, changed: tuple[Any, Any] | None) -> None:
    """States, marks and numbers change nothing, nor does another call's list that shares nothing with it."""
    change = list_changes(turns(says("", Did("keep", first)), says("", Did("keep", then)))).get(1)
    assert (change is None) is (changed is None)
    for said, expected in zip((change.added, change.dropped) if change else (), changed or (), strict=True):
        assert (len(said) if isinstance(expected, int) else said) == expected


def test_a_reply_keeps_a_list_too() -> None:
    """A checklist in prose is one list from reply to reply, beside those of calls."""
    said = [says(CHECKLIST, Did("keep", words_alone())), says(CHECKLIST + "- [ ] answer", LOOK), says(CHECKLIST, LOOK)]
    changes = list_changes(turns(*said))
    assert [changes[index].began for index in (0, 1)] == [True, False]
    assert changes[1].added == ("answer",)
