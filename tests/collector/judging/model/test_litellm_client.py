"""litellm itself, against a real server on loopback: answers, failures of every kind, and nothing that leaks."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import orjson
import pytest
from llm_scripts import Call, Play, Script, always, in_turn, refuses
from llm_server import LlmServer, llm_server
from open_sockets import DESCRIPTORS, connections_to

from tracejury.collector.judging.model.config import LlmConfig, ModelConfig
from tracejury.collector.judging.model.litellm_client import UNKNOWN_LIMIT, LiteLlmClient
from tracejury.judges.llm.client import NoAnswerError, Prompt, PromptMessage
from tracejury.schemas.errors import ConfigError, LlmError, RetryableError

SCORE = {"type": "integer", "maximum": 3}
SCHEMA = {"type": "object", "properties": {"score": SCORE}, "required": ["score"], "additionalProperties": False}
RULES = PromptMessage("system", "Be fair. " * 600, cache=True)
ASKED = Prompt((RULES, PromptMessage("user", "S1 tool\n it failed for want of a file")), schema=SCHEMA, max_tokens=500)


@pytest.fixture
def server() -> Iterator[LlmServer]:
    """A server that keeps what it was sent."""
    with llm_server(keep=True) as running:
        yield running


@asynccontextmanager
async def asking(server: LlmServer, script: Script | None = None, **config: Any) -> AsyncIterator[LiteLlmClient]:
    """A client of the server, which plays `script` from now on; closed at the end."""
    server.script = script or server.script
    given: Mapping[str, Any] = {"model": "my-model", "api_base": server.base, "retries": 0, **config}
    client = LiteLlmClient(LlmConfig(**given))
    try:
        yield client
    finally:
        await client.close()


async def test_what_is_sent_and_what_comes_back(server: LlmServer) -> None:
    """By OpenAI's protocol, the schema beside the messages; usage as the server counts it."""
    async with asking(server) as client:
        first = await client.complete(ASKED)
        second = await client.complete(ASKED)
    [body, _] = server.bodies
    assert body["model"] == "my-model"
    assert body["messages"] == [{"role": m.role, "content": m.text} for m in ASKED.messages]
    assert body["response_format"]["json_schema"] == {"name": "answer", "schema": SCHEMA, "strict": True}
    assert (body["max_tokens"], body["temperature"], orjson.loads(first.text)) == (500, 0.0, {"score": 2})
    assert (first.model, first.finish_reason, first.cost, first.known) == ("my-model", "stop", None, False)
    assert first.input_tokens + second.input_tokens == server.counts.input_tokens
    assert (first.cached_tokens, second.cached_tokens) == (0, server.counts.cached_tokens)
    assert second.cached_tokens >= 1024


async def test_the_settings_of_the_configuration_are_sent(server: LlmServer) -> None:
    """The smaller of the two limits on an answer; no temperature of a prompt where none is wanted, else its own."""
    async with asking(server, temperature=None, max_answer_tokens=300, structured="none") as client:
        await client.complete(ASKED)
        await client.complete(replace(ASKED, temperature=1.0, top_p=0.9))
    async with asking(server) as client:
        await client.complete(replace(ASKED, temperature=1.0, top_p=0.9))
    [body, refused, own] = server.bodies
    assert not {"temperature", "top_p"} & refused.keys()
    assert (own["temperature"], own["top_p"]) == (1.0, 0.9)
    assert body["max_tokens"] == 300
    assert "temperature" not in body
    assert "response_format" not in body
    assert "JSON schema" in body["messages"][-1]["content"]


@pytest.mark.parametrize(("model", "sent"), [("my-model", "low"), ("openai/o3", "low"), ("openai/gpt-4o", None)])
async def test_reasoning_effort_is_sent_to_models_that_take_it(server: LlmServer, model: str, sent: str | None) -> None:
    """And to servers of one's own; nothing unless it is set."""
    async with asking(server, model=model, reasoning_effort="low") as client:
        await client.complete(ASKED)
    async with asking(server, model=model) as client:
        await client.complete(ASKED)
    assert [body.get("reasoning_effort") for body in server.bodies] == [sent, None]


@pytest.mark.parametrize(
    ("refused", "sent"),
    [
        ((), ["json_schema", "json_schema"]),
        (("json_schema",), ["json_schema", "json_object", "json_object"]),
        (("json_schema", "json_object"), ["json_schema", "json_object", "", ""]),
    ],
)
async def test_a_form_of_answer_that_is_refused_is_not_asked_for_again(
    server: LlmServer, refused: tuple[str, ...], sent: list[str]
) -> None:
    """The next laxer one is tried, and the one that works is remembered."""
    async with asking(server, refuses(*refused)) as client:
        for _ in range(2):
            assert orjson.loads((await client.complete(ASKED)).text) == {"score": 2}
    assert [(body.get("response_format") or {}).get("type", "") for body in server.bodies] == sent


