"""Replies to checks: what is forgiven, what is asked for once more, and what a bad one costs."""

from __future__ import annotations

import json
from typing import Any

import pytest
from check_cases import ANSWERS, OBSERVATIONS, STATES, asked_of, check, check_case, only
from check_replies import entry, numbers, reply
from sessions import Asked

from tracejury.judges.checks.case import AskedCheck
from tracejury.judges.checks.reply import MOST_LISTED, SCHEMA, scale_word
from tracejury.judges.llm.case import Deliberation
from tracejury.judges.llm.scripted import ScriptedClient
from tracejury.judges.packs import sources
from tracejury.schemas.checks import CheckItem

CASE = check_case(1, STATES, OBSERVATIONS)
S, O = "check-states", "check-observations"  # noqa: E741 - the letters of their measures
BOTH = (entry(S, 1), entry(S, 2))


def said(*answers: Any, **more: Any) -> str:
    return json.dumps({"answers": answers, "also": [], "summary": None} | more)


def told(*lines: str) -> tuple[Deliberation, ScriptedClient]:
    left = iter(lines)
    return asked_of(CASE, lambda _: next(left))


def test_a_sound_reply_fits_the_schema() -> None:
    """Every object has all its properties and no other, as strict structured outputs want it."""

    def strict(schema: Any) -> None:
        if schema["type"] == "object":
            assert schema["required"] == [*schema["properties"]]
            assert schema["additionalProperties"] is False
            for below in schema["properties"].values():
                strict(below)
        elif schema["type"] == "array":
            strict(schema["items"])

    strict(SCHEMA)
    assert list(SCHEMA["properties"]) == ["answers", "also", "summary"]
    assert list(entry(S, 1)) == [*SCHEMA["properties"]["answers"]["items"]["properties"]]


FORGIVEN: dict[str, str] = {
    "in a code fence": f"Here it is:\n```json\n{said(*BOTH)}\n```",
    "after thoughts": f"<think>{{hm}}</think>{said(*BOTH)}",
    "numbers as text": said(entry(S, 1, item="1"), entry(S, 2, item="Item 2.")),
    "a number with a fraction of nothing": said(entry(S, 1, item=1.0), entry(S, 2)),
    "other letters": said(entry(S, 1, answer="YES."), entry(S, 2, answer=" Yes ")),
    "truth values": said(entry(S, 1, answer=True), entry(S, 2, answer=True)),
    "the check's title": said(entry("Check of States", 1), entry("check_states", 2)),
    "no check at all": said(entry("", 1), entry("whatever", 2)),
    "the same twice": said(*BOTH, *BOTH),
    "a mapping by check": json.dumps({"answers": {S: [*BOTH], O: []}}),
    "a mapping by number": json.dumps({"answers": {"1": entry(S), "2": entry(S)}}),
    "nothing but what is needed": json.dumps({"answers": [{"item": 1, "answer": "yes"}, {"item": 2, "answer": "yes"}]}),
    "odd other fields": said(*BOTH, also="none", summary=7, confidence=1),
}


@pytest.mark.parametrize("text", FORGIVEN.values(), ids=FORGIVEN)
def test_what_is_unambiguous_is_forgiven(text: str) -> None:
    """No repair is asked for."""
    came, client = told(text)
    states, observations = came.verdicts
    assert (states.value, observations.not_applicable, len(client.prompts)) == (1, True, 1)


REFUSED: dict[str, tuple[str, str]] = {
    "a skipped item": (said(entry(S, 1)), "no answer to item 2"),
    "an invented item": (said(*BOTH, entry(S, 3)), "there is no item 3"),
    "an item of a check that lists its own": (said(*BOTH, entry(S, None)), "an entry names no item"),
    "two unlike answers": (said(*BOTH, entry(S, 2, "no")), "item 2 is answered twice, unalike"),
    "no word of the scale": (said(entry(S, 1), entry(S, 2, "perhaps")), "item 2: `answer` must be one of yes, no"),
    "no answer in an entry": (said(entry(S, 1), {"check": S, "item": 2}), "item 2: `answer` must be one of yes, no"),
    "a number for a word": (said(entry(S, 1), entry(S, 2, answer=1)), "item 2: `answer` must be one of yes, no"),
}


