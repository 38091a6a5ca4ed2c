"""The scripted model: a client as any other, whose answers are known."""

from __future__ import annotations

import json

import pytest

from tracejury.judges.llm.answer import schema
from tracejury.judges.llm.answer_types import Vocabulary
from tracejury.judges.llm.case import Stage
from tracejury.judges.llm.client import Client, Prompt, PromptMessage, Reply
from tracejury.judges.llm.scripted import ScriptedClient, answer, finding
from tracejury.schemas.errors import LlmError, OverBudgetError

PROMPT = Prompt(
    (PromptMessage("user", "x" * 400),), schema(Vocabulary({"LC": "logical-consistency", "TC": "tool-calling"}))
)


async def test_it_answers_by_a_function_of_the_prompt() -> None:
    """And notes what it was asked, with tokens to count."""
    scripted = ScriptedClient(lambda prompt: prompt.messages[0].text[:8])
    client: Client = scripted
    assert await client.complete(PROMPT) == Reply("xxxxxxxx", "scripted", 100, output_tokens=2, finish_reason="stop")
    assert scripted.prompts == [PROMPT]


async def test_it_plays_a_list_to_its_end() -> None:
    """Texts, whole replies, errors; then nothing more."""
    whole = Reply("whole", "other", known=True)
    client = ScriptedClient.playing(["", whole, OverBudgetError("the cap")])
    assert (await client.complete(PROMPT)).text == ""
    assert await client.complete(PROMPT) is whole
    with pytest.raises(OverBudgetError, match="the cap"):
        await client.complete(PROMPT)
    with pytest.raises(LlmError, match="come to its end"):
        await client.complete(PROMPT)
    assert len(client.prompts) == 4


@pytest.mark.parametrize("stage", Stage)
def test_its_answers_are_those_that_the_schema_asks_for(stage: Stage) -> None:
    """Every field, every judge's verdict, and what the caller puts in."""
    words = Vocabulary({"LC": "logical-consistency", "TC": "tool-calling"})
    asked = Prompt((), schema(words, stage))
    made = json.loads(answer(asked, [finding("S1", "x", severity="LOW")], {"tool-calling": 0}, findings_more=1))
    assert list(made) == [*asked.schema["properties"], "findings_more"]
    assert [(v["judge"], v["score"]) for v in made["verdicts"]] == [("logical-consistency", 2), ("tool-calling", 0)]
    item = asked.schema["properties"]["findings"]["items"]
    assert set(made["findings"][0]) == set(item["required"])
    assert made["findings"][0]["severity"] == "LOW"
