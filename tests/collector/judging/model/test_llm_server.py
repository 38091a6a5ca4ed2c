"""The test server itself: its answers are such as judges can use, its prefix cache counts, it keeps counts only."""

from __future__ import annotations

from typing import Any

import httpx
import orjson
import pytest
from llm_answers import Quote, answer, quotes
from llm_server import LlmServer, llm_server
from panel_cases import case, panel
from small_traces import Did, Said, run, trace

from tracejury.collector.judging.llm.run_prompts import run_prompts
from tracejury.collector.judging.model.config import LlmConfig
from tracejury.collector.judging.model.litellm_client import LiteLlmClient
from tracejury.judges.llm.deliberation import deliberate


def asked(server: LlmServer, text: str, **more: Any) -> dict[str, Any]:
    """The reply to one prompt, by plain HTTP."""
    body = {"model": "m", "messages": [{"role": "user", "content": text}], **more}
    reply = httpx.post(f"{server.base}/chat/completions", json=body, headers={"Authorization": "Bearer k"})
    found: dict[str, Any] = reply.json()
    return found


@pytest.mark.parametrize("structured", ["schema", "json", "none"])
@pytest.mark.parametrize("mode", ["panel", "separate"])
async def test_judges_can_use_its_answers(mode: Any, structured: Any) -> None:
    """Scores of every judge, findings that hold: litellm, the judges and their gate on one side, HTTP on the other."""
    reads = Said(
        "s1", "I shall read the file first.", [Did("read_file", {"path": "data.csv"}, "no such file: data.csv")]
    )
    whole = trace(run("r", reads, Said("s2", "There were 42 rows in the file."), answer="There were 42 rows."))
    sitting = panel(mode=mode)
    with llm_server() as server:
        client = LiteLlmClient(LlmConfig(model="m", api_base=server.base, structured=structured))
        said = await run_prompts(deliberate(case(whole, sitting), sitting), client)
        await client.close()
    assert not said.failures
    assert not said.dropped
    assert said.findings
    assert all(v.score == 2 or v.not_applicable for v in said.verdicts)


def test_quotes_are_recorded_text_under_its_label() -> None:
    """Our own lines begin in the first column; what is short is no quote."""
    prompt = (
        "S1 tool\nresult:\n  the first long line\n no\nS2 llm\n the second long line\nEnd of the run\n not of any step"
    )
    assert list(quotes(prompt)) == [Quote("S1", "the first long line"), Quote("S2", "the second long line")]


def test_a_prompt_without_steps_has_no_findings() -> None:
    """There is nothing to quote."""
    schema = {
        "type": "object",
        "properties": {"findings": {"type": "array", "items": {"type": "object", "properties": {"quote": {}}}}},
    }
    assert answer(schema, "Hello.") == {"findings": []}


def test_it_counts_the_longest_known_prefix_as_cached() -> None:
    """In blocks of 128 tokens, from 1,024 on, whatever came between."""
    shared = "".join(f"{number:07}\n" for number in range(700))  # 5,600 characters: 1,400 tokens
    with llm_server() as server:
        cached = [
            asked(server, text)["usage"]["prompt_tokens_details"]["cached_tokens"]
            for text in (shared + "a", shared[:3000] + "x" * 3000, shared + "b", "y" + shared, shared[:4000])
        ]
        assert cached == [0, 0, 1280, 0, 0]
        assert server.counts.cached_tokens == 1280
        assert server.counts.calls == 5


def test_it_keeps_counts_only() -> None:
    """Unless it is asked to keep more."""
    with llm_server() as server:
        for number in range(50):
            asked(server, f"{number} " + "x" * 60_000)
        counted = orjson.loads(httpx.get(server.base.removesuffix("/v1") + "/counts").content)
        assert not server.bodies
    assert counted["calls"] == 50
    assert counted["statuses"] == {"200": 50}
    assert counted["input_tokens"] > 50 * 15_000