@pytest.mark.parametrize(("text", "why"), REFUSED.values(), ids=REFUSED)
def test_an_unsound_answer_is_asked_for_once_more(text: str, why: str) -> None:
    """The repair names what is wrong; a sound second answer counts."""
    came, client = told(text, said(*BOTH))
    assert (came.verdicts[0].value, len(client.prompts)) == (1, 2)
    assert came.failures == {}
    asked = client.prompts[1].messages
    assert asked[:-2] == client.prompts[0].messages
    assert asked[-2].text == text
    assert f"{S}: {why}" in asked[-1].text


@pytest.mark.parametrize(("text", "why"), REFUSED.values(), ids=REFUSED)
def test_then_its_check_alone_is_unscored(text: str, why: str) -> None:
    """With one line why; the other checks of the call stand."""
    listed = json.loads(text)
    listed["answers"].append(entry(O, mention="Rome has 12"))
    came, client = told(*[json.dumps(listed)] * 2)
    states, observations = came.verdicts
    assert why in states.unscored_reason
    assert "\n" not in states.unscored_reason
    assert (states.value, states.items, states.not_applicable) == (None, (), False)
    assert (observations.value, len(client.prompts)) == (1, 2)
    assert came.failures == {S: states.unscored_reason}


UNREADABLE = ["", "no", "[1]", '{"answers": 7}', '{"answer": []}', '{"answers": [', '{"answers": [NaN]}', "{" * 9000]


@pytest.mark.parametrize("text", UNREADABLE)
def test_what_cannot_be_read_leaves_the_call_unscored(text: str) -> None:
    """After one repair."""
    came, client = told(text, text)
    assert len(client.prompts) == 2
    assert [v.unscored_reason.startswith("no usable answer: ") for v in came.verdicts] == [True, True]


def test_a_stray_entry_is_asked_about_and_then_passed_over() -> None:
    """It belongs to no check, so it costs none."""
    text = said(*BOTH, "yes", entry("", 9))
    came, client = told(text, text)
    assert len(client.prompts) == 2
    assert (came.verdicts[0].value, came.dropped["unsound"], came.failures) == (1, 2, {})


def test_a_wrong_number_is_not_taken_for_another_checks() -> None:
    """The check that is named has to have it."""
    more = check(sources.STATES, "other", title="Another")
    case = check_case(1, STATES, AskedCheck(more, (CheckItem("x"),)))
    assert numbers(asked_of(case)[1].prompts[0]) == {S: [1, 2], "other": [3]}
    came, _ = asked_of(case, lambda p: reply(p, {3: {"check": S}}))
    assert set(came.failures) == {S, "other"}


def test_the_only_item_needs_no_number() -> None:
    """Where one answer is asked about."""
    case = check_case(1, ANSWERS)
    step = next(s for s in case.record.transcript.steps if s.label == "E2.S3")
    case = check_case(1, AskedCheck(ANSWERS, (CheckItem("the answer", "E2.S3", step.trace_id, step.span_id),)))
    came, _ = asked_of(case, lambda _: said({"answer": "yes"}))
    assert only(came).value == 1


def test_a_repair_that_makes_it_worse_is_passed_over() -> None:
    """Of two answers the one with more checks answered counts."""
    listed = entry(O, mention="Rome has 12")
    came, _ = told(said(entry(S, 1), listed), said(entry(S, 1), listed, entry(O, None, "perhaps", mention="12")))
    assert (came.verdicts[1].value, set(came.failures)) == (1, {S})


