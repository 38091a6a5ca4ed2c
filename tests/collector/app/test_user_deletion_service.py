"""A user's deletion over real OTLP and the command line: the user's words are looked for wherever they could stand."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from collecting import asking, configured, settled
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from otlp_parts import logs, span, text, traces

from tracejury.collector.app.service import Collector
from tracejury.collector.cli.root import root
from tracejury.collector.otlp.client import replay
from tracejury.collector.store.dead_letter import DeadLetterFolder
from tracejury.collector.store.retention_sweep import RetentionSweep
from tracejury.collector.store.shared_store import SharedStore

ANN, BOB = "ann-4711", "bob-0815"
PAGES = ("", "/errors", "/sessions", "/traces", "/live", "/rates", "/doctor")
LATER = {"texts", "run_facts", "errors"}
"""Tables that are written beside judging."""
API = ("/api/traces", "/api/errors", "/api/findings", "/api/sessions", "/api/doctor", "/api/receipts", "/metrics")


def talk(user: str, number: int) -> list[Any]:
    """An agent's run for a user: all its words hold the user's id."""
    trace, kind = bytes([number] * 16), "openinference.span.kind"
    tool = span(
        trace_id=trace, span_id=b"tool0001", parent_span_id=b"agent001", name=f"look up {user}",
        attributes=[
            text(kind, "TOOL"), text("tool.name", "lookup"), text("input.value", f'{{"who": "{user} in"}}'),
            text("output.value", f"Traceback (most recent call last):\nValueError: no account of {user}"),
        ],
        end_time_unix_nano=1_700_000_002_000_000_000,
    )  # fmt: skip
    agent = span(
        trace_id=trace, span_id=b"agent001", name="Assistant.run",
        attributes=[
            text(kind, "AGENT"), text("agent.name", "assistant"), text("user.id", user),
            text("session.id", f"s {user}"), text("input.value", f"Pay {user}"), text("output.value", f"Paid {user}"),
        ],
        end_time_unix_nano=1_700_000_003_000_000_000,
    )  # fmt: skip
    record = LogRecord(trace_id=trace, span_id=b"agent001")
    record.body.string_value = f"log of {user}"
    return [traces(tool, agent, service="shop"), logs(record)]


def rows(dsn: str) -> Iterator[str]:
    """Every row of every table."""
    store = SharedStore.open(dsn)
    for (table,) in store.rows("SELECT name FROM system.tables WHERE database = currentDatabase()"):
        for row in store.rows(f"SELECT * FROM `{table}`"):
            yield f"{table}: {row!r}"
    store.close()


def sweep(dsn: str, folder: Path) -> None:
    """What the collector does every day."""
    store = SharedStore.open(dsn)
    RetentionSweep(store, pytest.fail, DeadLetterFolder(folder, 1)).run()
    store.close()


async def places(collector: Collector, dsn: str, user: str) -> set[str]:
    """Where the user's id stands."""
    found = {row.split(":")[0] for row in rows(dsn) if user in row}
    async with asking(collector) as client:
        for path in (*PAGES, *API):
            if user in (await client.get(path)).text:
                found.add(path)
    return found


async def tracejury(collector: Collector, *words: str) -> Any:
    """The result of a command, as JSON."""
    arguments = [*words, "--format", "json", "--url", f"http://127.0.0.1:{collector.api_port}"]
    result = await asyncio.to_thread(CliRunner().invoke, root, arguments)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


async def test_no_word_of_a_deleted_user_is_left_or_comes_back(served_dsn: str, tmp_path: Path) -> None:
    """In no table, page or answer, though the user is in all of them before; another user's data stays as it is."""
    config = configured(served_dsn, writer={"dead_letter": str(tmp_path)})
    async with Collector(config) as collector:
        grpc, http = f"127.0.0.1:{collector.grpc_port}", f"127.0.0.1:{collector.http_port}"
        for request in (*talk(ANN, 1), *talk(BOB, 2)):
            await replay([request], grpc, "grpc")
        await settled(collector)
        before = of_bob = set[str]()
        async with asyncio.timeout(60):  # texts for search and facts of rates are stored a few seconds later
            while not (before == of_bob > LATER):
                await asyncio.sleep(1)  # each look reads all there is
                before, of_bob = [await places(collector, served_dsn, user) for user in (ANN, BOB)]
        assert before > {"spans", "logs", "traces", "findings", "/sessions", "/api/sessions"}
        deleted = await tracejury(collector, "delete", "--user", ANN, "--yes")
        assert (deleted["deleted"], deleted["receipt"]["kind"], deleted["receipt"]["rows_left"]) == (1, "user", 0)
        for address, transport in ((grpc, "grpc"), (http, "http")):
            for request in talk(ANN, 1):
                sent = await replay([request], address, transport)
                assert sent.rejected == sent.spans + sent.logs > 0
                assert "of deleted traces left out" in " ".join(sent.messages)
        await settled(collector)
        assert await places(collector, served_dsn, ANN) <= {"run_facts"}  # a row that is replaced by an empty one
        assert await places(collector, served_dsn, BOB) == of_bob
        (receipt,) = await tracejury(collector, "receipts")
        assert receipt == deleted["receipt"]
    sweep(served_dsn, tmp_path)
    async with Collector(config) as collector:  # the next process knows it, too
        await replay(talk(ANN, 1), f"127.0.0.1:{collector.grpc_port}", "grpc")
        await settled(collector)
        assert await places(collector, served_dsn, ANN) == set()
