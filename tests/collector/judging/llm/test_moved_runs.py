"""The whole collector with LLM judges, and a run whose trace joins one that began earlier but came later."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from collecting import asking, configured, scripted, send, settled
from llm_server import LlmServer, llm_server
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from panel_requests import request, value

from tracejury.collector.app.service import Collector
from tracejury.collector.config import CollectorConfig
from tracejury.collector.judging.llm import judge_worker
from tracejury.collector.store.client import Store

MEAN = """
SELECT Judge, sum(Score / SamplingProbability) / sum(1 / SamplingProbability), count()
FROM verdicts FINAL JOIN (SELECT tenant, TraceId, ServiceName FROM traces FINAL) AS t USING (tenant, TraceId)
WHERE isNotNull(Score) AND SamplingProbability > 0 GROUP BY ALL ORDER BY ALL
"""
"""As documented."""


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[LlmServer]:
    """An OpenAI-compatible server that answers soundly. What follows from others waits for them briefly."""
    monkeypatch.setenv("SCRIPTED_KEY", "sk-1")
    monkeypatch.setattr(judge_worker, "WAIT_SECONDS", 0.05)
    with llm_server() as server:
        yield server


def config(dsn: str, model: LlmServer) -> CollectorConfig:
    """One model; of runs that share a call, it names errors at one of them only."""
    return configured(dsn, judges=scripted(model, group=False))


def traces() -> tuple[ExportTraceServiceRequest, ExportTraceServiceRequest]:
    """One that began first and names the other, and that one; of one conversation."""
    first, second = request(1, 3, 200), request(2, 3, 200)
    spans, others = (list(r.resource_spans[0].scope_spans[0].spans) for r in (first, second))
    for span in others:
        span.start_time_unix_nano += 10**9
        span.end_time_unix_nano += 10**9
    spans[0].links.append(Span.Link(trace_id=others[0].trace_id, span_id=others[0].span_id))
    for span in (*spans, *others):
        span.attributes.append(value("session.id", "one"))
    return first, second


async def shown(collector: Collector) -> dict[str, Any]:
    """What the API shows of the one trace that lists have."""
    async with asking(collector) as client:

        async def get(path: str) -> Any:
            answer = await client.get(path)
            assert answer.status_code == httpx.codes.OK, answer.text
            return answer.json()

        (row,) = (await get("/api/traces"))["items"]
        trace = await get(f"/api/traces/{row['trace_id']}?profile=recall")
        ledger = await get("/api/ledger")
        session = await get("/api/sessions/one?profile=recall")
    # The trace as a whole has a word of its own in the ledger, on its decisive error.
    of_runs = [w for w in ledger["items"] if w["subject"]["kind"] == "agent-run"]
    return {
        "trace": trace["trace_id"],
        "wholes": [w["subject"]["id"] for w in ledger["items"] if w["outcome"] != "superseded" and w not in of_runs],
        "verdicts": of_agents(trace["verdicts"]),
        "findings": sorted(f["id"] for f in trace["findings"]),
        "words": sorted((w["subject"]["id"], w["judge"], w["subject"]["trace_id"]) for w in of_runs),
        "summary": sum(ledger["summary"].values()),
        "session": of_agents([v for e in session["exchanges"] for v in e["verdicts"]]),
    }


def of_agents(verdicts: list[dict[str, Any]]) -> list[tuple[str, str, int]]:
    """Run, judge and score of the verdicts on agent runs."""
    of_runs = (v for v in verdicts if v["subject"]["kind"] == "agent-run")
    return sorted((v["subject"]["id"], v["judge"], v["score"] or 0) for v in of_runs)


def scored(dsn: str) -> int:
    """How many runs the documented SQL over verdicts counts, of all judges."""
    store = Store.open(dsn)
    try:
        return sum(row[2] for row in store.rows(MEAN))
    finally:
        store.close()


@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize("late", [False, True])
async def test_what_was_judged_before_an_earlier_trace_came_counts_once(
    served_dsn: str, model: LlmServer, *, restart: bool, late: bool
) -> None:
    """In ledger, trace, session and SQL, in whatever order the traces come; what a run is asked is asked once."""
    ordered = traces()[::-1] if late else traces()
    async with Collector(config(served_dsn, model)) as collector:
        await send(collector, ordered[0])
        await settled(collector)
        calls = model.counts.calls
        alone = await shown(collector)
        if not restart:
            await send(collector, ordered[1])
            await settled(collector)
            whole = await shown(collector)
    if restart:
        async with Collector(config(served_dsn, model)) as collector:
            await send(collector, ordered[1])
            await settled(collector)
            whole = await shown(collector)
    assert (whole["trace"] != alone["trace"]) is late
    runs = {run for run, _, _ in whole["verdicts"]}
    assert len(runs) == 2
    assert {(run, judge) for run, judge, _ in whole["verdicts"]} == {(run, judge) for run, judge, _ in whole["words"]}
    assert len(whole["verdicts"]) == len(whole["words"]) == 2 * len(alone["words"])
    assert whole["wholes"] == [whole["trace"]]
    assert whole["summary"] == len(whole["words"]) + len(whole["wholes"])
    assert {trace_id for _, _, trace_id in whole["words"]} == {whole["trace"]}
    assert whole["session"] == whole["verdicts"]
    assert set(alone["verdicts"]) <= set(whole["verdicts"])
    assert set(alone["findings"]) <= set(whole["findings"])
    assert len(whole["findings"]) == len(set(whole["findings"])) == 2 * len(alone["findings"])
    assert scored(served_dsn) == sum(score > 0 for _, _, score in whole["verdicts"])
    assert model.counts.calls == 2 * calls
