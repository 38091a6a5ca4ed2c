"""The whole collector with LLM judges: real receivers, real store, litellm, and a real HTTP server as the model."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from collecting import asking, configured, scripted, send, settled
from llm_scripts import always
from llm_server import LlmServer, llm_server
from panel_requests import request

from tracejury.collector.app.greeting import judges_text
from tracejury.collector.app.service import Collector
from tracejury.collector.config import CollectorConfig, load_config
from tracejury.schemas.errors import ConfigError

KEY = "sk-not-to-be-told-1234567890"


@pytest.fixture(scope="module")
def model() -> Iterator[LlmServer]:
    """An OpenAI-compatible server that answers soundly."""
    with llm_server() as server:
        yield server


def config(dsn: str, model: LlmServer | None, **judges: Any) -> CollectorConfig:
    """With one model, or none. What lacks its root waits for it."""
    return configured(dsn, judging={"quiet_seconds": 0.2}, judges=scripted(model, **judges) if model else judges)


async def get(collector: Collector, path: str) -> Any:
    """An answer of the API."""
    async with asking(collector) as client:
        answer = await client.get(path)
        assert answer.status_code == httpx.codes.OK, answer.text
        return answer.text if path == "/metrics" else answer.json()


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    """The model's key stands in the environment."""
    monkeypatch.setenv("SCRIPTED_KEY", KEY)


async def test_traces_sent_are_judged_by_the_model_and_what_it_said_is_in_the_api(
    served_dsn: str, model: LlmServer, caplog: pytest.LogCaptureFixture
) -> None:
    """Verdicts, findings that quote their span, the ledger, the spend; and no word of the key anywhere."""
    async with Collector(config(served_dsn, model)) as collector:
        await send(collector, request(1, 3, 200))
        await settled(collector)
        ledger = await get(collector, "/api/ledger")
        (row,) = (await get(collector, "/api/traces"))["items"]
        trace = await get(collector, f"/api/traces/{row['trace_id']}?profile=recall")
        metrics = await get(collector, "/metrics")
        shown = collector.ready_text
    assert ledger["summary"] == {"done": 7, "not-applicable": 1}
    assert ledger["spend"]["day"]["tokens"] > 0
    assert {v["judge"]: v["score"] for v in trace["verdicts"]}["tool-calling"] == 2
    said = [f["evidence"] for f in trace["findings"] if f["judge"] in {v["judge"] for v in trace["verdicts"]}]
    assert len(said) == 2, "one of the plan, one of the run"
    assert all(quote in str(request(1, 3, 200)) or quote in str(trace) for quote in said)
    for text in (str(ledger), str(trace), metrics, shown, caplog.text):
        assert KEY not in text


async def test_what_judges_do_is_told_by_the_ledger_while_the_model_cannot_be_used(served_dsn: str) -> None:
    """A refused key: detectors go on, every judge is marked failed, and the reason does not tell the key."""
    with llm_server(always(status=401, echo_key=True)) as refusing:
        async with Collector(config(served_dsn, refusing, retries=0)) as collector:
            await send(collector, request(1, 3, 200))
            await settled(collector)
            ledger = await get(collector, "/api/ledger")
    assert ledger["summary"]["failed"] == 7
    reasons = {item["reason"] for item in ledger["items"] if item["outcome"] == "failed"}
    assert len(reasons) == 1
    assert KEY not in str(ledger)


