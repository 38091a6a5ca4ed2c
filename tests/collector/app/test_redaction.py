"""Redaction over real OTLP: the secrets are looked for wherever a trace leaves something."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from collecting import asking, configured, settled
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
from otlp_backend import Backend, http_backend
from otlp_parts import logs, span, text, traces
from redacting import KEY, SECRETS

from tracejury.collector.app.service import Collector
from tracejury.collector.cli.root import root
from tracejury.collector.otlp.client import replay
from tracejury.collector.store.client import Store

TRACE_ID = bytes(range(1, 17)).hex()
USER = "u-77777777"
REDACTION: dict[str, Any] = {
    "sets": list(SECRETS),
    "hash_key": "${REDACTION_KEY}",
    "rules": [
        {"name": "user", "key": "user.id", "action": "hash"},
        {"name": "header", "key": "http.request.header.*", "action": "drop"},
        {"name": "diary", "key": "input.value", "path": "$.diary"},
    ],
}
LOST = {"user": USER, "header": "cookie-88888888", "diary": "dear diary 99999999"} | SECRETS
"""What must be nowhere, each in a form that no other text has."""
PAGES = ("", "/errors", "/sessions", f"/traces/{TRACE_ID}", f"/traces/{TRACE_ID}?profile=0", "/rates", "/doctor")
API = (f"/api/traces/{TRACE_ID}", f"/api/traces/{TRACE_ID}/otlp", "/api/traces", "/api/errors", "/api/findings",
       "/api/sessions", "/api/doctor", "/metrics")  # fmt: skip


def requests() -> list[Any]:
    """An agent's run with secrets at every place of spans and log records."""
    every = " and ".join(SECRETS.values())
    kind = "openinference.span.kind"
    tool = span(
        span_id=b"tool0001", parent_span_id=b"agent001", name=f"look up {SECRETS['email']}",
        attributes=[
            text(kind, "TOOL"), text("tool.name", "lookup"), text("http.request.header.cookie", LOST["header"]),
            text("input.value", json.dumps({"diary": LOST["diary"], "to": [every], "in": json.dumps({"a": every})})),
            text("output.value", f"Traceback (most recent call last):\nValueError: no account of {every}"),
        ],
        status=Status(code=Status.STATUS_CODE_ERROR, message=f"no account of {every}"),
        events=[Span.Event(name="exception", attributes=[text("exception.message", every)])],
        links=[Span.Link(trace_id=bytes(16 * [7]), span_id=bytes(8 * [7]), attributes=[text("x", every)])],
        trace_state=f"a={SECRETS['email']}",
        end_time_unix_nano=1_700_000_002_000_000_000,
    )  # fmt: skip
    root = span(
        span_id=b"agent001", name="Assistant.run",
        attributes=[
            text(kind, "AGENT"), text("agent.name", "assistant"), text("user.id", USER), text("session.id", "s-1"),
            text("input.value", f"Pay {every}"), text("output.value", f"I could not pay {every}"),
        ],
        end_time_unix_nano=1_700_000_003_000_000_000,
    )  # fmt: skip
    record = LogRecord(trace_id=bytes.fromhex(TRACE_ID), span_id=b"agent001", attributes=[text("a", every)])
    record.body.string_value = every
    return [traces(tool, root, service="shop"), logs(record)]


async def run(dsn: str, folder: Path, backend: Backend, redaction: dict[str, Any]) -> dict[str, str]:
    """All that is left of the run, by place."""
    export = {"otlp": [{"name": "there", "endpoint": backend.url}], "sampling": {"healthy": 1.0}}
    writer = {"dead_letter": str(folder), "attempts": 1}
    config = configured(dsn, redaction=redaction, writer=writer, export=export)
    left = {}
    async with Collector(config) as collector:
        await replay(requests(), f"127.0.0.1:{collector.grpc_port}", "grpc")
        await settled(collector)
        await backend.until(lambda: len(backend.spans) >= 2 and bool(backend.records))
        async with asking(collector) as client:
            for path in (*PAGES, *API):
                left[path] = (await client.get(path)).text
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Store, "insert", refused)
            await replay(requests(), f"127.0.0.1:{collector.http_port}", "http")
    left["forwarded"] = repr([taken.request for taken in backend.taken])
    left["dead letters"] = "".join(texts_in(folder))
    left["tables"] = "\n".join(rows(dsn))
    return left


