"""Detectors' errors before LLM judges, from committed spans to stored findings, over the real store."""

from __future__ import annotations

import pytest
from judging_bench import TRACE
from llm_bench import LlmBench, agent
from reports import Reporting, answering, items

from tracejury.collector.store.shared_store import SharedStore
from tracejury.judges.llm.client import Prompt
from tracejury.judges.llm.scripted import ScriptedClient, answer, finding
from tracejury.judges.reviews.candidates import PURPOSE, CandidatesReview
from tracejury.judges.suite import Suite
from tracejury.schemas.errors import LlmError, OverBudgetError, TracejuryError
from tracejury.schemas.findings import Finding, FindingState, Verification
from tracejury.schemas.profiles import threshold
from tracejury.schemas.verdicts import Outcome

BALANCED = threshold("balanced")
REPORTED = Reporting({"yard 0": 0.8, "yard 1": 0.7, "yard 2": 0.3})
SAID = {
    "yard 0": ("refuted", "S1 counts what it was asked to count."),
    "yard 1": ("confirmed", "S2 counts a yard twice."),
    "yard 2": ("confirmed", "S3 counts a yard that nobody named."),
}


def judged(store: SharedStore, script: object = None, **more: object) -> LlmBench:
    """A run of three calls that detectors report, judged."""
    llm = LlmBench(store, script or answering(SAID), suite=Suite([REPORTED]), **more)  # type: ignore[arg-type]
    with llm.running():
        llm.hear(*agent(turns=range(3)))
    return llm


def reported(llm: LlmBench) -> dict[str, Finding]:
    """The detectors' findings by what they quote."""
    return {f.evidence: f for f in llm.detecting.stored.load_findings([TRACE]).get(TRACE, ())}


def asked(llm: LlmBench) -> list[Prompt]:
    """The questions about reports."""
    assert isinstance(llm.client, ScriptedClient)
    return [p for p in llm.client.prompts if p.purpose == PURPOSE]


def test_reports_are_answered_after_the_judges_own_list(store: SharedStore) -> None:
    """One question on the same prefix: the refuted leaves balanced with the reason, the candidate joins."""
    llm = judged(store)
    assert isinstance(llm.client, ScriptedClient)
    first, second = llm.client.prompts
    assert (first.purpose, second.purpose) == ("closing", PURPOSE)
    assert "Says yard" not in "".join(m.text for m in first.messages)
    assert second.messages[: len(first.messages)] == first.messages
    assert [m.role for m in second.messages[len(first.messages) :]] == ["assistant", "user"]
    assert items(second)[1] == 'S1 Says yard 0: "yard 0": the call says yard 0'
    found = reported(llm)
    said = {quote: (f.verification, f.verified_by, f.verification_reason) for quote, f in found.items()}
    assert said == {
        "yard 0": (Verification.REFUTED, "scripted", SAID["yard 0"][1]),
        "yard 1": (Verification.VERIFIED, "scripted", SAID["yard 1"][1]),
        "yard 2": (Verification.VERIFIED, "scripted", SAID["yard 2"][1]),
    }
    assert found["yard 0"].confidence <= 0.2
    assert found["yard 1"].confidence == pytest.approx(0.85)
    assert found["yard 2"].confidence > BALANCED
    assert {f.state for f in found.values()} == {FindingState.CURRENT}
    assert {f.judge for f in found.values()} == {REPORTED.name}


def test_what_was_said_outlives_the_next_pass_of_the_detectors(store: SharedStore) -> None:
    """In memory, after a late span that changes nothing, and read anew by another process; it is not asked again."""
    llm = LlmBench(store, answering(SAID), suite=Suite([REPORTED]))
    with llm.running():
        llm.hear(*agent(turns=range(3)))
        before = reported(llm)
        llm.detecting.judging.ask([("", TRACE)])
        llm.detecting.wait(6)
        assert reported(llm) == before
        llm.hear(*agent(turns=[3], ended=False))
    after = reported(llm)
    assert {quote: f.verification for quote, f in after.items()} == {q: f.verification for q, f in before.items()}
    assert len(asked(llm)) == 1
    again = LlmBench(store, answering({}), suite=Suite([REPORTED]))
    again.detecting.judging.ask([("", TRACE)])
    again.detecting.wait(0)
    said = {quote: (f.verification, f.verification_reason, f.confidence) for quote, f in after.items()}
    assert {q: (f.verification, f.verification_reason, f.confidence) for q, f in reported(again).items()} == said


