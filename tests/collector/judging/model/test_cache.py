"""The answer cache: nothing is asked twice, everything that was paid for is kept, unsound answers spare no call."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from tracejury.collector.judging.model.cache import CachedClient
from tracejury.collector.judging.model.request_key import request_key
from tracejury.collector.store.llm_judging import StoredLlmJudging
from tracejury.collector.store.shared_store import SharedStore
from tracejury.judges.llm.client import NoAnswerError, Prompt, PromptMessage, Reply
from tracejury.judges.llm.scripted import ScriptedClient
from tracejury.schemas.errors import LlmError, OverBudgetError, RetryableError, StoreError
from tracejury.schemas.llm_rows import AnswerRow

ASKED = Prompt(
    (PromptMessage("system", "Be fair."), PromptMessage("user", "S1 tool\n it failed")),
    schema={"type": "object"},
    service="shop",
    trace_id="t",
    run_id="r",
)
WHOLE = Reply('{"score": 3}', "m", 10, 4, 5, 0.01, "stop")


class Answers(StoredLlmJudging):
    """A store in memory; `trouble` is raised instead of keeping."""

    def __init__(self) -> None:
        self.rows: list[AnswerRow] = []
        self.trouble: Exception | None = None

    def answer(self, key: str, tenant: str) -> Reply | None:
        for row in self.rows:
            if key and (row.key, row.tenant) == (key, tenant):
                return Reply(row.text, row.model, row.input_tokens, 0, row.output_tokens, 0.0, "stop", known=True)
        return None

    def keep(self, rows: Sequence[AnswerRow]) -> None:
        if self.trouble is not None:
            raise self.trouble
        self.rows += rows


class GatedClient:
    """Answers when the gate opens; tells that it was called, and that the call was cancelled."""

    model = "m"

    def __init__(self) -> None:
        self.gate, self.called, self.given_up = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.asked = 0

    async def complete(self, prompt: Prompt) -> Reply:
        del prompt
        self.asked += 1
        self.called.set()
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.given_up.set()
            raise
        return WHOLE


async def test_the_second_time_nothing_is_asked() -> None:
    """The kept answer is known, and costs nothing."""
    inner, answers = ScriptedClient.playing([WHOLE]), Answers()
    client = CachedClient(inner, answers, {}, clock=lambda: 7)
    assert await client.complete(ASKED) == WHOLE
    again = await client.complete(replace(ASKED, purpose="closing", trace_id="another"))
    assert (again.text, again.known, again.cost) == (WHOLE.text, True, 0.0)
    assert len(inner.prompts) == 1
    [row] = answers.rows
    assert (row.service, row.trace_id, row.run_id, row.cost, row.at) == ("shop", "t", "r", 0.01, 7)
    assert (row.input_tokens, row.cached_tokens, row.output_tokens) == (10, 4, 5)


@pytest.mark.parametrize(
    "unsound",
    [
        replace(WHOLE, finish_reason="length"),
        replace(WHOLE, finish_reason="content_filter"),
        replace(WHOLE, text="I would rather not."),
        replace(WHOLE, text="[1]"),
        replace(WHOLE, text='{"score": '),
        replace(WHOLE, text=""),
    ],
)
async def test_an_unsound_answer_is_kept_as_spend_only(unsound: Reply) -> None:
    """The next time the model is asked again."""
    inner, answers = ScriptedClient.playing([unsound, WHOLE]), Answers()
    client = CachedClient(inner, answers, {})
    assert await client.complete(ASKED) == unsound
    assert await client.complete(ASKED) == WHOLE
    assert [bool(row.key) for row in answers.rows] == [False, True]


@pytest.mark.parametrize("text", ['```json\n{"score": 3}\n```', 'Here it is: {"score": 3} I hope.'])
async def test_words_around_the_json_do_no_harm(text: str) -> None:
    """The parser forgives them, too."""
    inner = ScriptedClient.playing([replace(WHOLE, text=text)])
    client = CachedClient(inner, Answers(), {})
    await client.complete(ASKED)
    assert (await client.complete(ASKED)).known


async def test_identical_prompts_at_one_time_share_a_call() -> None:
    """One pays, the others are told that they did not."""
    inner, answers = GatedClient(), Answers()
    client = CachedClient(inner, answers, {})
    tasks = [asyncio.create_task(client.complete(ASKED)) for _ in range(5)]
    await inner.called.wait()
    inner.gate.set()
    replies = await asyncio.gather(*tasks)
    assert (inner.asked, len(answers.rows)) == (1, 1)
    assert [reply.cost for reply in replies] == [0.01, 0.0, 0.0, 0.0, 0.0]
    assert not client._calls


async def test_one_who_gives_up_does_not_end_the_call_of_the_others() -> None:
    """Only when nobody waits any more is it cancelled."""
    inner = GatedClient()
    client = CachedClient(inner, Answers(), {})
    first, second = (asyncio.create_task(client.complete(ASKED)) for _ in range(2))
    await inner.called.wait()
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    assert not inner.given_up.is_set()
    second.cancel()
    await asyncio.gather(second, return_exceptions=True)
    await inner.given_up.wait()
    assert not client._calls


@pytest.mark.parametrize("error", [LlmError("no"), OverBudgetError("cap", until=5), RetryableError("later")])
async def test_errors_are_not_kept(error: Exception) -> None:
    """All who wait get them, and the next one asks again."""
    assert isinstance(error, LlmError | OverBudgetError | RetryableError)
    inner, answers = ScriptedClient.playing([error, WHOLE]), Answers()
    client = CachedClient(inner, answers, {})
    outcomes = await asyncio.gather(*(client.complete(ASKED) for _ in range(3)), return_exceptions=True)
    assert outcomes == [error] * 3
    assert (await client.complete(ASKED)).text == WHOLE.text
    assert len(answers.rows) == 1


async def test_a_store_that_is_away_holds_nothing_up() -> None:
    """The reply is paid for: it is given, and kept with the next one."""
    inner, answers = ScriptedClient(lambda _: WHOLE), Answers()
    client = CachedClient(inner, answers, {})
    answers.trouble = RetryableError("away")
    assert (await client.complete(ASKED)).text == WHOLE.text
    answers.trouble = None
    await client.complete(replace(ASKED, max_tokens=2))
    assert len(answers.rows) == 2
    answers.trouble = RetryableError("away")
    await client.complete(replace(ASKED, max_tokens=3))
    answers.trouble = None
    await client.flush()
    assert len(answers.rows) == 3


async def test_what_can_never_be_kept_is_let_go() -> None:
    """It must not hold up what comes after it."""
    answers = Answers()
    client = CachedClient(ScriptedClient(lambda _: WHOLE), answers, {})
    answers.trouble = StoreError("never")
    await client.complete(ASKED)
    answers.trouble = None
    await client.complete(replace(ASKED, max_tokens=2))
    assert len(answers.rows) == 1


async def test_answers_outlive_the_process(store: SharedStore) -> None:
    """Kept in the store, and their spend with them, that of unsound ones too."""
    panel = StoredLlmJudging(store, clock=lambda: 10**18)
    cut = replace(WHOLE, finish_reason="length")
    first = CachedClient(ScriptedClient.playing([cut, WHOLE]), panel, {}, clock=lambda: 10**18)
    await first.complete(ASKED)
    await first.complete(ASKED)
    second = CachedClient(ScriptedClient.playing([]), panel, {}, clock=lambda: 10**18)
    assert (await second.complete(ASKED)).known
    [spend] = panel.spend(0)
    assert (spend.service, spend.calls, spend.tokens) == ("shop", 2, 30)
    assert spend.usd == pytest.approx(0.02)


class Picky(Answers):
    """Can never keep one model's answers."""

    def keep(self, rows: Sequence[AnswerRow]) -> None:
        if any(row.model == "bad" for row in rows):
            raise StoreError("not that one")
        super().keep(rows)