async def test_a_chosen_form_of_answer_stands(server: LlmServer) -> None:
    """Whoever chose it is told that the server refuses it."""
    async with asking(server, refuses("json_schema"), structured="schema") as client:
        with pytest.raises(LlmError, match="response_format is not supported"):
            await client.complete(ASKED)
    assert server.counts.calls == 1


LASTING = {
    "a wrong request": (Play(status=400, message="no such thing"), "answered 400: no such thing"),
    "no such model": (Play(status=404), r"answered 404 .not found.*judges\.model"),
    "too long": (Play(status=400, message="This model's maximum context length is 9 tokens"), "too long"),
    "too long, in other words": (Play(status=400, message="exceeds the available context size (9 tokens)"), "too long"),
    "another server error": (Play(status=501), "answered 501"),
    "no JSON": (Play(raw=b"{not json"), "failed .InternalServerError.: Expecting"),
    "a page": (Play(raw=b"<html>Welcome</html>"), "answered with an HTML page: check"),
    "a list": (Play(raw=b"[]"), "failed .InternalServerError.: Empty or invalid response"),
    "an error as an answer": (Play(raw=b'{"error": {"message": "overloaded"}}'), "overloaded"),
    "no choice": (Play(change=lambda reply: reply.update(choices=[])), "answered nothing"),
    "no content": (Play(change=lambda reply: reply["choices"][0]["message"].update(content=None)), "answered nothing"),
    "withheld": (Play(finish_reason="content_filter", text=""), "content filter"),
}


@pytest.mark.parametrize(("play", "said"), LASTING.values(), ids=LASTING)
async def test_what_trying_again_does_not_mend(server: LlmServer, play: Play, said: str) -> None:
    """One line that says what is wrong; nothing of the provider's hangs on the error."""
    async with asking(server, lambda _: play) as client:
        with pytest.raises(LlmError, match=said) as caught:
            await client.complete(ASKED)
    assert "\n" not in str(caught.value)
    assert "judge-0" not in str(caught.value)
    assert caught.value.__context__ is None


PASSING = {
    "too many": (Play(status=429, retry_after=7), 7.0),
    "too many for ever": (Play(status=429, retry_after=10**9), 3600.0),
    "too many, no time said": (Play(status=429), 30.0),
    "a server error": (Play(status=500), 30.0),
    "a gateway's time-out": (Play(status=504), 30.0),
    "away": (Play(status=503, retry_after=2), 2.0),
    "bad gateway": (Play(status=502), 30.0),
    "overloaded": (Play(status=529), 30.0),
    "hung up": (Play(hang_up="before"), 30.0),
    "cut off": (Play(hang_up="middle"), 30.0),
}


@pytest.mark.parametrize(("play", "wait"), PASSING.values(), ids=PASSING)
async def test_what_may_pass_can_be_tried_again(server: LlmServer, play: Play, wait: float) -> None:
    """With the time that the provider asks for."""
    async with asking(server, lambda _: play) as client:
        with pytest.raises(RetryableError) as caught:
            await client.complete(ASKED)
    assert caught.value.retry_after == wait
    assert caught.value.__context__ is None


async def test_nobody_there_can_be_tried_again() -> None:
    """The server of one's own may be starting."""
    with llm_server() as gone:
        base = gone.base
    client = LiteLlmClient(LlmConfig(model="my-model", api_base=base, retries=0))
    with pytest.raises(RetryableError, match=r"my-model cannot be reached at http://127\.0\.0\.1:"):
        await client.complete(ASKED)
    await client.close()


@pytest.mark.parametrize("failing", [Play(status=500), Play(hang_up="before"), Play(status=429, retry_after=0)])
async def test_passing_failures_are_repeated_at_once(server: LlmServer, failing: Play) -> None:
    """As often as configured."""
    async with asking(server, in_turn(failing, Play()), retries=1) as client:
        assert (await client.complete(ASKED)).text
    assert server.counts.calls == 2


async def test_a_failure_is_repeated_no_oftener_than_configured(server: LlmServer) -> None:
    async with asking(server, always(status=500), retries=1) as client:
        with pytest.raises(RetryableError, match=r"answered 500 \(not available\): a scripted failure"):
            await client.complete(ASKED)
    assert server.counts.calls == 2


async def test_a_stalled_call_ends_in_time(server: LlmServer) -> None:
    """And the connection with it."""
    async with asking(server, always(stall=True), timeout_seconds=0.3) as client:
        with pytest.raises(LlmError, match=r"in time.*timeout_seconds"):
            await client.complete(ASKED)


