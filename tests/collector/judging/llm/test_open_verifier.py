"""The verifier of a configuration: its own model over HTTP, under the judges' budget."""

from __future__ import annotations

from typing import Any

import pytest
from deliberations import PANEL, TRACE, judged
from llm_scripts import Call, Play, Script
from llm_server import llm_server
from panel_cases import case
from verifying import REFUTED, STANDS, verifying

from tracejury.collector.judging.llm.verification import Evidence, open_verifier
from tracejury.collector.judging.model.budgeted import budget_of
from tracejury.collector.judging.model.build import open_model
from tracejury.collector.judging.model.config import BudgetConfig, LlmConfig, ModelConfig
from tracejury.collector.judging.model.ready import check_ready
from tracejury.judges.llm.client import Prompt, PromptMessage
from tracejury.judges.llm.scripted import answer, finding
from tracejury.processors.transcript import UNCUT, transcribe
from tracejury.schemas.errors import ConfigError
from tracejury.schemas.findings import Finding, Verification

CASE = case(TRACE, PANEL, uncut=lambda: transcribe(TRACE, TRACE.runs[0], UNCUT))


def claim() -> tuple[Finding, ...]:
    """One HIGH finding."""
    return judged(lambda prompt: answer(prompt, [finding("S5", "It is forty-two.")]), CASE)[0].findings


def saying(said: dict[str, str]) -> Script:
    def play(call: Call) -> Play:
        asked = Prompt((PromptMessage("user", str(call.body["messages"][-1]["content"])),))
        return Play(text=verifying(asked, said))

    return play


async def verified(config: LlmConfig) -> Finding:
    budget = budget_of(config.budget)
    async with open_model(config, budget=budget) as model, open_verifier(config, model, budget=budget) as verifier:
        (found,) = await verifier.verify(claim(), Evidence.of(CASE))
    return found


async def test_the_judges_own_model_verifies_where_no_other_is_named() -> None:
    with llm_server(saying(STANDS)) as server:
        found = await verified(LlmConfig(model="openai/own", api_base=server.base))
    assert (found.verification, found.verified_by) == (Verification.VERIFIED, "openai/own")
    assert server.counts.calls == 1


async def test_another_model_verifies_at_its_own_address() -> None:
    with llm_server(saying(STANDS)) as own, llm_server(saying(REFUTED)) as other:
        verifier = ModelConfig(model="openai/other", api_base=other.base)
        found = await verified(LlmConfig(model="openai/own", api_base=own.base, verifier=verifier))
    assert (found.verification, found.verified_by) == (Verification.REFUTED, "openai/other")
    assert (own.counts.calls, other.counts.calls) == (0, 1)


async def test_both_models_share_one_budget() -> None:
    """What does not fit is not sent, and the finding shows as unverified."""
    with llm_server(saying(STANDS)) as server:
        verifier = ModelConfig(model="openai/other", api_base=server.base)
        config = LlmConfig(model="openai/own", api_base=server.base, verifier=verifier)
        found = await verified(config.model_copy(update={"budget": BudgetConfig(tokens_per_day=100)}))
    assert found.verification is Verification.UNVERIFIED
    assert "tokens_per_day" in found.verification_reason
    assert server.counts.calls == 0


async def test_a_model_that_fails_leaves_the_finding_unverified() -> None:
    with llm_server(lambda _: Play(status=400)) as server:
        found = await verified(LlmConfig(model="openai/own", api_base=server.base, retries=0))
    assert (found.verification, found.confidence) == (Verification.UNVERIFIED, claim()[0].confidence)


def test_a_verifier_is_a_name_or_a_mapping() -> None:
    def asked(**fields: Any) -> LlmConfig | None:
        return LlmConfig.model_validate({"model": "m", "api_base": "http://127.0.0.1:1", **fields}).of_verifier

    assert asked() is asked(verifier="") is asked(verifier="p/other", verify="off") is None
    mapping = {"model": "p/other"}
    for verifier in ("p/other", mapping):
        named = asked(verifier=verifier, input_usd_per_million=5.0)
        assert named is not None
        assert (named.model, named.api_base, named.input_usd_per_million) == ("p/other", "", None)


def test_the_key_of_a_verifier_must_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OTHER_KEY", raising=False)
    config = LlmConfig(model="m", verifier=ModelConfig(model="p/other", api_key_env="OTHER_KEY"))
    with pytest.raises(ConfigError, match="OTHER_KEY is not set"):
        check_ready(config)
