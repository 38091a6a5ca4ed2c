"""The whole collector with SCOPE: a conversation over OTLP, live and at its close, and after a restart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from collecting import ask, asking, configured, scripted, send, settled
from llm_scripts import Call, Play
from llm_server import llm_server
from pack_bench import CHAT, SERVICE, Called, FairChecker, Fault, exchange
from pack_service import otlp
from scope_sets import set_file, set_of

from tracejury.collector.app.service import Collector

MAIL = Called("send_mail", '{"to": "bo@x.org"}', "queued: the server is down", thought="I send it.")
CONVERSATION = (
    exchange("a", "What do you sell?", [], "Lamps."),
    exchange("b", "Mail that to Bo.", [MAIL], "The mail is sent.", at=30),
)
CHECKER = FairChecker(
    (
        Fault("scope-bad", "bad-0", "The mail is sent.", "It is not.", "E2.S3", "8"),
        Fault("scope-bad", "bad-1", "Lamps.", "It names no price.", "E1.S1", "4"),
        Fault("scope-situation", "The session", MAIL.result, "user satisfied", answer="propagated-error"),
    )
)
PLANTED = {
    ("bad-0", "It is bad in point 0", "HIGH", "b" * 32, CONVERSATION[1][3].span_id),
    ("bad-1", "It is bad in point 1", "MEDIUM", "a" * 32, CONVERSATION[0][1].span_id),
    ("propagated-error", "Propagated-error", "HIGH", "b" * 32, CONVERSATION[1][2].span_id),
}

KEYS = ("category", "title", "severity", "trace_id", "span_id")


def script(call: Call) -> Play:
    """Rubrics are answered by what the record shows of them so far, the situation at the close."""
    last = call.prompt.rpartition("user\n")[2]
    return Play(text=CHECKER.reply(last)) if "# scope-" in last else Play(findings=0)


async def said(collector: Collector) -> tuple[Any, Any, Any]:
    """The errors with their spans, the session's measures, and its group."""
    errors = (await ask(collector, "/api/errors"))["items"]
    asked = {"pack": "scope", "by": "answer:scope-situation"}
    measures = (await ask(collector, "/api/measures", **asked))["items"][0]
    found = {tuple(e[key] for key in KEYS) for e in errors if e["taxonomy"] == "scope"}
    return found, [one["values"] for one in measures["worst"]], [row["key"] for row in measures["items"]]


async def test_planted_errors_stand_at_their_spans_live_and_after_a_restart(
    served_dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCRIPTED_KEY", "sk-1")
    rubrics = set_file(tmp_path, set_of([5, 5], [5, 8], make_or_break=1))
    settings = {"scope": {"rubrics": str(rubrics), "live": True, "veto": 5}}
    with llm_server(script) as model:
        judges = scripted(model, packs=["scope"], judges=["goal-fulfilment"], pack_settings=settings)
        async with Collector(configured(served_dsn, judges=judges)) as collector:
            for spans in CONVERSATION:
                await send(collector, otlp(spans))
            await settled(collector)
            live, measured, _ = await said(collector)
            assert live == {error for error in PLANTED if error[0].startswith("bad-")}
            assert measured == []
            async with asking(collector) as api:
                (await api.post("/api/judge", json={"session": CHAT, "service": SERVICE})).raise_for_status()
            await settled(collector)
            before = await said(collector)
        calls = model.counts.calls
        async with Collector(configured(served_dsn, judges=judges)) as collector:
            await settled(collector)
            assert await said(collector) == before
            assert model.counts.calls == calls
    assert before == (PLANTED, [{"P": 0, "N": pytest.approx(1 - 83.2 / 108), "G": 0, "C": 0}], ["propagated-error"])