async def test_a_missing_key_is_named_at_the_start(
    served_dsn: str, model: LlmServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Before any run is judged, in the log and in the state of the judges; detectors work all the same."""
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    usual = {"api_base": "", "api_key_env": "", "fallbacks": ["anthropic/claude-sonnet-4-5"]}
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    async with Collector(config(served_dsn, model, **usual)) as collector:
        for _ in range(300):
            told = (await get(collector, "/api/ledger"))["judges"]["missing_keys"]
            if told:
                break
            await asyncio.sleep(0.1)
    assert told == "the environment holds no key for anthropic/claude-sonnet-4-5 (not set: ANTHROPIC_API_KEY)"
    assert f"LLM judges: {told}" in caplog.text


async def test_without_a_model_detectors_alone_judge_and_everything_says_so(served_dsn: str) -> None:
    """The ready text, the ledger, and the ledger of a trace."""
    async with Collector(config(served_dsn, None)) as collector:
        await send(collector, request(1, 3, 200))
        await settled(collector)
        assert "detectors only" in collector.ready_text
        (row,) = (await get(collector, "/api/traces"))["items"]
        ledger = await get(collector, f"/api/ledger?trace={row['trace_id']}")
    assert ledger["judges"]["on"] is False
    assert "model" in ledger["why"]


async def test_a_trace_can_be_judged_by_hand_and_what_a_cap_left_catches_up(served_dsn: str, model: LlmServer) -> None:
    """A cap of no tokens stops every call; once it is lifted, --since judges what was left."""
    async with Collector(config(served_dsn, model, budget={"tokens_per_day": 0})) as collector:
        await send(collector, request(1, 3, 200), request(2, 3, 200))
        await settled(collector)
        assert (await get(collector, "/api/ledger"))["summary"] == {"over-budget": 16}
    async with Collector(config(served_dsn, model)) as collector:
        async with asking(collector) as client:
            answer = await client.post("/api/judge", json={"since": "1h"})
        assert answer.status_code == httpx.codes.OK
        await settled(collector)
        assert (await get(collector, "/api/ledger"))["summary"] == {"done": 14, "not-applicable": 2}


async def test_the_spans_of_our_own_calls_are_stored_and_never_judged(served_dsn: str, model: LlmServer) -> None:
    """Sent to ourselves they carry the mark; a copy of the mark on another span hides nothing."""
    settings = config(served_dsn, model)
    port = settings.grpc.endpoint
    async with Collector(settings) as first:
        port = f"127.0.0.1:{first.grpc_port}"
    looped = config(served_dsn, model, telemetry_endpoint=f"http://{port}")
    looped = looped.model_copy(update={"grpc": looped.grpc.model_copy(update={"endpoint": port})})
    async with Collector(looped) as collector:
        await send(collector, request(1, 3, 200))
        await settled(collector)
        for _ in range(200):
            await asyncio.sleep(0.1)
            rows = (await get(collector, "/api/traces"))["items"]
            if len(rows) > 2 and all(row["state"] != "open" for row in rows):
                break
        ours = [row for row in rows if row["service"] == "tracejury"]
        ledger = await get(collector, "/api/ledger?limit=1000")
    assert len(ours) == 2
    assert {item["trace_id"] for item in ledger["items"]}.isdisjoint({row["trace_id"] for row in ours})


async def test_a_window_of_a_live_run_is_judged_before_its_root_arrives(served_dsn: str, model: LlmServer) -> None:
    """Provisional findings stand while the agent works."""
    whole = request(7, 12, 200)
    spans = whole.resource_spans[0].scope_spans[0].spans
    root = next(span for span in spans if not span.parent_span_id)
    spans.remove(root)
    async with Collector(config(served_dsn, model, streaming=True)) as collector:
        await send(collector, whole)
        for _ in range(300):
            await asyncio.sleep(0.1)
            found = (await get(collector, "/api/findings?profile=recall"))["items"]
            ledger = await get(collector, "/api/ledger")  # its rows are written after the findings
            if ledger["items"] and any(f["state"] == "provisional" and f["judge"] != "detectors" for f in found):
                break
        else:
            pytest.fail("no provisional finding of an LLM judge")
    assert {item["subject"]["kind"] for item in ledger["items"]} == {"turn-window"}


def test_a_collector_is_ready_before_litellm_is_imported(tmp_path: Path) -> None:
    """Its import takes seconds: it happens in the background, once everything listens."""
    script = f"""
import asyncio, os, sys
from tracejury.collector.config import load_config
from tracejury.collector.app.service import Collector
free = {{name: {{"endpoint": "127.0.0.1:0"}} for name in ("grpc", "http", "api")}}
config = load_config(None, {{"store": {{"dsn": "chdb://{tmp_path}/db"}}, "judges": {{"model": "openai/x"}}, **free}})
async def main():
    async with Collector(config) as collector:
        print("ready", "litellm.router" in sys.modules, flush=True)
        os._exit(0)
asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=100)  # noqa: S603  our own script
    assert done.stdout.strip() == "ready False"


@pytest.mark.parametrize(
    ("judges", "said"),
    [
        ({"criteria": "nonsense"}, "no criteria set"),
        ({"judges": ["nobody"]}, "no judge named"),
        ({"judge_files": ["/nowhere.yaml"]}, "/nowhere.yaml"),
        ({"policies": [{"judges": ["nobody"]}]}, "judges.policies.0.judges"),
    ],
)
async def test_what_the_user_must_mend_stops_the_start_with_one_line(
    served_dsn: str, model: LlmServer, judges: dict[str, Any], said: str
) -> None:
    """Before anything listens."""
    with pytest.raises(ConfigError, match=said) as caught:
        await Collector(config(served_dsn, model, **judges)).start()
    assert "\n" not in str(caught.value)


def test_who_judges_is_one_line() -> None:
    """Of the ready text."""
    assert judges_text(load_config(None).judges).startswith("detectors only")
    named = load_config(None, {"judges": {"model": "openai/x", "api_base": "http://127.0.0.1:1/v1"}}).judges
    assert judges_text(named) == "detectors and LLM judges (production criteria, openai/x at http://127.0.0.1:1/v1)"
    packed = load_config(None, {"judges": {"model": "openai/x", "packs": ["pipa"]}}).judges
    assert judges_text(packed) == "detectors and LLM judges (production criteria, openai/x; packs: pipa)"