async def test_an_answer_that_cannot_be_kept_costs_no_other_one() -> None:
    """Those of its group are kept, one by one."""
    answers = Picky()
    asked = [replace(ASKED, run_id=name, messages=(PromptMessage("user", name),)) for name in ("a", "bad", "c")]
    inner = ScriptedClient(lambda prompt: replace(WHOLE, model=prompt.messages[0].text))
    client = CachedClient(inner, answers, {})
    await asyncio.gather(*(client.complete(prompt) for prompt in asked))
    await client.flush()
    assert sorted(row.model for row in answers.rows) == ["a", "c"]


async def test_an_endless_answer_is_not_kept_whole() -> None:
    """Nobody could read it, so it is kept for the spend alone."""
    answers = Answers()
    client = CachedClient(
        ScriptedClient(lambda _: replace(WHOLE, text='{"why": "' + "x" * 5_000_000 + '"}')), answers, {}
    )
    await client.complete(ASKED)
    [row] = answers.rows
    assert (row.key, len(row.text), row.output_tokens) == ("", 20_000, 5)


async def test_what_is_asked_anew_replaces_the_known_answer() -> None:
    """It may have been of no use, though it was sound; from then on the new one is known."""
    answers = Answers()
    texts = iter(['{"score": 9}', '{"score": 3}'])
    inner = ScriptedClient(lambda _: replace(WHOLE, text=next(texts)))
    client = CachedClient(inner, answers, {})
    assert (await client.complete(ASKED)).text == '{"score": 9}'
    assert (await client.complete(ASKED)).known
    bypass_cache = await client.complete(replace(ASKED, bypass_cache=True))
    assert (bypass_cache.text, bypass_cache.known) == ('{"score": 3}', False)
    assert [row.key for row in answers.rows] == [request_key(ASKED, inner.model)] * 2


async def test_an_answer_that_says_nothing_is_kept_for_the_spend() -> None:
    """Under no key: the next time it may say something."""
    answers = Answers()
    silent = NoAnswerError("nothing", replace(WHOLE, text=""))
    client = CachedClient(ScriptedClient.playing([silent]), answers, {})
    with pytest.raises(LlmError, match="nothing"):
        await client.complete(ASKED)
    assert [(row.key, row.output_tokens, row.cost) for row in answers.rows] == [("", 5, 0.01)]


async def test_projects_share_no_answer() -> None:
    """The same prompt of another project is asked again, and what it cost is that project's."""
    answers, inner = Answers(), ScriptedClient(lambda _: WHOLE)
    client = CachedClient(inner, answers, {})
    for tenant in ("", "acme", "globex", "acme"):
        await client.complete(replace(ASKED, tenant=tenant))
    assert [row.tenant for row in answers.rows] == ["", "acme", "globex"]
    assert len({row.key for row in answers.rows}) == 3
