"""Pictures that are sent inline, by a whole collector: stored once, served as they were sent; findings are the same."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

import pytest
from collecting import ask, asking, configured, send, settled
from otlp_parts import span, text, traces
from sent_media import encoded

from tracejury.collector.app.service import Collector
from tracejury.collector.store.shared_store import SharedStore
from tracejury.schemas import inline_media

CALLS = 5
PICTURE = encoded(size=60_000)
TRACE = b"picture-trace-01"


def talk() -> Any:
    """An agent that sends a picture with every call, and calls a tool that fails."""
    kind, spans, said = "openinference.span.kind", [], list[dict[str, Any]]()
    for number in range(CALLS):
        said.append({"role": "user", "content": f"{number}: data:image/png;base64,{PICTURE}"})
        spans.append(
            span(
                trace_id=TRACE, span_id=b"call%04d" % number, parent_span_id=b"agent001", name="chat",
                start_time_unix_nano=1_700_000_000_000_000_000 + number,
                attributes=[text(kind, "LLM"), text("input.value", json.dumps(said)), text("output.value", "Again.")],
            )
        )  # fmt: skip
    failed = "Traceback (most recent call last):\nValueError: no such picture"
    spans.append(
        span(
            trace_id=TRACE, span_id=b"tool0001", parent_span_id=b"agent001", name="look",
            attributes=[text(kind, "TOOL"), text("tool.name", "look"), text("output.value", f"{failed} {PICTURE}")],
        )
    )  # fmt: skip
    attributes = [text(kind, "AGENT"), text("agent.name", "looker"), text("input.value", "Look")]
    spans.append(
        span(trace_id=TRACE, span_id=b"agent001", name="run", attributes=attributes,
             end_time_unix_nano=1_700_000_009_000_000_000)
    )  # fmt: skip
    return traces(*spans, service="shop")


async def findings(collector: Collector) -> list[tuple[str, ...]]:
    """What detectors found, but for the times."""
    found = (await ask(collector, "/api/findings", profile="recall"))["items"]
    return sorted(
        tuple(str(one[key]) for key in ("id", "judge", "span_id", "evidence", "explanation")) for one in found
    )


async def test_findings_are_the_same_live_and_judged_again_after_a_restart(
    served_dsn: str, second_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the same as where texts are stored whole; a page serves the picture from the store."""
    async with Collector(configured(served_dsn)) as collector:
        await send(collector, talk())
        await settled(collector)
        live = await findings(collector)
    assert live
    async with Collector(configured(served_dsn)) as collector:
        async with asking(collector) as client:
            (await client.post("/api/judge", json={"trace_id": TRACE.hex()})).raise_for_status()
            await settled(collector)
            data = base64.b64decode(PICTURE)
            place = f"/traces/{TRACE.hex()}/spans/{b'call0000'.hex()}/media/{hashlib.sha256(data).hexdigest()}"
            served = await client.get(place)
        assert served.content == data
        assert await findings(collector) == live
    store = SharedStore.open(served_dsn)
    assert store.rows("SELECT count(), any(Data) FROM media") == [(1, PICTURE)]
    assert store.rows("SELECT max(length(SpanAttributes['input.value'])) < 2000 FROM spans") == [(1,)]
    store.close()
    monkeypatch.setattr(inline_media, "LONG", 1 << 40)
    async with Collector(configured(second_dsn)) as collector:
        await send(collector, talk())
        await settled(collector)
        assert await findings(collector) == live
    store = SharedStore.open(second_dsn)
    assert store.rows("SELECT count() FROM media") == [(0,)]
    store.close()
