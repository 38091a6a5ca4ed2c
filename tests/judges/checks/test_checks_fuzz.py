"""Checks of generated sessions, and a model that says anything at all."""

from __future__ import annotations

import json
import random
from typing import Any

from check_cases import OBSERVATIONS, STATES, asked_of, check_case, only, policies
from check_replies import numbers, reply
from hypothesis import given, settings
from hypothesis import strategies as st
from sessions import Asked, Layout
from sizes import sized

from tracejury.judges.checks.case import AskedCheck, CheckCase
from tracejury.judges.checks.questions import Mode
from tracejury.judges.evidence import OwnText
from tracejury.judges.llm.client import Prompt
from tracejury.judges.llm.scripted import Line
from tracejury.processors.transcript import split
from tracejury.schemas.errors import LlmError

SAID = ["Rome has 12 of them", "12 parts, 3 on order", "Ask again on Monday", "Never promise a date", "7"]
LETTERS = st.characters(codec="utf-8", categories=("L", "N", "Zs"))
WORDS = st.sampled_from(SAID) | st.text(LETTERS, min_size=1, max_size=20).filter(str.strip)
CHATS = st.lists(
    st.builds(Asked, said=WORDS, reply=WORDS, results=st.lists(WORDS, max_size=3), thought=WORDS | st.just("")),
    min_size=1,
    max_size=4,
)
ODD = [None, True, -1, 3, 2.0, "", "\ud800", "no such thing", ["yes"], {"a": 1}]
FIELDS: dict[str, list[Any]] = {
    "answer": ["yes", "no", "NO.", False],
    "reason": ["It is so.", "\u202eWhy not?"],
    "label": ["E1.S1", "E1.S2", "e2 s1", "S1", "E1.S1 to S3"],
    "quote": SAID,
    "mention": SAID,
    "category": ["omitted observation", "Omitted Observations"],
    "check": ["check-states", "check-observations", "check-policies"],
}


def anything(prompt: Prompt, dice: random.Random) -> Line:
    """A reply that is mostly whole, with fields that mostly make sense."""
    if dice.random() < 0.1:
        bad: list[Line] = [LlmError("no"), "", "yes", "[]", '{"answers": 1}', '{"answers": [1, {}]}']
        return dice.choice(bad)

    def fields(**given: Any) -> dict[str, Any]:
        made = {name: dice.choice(values if dice.random() < 0.97 else ODD) for name, values in FIELDS.items()}
        return made | given

    asked = numbers(prompt)
    answers = [fields(check=check, item=number) for check, own in asked.items() for number in own]
    listed = [fields(check=check, item=None) for check, own in asked.items() if not own for _ in range(2)]
    also = [fields() for _ in range(dice.randrange(3))]
    made = [*answers, *listed]
    if dice.random() < 0.1:
        made = made[1:] if dice.random() < 0.5 else [*made, fields(item=dice.choice([1, 9, None]))]
    return json.dumps({"answers": made, "also": also, "summary": dice.choice([None, *SAID])})


def stands(case: CheckCase, trace_id: str, span_id: str, quote: str) -> bool:
    """Whether a span told or said it."""
    trace = case.traces[trace_id]
    return any(OwnText(trace, told=told).holds(span_id, quote) for told in (False, True))


@settings(max_examples=sized(60, 1500), deadline=None)
@given(
    chat=CHATS,
    layout=st.sampled_from(Layout),
    seed=st.integers(0, 2**32),
    mode=st.sampled_from(["together", "separate"]),
    room=st.sampled_from([10**9, 900]),
    whole=st.booleans(),
)
def test_whatever_is_answered_every_check_has_a_verdict_and_every_finding_stands(
    chat: list[Asked], layout: Layout, seed: int, mode: Mode, room: int, *, whole: bool
) -> None:
    """A value, or a reason why there is none; what is quoted stands in the traces."""
    asked = AskedCheck(policies("x").check, policies("Greet.", "Ask first.").items, "pack")
    case = check_case(None if whole else len(chat) - 1, STATES, OBSERVATIONS, asked, chat=chat, layout=layout)
    dice = random.Random(seed)  # noqa: S311 - a test
    chapters = split(case.record.transcript, room, len)
    said, _ = asked_of(case, lambda prompt: anything(prompt, dice), chapters, mode=mode)
    assert [v.judge for v in said.verdicts] == [a.check.name for a in case.checks]
    for verdict in said.verdicts:
        failed = bool(verdict.unscored_reason)
        assert (verdict.value is not None) + failed + verdict.not_applicable == 1
        assert failed == (verdict.judge in said.failures)
        assert verdict.reasons or failed
        assert verdict.value is None or 0 <= verdict.value <= 1
        assert verdict.raw is None or 0 <= verdict.raw <= 1
        assert verdict.value is None or verdict.raw is None or verdict.raw <= verdict.value
        assert verdict.denominator == sum(item.grounded for item in verdict.items)
        for item in verdict.items:
            assert item.best or not item.grounded or stands(case, item.trace_id, item.span_id, item.quote)
    assert len({f.id for f in said.findings}) == len(said.findings)
    for found in said.findings:
        assert found.judge in {v.judge for v in said.verdicts if not v.unscored_reason}
        assert stands(case, found.trace_id, found.span_id, found.evidence)
        assert found.explanation
        assert found.agent_run_id


BROKEN = {"answer": "no", "reason": "It did not.", "quote": "Answer 1 was given."}


def _verdict_of(texts: list[str], broken: set[str]) -> Any:
    """Of a session with these policies, the broken ones proven."""
    case = check_case(None, policies(*texts), chat=[Asked("CheckQuestion?", "Answer 1 was given.")])

    def script(prompt: Prompt) -> str:
        return reply(prompt, {number: BROKEN for number, text in enumerate(texts, 1) if text in broken})

    return only(asked_of(case, script)[0])


POLICIES = st.lists(st.integers(0, 99), min_size=1, max_size=80, unique=True).map(
    lambda ns: [f"Policy {n}." for n in ns]
)


@settings(max_examples=sized(25, 300), deadline=None)
@given(texts=POLICIES, broken=st.integers(0, 80), data=st.data())
def test_a_measure_depends_on_the_answers_alone(texts: list[str], broken: int, data: st.DataObject) -> None:
    """The order of items changes nothing, and one more fault never raises it."""
    wrong = set(texts[:broken])
    verdict = _verdict_of(texts, wrong)
    assert verdict.value == (len(texts) - len(wrong)) / len(texts)
    turned = _verdict_of(data.draw(st.permutations(texts)), wrong)
    assert (turned.value, turned.raw, turned.reasons) == (verdict.value, verdict.raw, verdict.reasons)
    assert _verdict_of(texts, {*wrong, texts[-1]}).value <= verdict.value
