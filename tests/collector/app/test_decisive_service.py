"""The decisive error in the whole collector: spans over OTLP, the real store, litellm, and HTTP to the model."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from io import StringIO
from typing import Any

import httpx
import llm_answers
import pytest
from collecting import asking, configured, scripted, send, settled
from llm_scripts import Call, Play, Script
from llm_server import LlmServer, llm_server
from panel_requests import request
from rich.console import Console

from tracejury.collector.app.service import Collector
from tracejury.collector.cli.render.tree import trace_tree
from tracejury.schemas.wire.traces import TraceJson

WHY = "The first count was never made. Instead: count yard 0 by the tool before reporting."


def judging(*, goal: int, decisive: int = 1) -> Script:
    """A judge that reports two errors and this goal fulfilment; of the errors, number `decisive` decided."""

    def script(call: Call) -> Play:
        prompt = call.prompt
        if "# decisive-error" in prompt:
            numbers = map(int, re.findall(r"^(\d+) R\d+\.S\d+$", prompt, re.MULTILINE))
            answers = [
                {"check": "decisive-error", "item": n, "reason": WHY if n == decisive else "It changed nothing.",
                 "answer": "decisive" if n == decisive else "no-part", "mention": None, "label": None, "quote": None}
                for n in numbers
            ]  # fmt: skip
            return Play(text=json.dumps({"answers": answers, "also": [], "summary": None}))
        said = llm_answers.answer(call.schema, prompt, 2)
        quotes = [quote for quote in llm_answers.quotes(prompt) if quote.text.startswith("Turn ")]
        for claim, quote in zip(said["findings"], quotes, strict=False):
            claim |= {"label": quote.label, "quote": quote.text, "shown_at": None, "severity": "HIGH"}
            claim |= {"dimensions": ["LC"], "category": "Tool Output Misinterpretation"}
        for verdict in said["verdicts"]:
            if verdict["judge"] == "goal-fulfilment":
                verdict |= {"score": goal, "reasons": "The hens of yard 0 are missing."}
        return Play(text=json.dumps(said))

    return script


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    """The model's key stands in the environment."""
    monkeypatch.setenv("SCRIPTED_KEY", "sk-not-to-be-told-1234567890")


@asynccontextmanager
async def collecting(dsn: str, model: LlmServer, **judges: Any) -> AsyncIterator[tuple[Collector, httpx.AsyncClient]]:
    """A collector that has judged one trace of two turns."""
    off = scripted(model, streaming=False, verify="off", lookup="off")
    async with Collector(configured(dsn, judges=off | judges)) as collector, asking(collector) as api:
        await send(collector, request(1, 2, 200))
        await settled(collector)
        yield collector, api


def decisive_calls(model: LlmServer) -> int:
    return sum("# decisive-error" in json.dumps(body) for body in model.bodies)


async def ledger_of(api: httpx.AsyncClient) -> dict[str, Any]:
    items = (await api.get("/api/ledger?judge=decisive-error")).json()["items"]
    (only,) = [item for item in items if item["outcome"] != "superseded"]
    found: dict[str, Any] = only
    return found


async def test_of_the_errors_of_a_failed_trace_one_is_decisive_and_says_what_was_right(served_dsn: str) -> None:
    with llm_server(judging(goal=0), keep=True) as model:
        async with collecting(served_dsn, model) as (_, api):
            errors = (await api.get("/api/errors")).json()["items"]
            (decisive,) = (await api.get("/api/errors?decisive=true")).json()["items"]
            (mark,) = (await api.get("/api/findings?decisive=true")).json()["items"]
            trace = (await api.get(f"/api/traces/{decisive['trace_id']}")).json()
            entry = await ledger_of(api)
            purposes = (await api.get("/api/ledger")).json()["spend"]["purposes"]
            page = (await api.get(f"/traces/{decisive['trace_id']}")).text
            asked = "/api/rates?unit=trace&judge=decisive-error&by=category"
            rates = (await api.get(asked)).json()
            of_errors = (await api.get("/api/rates?unit=trace&by=category")).json()
    assert decisive_calls(model) == 1
    assert len(errors) == 2
    assert 0 < page.index("count yard 0 by the tool before reporting.") < page.index('id="trace-errors"')
    (rate,) = [row for row in rates["items"] if row["errors"]]
    assert (rate["key"], rate["errors"], rate["judged"]) == ("trail/Tool Output Misinterpretation", 1, 1)
    assert sum(row["errors"] for row in of_errors["items"]) == len(errors)  # its mark is no error of its own
    console = Console(width=200, file=StringIO())
    console.print(trace_tree(TraceJson.model_validate(trace)))
    told = console.file.getvalue().split("\n")  # type: ignore[attr-defined]
    assert decisive["span_id"] in told[1]
    assert "instead: count yard 0 by the tool before reporting." in told[2]
    assert decisive["decided_why"] == "The first count was never made."
    assert decisive["instead"] == "count yard 0 by the tool before reporting."
    assert (mark["judge"], mark["linked"], mark["span_id"]) == (
        "decisive-error", decisive["finding_ids"][:1], decisive["span_id"],
    )  # fmt: skip
    assert decisive["evidence"].startswith("Turn 0")
    assert [error["decisive"] for error in trace["errors"]].count(True) == 1
    assert {error["id"] for error in trace["errors"]} == {error["id"] for error in errors}
    assert (entry["outcome"], entry["findings"]) == ("done", 1)
    assert {one["purpose"] for one in purposes} >= {"closing", "decisive"}


async def test_a_trace_whose_outcome_is_right_is_not_asked_about(served_dsn: str) -> None:
    with llm_server(judging(goal=3), keep=True) as model:
        async with collecting(served_dsn, model) as (_, api):
            entry = await ledger_of(api)
            found = (await api.get("/api/errors?decisive=true")).json()["items"]
    assert decisive_calls(model) == 0
    assert (entry["outcome"], entry["reason"]) == ("not-applicable", "the outcome is not known to be wrong")
    assert found == []


async def test_switched_off_nothing_is_asked_or_noted(served_dsn: str) -> None:
    with llm_server(judging(goal=0), keep=True) as model:
        async with collecting(served_dsn, model, decisive=False) as (_, api):
            items = (await api.get("/api/ledger?judge=decisive-error")).json()["items"]
    assert (decisive_calls(model), items) == (0, [])


async def test_asked_again_by_hand_the_mark_moves_and_goes_with_its_trace(served_dsn: str) -> None:
    with llm_server(judging(goal=0), keep=True) as model:
        async with collecting(served_dsn, model, answer_cache_days=0) as (collector, api):
            (before,) = (await api.get("/api/errors?decisive=true")).json()["items"]
            model.script = judging(goal=0, decisive=2)
            await api.post("/api/judge", json={"trace_id": before["trace_id"]})
            await settled(collector)
            (after,) = (await api.get("/api/errors?decisive=true")).json()["items"]
            count = len((await api.get("/api/errors")).json()["items"])
            headers = {"Content-Type": "application/json"}
            deleted = await api.delete(f"/api/traces/{before['trace_id']}", headers=headers)
            assert deleted.status_code == httpx.codes.OK, deleted.text
            gone = (await api.get("/api/findings?decisive=true&profile=recall")).json()["items"]
    assert after["id"] != before["id"]
    assert (count, gone) == (2, [])
