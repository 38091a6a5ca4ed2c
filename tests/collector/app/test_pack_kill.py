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
from llm_server import LlmServer, llm_server
from pack_bench import CHAT, SERVICE
from pack_service import CONVERSATION, VALUES, judges, otlp, script
from processes import Serving, serving

from tracejury.schemas.spans import Span

pytest.importorskip("chdb", reason="the embedded engine is not installed")


def configured(folder: Path, model: LlmServer) -> str:
    """The path of a configuration: quick to settle."""
    path = folder / "tracejury.json"
    path.write_text(json.dumps({"judging": {"quiet_seconds": 0.2}, "judges": judges(model.base)}))
    return str(path)


def send(collector: Serving, spans: Sequence[Span]) -> None:
    """A trace over OTLP/HTTP."""
    headers = {"Content-Type": "application/x-protobuf"}
    url = f"http://127.0.0.1:{collector.ports['http']}/v1/traces"
    httpx.post(url, content=otlp(spans), headers=headers).raise_for_status()


def ask(collector: Serving, path: str) -> Any:
    """An answer of the API."""
    return httpx.get(f"{collector.url}{path}", timeout=30).raise_for_status().json()


def seen(look: Callable[[], Any]) -> Any:
    """What a look gives once it gives anything; the test's time-out is the limit."""
    while not (found := look()):
        time.sleep(0.25)  # an answer costs the collector a tenth of that
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
        assert values == VALUES
        assert model.counts.calls == calls + 1
