"""With LLM judges: a trace waits for what they say, but not for ever; what they say later follows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from collecting import send, settled
from forwarding import configured, counted
from llm_scripts import always
from llm_server import LlmServer, llm_server
from otlp_backend import Backend, http_backend
from panel_requests import request

from tracejury.collector.app.service import Collector


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[LlmServer]:
    """An OpenAI-compatible server that answers soundly."""
    monkeypatch.setenv("SCRIPTED_KEY", "sk-not-to-be-told-1234567890")
    with llm_server() as server:
        yield server


def judges(model: LlmServer) -> dict[str, Any]:
    """The section that asks it."""
    return {"model": "openai/scripted", "api_base": model.base, "api_key_env": "SCRIPTED_KEY"}


def said(backend: Backend) -> dict[str, list[dict[str, Any]]]:
    """Attributes of the evaluation events by name of evaluation."""
    found: dict[str, list[dict[str, Any]]] = {}
    for record in backend.records:
        stated = {p.key: getattr(p.value, str(p.value.WhichOneof("value"))) for p in record.attributes}
        if record.event_name == "gen_ai.evaluation.result":
            found.setdefault(stated["gen_ai.evaluation.name"], []).append(stated)
    return found


async def test_verdicts_go_out_with_the_spans(served_dsn: str, model: LlmServer) -> None:
    """One event a judge on the run's span, all in the first request of log records: the trace has waited for them."""
    async with (
        http_backend() as backend,
        Collector(configured(served_dsn, {"endpoint": backend.url}, judges=judges(model))) as collector,
    ):
        await send(collector, request(1, 3, 200))
        await backend.until(lambda: bool(backend.records))
        (first,) = [t for t in backend.taken if t.signal == "logs"]
        await settled(collector)
        await counted(collector, "sent_traces_total:backend-0", 1)
    verdicts = {name: events for name, events in said(backend).items() if name != "tracejury.error"}
    assert verdicts
    assert all(len(events) == 1 for events in verdicts.values())
    for (event,) in verdicts.values():
        scored = 0 <= event.get("gen_ai.evaluation.score.value", -1) <= 3
        assert scored or event["gen_ai.evaluation.score.label"] in {"not_applicable", "unscored"}
    assert len(backend.records) == sum(len(c.log_records) for r in first.request.resource_logs for c in r.scope_logs)
    root = {s.span_id for s in backend.spans if not s.parent_span_id}
    assert {r.span_id for r in backend.records} <= {s.span_id for s in backend.spans}
    assert root


async def test_a_trace_waits_no_longer_than_it_may(served_dsn: str, model: LlmServer) -> None:
    """The model does not answer: the spans go all the same, without a verdict; the verdict follows once it does."""
    model.script = always(status=503)
    async with http_backend() as backend:
        config = configured(served_dsn, {"endpoint": backend.url}, judges=judges(model), judges_wait_seconds=0.3)
        async with Collector(config) as collector:
            await send(collector, request(1, 3, 200))
            await backend.until(lambda: bool(backend.spans))
            sent = len(backend.spans)
            assert not said(backend)
        model.script = always()
        async with Collector(config):
            await backend.until(lambda: bool(said(backend)))
    verdicts = {name: events for name, events in said(backend).items() if name != "tracejury.error"}
    assert verdicts
    carriers = [s for s in backend.spans if s.links]
    assert len(backend.spans) == sent + len(carriers), "no span went twice"
