"""Second looks of the whole collector: spans over OTLP, the real store and budget, litellm, and HTTP to the model."""

from __future__ import annotations

import re
from typing import Any

import llm_answers
import orjson
import pytest
from collecting import asking, configured, scripted, send, settled
from llm_scripts import Call, Play, Script, text_of
from llm_server import LlmServer, llm_server
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from panel_requests import request

from tracejury.collector.app.service import Collector

HIDDEN = "the blue kettle costs 41 euros"
JUDGES = ["GF", "LC", "EE", "TS", "TC"]
CLAIM = "Nobody has written down what you asked me about."  # shares no word with what is cut


def kettle() -> ExportTraceServiceRequest:
    """One run that reads a long price list, and reports that a price is missing."""
    made = request(1, 2, 200)
    _, _, tool, llm, _ = made.resource_spans[0].scope_spans[0].spans
    rows = "\n".join(f"item {n} costs {n * 3} euros" for n in range(400))
    for attribute in tool.attributes:
        if attribute.key == "output.value":
            attribute.value.string_value = f"{rows}\n{HIDDEN}\n{rows}"
    for attribute in llm.attributes:
        if attribute.key == "llm.output_messages.0.message.content":
            attribute.value.string_value = CLAIM
    return made


def claiming(*, holds: bool) -> Script:
    """A judge that claims an absence of cut text and asks to see it; then the claim `holds`, or is left out."""

    def script(call: Call) -> Play:
        looked = any(message["role"] == "assistant" for message in call.body["messages"])
        prompt = call.prompt
        said = llm_answers.answer(call.schema, prompt, 1)
        (claim,) = said["findings"]
        label = next(quote.label for quote in llm_answers.quotes(prompt) if quote.text == CLAIM)
        claim |= {"label": label, "quote": CLAIM, "severity": "HIGH", "cut": not looked, "shown_at": None}
        claim |= {"dimensions": ["LC"], "category": "Tool Output Misinterpretation"}
        cut = re.search(r"^(S\d+) tool", prompt, re.MULTILINE)
        assert cut
        look = [] if looked else [{"label": cut[1], "find": "blue kettle"}]
        said |= {"findings": [claim] if holds or not looked else [], "look": look}
        return Play(text=orjson.dumps(said).decode())

    return script


async def judge(dsn: str, model: LlmServer, **judges: Any) -> tuple[Any, Any, str]:
    """The ledger, the trace in the recall profile, and the metrics, once the run is judged."""
    off = scripted(model, verify="off", judges=JUDGES)  # one kind of follow-up at a time
    async with Collector(configured(dsn, judges=off | judges)) as collector, asking(collector) as client:
        await send(collector, kettle())
        await settled(collector)
        ledger = (await client.get("/api/ledger")).json()
        (row,) = (await client.get("/api/traces")).json()["items"]
        trace = (await client.get(f"/api/traces/{row['trace_id']}?profile=recall")).json()
        return ledger, trace, (await client.get("/metrics")).text


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    """The model's key stands in the environment."""
    monkeypatch.setenv("SCRIPTED_KEY", "sk-not-to-be-told-1234567890")


def of_judges(trace: Any) -> list[Any]:
    return [found for found in trace["findings"] if found["evidence"] == CLAIM]


def counted(metrics: str, outcome: str) -> bool:
    """Whether one second look ended so."""
    lines = [line for line in metrics.splitlines() if line.startswith("tracejury_panel_second_looks")]
    return any(f'outcome="{outcome}"' in line and line.endswith(" 1.0") for line in lines)


def purposes(ledger: Any) -> dict[str, int]:
    return {one["purpose"]: one["calls"] for one in ledger["spend"]["purposes"]}


@pytest.mark.parametrize("holds", [True, False])
async def test_an_absence_is_confirmed_or_withdrawn_by_the_text_in_full(served_dsn: str, *, holds: bool) -> None:
    """The model sees the passage that was cut; ledger and metrics count the look."""
    with llm_server(claiming(holds=holds), keep=True) as model:
        ledger, trace, metrics = await judge(served_dsn, model)
    first, second = ([text_of(m["content"]) for m in body["messages"]] for body in model.bodies)
    assert HIDDEN not in "".join(first)
    assert HIDDEN in second[-1]
    assert second[: len(first)] == first
    assert model.bodies[0]["response_format"] == model.bodies[1]["response_format"]
    assert [found["severity"] for found in of_judges(trace)] == (["HIGH"] if holds else [])
    assert purposes(ledger) == {"closing": 1, "lookup": 1}
    assert {i["reason"] for i in ledger["items"] if i["outcome"] == "done"} == {"after 1 second look"}
    assert counted(metrics, "answered")


async def test_a_cap_that_refuses_the_look_leaves_the_first_answer(served_dsn: str) -> None:
    """Nothing is lost, the claim about cut text is LOW, and the cap holds."""
    cap = 7_000
    budget = {"unpriced_tokens_per_day": cap}
    with llm_server(claiming(holds=True)) as model:
        ledger, trace, metrics = await judge(served_dsn, model, budget=budget, max_answer_tokens=256)
    assert model.counts.calls == 1
    assert [found["severity"] for found in of_judges(trace)] == ["LOW"]
    assert purposes(ledger) == {"closing": 1}
    assert ledger["spend"]["day"]["tokens"] <= cap
    (reason,) = {item["reason"] for item in ledger["items"] if item["outcome"] == "done"}
    assert reason.startswith("a second look was refused: ")
    assert "unpriced_tokens_per_day" in reason
    assert counted(metrics, "refused")


async def test_without_lookup_one_call_is_made(served_dsn: str) -> None:
    """A model that asks all the same is not heard."""
    with llm_server(claiming(holds=True)) as model:
        ledger, trace, _ = await judge(served_dsn, model, lookup="off")
    assert purposes(ledger) == {"closing": 1}
    assert [found["severity"] for found in of_judges(trace)] == ["LOW"]
