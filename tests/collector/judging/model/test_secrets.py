"""A key that is planted must not show up anywhere: errors, tracebacks, logs, output, spans, representations."""

from __future__ import annotations

import asyncio
import logging
import traceback
from typing import Any

import pytest
from llm_scripts import Play
from llm_server import LlmServer, llm_server
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tracejury.collector.judging.model.build import build_client
from tracejury.collector.judging.model.config import LlmConfig, ModelConfig
from tracejury.collector.judging.model.litellm_client import LiteLlmClient
from tracejury.collector.judging.model.routing import NO_KEY, key_for
from tracejury.collector.judging.model.traced import provider_of
from tracejury.judges.llm.client import Prompt, PromptMessage
from tracejury.schemas.errors import TracejuryError

KEY, OTHER = "planted-7f3a9c51d2e84b06", "sk-planted-0b1c2d3e4f5a6978"
ASKED = Prompt((PromptMessage("user", "S1 tool\n it failed"),), schema={"type": "object", "properties": {}})

ECHOES = [
    Play(status=401, message="Incorrect API key provided", echo_key=True),
    Play(status=403, message="Forbidden for", echo_key=True),
    Play(status=400, message="bad request by Bearer", echo_key=True),
    Play(status=404, message="no model for", echo_key=True),
    Play(status=429, message="x" * 250 + " too many by", echo_key=True),
    Play(status=500, message="Traceback: headers = Authorization: Bearer", echo_key=True),
    Play(status=503, message="away for", echo_key=True),
    Play(raw=f"<html>{KEY} {OTHER}</html>".encode()),
    Play(hang_up="middle"),
]


async def shown_by(server: LlmServer, play: Play) -> list[str]:
    """All that a failing call lets one see of it, besides logs and output."""
    exporter = InMemorySpanExporter()
    provider = provider_of(SimpleSpanProcessor(exporter))
    fallback = ModelConfig(model="other", api_base=server.base, api_key_env="TRACEJURY_TEST_OTHER_KEY")
    config = LlmConfig(
        model="mine", api_base=server.base, api_key_env="TRACEJURY_TEST_KEY", fallbacks=(fallback,), retries=0
    )
    llm = LiteLlmClient(config)
    client = build_client(config, llm, tracer=provider.get_tracer("test"), secret=b"s")
    untold: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: untold.append(context))
    server.script = lambda _: play
    with pytest.raises(TracejuryError) as caught:
        await client.complete(ASKED)
    logging.getLogger("tracejury.test").warning("failed", exc_info=caught.value)
    await llm.close()
    provider.shutdown()
    error = caught.value
    return [
        str(error),
        repr(error),
        "".join(traceback.format_exception(error)),
        repr(error.__context__),
        repr(error.__cause__),
        repr((llm, config, vars(llm).get("_config"))),
        config.model_dump_json(),
        repr(untold),
        *(span.to_json() for span in exporter.get_finished_spans()),
    ]


async def test_a_planted_key_is_nowhere(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """Though the server repeats it in its answers, and every log is open; it did reach the server."""
    monkeypatch.setenv("TRACEJURY_TEST_KEY", KEY)
    monkeypatch.setenv("TRACEJURY_TEST_OTHER_KEY", OTHER)
    caplog.set_level(logging.DEBUG)
    seen: list[str] = []
    with llm_server() as server:
        for play in ECHOES:
            seen += await shown_by(server, play)
        keys = set(server.keys)
    seen += [record.getMessage() + (record.exc_text or "") for record in caplog.records]
    seen += [caplog.text, *capfd.readouterr()]
    assert keys == {KEY, OTHER}
    assert len(seen) > 10 * len(ECHOES)
    for text in seen:
        assert KEY not in text
        assert OTHER not in text


async def test_a_refused_key_is_told_by_the_name_of_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    """That is what the user must mend."""
    monkeypatch.setenv("TRACEJURY_TEST_KEY", KEY)
    with llm_server(lambda _: ECHOES[0]) as server:
        llm = LiteLlmClient(LlmConfig(model="mine", api_base=server.base, api_key_env="TRACEJURY_TEST_KEY"))
        with pytest.raises(TracejuryError, match=r"answered 401 .the key was refused.: .*TRACEJURY_TEST_KEY"):
            await llm.complete(ASKED)
        await llm.close()
        assert server.counts.calls == 1, "a wrong key is not tried again"


@pytest.mark.parametrize(
    ("asked", "provider", "expected"),
    [
        (ModelConfig(model="m", api_base="http://h/v1", api_key_env="TRACEJURY_TEST_KEY"), "openai", KEY),
        (ModelConfig(model="m", api_base="http://h/v1"), "openai", NO_KEY),
        (ModelConfig(model="azure/m", api_base="http://h"), "azure", None),
        (ModelConfig(model="gpt-4o"), "openai", None),
    ],
)
def test_which_key_is_sent(
    monkeypatch: pytest.MonkeyPatch, asked: ModelConfig, provider: str, expected: str | None
) -> None:
    """The one that is named, none for a server of one's own, otherwise (None) the one that litellm finds."""
    monkeypatch.setenv("TRACEJURY_TEST_KEY", KEY)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert key_for(asked, provider) == expected
    monkeypatch.setenv("OPENAI_API_KEY", OTHER)
    assert key_for(asked, provider) in {KEY, None}
