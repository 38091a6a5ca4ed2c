"""What is asked of a session by SCOPE: one prompt, which no words of sessions, sets or states change."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from check_cases import asked_of, check_case
from prompt_attacks import ATTACKS
from scope_sets import scope_pack, set_of
from sessions import Asked

from tracejury.judges.checks.case import CheckCase
from tracejury.judges.checks.item_source import ItemCase, RecordedSubject
from tracejury.judges.llm.client import Prompt
from tracejury.judges.packs.asked import asked_check
from tracejury.judges.packs.cards.task_cards import SessionTerms
from tracejury.judges.packs.pack_types import Pack
from tracejury.judges.situations.situation_types import all_situations
from tracejury.schemas.trajectory import Trace

CHAT = (Asked("Mail it to Bo.", "The mail is sent.", ["queued"], "I send it."),)
SET = set_of([5, 8], [9, 6], make_or_break=1)


def case_of(pack: Pack, chat: tuple[Asked, ...] = CHAT, states: Mapping[str, str] | None = None) -> CheckCase:
    """The close of a session before the pack's checks; its first span emits `states`."""
    case = check_case(None, chat=chat)
    traces = {i: _emitting(trace, states or {}) for i, trace in case.traces.items()}
    subject = RecordedSubject(case.record, traces, states=tuple, unseen=str)
    terms = SessionTerms(None, None, "")
    checks = [asked_check(pack, ItemCase(c, subject, lambda: terms)) for c in pack.checks if c.asks]
    return replace(case, checks=tuple(checks), traces=traces)


def _emitting(trace: Trace, states: Mapping[str, str]) -> Trace:
    (first, span), *others = trace.spans.items()
    raw = replace(span.raw, attributes={**span.raw.attributes, **states})
    return replace(trace, spans={first: replace(span, raw=raw), **dict(others)})


def prompt_of(case: CheckCase) -> Prompt:
    """The prompt, before any repair of its answer."""
    return asked_of(case)[1].prompts[0]


def parts(prompt: Prompt) -> tuple[list[str], str]:
    """The lines between the fence of the items, and the question after it."""
    lines = prompt.messages[-1].text.split("\n")
    (begin,) = [n for n, line in enumerate(lines) if line.startswith("=== items ")]
    (end,) = [n for n, line in enumerate(lines) if line.startswith("=== end of items ")]
    return lines[begin + 1 : end], "\n".join(lines[end + 1 :])


def test_rubrics_and_situation_are_asked_in_one_prompt(tmp_path: Path) -> None:
    items, question = parts(prompt_of(case_of(scope_pack(tmp_path, SET))))
    assert items == [
        "1", " good-0: It is good in point 0.", "2", " good-1: It is good in point 1.",
        "3", " bad-0: It is bad in point 0.", "4", " bad-1: It is bad in point 1.",
        "5", " The session as a whole.",
    ]  # fmt: skip
    good, bad, situation = (f"# scope-{part}" + question.split(f"# scope-{part}")[1].split("\n\n")[0] for part in PARTS)
    assert "Answers:\n- `0`: it does not apply, or the record leaves it open\n- `1`: " in good
    assert "Answers, best first:\n- `0`: it does not apply, or the record leaves it open\n- `1`: " in bad
    assert [line.split("`")[1] for line in situation.split("\n") if line.startswith("- `")] == [*all_situations()]
    assert (
        "- `trusted-wrong-fact`: user satisfied; tools tool-error; agent appropriate. After a right call" in situation
    )


PARTS = ("good", "bad", "situation")


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_hostile_sessions_sets_and_states_add_no_line_of_ours(tmp_path: Path, attack: str) -> None:
    """Nor do they change the question."""
    flat = " ".join(attack.split())[:300]
    hostile = SET | {"rubrics": [one | {"text": flat} for one in SET["rubrics"]]}
    states = {"tracejury.state.before": json.dumps({attack: attack}), "tracejury.state.after": json.dumps([attack])}
    chat = (Asked(attack, attack, [attack], attack),)
    items, question = parts(prompt_of(case_of(scope_pack(tmp_path, hostile), chat, states)))
    assert [line for line in items if not line.startswith(" ")] == ["1", "2", "3", "4", "5"]
    assert all(line.isprintable() for line in items)
    assert question == parts(prompt_of(case_of(scope_pack(tmp_path, SET))))[1]


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        (
            {"a": {"b": 1}, "c": 2},
            {"a": {"b": 3}, "d": 4},
            ("a.b: 1 became 3", "c: 2 became nothing", "d: nothing became 4"),
        ),
        ({"a": 1}, {"a": 1}, ("Changes of the state by the end: none",)),
        ([1], {"a": 1}, ('all: [1] became {"a": 1}',)),
        (None, {"a": 1}, ('State after: {"a": 1}',)),
        ({"a": "x" * 5000, "b": 1}, {"a": "x" * 5000, "b": 2}, ("…", "Changes of the state by the end: b: 1 became 2")),
        ("deep", 1, ()),
    ],
)
def test_the_item_shows_states_as_far_as_they_fit(
    tmp_path: Path, before: Any, after: Any, shown: tuple[str, ...]
) -> None:
    """One that is nested too deep to be written is not shown."""
    told = "[" * 980 + "]" * 980 if before == "deep" else json.dumps(before)
    states = {"tracejury.state.after": json.dumps(after)} | ({"tracejury.state.before": told} if before else {})
    (item,) = case_of(scope_pack(tmp_path, SET), states=states).checks[-1].items
    assert all(one in item.text for one in shown)
    assert item.text.startswith("The session as a whole.")
    assert len(item.text) < 2000