async def test_calls_in_flight_can_be_cancelled(server: LlmServer) -> None:
    """A shutdown does not wait for answers that come minutes later; the server sees us hang up."""
    async with asking(server, always(stall=True), timeout_seconds=600) as client:
        async with asyncio.timeout(20):
            tasks = [asyncio.create_task(client.complete(ASKED)) for _ in range(4)]
            await asyncio.to_thread(server.wait_until, lambda counts: counts.in_flight == 4)
            for task in tasks:
                task.cancel()
            outcomes = await asyncio.gather(*tasks, return_exceptions=True)
            await asyncio.to_thread(server.wait_until, lambda counts: counts.in_flight == 0)
    assert all(isinstance(outcome, asyncio.CancelledError) for outcome in outcomes)


@pytest.mark.skipif(not DESCRIPTORS.exists(), reason="open sockets are looked up where the system lists descriptors")
async def test_a_connection_is_kept_alive_until_a_late_answer(server: LlmServer) -> None:
    """Routers and load balancers forget one on which nothing happens for minutes."""
    async with asking(server, always(stall=True), timeout_seconds=600) as client:
        call = asyncio.create_task(client.complete(ASKED))
        await asyncio.to_thread(server.wait_until, lambda counts: counts.in_flight == 1)
        (connection,) = connections_to(server.port)
        with connection:
            assert connection.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)


async def test_no_more_at_once_than_configured(server: LlmServer) -> None:
    """Whoever asks for how much."""
    async with asking(server, always(delay=0.02), concurrency=3) as client:
        await asyncio.gather(*(client.complete(ASKED) for _ in range(12)))
    assert (server.counts.calls, server.counts.most_at_once) == (12, 3)


async def test_an_answer_that_was_cut_off_is_given(server: LlmServer) -> None:
    """Whether something can be made of it, the parser decides."""
    async with asking(server, always(finish_reason="length", text='{"sco')) as client:
        reply = await client.complete(ASKED)
    assert (reply.text, reply.finish_reason) == ('{"sco', "length")


async def test_a_server_that_counts_nothing_is_not_free(server: LlmServer) -> None:
    """Tokens are estimated then."""
    async with asking(server, always(change=lambda reply: reply.pop("usage"))) as client:
        reply = await client.complete(ASKED)
    assert reply.input_tokens == pytest.approx(ASKED.characters / 4, rel=0.2)
    assert reply.output_tokens > 0


@pytest.mark.parametrize(
    "counted",
    [
        {"prompt_tokens": -5_000_000, "completion_tokens": -7, "total_tokens": -5_000_007},
        {"prompt_tokens": 2**62, "completion_tokens": 10**12, "total_tokens": 2**62 + 10**12},
    ],
)
@pytest.mark.parametrize("name", ["my-model", "openai/gpt-4o"])
async def test_a_server_that_counts_nonsense_is_not_free(
    server: LlmServer, monkeypatch: pytest.MonkeyPatch, name: str, counted: Mapping[str, int]
) -> None:
    """Less than nothing would make room under a cap, and more than a model reads fits no store: both are estimated."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    async with asking(server, always(change=lambda reply: reply.update(usage=dict(counted))), model=name) as client:
        reply = await client.complete(ASKED)
    assert 1000 < reply.input_tokens < 2000
    assert 1 <= reply.output_tokens < 100
    assert reply.cost is None if name == "my-model" else (reply.cost or 0) > 0


async def test_cached_tokens_are_some_of_those_read(server: LlmServer) -> None:
    """Neither negative nor more than the prompt has."""
    for cached, expected in ((-(10**9), 0), (10**6, 15), (7, 7)):
        usage = {"prompt_tokens": 15, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": cached}}
        async with asking(server, always(change=lambda reply, u=usage: reply.update(usage=u))) as client:
            assert (await client.complete(ASKED)).cached_tokens == expected


async def test_an_answer_can_always_be_stored(server: LlmServer) -> None:
    """Lone surrogates, which JSON may hold and no store takes, are replaced."""
    raw = b'{"id":"x","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"finish_reason":"stop",'
    raw += b'"message":{"role":"assistant","content":"{\\"score\\": 2} \\ud800"}}]}'
    async with asking(server, always(raw=raw)) as client:
        assert (await client.complete(ASKED)).text == '{"score": 2} ?'


@pytest.mark.filterwarnings("error")
async def test_what_a_server_sends_amiss_is_not_printed(server: LlmServer) -> None:
    """The library's warnings about wrong types would hold a piece of the answer."""
    odd = [{"type": "text", "text": "what was said"}]
    script = always(change=lambda reply: reply["choices"][0]["message"].update(content=odd))
    async with asking(server, script) as client:
        with pytest.raises(LlmError):
            await client.complete(ASKED)


