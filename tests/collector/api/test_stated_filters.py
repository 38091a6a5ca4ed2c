"""Filters by attribute, metadata, tag and user: lists, rates, pages and commands over the whole collector."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from click.testing import CliRunner, Result
from collecting import ask, asking, configured, send, settled
from google.protobuf.message import Message
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue
from otlp_parts import START, span, text, traces

from tracejury.collector.app.service import Collector
from tracejury.collector.cli.root import root

KIND = "openinference.span.kind"
PAID, FREE, OTHER = "01" * 16, "02" * 16, "03" * 16
HOSTILE = "x' OR 1=1 --"


def tags(key: str, *names: str) -> KeyValue:
    return KeyValue(key=key, value=AnyValue(array_value=ArrayValue(values=[AnyValue(string_value=n) for n in names])))


def failing_run(number: int, session: str, *stated: KeyValue, below: Sequence[KeyValue] = ()) -> Message:
    """A run that calls a tool which fails three times; its first span states all, the call `below`."""
    told = [text(KIND, "AGENT"), text("session.id", session), text("output.value", "done"), *stated]
    agent = span(trace_id=bytes([number]) * 16, span_id=b"agent001", name="assistant", attributes=told)
    calls = [
        span(
            trace_id=bytes([number]) * 16,
            span_id=b"call000%d" % at,
            parent_span_id=b"agent001",
            name="search",
            start_time_unix_nano=START + at,  # calls of one time would be one call, exported again
            end_time_unix_nano=START + at + 1,
            attributes=[
                text(KIND, "TOOL"), text("tool.name", "search"), text("input.value", '{"q": "milk"}'),
                text("output.value", "Error: not found"), *below,
            ],
        )
        for at in range(3)
    ]  # fmt: skip
    return traces(agent, *calls)


RUNS = (
    failing_run(
        1, "one", text("plan", "paid"), text("user.id", "ann"), tags("langfuse.trace.tags", "beta", "eu"),
        below=[text("region", "eu=1")],
    ),
    failing_run(2, "two", text("plan", "free"), text("metadata", json.dumps({"tier": 3, "tags": ["beta"]}))),
    failing_run(
        3, "three", text("plan", HOSTILE), tags("tag.tags", "eu"),
        text("metadata", json.dumps({"user_id": "bob", "tier": "3"})),
    ),
)  # fmt: skip

CASES: Sequence[tuple[dict[str, Any], set[str]]] = (
    ({"attribute": "plan=paid"}, {PAID}),
    ({"attribute": ["plan=paid", "region=eu=1"]}, {PAID}),  # stated by two spans of one trace
    ({"attribute": ["plan=free", "region=eu=1"]}, set()),
    ({"attribute": "tier=3"}, {FREE, OTHER}),
    ({"attribute": "service.name=agent"}, {PAID, FREE, OTHER}),
    ({"attribute": f"plan={HOSTILE}"}, {OTHER}),
    ({"attribute": "plan=%"}, set()),
    ({"tag": "beta"}, {PAID, FREE}),
    ({"tag": "eu", "attribute": "tier=3"}, {OTHER}),
    ({"tag": HOSTILE}, set()),
    ({"user": "ann"}, {PAID}),
    ({"user": "bob"}, {OTHER}),
    ({"user": HOSTILE}, set()),
)


@pytest.fixture
async def collector(served_dsn: str) -> AsyncIterator[Collector]:
    """With three runs that state different things."""
    async with Collector(configured(served_dsn)) as running:
        await send(running, *RUNS)
        await settled(running)
        yield running


async def test_all_lists_and_rates_take_them(collector: Collector) -> None:
    """They choose the same traces everywhere, whichever span states what is asked for; values are only values."""
    everything = (await ask(collector, "/api/errors"))["items"]
    assert {error["trace_id"] for error in everything} == {PAID, FREE, OTHER}
    for asked, expected in CASES:
        found = {
            "traces": {row["trace_id"] for row in (await ask(collector, "/api/traces", **asked))["items"]},
            "errors": {row["trace_id"] for row in (await ask(collector, "/api/errors", **asked))["items"]},
            "findings": {row["trace_id"] for row in (await ask(collector, "/api/findings", **asked))["items"]},
        }
        assert found == dict.fromkeys(found, expected), asked
        assert len((await ask(collector, "/api/sessions", **asked))["items"]) == len(expected), asked
        assert (await ask(collector, "/api/rates", **asked))["total"]["judged"] == len(expected), asked
    for unit, by, count in (("turn", "agent", 3), ("trace", "tool", 1), ("session", "judge", 1)):
        rates = await ask(collector, "/api/rates", unit=unit, by=by, attribute="plan=paid", calibrated="true")
        assert rates["total"]["judged"] == count, unit
    rates = await ask(collector, "/api/rates", tag="beta", calibrated="true")
    assert "no calibrated share by attribute, tag or user" in rates["uncalibrated"]
    compared = await ask(collector, "/api/rates/compare", attribute="plan=paid", to="service=agent")
    assert compared["to"]["total"]["judged"] == 1


async def test_pages_take_them(collector: Collector) -> None:
    """As parameters of their addresses; each attribute comes off alone."""
    async with asking(collector) as client:
        params = {"attribute": ["plan=paid", "region=eu=1"], "tag": "eu"}
        page = (await client.get("/traces", params=params)).raise_for_status().text
        assert f"/traces/{PAID}" in page
        assert f"/traces/{FREE}" not in page
        assert 'href="/traces?tag=eu&amp;attribute=region%3Deu%3D1"' in page
        nothing = (await client.get("/sessions", params={"attribute": ["plan=free", "region=eu=1"]})).text
        assert "Drop attribute “region=eu=1”" in nothing
        errors = (await client.get("/errors", params={"user": "bob"})).raise_for_status().text
        assert OTHER in errors
        assert PAID not in errors
        overview = (await client.get("/", params={"tag": "beta"})).raise_for_status().text
        assert "with an error" in overview
        worst = (await client.get("/overview/worst", params={"attribute": "plan=free"})).raise_for_status().text
        assert FREE in worst
        assert PAID not in worst


@pytest.mark.parametrize("path", ["/api/traces", "/api/sessions", "/api/errors", "/api/rates", "/traces", "/errors"])
async def test_what_means_nothing_is_one_line(collector: Collector, path: str) -> None:
    """A text without a value, and more of them than one question may have."""
    async with asking(collector) as client:
        refused = await client.get(path, params={"attribute": "plan"})
        assert (refused.status_code, refused.json()["detail"]) == (422, "attribute: 'plan' is no KEY=VALUE")
        refused = await client.get(path, params={"attribute": [f"k={n}" for n in range(9)]})
        told = "attribute: 9 are given, and at most 8 can be asked for at once"
        assert (refused.status_code, refused.json()["detail"]) == (422, told)


async def run(collector: Collector, *args: str) -> Result:
    url = f"http://127.0.0.1:{collector.api_port}"
    return await asyncio.to_thread(CliRunner().invoke, root, [*args, "--url", url, "--format", "json"])


@pytest.mark.parametrize("command", ["traces", "sessions", "errors", "rates"])
async def test_the_command_line_takes_them(collector: Collector, command: str) -> None:
    """`--attribute` as often as one likes."""
    chosen = ("--attribute", "plan=paid", "--attribute", "region=eu=1", "--tag", "eu", "--user", "ann")
    one, other = await run(collector, command, *chosen), await run(collector, command, *chosen, "--tag", "none")
    assert (one.exit_code, other.exit_code) == (0, 0), one.output + other.output
    found, nothing = json.loads(one.stdout), json.loads(other.stdout)
    if command == "rates":
        assert (found["total"]["judged"], nothing["total"]["judged"]) == (1, 0)
    else:
        assert found
        assert not nothing
