"""All webhooks together, as the collector runs them."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler

import pytest
from hook_server import PATIENCE, SECRET, Received, answer, hook_server
from store_parts import a_finding, a_judged_subject, a_judged_trace

from tracejury.collector.outbound.webhooks.build import Webhooks, build_webhooks
from tracejury.collector.outbound.webhooks.config import WebhookConfig
from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.llm_judging import StoredLlmJudging
from tracejury.collector.store.shared_store import SharedStore
from tracejury.collector.telemetry import Telemetry
from tracejury.schemas.findings import Finding

NOW = 2_000


@asynccontextmanager
async def webhooks(store: SharedStore, monkeypatch: pytest.MonkeyPatch, *urls: str) -> AsyncIterator[Webhooks]:
    """One a URL; their names are letters."""
    monkeypatch.setenv("HOOK_SECRET", SECRET)
    names = "abc"
    settings = {"secret": "${HOOK_SECRET}", "profile": "0", "timeout_seconds": 10 * PATIENCE}
    configs = [WebhookConfig.model_validate({"name": names[i], "url": url, **settings}) for i, url in enumerate(urls)]
    telemetry = Telemetry("test")
    made = build_webhooks(store, configs, telemetry, lambda: NOW)
    await made.start("http://pages")
    try:
        yield made
    finally:
        await made.stop(PATIENCE)
        await made.stop(PATIENCE)
        telemetry.shutdown()


def judge(store: SharedStore, to: Webhooks, *findings: Finding) -> None:
    """What the judging thread does: store, then tell."""
    judged = a_judged_trace(*findings, judged_at=NOW, received=NOW)
    StoredJudging(store).save([judged])
    to.traces_judged([judged])


async def test_a_receiver_that_hangs_stops_no_other(store: SharedStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor judging: telling returns although the first receiver answers nobody."""
    go_on = threading.Event()

    def hang(handler: BaseHTTPRequestHandler, received: Received) -> None:
        go_on.wait(PATIENCE)
        answer(204)(handler, received)

    findings = [a_finding(span_id=f"{n:016x}", turn=n, first_seen=NOW) for n in range(20)]
    with hook_server(hang) as slow, hook_server() as quick:
        async with webhooks(store, monkeypatch, slow.url, quick.url) as made:
            for finding in findings:
                await asyncio.to_thread(judge, store, made, finding)
            received = await asyncio.to_thread(quick.wait, len(findings))
            assert 1 <= len(slow.received) <= 4, "its own connections, no more"
            go_on.set()
            await asyncio.to_thread(slow.wait, len(findings))
    assert len({r.id for r in received}) == len(findings)


async def test_what_llm_judges_say_is_told_too(store: SharedStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a trace that detectors have seen."""
    with hook_server() as server:
        async with webhooks(store, monkeypatch, server.url) as made:
            judge(store, made)
            finding = a_finding(judge="goal-fulfilment", first_seen=NOW)
            said = a_judged_subject("goal-fulfilment", finding, judged_at=NOW)
            StoredLlmJudging(store).save([said])
            made.subjects_judged([said])
            (received,) = await asyncio.to_thread(server.wait, 1)
    assert received.said["data"]["finding"]["judge"] == "goal-fulfilment"


async def test_without_webhooks_nothing_is_done(store: SharedStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """No task, no thread, no query."""
    async with webhooks(store, monkeypatch) as made:
        made.traces_judged([a_judged_trace(a_finding())])
        made.subjects_judged([a_judged_subject("x", a_finding())])
        assert not [task for task in asyncio.all_tasks() if task.get_name().startswith("webhook")]
        assert not [thread for thread in threading.enumerate() if thread.name.startswith("webhook")]


async def test_no_secret_and_no_url_is_logged(
    store: SharedStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever fails; the name of the webhook and a word on the failure are enough."""
    caplog.set_level(logging.DEBUG, "tracejury")
    with hook_server(answer(500, body=b"you sent me T0KEN and a secret")) as server:
        async with webhooks(store, monkeypatch, f"{server.url}?token=T0KEN") as made:
            judge(store, made, replace(a_finding(first_seen=NOW), evidence="the quote"))
            await asyncio.to_thread(server.wait, 1)
            async with asyncio.timeout(PATIENCE):
                while "is tried again" not in caplog.text:  # noqa: ASYNC110  the answer is on its way
                    await asyncio.sleep(0)
    assert "webhook a" in caplog.text
    for told in ("T0KEN", SECRET.removeprefix("whsec_"), "the quote", "secret"):
        assert told not in caplog.text