@pytest.mark.parametrize("reason", ["stop", "content_filter"])
async def test_what_an_answer_that_says_nothing_took_is_told(server: LlmServer, reason: str) -> None:
    """It was paid for."""
    async with asking(server, always(text="", finish_reason=reason)) as client:
        with pytest.raises(NoAnswerError) as caught:
            await client.complete(ASKED)
    assert caught.value.reply.input_tokens == server.counts.input_tokens > 1000


async def test_the_fallbacks_are_asked_in_turn(server: LlmServer) -> None:
    """The reply names the one that answered."""

    def script(call: Call) -> Play:
        return Play() if call.body["model"] == "third" else Play(status=500)

    others = tuple(ModelConfig(model=name, api_base=server.base) for name in ("second", "third"))
    async with asking(server, script, fallbacks=others, structured="schema") as client:
        assert (await client.complete(ASKED)).model == "third"
        assert client.model == "my-model"
    assert [body["model"] for body in server.bodies] == ["my-model", "second", "third"]


async def test_a_refused_form_of_answer_is_no_reason_for_a_fallback(server: LlmServer) -> None:
    """The model is asked in a laxer form first, and then always."""
    second = ModelConfig(model="second", api_base=server.base)
    async with asking(server, refuses("json_schema"), fallbacks=(second,)) as client:
        models = [(await client.complete(ASKED)).model for _ in range(2)]
    assert models == ["my-model", "my-model"]
    assert server.counts.calls == 3


async def test_a_longer_context_may_be_a_fallback_away(server: LlmServer) -> None:
    """Also where the first model takes no prompt of this length."""

    def script(call: Call) -> Play:
        play = Play(status=400, code="context_length_exceeded", message="maximum context length is 9")
        return Play() if call.body["model"] == "second" else play

    async with asking(server, script, fallbacks=(ModelConfig(model="second", api_base=server.base),)) as client:
        assert (await client.complete(ASKED)).model == "second"


async def test_a_known_model_has_a_price_and_a_limit(server: LlmServer) -> None:
    """By litellm's tables, also where another server stands in for the provider's."""
    async with asking(server, model="openai/gpt-4o") as client:
        reply = await client.complete(ASKED)
        assert client.max_input_tokens == 128_000
        assert client.price is not None
        assert reply.cost == pytest.approx(client.price.of(reply.input_tokens, reply.output_tokens))
        cheaper = await client.complete(ASKED)
        assert cheaper.cost is not None
        assert reply.cost is not None
        assert cheaper.cost < reply.cost, "cached tokens cost less"
        assert 5 < client.count_tokens("The quick brown fox jumps.") < 9


async def test_an_unknown_model_has_what_the_configuration_says(server: LlmServer) -> None:
    """Otherwise no price, and a careful limit, also after it was called and when it is opened again."""
    for _ in range(2):
        async with asking(server) as client:
            assert (await client.complete(ASKED)).cost is None
            assert (client.price, client.max_input_tokens) == (None, UNKNOWN_LIMIT)
    told = {"input_usd_per_million": 1.0, "output_usd_per_million": 10.0, "max_input_tokens": 5000}
    async with asking(server, None, **told) as client:
        reply = await client.complete(ASKED)
        assert reply.cost == pytest.approx((reply.input_tokens + 10 * reply.output_tokens) / 1e6)
        assert client.max_input_tokens == 5000


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"model": "my-model"}, "knows no provider of 'my-model'"),
        ({"model": "openai/x", "api_key_env": "TRACEJURY_TEST_ABSENT"}, "TRACEJURY_TEST_ABSENT is not set"),
    ],
)
async def test_what_the_user_must_mend_is_said_at_once(config: dict[str, str], said: str) -> None:
    """Before anything is sent; a call says the same."""
    client = LiteLlmClient(LlmConfig.model_validate(config))
    with pytest.raises(ConfigError, match=said):
        await client.prepare()
    with pytest.raises(LlmError, match=said):
        await client.complete(ASKED)
    await client.close()


async def test_it_can_be_used_again_after_closing(server: LlmServer) -> None:
    """In another event loop, too: closing leaves no dead connection behind."""
    async with asking(server) as client:
        await client.complete(ASKED)
        await client.close()
        await client.complete(ASKED)
    assert await asyncio.to_thread(lambda: asyncio.run(_once(server)))


async def _once(server: LlmServer) -> str:
    async with asking(server) as client:
        return (await client.complete(ASKED)).text


async def test_nothing_is_left_running(server: LlmServer) -> None:
    """No task outlives the client, whatever happened to its calls."""
    before = asyncio.all_tasks()
    plays = [Play(), Play(status=500), Play(status=401), Play(hang_up="middle"), Play(raw=b"?")]
    async with asking(server, lambda call: plays[call.number % len(plays)]) as client:
        await asyncio.gather(*(client.complete(ASKED) for _ in range(20)), return_exceptions=True)
    assert asyncio.all_tasks() == before
