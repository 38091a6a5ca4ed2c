"""Answers that stand in another place than the message's content, from a real server through litellm."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from llm_scripts import Play
from llm_server import LlmServer, llm_server

from tracejury.collector.judging.model.cache import sound
from tracejury.collector.judging.model.config import LlmConfig
from tracejury.collector.judging.model.litellm_client import LiteLlmClient
from tracejury.judges.llm.client import NoAnswerError, Prompt, PromptMessage, Reply
from tracejury.schemas.errors import LlmError

pytestmark = pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")  # as in a process without pytest

SCHEMA = {
    "type": "object",
    "properties": {"score": {"type": "integer"}},
    "required": ["score"],
    "additionalProperties": False,
}
ASKED = Prompt((PromptMessage("user", "How good was it?"),), schema=SCHEMA, max_tokens=300)
ANSWER = '{"score": 2}'
CHUNK = '{"choices": [{"index": 0, "delta": {"content": "{\\"score\\": 2}"}}]}'


@pytest.fixture(scope="module")
def server() -> Iterator[LlmServer]:
    """One for all."""
    with llm_server() as running:
        yield running


async def asked(server: LlmServer, play: Play, prompt: Prompt = ASKED) -> Reply:
    """The reply to one prompt."""
    server.script = lambda _: play
    client = LiteLlmClient(LlmConfig(model="my-model", api_base=server.base, retries=0, structured="schema"))
    try:
        return await client.complete(prompt)
    finally:
        await client.close()


def message(**fields: Any) -> Play:
    """A message without content, but with these fields."""
    return Play(change=lambda reply: reply["choices"][0]["message"].update({"content": None, **fields}))


def call(arguments: object) -> dict[str, Any]:
    """A call of a tool that nobody offered."""
    return {"id": "1", "type": "function", "function": {"name": "answer", "arguments": arguments}}


ELSEWHERE = {
    "a tool call": message(tool_calls=[call(ANSWER)]),
    "a tool call with an object": message(tool_calls=[call({"score": 2})]),
    "a tool call that is announced": message(content="I call the tool.", tool_calls=[call(ANSWER)]),
    "a function call": message(function_call={"name": "answer", "arguments": ANSWER}),
    "the content, not the call": message(content=ANSWER, tool_calls=[call('{"score": 0}')]),
}


@pytest.mark.parametrize("play", ELSEWHERE.values(), ids=ELSEWHERE)
async def test_an_answer_in_a_tool_call_is_read(server: LlmServer, play: Play) -> None:
    """In the present form and in the older one; content that holds an object goes first."""
    assert (await asked(server, play)).text == ANSWER


async def test_reasoning_alone_is_read_where_it_holds_one_object(server: LlmServer) -> None:
    """Some servers put all of an answer there."""
    assert ANSWER in (await asked(server, message(reasoning_content=f"So it is {ANSWER}."))).text


NOTHING = {
    "two calls": (message(tool_calls=[call(ANSWER), call('{"score": 1}')]), "2 tool calls"),
    "two objects in the reasoning": (
        message(reasoning_content='{"score": 1} or {"score": 2}'),
        "nothing but its reasoning",
    ),
    "thoughts": (message(reasoning_content="Let me see."), "nothing but its reasoning"),
    "a refusal": (message(refusal="I cannot\nhelp \u202ewith that."), "refused to answer: I cannot help with that"),
    "an empty call": (message(tool_calls=[call("")]), "answered nothing"),
}


@pytest.mark.parametrize(("play", "why"), NOTHING.values(), ids=NOTHING)
async def test_a_message_of_no_clear_answer_gives_one_reason(server: LlmServer, play: Play, why: str) -> None:
    """One line for the ledger, with what it took."""
    with pytest.raises(NoAnswerError, match=why) as caught:
        await asked(server, play)
    assert "\n" not in str(caught.value)
    assert caught.value.reply.input_tokens


async def test_where_plain_text_was_asked_for_a_tool_call_is_no_reason_to_drop_it(server: LlmServer) -> None:
    """A follow-up question without a schema."""
    play = message(content="Fine.", tool_calls=[call(ANSWER)])
    assert (await asked(server, play, Prompt((PromptMessage("user", "?"),)))).text == "Fine."


BODIES = {
    "a page": (b"<!DOCTYPE html><html><body>Welcome</body></html>", "an HTML page"),
    "events": (b"data: " + CHUNK.encode() + b"\n\ndata: [DONE]\n\n", "an event stream, which was not asked for"),
}


@pytest.mark.parametrize(("body", "why"), BODIES.values(), ids=BODIES)
async def test_a_body_that_is_no_chat_completion_gives_one_reason(server: LlmServer, body: bytes, why: str) -> None:
    """It says what came and what to check, and repeats nothing of it."""
    with pytest.raises(LlmError, match=f"{why}.*check judges.api_base") as caught:
        await asked(server, Play(raw=body))
    assert "score" not in str(caught.value)


async def test_content_in_parts_gives_one_reason(server: LlmServer) -> None:
    """It is refused by litellm; the traceback stays out of the ledger."""
    with pytest.raises(LlmError, match="no chat completion that litellm can read") as caught:
        await asked(server, message(content=[{"type": "text", "text": ANSWER}]))
    assert "Traceback" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (f"```json\n{ANSWER}\n```\nUsage: {{see above}}", True),
        (f'{ANSWER} {{"tokens": 3}}', True),
        (f"data: {CHUNK}\n\ndata: [DONE]\n\n", True),
        (f'{ANSWER} {{"score": 1}}', False),
        ("<html></html>", False),
    ],
)
def test_what_can_be_read_is_kept_for_the_next_time(text: str, *, kept: bool) -> None:
    """The answer cache reads an answer as judges do."""
    assert sound(ASKED, Reply(text, "m")) is kept