@pytest.mark.parametrize(
    ("scale", "written", "word"),
    [
        (4, 3, "3"),
        (4, "3", "3"),
        (4, 3.0, "3"),
        (4, 5, None),
        (4, -1, None),
        (4, "-1", None),
        (4, 2.5, None),
        (4, "3/4", None),
        (4, True, None),
        (4, None, None),
        (("met", "partly-met", "not-met"), "Partly met", "partly-met"),
        (("met", "partly-met", "not-met"), "NOT MET.", "not-met"),
        (("met", "partly-met", "not-met"), "unmet", None),
        (("met", "partly-met", "not-met"), True, None),
        (("met", "partly-met", "not-met"), ["met"], None),
        (("yes", "no"), False, "no"),
    ],
)
def test_an_answer_is_a_word_of_the_scale(scale: Any, written: object, word: str | None) -> None:
    """Or none."""
    assert scale_word(written, check(sources.STATES, scale=scale)) == word


def test_mentions_must_stand_in_the_answer() -> None:
    """Others are no items, and counted; of one that is listed twice one is taken."""
    came, client = told(
        said(
            *BOTH,
            entry(O, mention="rome  has 12"),
            entry(O, mention="Rome has 12"),
            entry(O, mention="Oslo has 7"),
            entry(O, mention="I look at Rome now."),
            entry(O, mention=""),
            entry(O),
            entry(O, 1, mention="more come on Monday"),
        )
    )
    assert [item.item for item in came.verdicts[1].items] == ["rome  has 12", "more come on Monday"]
    assert (came.dropped, len(client.prompts)) == ({"not-in-answer": 3}, 1)
    unlike, _ = told(*[said(*BOTH, entry(O, mention="Rome"), entry(O, None, "no", mention="ROME"))] * 2)
    assert unlike.failures == {O: '"ROME" is answered twice, unalike'}


def test_only_so_many_mentions_are_taken() -> None:
    """Those above the bound are counted."""
    words = [f"{n:03} parts" for n in range(MOST_LISTED + 7)]
    chat = check_case(0, OBSERVATIONS, chat=(Asked("How many?", ", ".join(words)),))
    came, _ = asked_of(chat, lambda _: said(*(entry(O, mention=word) for word in words)))
    verdict = only(came)
    assert (len(verdict.items), verdict.value) == (MOST_LISTED, 1)
    assert verdict.reasons.endswith("; 7 left out")


ALSO = {"check": O, "category": "omitted observation", "reason": "Orders.", "label": "E2.S3", "quote": "0 on order"}


@pytest.mark.parametrize(
    ("changes", "found", "dropped"),
    [
        ({}, ["0 on order"], {}),
        ({"category": "Omitted Observations"}, ["0 on order"], {}),
        ({"check": "unknown"}, ["0 on order"], {}),
        ({"label": None}, ["0 on order"], {}),
        ({"quote": "5 on order"}, [], {"no-evidence": 1}),
        ({"category": "unsound states"}, [], {"unsound": 1}),
        ({"check": S}, [], {"unsound": 1}),
        ({"reason": ""}, [], {"unsound": 1}),
        ({"quote": None}, [], {"unsound": 1}),
    ],
)
def test_what_is_reported_besides_is_a_finding_but_no_item(
    changes: dict[str, Any], found: list[str], dropped: dict[str, int]
) -> None:
    """It passes the same gate; one that cannot be read costs itself."""
    came, client = told(said(*BOTH, also=[ALSO | changes]))
    assert [f.evidence for f in came.findings] == found
    assert {f.category for f in came.findings} <= {"omitted observation"}
    assert (came.dropped, len(client.prompts), came.verdicts[1].items) == (dropped, 1, ())


def test_replies_are_read_as_text_only() -> None:
    """Hidden characters go; lone surrogates too; long reasons are cut."""
    reason = "It is\u202e \U000e0041 wrong. " + "x" * 5000
    wrong = entry(S, 2, "no", reason=reason, quote="I look at Rome now.")
    text = said(entry(S, 1), wrong).replace("It is", "It is\\ud800")
    came, _ = told(text)
    (found,) = came.findings
    assert found.explanation.isprintable()
    assert len(found.explanation) <= 1000
