"""Models that take pictures, by litellm and a real server on loopback."""

from __future__ import annotations

from collections.abc import Iterator

import orjson
import pytest
from llm_scripts import Call, Play
from llm_server import LlmServer, llm_server
from pictures import picture

from tracejury.collector.judging.model.config import LlmConfig
from tracejury.collector.judging.model.litellm_client import LiteLlmClient
from tracejury.judges.llm.client import Prompt, PromptMessage

SCORE = {"type": "integer", "maximum": 3}
SCHEMA = {"type": "object", "properties": {"score": SCORE}, "required": ["score"], "additionalProperties": False}


@pytest.fixture
def server() -> Iterator[LlmServer]:
    """A server that keeps what it was sent."""
    with llm_server(keep=True) as running:
        yield running


@pytest.mark.parametrize(
    ("model", "fallbacks", "sees"),
    [
        ("openai/gpt-4o", (), True),
        ("openai/gpt-4o", ("anthropic/claude-sonnet-4-5",), True),
        ("openai/gpt-4o", ("openai/gpt-3.5-turbo",), False),
        ("openai/gpt-3.5-turbo", (), False),
        ("my-model", (), False),
    ],
)
async def test_a_model_sees_if_all_that_may_answer_do(
    server: LlmServer, model: str, fallbacks: tuple[str, ...], *, sees: bool
) -> None:
    """By litellm; a model that it does not know sees nothing."""
    config = {"model": model, "api_base": server.base, "fallbacks": fallbacks}
    client = LiteLlmClient(LlmConfig.model_validate(config))
    await client.prepare()
    assert client.sees is sees
    await client.close()


async def test_a_refused_picture_costs_no_answer(server: LlmServer, caplog: pytest.LogCaptureFixture) -> None:
    """A provider that cannot read what a header promised is asked in words alone."""

    def refusing(call: Call) -> Play:
        seen = "data:image/png" in str(call.body["messages"])
        return Play(status=400, message="could not process image") if seen else Play()

    seen = PromptMessage("user", "S1 tool\n it failed", pictures=(picture(),))
    server.script = refusing
    client = LiteLlmClient(LlmConfig(model="openai/gpt-4o", api_base=server.base, retries=0))
    reply = await client.complete(Prompt((seen,), schema=SCHEMA))
    await client.close()
    assert orjson.loads(reply.text) == {"score": 2}
    assert "image_url" not in str(server.bodies[-1])
    assert server.bodies[0]["messages"][-1]["content"][-1] == {"type": "image_url", "image_url": {"url": picture().url}}
    assert "is asked without them" in caplog.text
