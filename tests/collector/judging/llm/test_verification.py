"""Findings of judges before a verifier: who is asked, how long it is waited for, and what is stored."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from check_replies import reply
from deliberations import PANEL, TRACE, judged
from hens import hens
from llm_bench import LlmBench, agent
from panel_cases import case
from verifying import CANNOT_TELL, REFUTED, STANDS, is_verification, judges_and_verifier, verifying

from tracejury.collector.judging.llm.verification import GONE, MOST_LATE, Evidence, Verifier, Verify
from tracejury.collector.store.shared_store import SharedStore
from tracejury.judges.llm.case import Deliberation
from tracejury.judges.llm.client import Prompt, Reply
from tracejury.judges.llm.scripted import ScriptedClient, answer, finding
from tracejury.judges.verification import MOST_REFUTED, verified
from tracejury.processors.transcript import UNCUT, transcribe
from tracejury.schemas.errors import LlmError, OverBudgetError, RetryableError
from tracejury.schemas.findings import Finding, FindingState, Verification

NONE, VERIFIED, REFUTED_, UNVERIFIED = (
    Verification.NONE,
    Verification.VERIFIED,
    Verification.REFUTED,
    Verification.UNVERIFIED,
)
CASE = case(TRACE, PANEL, uncut=lambda: transcribe(TRACE, TRACE.runs[0], UNCUT))
CLAIMS = (
    finding("S5", "It is forty-two.", severity="HIGH"),
    finding("S2", "I look it up.", severity="MEDIUM", category="Goal Deviation"),
)


def said(*claims: dict[str, Any]) -> Deliberation:
    """What judges say who claim this."""
    return judged(lambda prompt: answer(prompt, claims or CLAIMS), CASE)[0]


def claims() -> tuple[Finding, Finding]:
    """The HIGH finding and the MEDIUM one."""
    high, medium = sorted(said().findings, key=lambda f: f.severity.rank, reverse=True)
    return high, medium


async def after(
    script: Callable[[Prompt], Any],
    findings: Sequence[Finding],
    verify: Verify = "high",
    stored: Sequence[Finding] = (),
    **more: Any,
) -> tuple[list[Finding], ScriptedClient]:
    client = ScriptedClient(script, "checker")
    verifier = Verifier(client, verify, patience=None)
    return [*await verifier.verify(findings, Evidence.of(CASE), stored, **more)], client


def every(*answers: dict[str, str]) -> Callable[[Prompt], str]:
    return lambda prompt: verifying(prompt, *answers)


@pytest.mark.parametrize(
    ("verify", "wanted"), [("off", [NONE, NONE]), ("high", [VERIFIED, NONE]), ("all", [VERIFIED, VERIFIED])]
)
async def test_who_is_asked_about(verify: Verify, wanted: list[Verification]) -> None:
    found, client = await after(every(STANDS), claims(), verify)
    assert [one.verification for one in found] == wanted
    assert len(client.prompts) == (verify != "off")


async def test_what_stands_gains_what_is_refuted_falls_and_what_cannot_be_told_stays() -> None:
    high, _ = claims()
    (stands,), _ = await after(every(STANDS), [high])
    (refuted,), _ = await after(every(REFUTED), [high])
    (open_,), _ = await after(every(CANNOT_TELL), [high])
    assert stands.confidence == pytest.approx(1 - (1 - high.confidence) / 2)
    assert refuted.confidence == MOST_REFUTED
    assert open_.confidence == high.confidence
    assert [one.verification for one in (stands, refuted, open_)] == [VERIFIED, REFUTED_, UNVERIFIED]
    assert {one.verified_by for one in (stands, refuted, open_)} == {"checker"}
    assert refuted.verification_reason == REFUTED["reason"]


async def test_findings_of_packs_are_verified_with_all_only() -> None:
    high, _ = claims()
    of_pack = replace(high, judge="pipa-state", taxonomy="pipa")
    assert [f.verification for f in (await after(every(STANDS), [of_pack]))[0]] == [NONE]
    assert [f.verification for f in (await after(every(STANDS), [of_pack], "all"))[0]] == [VERIFIED]


@pytest.mark.parametrize(
    "error", [OverBudgetError("usd_per_day is used up"), LlmError("the key is wrong"), RetryableError("away")]
)
async def test_without_an_answer_everything_shows_unverified_with_the_reason(error: Exception) -> None:
    (one, other), _ = await after(lambda _: error, claims())
    assert (one.verification, one.confidence) == (UNVERIFIED, claims()[0].confidence)
    assert one.verification_reason == f"the verifier gave no answer: {error}"
    assert other.verification is NONE


async def test_an_answer_to_one_of_two_counts_for_that_one() -> None:
    def half(prompt: Prompt) -> str:
        whole = reply(prompt.messages[2].text, {1: STANDS})  # a repair says the same again
        return whole.replace('"item": 2', '"item": 7')

    found, client = await after(half, claims(), "all")
    assert sorted(one.verification for one in found) == [UNVERIFIED, VERIFIED]
    assert len(client.prompts) == 2  # one repair


async def test_a_finding_whose_step_is_gone_is_unverified_and_asks_nothing() -> None:
    (one,), client = await after(every(STANDS), [replace(claims()[0], span_id="gone")])
    assert (one.verification, one.verification_reason) == (UNVERIFIED, GONE)
    assert not client.prompts


async def test_a_record_that_cannot_be_made_costs_no_finding() -> None:
    def broken() -> Any:
        raise ValueError("no such record")

    verifier = Verifier(ScriptedClient(every(STANDS)), patience=None)
    (one,) = await verifier.verify(claims()[:1], Evidence(broken, "", "farm", "r1"))
    assert (one.verification, one.verification_reason) == (UNVERIFIED, "an unexpected error")


async def test_what_was_settled_before_is_asked_again_only_of_another_model_or_on_demand() -> None:
    high, _ = claims()
    by_checker = verified(high, VERIFIED, "checker", "It is so.")
    (kept,), client = await after(every(REFUTED), [high], stored=[by_checker])
    assert (kept, client.prompts) == (by_checker, [])
    by_other = verified(high, VERIFIED, "other", "It is so.")
    assert (await after(every(REFUTED), [high], stored=[by_other]))[0][0].verification is REFUTED_
    again, _ = await after(every(REFUTED), [high], stored=[by_checker], bypass_cache=True)
    assert again[0].verification is REFUTED_


async def test_what_was_settled_before_holds_where_the_verifier_fails_now() -> None:
    high, _ = claims()
    by_other = verified(high, REFUTED_, "other", "It is not so.")
    assert (await after(lambda _: LlmError("away"), [high], stored=[by_other]))[0] == [by_other]


async def test_a_finding_of_a_window_that_was_settled_is_not_settled_twice() -> None:
    settled = verified(claims()[0], VERIFIED, "other", "It is so.")
    found, client = await after(every(STANDS), [settled])
    assert (found, client.prompts) == ([settled], [])


class Stuck:
    """A model that answers when it is told to."""

    model = "stuck"

    def __init__(self) -> None:
        self.free, self.answered = asyncio.Event(), asyncio.Event()
        self.prompts: list[Prompt] = []

    async def complete(self, prompt: Prompt) -> Reply:
        self.prompts.append(prompt)
        await self.free.wait()
        self.answered.set()
        return Reply(verifying(prompt, STANDS), self.model)


async def test_findings_wait_no_longer_than_the_patience_and_the_late_call_is_not_lost() -> None:
    model = Stuck()
    verifier = Verifier(model, patience=0.0)
    (one,) = await verifier.verify(claims()[:1], Evidence.of(CASE))
    assert (one.verification, one.verified_by) == (UNVERIFIED, "stuck")
    assert one.verification_reason == "the verifier gave no answer: no answer within 0 s"
    model.free.set()
    await model.answered.wait()
    await verifier.aclose()


async def test_no_more_calls_are_sent_while_many_are_late() -> None:
    model = Stuck()
    verifier = Verifier(model, patience=0.0)
    for _ in range(MOST_LATE + 3):
        (one,) = await verifier.verify(claims()[:1], Evidence.of(CASE))
        assert one.verification is UNVERIFIED
    assert len(model.prompts) == MOST_LATE
    assert "earlier claims" in one.verification_reason
    await verifier.aclose()
    assert not model.answered.is_set()


async def test_other_runs_go_on_while_one_waits() -> None:
    model = Stuck()
    slow = asyncio.create_task(Verifier(model, patience=None).verify(claims()[:1], Evidence.of(CASE)))
    found, _ = await after(every(STANDS), claims())
    assert found[0].verification is VERIFIED
    assert not slow.done()
    model.free.set()
    assert (await slow)[0].verification is VERIFIED


def test_a_refuted_finding_is_stored_with_the_reason(store: SharedStore) -> None:
    llm = LlmBench(store, judges_and_verifier(hens, REFUTED), verify="high")
    with llm.running():
        llm.hear(*agent(turns=range(2)))
    (found,) = llm.findings()
    assert (found.verification, found.verified_by, found.verification_reason) == (
        REFUTED_,
        "scripted",
        REFUTED["reason"],
    )
    assert (found.confidence, found.state) == (MOST_REFUTED, FindingState.CURRENT)


def test_a_finding_of_a_window_is_verified_and_asked_about_once(store: SharedStore) -> None:
    llm = LlmBench(store, judges_and_verifier(hens, STANDS), verify="high")
    with llm.running():
        llm.hear(*agent(ended=False, turns=range(6)), seconds=0.1)
        (early,) = llm.findings()
        assert (early.state, early.verification) == (FindingState.PROVISIONAL, VERIFIED)
        llm.hear(*agent())
    (late,) = llm.findings()
    assert (late.state, late.verification, late.confidence) == (FindingState.CURRENT, VERIFIED, early.confidence)
    assert isinstance(llm.client, ScriptedClient)
    assert sum(map(is_verification, llm.client.prompts)) == 1


def test_another_model_may_verify(store: SharedStore) -> None:
    checker = ScriptedClient(every(STANDS), "checker")
    llm = LlmBench(store, hens, verify="high", verifier=checker)
    with llm.running():
        llm.hear(*agent(turns=range(2)))
    (found,) = llm.findings()
    assert (found.verification, found.verified_by) == (VERIFIED, "checker")
    assert isinstance(llm.client, ScriptedClient)
    assert not any(map(is_verification, llm.client.prompts))
