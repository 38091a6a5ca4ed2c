"""kill -9 between the judging of exchanges and the close of their session, with a real collector and a real model."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
from llm_scripts import Call, Play
from llm_server import LlmServer, llm_server
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans
from pack_bench import CHAT, SERVICE, Called, FairChecker, Fault, exchange
from processes import Serving, serving

from tracejury.collector.otlp.codec.encode import resource_of, span_message
from tracejury.schemas.spans import Span

pytest.importorskip("chdb", reason="the embedded engine is not installed")
ORDERS = Called("look_up_order", '{"order": "latest"}', "order 17: a lamp", thought="I look at the latest order.")
CHECKER = FairChecker(faults=(Fault("pipa-state", "look_up_order", "look_up_order", "Nobody asked for an order."),))
CONVERSATION = (
    exchange("a", "What do you sell?", [ORDERS], "Lamps."),
    exchange("b", "Thanks.", [], "You are welcome.", at=30),
)


def script(call: Call) -> Play:
    """Checks are answered by CHECKER, the judge of goals by what fits the schema."""
    last = call.prompt.rpartition("user\n")[2]
    return Play(text=CHECKER.reply(last)) if "# pipa-" in last else Play(findings=0)


def configured(folder: Path, model: LlmServer) -> str:
    """The path of a configuration: quick to settle, one model and one judge beside the pack."""
    terms = {"policies": ["Ask for the user id before anything else."]}
    judges = {
        "model": "openai/scripted", "api_base": model.base, "api_key_env": "SCRIPTED_KEY", "packs": ["pipa"],
        "judges": ["goal-fulfilment"], "pack_settings": {"pipa": {"services": {SERVICE: terms}}},
    }  # fmt: skip
    path = folder / "tracejury.json"
    path.write_text(json.dumps({"judging": {"quiet_seconds": 0.2}, "judges": judges}))
    return str(path)


def send(collector: Serving, spans: Sequence[Span]) -> None:
    """A trace over OTLP/HTTP."""
    scopes = [ScopeSpans(spans=[span_message(span, "") for span in spans])]
    resource = resource_of({"service.name": SERVICE}, {})
    body = ExportTraceServiceRequest(resource_spans=[ResourceSpans(resource=resource, scope_spans=scopes)])
    headers = {"Content-Type": "application/x-protobuf"}
    url = f"http://127.0.0.1:{collector.ports['http']}/v1/traces"
    httpx.post(url, content=body.SerializeToString(), headers=headers).raise_for_status()


def ask(collector: Serving, path: str) -> Any:
    """An answer of the API."""
    return httpx.get(f"{collector.url}{path}", timeout=30).raise_for_status().json()


def seen(look: Callable[[], Any]) -> Any:
    """What a look gives once it gives anything; the test's time-out is the limit."""
    while not (found := look()):
        time.sleep(0.02)
    return found


def judged(collector: Serving) -> bool:
    """Whether each exchange of the conversation is judged, and nothing waits."""
    ledger = ask(collector, "/api/ledger?limit=100")
    states = [item for item in ledger["items"] if item["judge"] == "pipa-state"]
    return len(states) == len(CONVERSATION) and "pending" not in ledger["summary"]


def measured(collector: Serving) -> Any:
    """The measures of the session, closed by hand."""
    httpx.post(f"{collector.url}/api/judge", json={"session": CHAT, "service": SERVICE}).raise_for_status()
    (found,) = seen(lambda: ask(collector, "/api/measures?pack=pipa")["items"][0]["worst"])
    return found["values"]


def test_a_session_is_measured_after_a_kill_and_no_exchange_is_asked_about_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next process asks about the policies alone."""
    monkeypatch.setenv("SCRIPTED_KEY", "sk-1")
    with llm_server(script) as model:
        options = ("--config", configured(tmp_path, model))
        with serving(tmp_path, *options) as collector:
            for spans in CONVERSATION:
                send(collector, spans)
            seen(lambda: judged(collector))
            collector.process.send_signal(signal.SIGKILL)
            assert collector.process.wait(60) == -signal.SIGKILL
        calls = model.counts.calls
        with serving(tmp_path, *options) as collector:
            values = measured(collector)
        assert values == {"S": 0.5, "A": 1, "O": None, "P": 1, "R": 0}
        assert model.counts.calls == calls + 1