def texts_in(folder: Path) -> Iterator[str]:
    """The files."""
    for file in folder.iterdir():
        yield file.read_text("utf-8")


def refused(_store: Store, _table: str, _names: Sequence[str], columns: Sequence[Sequence[Any]]) -> None:
    """What cannot be stored is set aside."""
    if columns[0]:
        raise ValueError("strange")


def rows(dsn: str) -> Iterator[str]:
    """Every row of every table."""
    store = Store.open(dsn)
    for (table,) in store.rows("SELECT name FROM system.tables WHERE database = currentDatabase()"):
        for row in store.rows(f"SELECT * FROM `{table}`"):
            yield repr(row)
    store.close()


def seen(left: dict[str, str]) -> dict[str, set[str]]:
    """The secrets at each place, by name; in JSON and HTML too they stand as they are."""
    found = {place: {name for name, secret in LOST.items() if secret in text} for place, text in left.items()}
    return {place: names for place, names in found.items() if names}


async def test_no_secret_is_left_anywhere(
    served_dsn: str, second_dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without redaction all places hold secrets, so the search can find them; with it none does."""
    monkeypatch.setenv("REDACTION_KEY", KEY.decode())
    async with http_backend() as backend:
        before = seen(await run(second_dsn, tmp_path / "plain", backend, {}))
    async with http_backend() as backend:
        left = await run(served_dsn, tmp_path / "redacted", backend, REDACTION)
    assert {"forwarded", "dead letters", "tables", f"/traces/{TRACE_ID}", f"/api/traces/{TRACE_ID}/otlp"} <= set(before)
    assert before["tables"] == before["forwarded"] == set(LOST)
    assert before["dead letters"] >= set(LOST) - {"diary"}
    assert seen(left) == {}
    received = left[f"/api/traces/{TRACE_ID}/otlp"]
    for mark in ("[redacted:email]", "[redacted:diary]", "tracejury.redacted"):
        assert mark in received
        assert mark in left["forwarded"]
        assert mark in left["dead letters"]
    assert re.search(r"\[user:[0-9a-f]{12}\]", received)
    assert 'tracejury_redacted_values_total{rule="card"}' in left["/metrics"]
    trace = json.loads(left[f"/api/traces/{TRACE_ID}"])
    (agent,) = trace["agent_runs"]
    assert (agent["name"], trace["service"], trace["spans"]) == ("assistant", "shop", 2)


async def test_dry_run_counts_and_prints_no_value(served_dsn: str, tmp_path: Path) -> None:
    """By rule and attribute, over traces that were stored without redaction."""
    async with Collector(configured(served_dsn)) as collector:
        await replay(requests(), f"127.0.0.1:{collector.grpc_port}", "grpc")
        file = tmp_path / "rules.yaml"
        file.write_text(yaml.safe_dump({"redaction": REDACTION}))
        url = ["--url", f"http://127.0.0.1:{collector.api_port}"]
        listed = ["traces", "--format", "json", *url]  # a moment after its first commit
        while not json.loads((await asyncio.to_thread(CliRunner().invoke, root, listed)).stdout):  # noqa: ASYNC110  a process
            await asyncio.sleep(0.25)
        runs = [
            await asyncio.to_thread(CliRunner().invoke, root, ["redact", "--dry-run", *args, *url])
            for args in ([TRACE_ID, "--format", "json"], ["--config", str(file)], [TRACE_ID[:8], "--since", "1d"])
        ]
        refused_run = await asyncio.to_thread(CliRunner().invoke, root, ["redact", TRACE_ID, *url])
    assert [run.exit_code for run in runs] == [0, 0, 2]
    assert not [secret for run in runs for secret in LOST.values() if secret in run.output]
    counts = {(item["rule"], item["key"]): item["values"] for item in json.loads(runs[0].stdout)["items"]}
    assert counts["card", "output.value"] == 2
    assert counts["email", "span.trace_state"] == 1
    assert re.search(r"diary +input\.value +1\b", runs[1].stdout)
    assert "--dry-run" in refused_run.stderr