def test_the_detectors_do_not_write_over_what_was_said_meanwhile(store: SharedStore) -> None:
    """They hold the trace in memory as they last stored it, and its findings become current only later."""
    llm = LlmBench(store, answering(SAID), suite=Suite([REPORTED]))
    llm.detecting.commit(*agent(turns=range(3)))
    llm.detecting.wait(0.5)
    (trace,) = [t for t in [llm.detecting.judging.assembler.get(("", TRACE))] if t is not None]
    assert trace.stored
    assert {f.state for f in trace.stored.values()} == {FindingState.PROVISIONAL}
    with llm.running():
        llm.detecting.wait(6)
        llm.settle()
        llm.detecting.wait(600)
    found = reported(llm)
    assert {f.state for f in found.values()} == {FindingState.CURRENT}
    assert [f.verification for _, f in sorted(found.items())] == [
        Verification.REFUTED, Verification.VERIFIED, Verification.VERIFIED,
    ]  # fmt: skip


def test_nothing_is_written_of_a_finding_that_the_detectors_have_retracted(store: SharedStore) -> None:
    """While the judge answers, the call turns out to be another."""
    llm = LlmBench(store, suite=Suite([REPORTED]))

    def script(prompt: Prompt) -> str:
        if prompt.purpose == PURPOSE:
            for f in llm.detecting.stored.load_findings([TRACE])[TRACE]:
                assert f.state is FindingState.CURRENT
            retracting.judging.ask([("", TRACE)])
            retracting.wait(0)
        return answering(SAID)(prompt)

    retracting = LlmBench(store, suite=Suite([Reporting({})])).detecting
    llm.client.script = script  # type: ignore[attr-defined]
    with llm.running():
        llm.detecting.commit(*agent(turns=range(3)))
        llm.detecting.wait(6)
        retracting.now = llm.detecting.now + 1
        llm.settle()
    found = reported(llm).values()
    assert {(f.state, f.verification) for f in found} == {(FindingState.RETRACTED, Verification.NONE)}


@pytest.mark.parametrize(
    "error", [OverBudgetError("the cap is reached"), LlmError("no answer")], ids=["budget", "failure"]
)
def test_an_answer_is_kept_where_the_question_fails(store: SharedStore, error: TracejuryError) -> None:
    """The closing pass is saved; nothing is said of the reports, and the count of those is told."""

    def script(prompt: Prompt) -> object:
        return error if prompt.purpose == PURPOSE else answer(prompt)

    llm = judged(store, script)
    assert Outcome.DONE in {row.outcome for row in llm.words().values()}
    assert {f.verification for f in reported(llm).values()} == {Verification.NONE}
    (review,) = llm.watch.reviews
    assert (review.unanswered, review.failure) == (3, str(error))


def test_what_the_judges_reported_themselves_is_confirmed_without_a_question(store: SharedStore) -> None:
    """The same cause at the same span; the others are asked about."""

    def first(prompt: Prompt) -> str:
        own = finding("S1", "I count 1 hens in yard 0.", category="Tool-related", dimensions=["LC"])
        return answer(prompt, [own])

    llm = judged(store, answering({}, first))
    found = reported(llm)
    question, repair = asked(llm)
    assert repair.messages[: len(question.messages)] == question.messages
    assert "yard 0" not in "".join(items(question).values())
    assert found["yard 0"].verification is Verification.VERIFIED
    assert {found[q].verification for q in ("yard 1", "yard 2")} == {Verification.UNVERIFIED}
    assert {found[q].confidence for q in ("yard 1", "yard 2")} == {0.7, 0.3}


def test_nothing_is_asked_where_nothing_is_reported(store: SharedStore) -> None:
    """The call would cost tokens for nothing."""
    llm = LlmBench(store, suite=Suite([Reporting({"yard 0": 0.1})]))
    with llm.running():
        llm.hear(*agent(turns=range(3)))
    assert asked(llm) == []
    assert llm.watch.reviews == [CandidatesReview()]


def test_runs_that_share_a_call_share_the_question_about_their_errors(store: SharedStore) -> None:
    """Each opinion stands at the finding of its own run."""
    llm = LlmBench(store, answering(SAID), suite=Suite([REPORTED]))
    with llm.running():
        llm.hear(*(span for number in range(3) for span in agent(number, turns=range(number, number + 1))))
    (question,) = asked(llm)
    assert len(items(question)) == 3
    words = {quote: (f.agent_run_id[-2:], f.verification) for quote, f in reported(llm).items()}
    assert words == {
        "yard 0": ("0a", Verification.REFUTED),
        "yard 1": ("1a", Verification.VERIFIED),
        "yard 2": ("2a", Verification.VERIFIED),
    }
