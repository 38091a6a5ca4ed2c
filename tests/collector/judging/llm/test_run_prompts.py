"""Driving a deliberation: batches at once, errors of ours as outcomes."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Sequence

import pytest
from canned_client import CannedClient

from tracejury.collector.judging.llm.run_prompts import run_prompts
from tracejury.judges.llm.case import Deliberation, Outcomes
from tracejury.judges.llm.client import Prompt, PromptMessage, Reply
from tracejury.schemas.errors import LlmError, OverBudgetError


def prompt(text: str) -> Prompt:
    return Prompt((PromptMessage("user", text),))


def told(outcomes: Outcomes) -> tuple[str, ...]:
    return tuple(o.text if isinstance(o, Reply) else f"error {o}" for o in outcomes)


def asking(*batches: Sequence[str]) -> Generator[Sequence[Prompt], Outcomes, Deliberation]:
    """Puts the batches one after another; what came back is in `models`."""
    heard: tuple[str, ...] = ()
    for batch in batches:
        outcomes = yield [prompt(text) for text in batch]
        for outcome in outcomes:
            if isinstance(outcome, OverBudgetError):
                raise outcome
        heard += told(outcomes)
    return Deliberation(models=heard)


async def test_outcomes_come_back_in_the_order_of_their_prompts() -> None:
    """Batch by batch; an empty batch is answered with nothing."""
    client = CannedClient(lambda p: f"re {p.messages[0].text}")
    said = await run_prompts(asking(["a", "b"], [], ["c"]), client)
    assert said.models == ("re a", "re b", "re c")


async def test_a_case_without_questions_is_over_at_once() -> None:
    """Nothing is asked."""
    client = CannedClient(lambda _: "")
    assert await run_prompts(asking(), client) == Deliberation()
    assert client.asked == []


async def test_errors_of_ours_are_outcomes() -> None:
    """One call's failure leaves the others their answers."""
    client = CannedClient(lambda p: LlmError("no answer") if p.messages[0].text == "a" else "fine")
    assert (await run_prompts(asking(["a", "b"]), client)).models == ("error no answer", "fine")


async def test_what_the_deliberation_raises_is_raised() -> None:
    """A cap is the caller's business."""
    with pytest.raises(OverBudgetError, match="cap"):
        await run_prompts(asking(["a"]), CannedClient(lambda _: OverBudgetError("cap")))


class Together:
    """Answers only when `size` calls are in flight."""

    model = "together"

    def __init__(self, size: int) -> None:
        self.barrier = asyncio.Barrier(size)

    async def complete(self, prompt: Prompt) -> Reply:
        await self.barrier.wait()
        return Reply(prompt.messages[0].text, self.model)


async def test_the_prompts_of_a_batch_are_sent_at_once() -> None:
    """Three calls that wait for each other all get through."""
    assert (await run_prompts(asking(["a", "b", "c"]), Together(3))).models == ("a", "b", "c")


class Faulty:
    """A client with a fault of its own; its other call never comes back."""

    model = "faulty"
    cancelled = False

    async def complete(self, prompt: Prompt) -> Reply:
        if prompt.messages[0].text == "bad":
            raise ZeroDivisionError
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        raise AssertionError


async def test_a_fault_of_the_client_is_no_outcome() -> None:
    """It is raised, the batch's other calls are cancelled, the deliberation is closed."""
    client, closed = Faulty(), []

    def deliberating() -> Generator[Sequence[Prompt], Outcomes, Deliberation]:
        try:
            yield [prompt("good"), prompt("bad")]
        finally:
            closed.append(True)
        return Deliberation()

    with pytest.raises(ExceptionGroup) as raised:
        await run_prompts(deliberating(), client)
    assert raised.group_contains(ZeroDivisionError)
    assert (client.cancelled, closed) == (True, [True])


async def test_a_case_can_bypass_the_cache() -> None:
    """Every prompt of it says so, in every batch."""
    client = CannedClient(lambda _: "fine")
    await run_prompts(asking(["a", "b"], ["c"]), client, bypass_cache=True)
    assert [p.bypass_cache for p in client.asked] == [True, True, True]
