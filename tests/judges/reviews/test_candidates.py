"""The question about detectors' errors: which are asked about, how, and what is made of any reply."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from deliberations import TRACE, judged
from hypothesis import given
from hypothesis import strategies as st
from panel_cases import case, panel
from prompt_attacks import ATTACKS
from prompt_cases import finding
from reports import items, reply

from tracejury.judges.llm.case import AnsweredPrompt, Deliberation
from tracejury.judges.llm.client import Prompt, PromptMessage, Reply
from tracejury.judges.reviews.candidates import PURPOSE, CandidatesReview, candidates_prompt, review_candidates
from tracejury.judges.reviews.detected_errors import MOST_ASKED, DetectedError, DetectedErrors, detected_errors
from tracejury.schemas.errors import LlmError, OverBudgetError, TracejuryError
from tracejury.schemas.findings import Finding, Verification
from tracejury.schemas.profiles import PROFILES
from tracejury.schemas.taxonomy import Severity

CASE = case(TRACE, panel())
RUN = TRACE.runs[0]
SAID, _ = judged()


def report(number: int, span_id: str = "a1", **changes: object) -> Finding:
    """A finding of a detector; no two are of one error, unless they share rule and span."""
    found = replace(finding(span_id, "I look it up.", f"report {number}"), id=f"f{number}", judge="rule", turn=None)
    return replace(found, **{"category": f"Category {number}", "taxonomy": f"t{number}", **changes})  # type: ignore[arg-type]


def errors(*findings: Finding) -> DetectedErrors:
    """Each an error of its own that is asked about."""
    return DetectedErrors(tuple(DetectedError((f,)) for f in findings))


def reviewed(asked: DetectedErrors, *outcomes: str | TracejuryError, said: Deliberation = SAID) -> CandidatesReview:
    """The review where these are the outcomes of the calls, the last one again and again."""
    going = review_candidates(CASE, said, asked)
    left = list(outcomes)
    try:
        batch = next(going)
        while True:
            came = [left.pop(0) if len(left) > 1 else left[0] for _ in batch]
            batch = going.send([Reply(one, "m") if isinstance(one, str) else one for one in came])
    except StopIteration as end:
        review: CandidatesReview = end.value
        return review


def words(review: CandidatesReview) -> dict[str, Verification]:
    """By finding."""
    return {opinion.finding_id: opinion.verification for opinion in review.opinions}


THREE = errors(report(1), report(2), report(3))


def test_the_question_follows_the_answer_on_the_same_prefix() -> None:
    """Byte by byte; only the schema and the purpose are others."""
    (answered,) = SAID.answered
    prompt = candidates_prompt(CASE, answered, THREE.asked)
    count = len(answered.prompt.messages)
    assert prompt.messages[:count] == answered.prompt.messages
    assert [(m.role, m.cache) for m in prompt.messages[count:]] == [("assistant", False), ("user", False)]
    assert prompt.messages[count].text == answered.reply
    assert (prompt.purpose, prompt.run_id, prompt.service) == (PURPOSE, "r1", TRACE.service)
    assert len(items(prompt)) == 3


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_a_hostile_report_stays_data(attack: str) -> None:
    """Title, quote and claim are indented lines between the items' fence."""
    (answered,) = SAID.answered
    hostile = report(1, title=attack, evidence=attack, explanation=attack)
    text = candidates_prompt(CASE, answered, errors(hostile).asked).messages[-1].text
    harmless = candidates_prompt(CASE, answered, errors(report(1)).asked).messages[-1].text
    ours = [[line for line in said.split("\n") if not line.startswith(" ")] for said in (text, harmless)]
    assert ours[0] == ours[1]


def test_each_item_has_the_answer_that_was_given() -> None:
    """Confirmed, refuted with the reason, not judged."""
    said = {1: ("confirmed", "S2 does."), 2: ("refuted", "S2 does not."), 3: ("not-judged", "It is cut.")}
    review = reviewed(THREE, reply(said))
    assert [(o.finding_id, o.verification, o.by, o.reason) for o in review.opinions] == [
        ("f1", Verification.VERIFIED, "m", "S2 does."),
        ("f2", Verification.REFUTED, "m", "S2 does not."),
        ("f3", Verification.UNVERIFIED, "m", "It is cut."),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (reply({1: ("refuted", "")}), [Verification.UNVERIFIED] * 3),
        (reply({1: ("maybe", "so"), 2: ("confirmed", "S1"), 9: ("refuted", "S1")}), [1, Verification.VERIFIED, 1]),
        (reply({}), [Verification.UNVERIFIED] * 3),
        ("no JSON at all", [Verification.UNVERIFIED] * 3),
        ('{"findings": [], "verdicts": []}', [Verification.UNVERIFIED] * 3),
        (json.dumps({"answers": {"2": {"answer": "Refuted", "reason": "S1 does."}}}), [1, Verification.REFUTED, 1]),
        (
            json.dumps({"answers": [{"item": 1, "answer": w, "reason": "S1"} for w in ("confirmed", "refuted")]}),
            [Verification.UNVERIFIED] * 3,
        ),
    ],
    ids=["no reason", "items that do not exist", "none", "prose", "the first answer again", "a mapping", "both ways"],
)
def test_what_is_not_answered_is_unverified(text: str, expected: list[Verification | int]) -> None:
    """After a repair that brings nothing better; the other items have their answers."""
    review = reviewed(THREE, text)
    got = [words(review)[f"f{n}"] for n in (1, 2, 3)]
    assert got == [Verification.UNVERIFIED if word == 1 else word for word in expected]
    assert review.unanswered == 0


@pytest.mark.parametrize("error", [OverBudgetError("the cap"), LlmError("no answer")])
def test_where_no_reply_comes_nothing_is_said(error: TracejuryError) -> None:
    """No error is raised; the reason is told."""
    assert reviewed(THREE, error) == CandidatesReview((), 3, str(error))
    half = reviewed(THREE, reply({1: ("confirmed", "S1")}), error)
    assert words(half) == {"f1": Verification.VERIFIED, "f2": Verification.UNVERIFIED, "f3": Verification.UNVERIFIED}


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers(-2, 5)
        | st.text(max_size=20)
        | st.sampled_from(["refuted", "confirmed"]),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(st.sampled_from(["answers", "item", "check", "answer", "reason", "x"]), inner, max_size=5)
        ),
        max_leaves=20,
    )
)
def test_any_reply_gives_each_error_one_opinion(value: object) -> None:
    """Whatever a model writes; a refutation always has a reason."""
    review = reviewed(THREE, json.dumps(value))
    assert sorted(o.finding_id for o in review.opinions) == ["f1", "f2", "f3"]
    assert all(o.reason for o in review.opinions if o.verification is Verification.REFUTED)


def test_errors_of_a_long_run_are_asked_about_where_their_steps_are_shown() -> None:
    """Each chapter's question follows that chapter's answer."""

    def chapter(text: str) -> AnsweredPrompt:
        return AnsweredPrompt(Prompt((PromptMessage("user", text),), purpose="closing"), f"answer to {text[:2]}")

    said = replace(SAID, answered=(chapter("S1 llm\n x\nS2 llm\n"), chapter("S1 llm: …\nS2 llm: …\nS4 llm\n S5 llm\n")))
    going = review_candidates(CASE, said, errors(report(1, "p2"), report(2, "a1"), report(3, "elsewhere")))
    (first,) = next(going)
    (second,) = going.send([Reply(reply({1: ("confirmed", "S2")}), "m")])
    assert [p.messages[1].text for p in (first, second)] == ["answer to S1", "answer to S1"]
    assert [len(items(p)) for p in (first, second)] == [1, 2]
    assert items(second)[1].startswith("S4 ")


def test_only_open_errors_of_the_run_from_the_recall_profile_on_are_asked_about() -> None:
    """At most so many, the surest first, then the gravest."""
    recall = PROFILES["recall"]
    findings = [
        report(1, confidence=recall),
        report(2, confidence=recall - 0.01),
        report(3, agent_run_id="r2"),
        report(4, verification=Verification.REFUTED),
        report(5, verification=Verification.UNVERIFIED, confidence=0.9, severity=Severity.LOW),
        report(6, confidence=0.9, severity=Severity.HIGH),
    ]
    asked = detected_errors(TRACE, [RUN], findings, ()).asked
    assert [error.lead.id for error in asked] == ["f6", "f5", "f1"]
    many = [report(n, confidence=0.5) for n in range(MOST_ASKED + 5)]
    assert len(detected_errors(TRACE, [RUN], many, ()).asked) == MOST_ASKED


def test_findings_of_one_error_are_asked_about_once() -> None:
    """And have one answer."""
    same = {"taxonomy": "t", "category": "c"}
    (error,) = detected_errors(TRACE, [RUN], [report(1, **same), report(2, **same, confidence=0.9)], ()).asked
    assert [f.id for f in error.findings] == ["f2", "f1"]
    assert words(reviewed(DetectedErrors((error,)), reply({1: ("refuted", "S2")}))) == {
        "f1": Verification.REFUTED,
        "f2": Verification.REFUTED,
    }


def test_a_finding_of_the_judges_own_at_the_same_span_and_cause_confirms() -> None:
    """Another cause, or another span of the same error, does not."""
    theirs = report(1)
    same = replace(theirs, id="own", judge="judge", evidence="look it up")
    errors_of = detected_errors(TRACE, [RUN], [theirs], [same])
    assert ([e.lead.id for e in errors_of.known], errors_of.asked) == (["f1"], ())
    review = reviewed(errors_of, LlmError("nothing is asked"))
    assert words(review) == {"f1": Verification.VERIFIED}
    for other in (replace(same, span_id="a2", also_at=("a1",)), replace(same, category="another")):
        assert [e.lead.id for e in detected_errors(TRACE, [RUN], [theirs], [other]).asked] == ["f1"]
