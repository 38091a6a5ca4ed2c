"""Tables of the ClickHouse exporter are judged as if their spans had come over OTLP."""

from __future__ import annotations

import asyncio
import json
import subprocess
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from clickhouse_http import ClickHouseServer, clickhouse_server
from collecting import ask, configured, settled
from exporter_tables import Version, filled, made, run
from hook_server import SECRET, Received, answer, hook_server
from otlp_parts import START, span, traces
from processes import COMMAND, PATIENCE, tracejury

from tracejury.collector.app.service import Collector
from tracejury.collector.backfill.backfill import BackfillEndpoint, BackfillResult, backfill
from tracejury.collector.backfill.items import BadRows
from tracejury.collector.backfill.progress_file import BackfillProgress, ProgressFile
from tracejury.collector.backfill.source import opened
from tracejury.collector.backfill.window import HOUR, Window
from tracejury.collector.cli.root import root
from tracejury.collector.evaluation.run import judge_directly
from tracejury.collector.otlp.client import replay
from tracejury.collector.otlp.client.client import EndpointError
from tracejury.collector.otlp.codec.groups import Request
from tracejury.collector.otlp.files import read
from tracejury.judges.registry import default_suite

DATA = Path(__file__).parents[4] / "shared" / "data"
CAPTURES = (
    *(f"frameworks/{name}.zip" for name in ("smolagents/S6", "pydantic_ai_v2/S3", "openai_agents/S6", "langgraph/S6",
                                            "strands/S6", "autogen/S6", "google_adk/S6")),
    "shapes/04-coding-agent.traces.json", "shapes/04-coding-agent.logs.json", "shapes/11-calls-as-text.traces.json",
)  # fmt: skip
TRAIL = 2
DIRECT: list[str] = []
"""What is found in the captures if they come over OTLP; the same for each version of the tables."""
EVER = 2**62


@cache
def captured() -> list[Request]:
    """Spans and log records of several frameworks, with what went wrong there."""
    if not DATA.exists():
        pytest.skip(f"the shared data are absent ({DATA})")
    paths = [path for name in CAPTURES if (path := DATA / name).exists()]
    paths += sorted((DATA / "trail" / "gaia-dev" / "traces").iterdir())[:TRAIL]
    return [found.request for found in read(paths)]


@dataclass(frozen=True)
class Tables:
    """A server with a database of the exporter."""

    server: ClickHouseServer
    folder: Path
    database: str

    @property
    def dsn(self) -> str:
        return f"{self.server.dsn}/{self.database}.otel_traces"

    def fill(self, version: Version, requests: list[Request]) -> None:
        made(self.folder, self.database, version)
        filled(self.folder, self.database, version, requests)

    def run(self, sql: str) -> str:
        return run(self.folder, sql.replace("DB.", f"{self.database}."))


@pytest.fixture
def tables(store_folder: Path) -> Iterator[Tables]:
    database = f"otel_{uuid.uuid4().hex}"
    with clickhouse_server(store_folder) as server:
        yield Tables(server, store_folder, database)
    run(store_folder, f"DROP DATABASE IF EXISTS {database}")


async def filled_back(tables: Tables, collector: Collector, file: Path, **more: Any) -> BackfillResult:
    """A whole backfill into a collector, which has judged it then."""
    to = BackfillEndpoint(f"127.0.0.1:{collector.grpc_port}", "grpc")
    result = await asyncio.to_thread(sent, tables, to, file, **more)
    await settled(collector)
    return result


def sent(
    tables: Tables, to: BackfillEndpoint, file: Path, services: tuple[str, ...] = (), **more: Any
) -> BackfillResult:
    """What the command does, less its words."""
    progress = ProgressFile(file, "test")
    begun = progress.load() or BackfillProgress(0, EVER)
    with opened(tables.dsn) as source:
        window = Window(source, begun.since, begun.until, services)
        return backfill(window, window.slices(), progress, begun, to, **more)


async def found(collector: Collector) -> list[str]:
    """All findings, byte for byte, but for the times at which they were made."""
    page = await ask(collector, "/api/findings", profile="0", limit="1000")
    assert page["next"] is None
    kept = [{key: value for key, value in item.items() if not key.endswith(("_seen", "_at"))} for item in page["items"]]
    return sorted(json.dumps(item, sort_keys=True) for item in kept)


@pytest.mark.parametrize("version", Version)
async def test_findings_equal_those_over_otlp(
    served_dsn: str, second_dsn: str, tables: Tables, tmp_path: Path, version: Version
) -> None:
    """Byte for byte, of each version's table; the source is only read; a second run changes nothing."""
    requests = captured()
    tables.fill(version, requests)
    if not DIRECT:
        async with Collector(configured(second_dsn)) as direct:
            await replay(requests, f"127.0.0.1:{direct.grpc_port}", "grpc")
            await settled(direct)
            DIRECT.extend(await found(direct))
    rows = tables.run("SELECT count(), uniqExact(TraceId) FROM DB.otel_traces")
    tables.server.requests.clear()
    async with Collector(configured(served_dsn)) as collector:
        result = await filled_back(tables, collector, tmp_path / "state.json")
        assert f"{result.progress.spans}\t{result.progress.traces}\n" == rows
        assert (result.progress.rejected, result.bad.count) == (0, 0)
        assert all(p.get("readonly") == "1" for p, _ in tables.server.requests[-3:])
        assert await found(collector) == DIRECT
        assert DIRECT
        if version is not Version.MAPS:
            return
        (tmp_path / "state.json").unlink()
        stored = tables.run("SELECT count() FROM served.spans FINAL")
        again = await filled_back(tables, collector, tmp_path / "state.json")
        assert again.progress == result.progress
        assert tables.run("SELECT count() FROM served.spans FINAL") == stored
        assert await found(collector) == DIRECT


@cache
def judged() -> list[tuple[str, str, str, str]]:
    """What is found in the captures, and where, without a collector."""
    some = judge_directly(captured(), default_suite()).findings
    return sorted((f.trace_id, f.span_id, f.judge, f.evidence) for f in some)


async def places(collector: Collector) -> list[tuple[str, str, str, str]]:
    """The same of a collector."""
    page = await ask(collector, "/api/findings", profile="0", limit="1000")
    return sorted((f["trace_id"], f["span_id"], f["judge"], f["evidence"]) for f in page["items"])


async def test_a_killed_backfill_goes_on_and_pages_nobody(
    served_dsn: str, tables: Tables, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After kill -9 amid sending the same command sends the rest; then there is nothing left to send."""
    requests = captured()
    tables.fill(Version.MAPS, requests)
    monkeypatch.setenv("HOOK", SECRET)
    state = tmp_path / "state.json"
    with hook_server() as pager:
        hook = {"secret": "${HOOK}", "profile": "0"}
        hooks = [
            {"name": "all", "url": f"{pager.url}/all", **hook},
            {"name": "new", "url": f"{pager.url}/new", "max_trace_age_seconds": 7 * 86_400, **hook},
        ]
        async with Collector(configured(served_dsn, webhooks=hooks)) as collector:
            url = f"http://127.0.0.1:{collector.api_port}"
            command = ["backfill", "--url", url, "--from", tables.dsn, "--since", "1970-01-01", "--until", "2100-01-01",
                       "--endpoint", f"127.0.0.1:{collector.grpc_port}", "--state", str(state)]  # fmt: skip
            with subprocess.Popen([*COMMAND, *command, "--rate", "200"], cwd=tmp_path) as process:  # noqa: ASYNC220, S603  ours
                deadline = time.monotonic() + PATIENCE
                while not state.exists():
                    assert time.monotonic() < deadline, "nothing was sent"
                    await asyncio.sleep(0.02)
                process.kill()
            at = json.loads(state.read_text())
            assert at["traces"] > 0
            assert not at["finished"]
            done = await asyncio.to_thread(tracejury, *command, "--format", "json", folder=tmp_path)
            assert "going on at" in done.stderr, done.stderr
            assert f"{json.loads(done.stdout)['spans']}\n" == tables.run("SELECT count() FROM DB.otel_traces")
            again = await asyncio.to_thread(tracejury, *command, folder=tmp_path)
            assert (again.returncode, again.stdout) == (0, "")
            assert "sent before" in again.stderr
            await settled(collector)
            assert await places(collector) == judged()
            await asyncio.to_thread(pager.wait, 1)
        assert {one.path.rpartition("/")[2] for one in pager.received} == {"all"}


@pytest.mark.parametrize(
    ("version", "name", "form"),
    [
        (Version.MAPS, "a.parquet", "Parquet"),
        (Version.JSON, "b.jsonl.gz", "JSONEachRow"),
        (Version.MAPS, "c.json", "JSON"),
    ],
)
async def test_files_are_judged_as_the_table_is(
    served_dsn: str, tables: Tables, tmp_path: Path, version: Version, name: str, form: str
) -> None:
    """What ClickHouse has written of the tables, with the log records in a file of their own."""
    requests = captured()
    tables.fill(version, requests)
    for table in ("otel_traces", "otel_logs"):
        folder = tmp_path / table
        folder.mkdir()
        tables.run(f"INSERT INTO FUNCTION file('{folder / name}', '{form}') SELECT * FROM DB.{table}")
    async with Collector(configured(served_dsn)) as collector:
        to = ["--endpoint", f"http://127.0.0.1:{collector.http_port}", "--protocol", "http"]
        said = await asyncio.to_thread(
            tracejury, "backfill", "--from", "otel_traces", "--logs", "otel_logs/*", *to, folder=tmp_path
        )
        assert said.returncode == 0, said.stderr
        await settled(collector)
        assert await places(collector) == judged()


def long_trace(number: int, start: int, *offsets: int, service: str = "agent") -> Request:
    """A trace with a span at each offset from its start, in nanos."""
    trace_id = number.to_bytes(16)
    made = [
        span(trace_id=trace_id, span_id=(at + 1).to_bytes(8), start_time_unix_nano=start + offset,
             end_time_unix_nano=start + offset + 1)
        for at, offset in enumerate(offsets)
    ]  # fmt: skip
    return traces(*made, service=service)


def test_traces_over_the_borders_of_slices_are_read_once_and_whole(
    tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In order of their start; with those of other services; what began before the window is none of its own."""
    monkeypatch.setattr("tracejury.collector.backfill.window.SLICE_SPANS", 3)
    tables.fill(Version.MAPS, [
        long_trace(1, START, 0, HOUR, 3 * HOUR),
        long_trace(2, START + 1, 0, 1, 2, 3),
        long_trace(3, START + HOUR, 0, HOUR),
        long_trace(3, START + HOUR + 1, 5, service="tool"),
        long_trace(4, START - HOUR, 0, 2 * HOUR),
        long_trace(5, START + 40 * HOUR, 0),
    ])  # fmt: skip
    with opened(tables.dsn) as source:
        window = Window(source, START, START + 50 * HOUR)
        slices = window.slices()
        listed = [one for part in slices for one in window.traces(part, None)]
        assert len(slices) > 3
        assert [int(one.trace_id, 16) for one in listed] == [1, 2, 3, 5]
        bad = BadRows()
        assert [len(spans) for _, spans in window.read(listed[:3], bad)] == [3, 4, 3]
        assert [one.trace_id for part in slices for one in window.traces(part, listed[1])] == [
            one.trace_id for one in listed[2:]
        ]
        of_tool = Window(source, START, START + 50 * HOUR, ("tool",))
        (only,) = [one for part in of_tool.slices() for one in of_tool.traces(part, None)]
        assert [len(spans) for _, spans in of_tool.read([only], bad)] == [3]
        assert bad.count == 0


def test_bad_ids_are_counted_and_named_and_others_sent(
    tables: Tables, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The receiver is away at first and then slow; spans leave at the rate asked for."""
    tables.fill(Version.MAPS, [long_trace(number, START, *range(60)) for number in range(1, 11)])
    values = "'SpanName', 'agent', {}, {}, 1, 'Unset'"
    for trace_id, span_id in (
        ("xyz", "1" * 16),
        ("Z" * 32, "1" * 16),
        (f"{1:032x}", "no hex"),
        (f"{1:032x}", "0" * 16),
    ):
        tables.run(
            "INSERT INTO DB.otel_traces (Timestamp, TraceId, SpanId, SpanName, ServiceName, ResourceAttributes, "
            f"SpanAttributes, Duration, StatusCode) VALUES ({START / 10**9}, '{trace_id}', '{span_id}', {values})"
        )
    refusals = iter([503, 503])

    def behave(handler: Any, received: Received) -> None:
        answer(next(refusals, 200), {"retry-after": "0"})(handler, received)

    with hook_server(behave) as receiver:
        rate = 1000
        to = BackfillEndpoint(receiver.url, "http", "tj_key")
        lags = [True, True, False]
        result = sent(tables, to, tmp_path / "state", rate=rate, behind=lambda: bool(lags) and lags.pop(0))
        assert not lags
        assert result.retried == 2
        assert (result.progress.spans, result.bad.count) == (600, 4)
        assert result.bad.named == [
            "trace id 'ZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZ'", "trace id 'xyz'",
            "span id '0000000000000000'", "span id 'no hex'",
        ]  # fmt: skip
        assert result.seconds >= (600 - 512) / rate
        assert {one.headers["authorization"] for one in receiver.received} == {"Bearer tj_key"}
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20tj_own,x-more=a")
        receiver.behave = answer(401)
        with pytest.raises(EndpointError, match="nothing is taken there: HTTP 401"):
            sent(tables, to, tmp_path / "other")
        assert not (tmp_path / "other").exists()
        assert receiver.received[-1].headers["authorization"] == "Bearer tj_own"


def test_errors_say_what_there_is(tables: Tables, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line each, and exit code 2; a dry run counts."""
    monkeypatch.chdir(tmp_path)
    tables.fill(Version.MAPS, [long_trace(1, START, 0, 1), long_trace(1, START, 2, service="tool")])
    tables.run("CREATE TABLE DB.metrics (Timestamp DateTime64(9), Value Float64) ENGINE = MergeTree ORDER BY Timestamp")
    (tmp_path / "otlp.json").write_text('{"resourceSpans": []}')
    server, name = tables.server.dsn, tables.database
    since = ["--since", "2023-01-01"]
    for arguments, words in (
        ([tables.dsn], ["name --since"]),
        ([tables.dsn, "--since", "1d", "--until", "2d"], ["is not before --until"]),
        ([tables.dsn, "--since", "soon"], ["--since: 'soon' is no point in time"]),
        ([f"{server}/nowhere.otel_traces", *since], ["there is no table nowhere.otel_traces", f"{name}.otel_traces"]),
        ([f"{server}/{name}.traces", *since], [f"there is no table {name}.traces", f"{name}.otel_traces"]),
        ([f"{server}/{name}.metrics", *since], ["is no table of spans", "it lacks Duration, ParentSpanId"]),
        ([tables.dsn, *since, "--logs", "metrics"], ["is no table of log records", "Body"]),
        ([f"{server}/{name}.x;y", *since], ["is no plain name of a table"]),
        (["clickhouse://127.0.0.1:1/otel.otel_traces", *since], ["does not answer", "refused"]),
        ([tables.dsn, "--since", "2024-01-01"], ["no spans from 2024", "3 from 2023-11-14", "agent, tool"]),
        ([tables.dsn, *since, "--service", "shop"], ["no spans of shop", "agent, tool"]),
        (["nothing/*.parquet"], ["there is no file nothing/*.parquet"]),
        ([tables.dsn, *since, "--url", tables.server.dsn.replace("clickhouse", "http")], ["tells no judging lag"]),
    ):  # fmt: skip
        done = CliRunner().invoke(root, ["backfill", "--from", *arguments])
        assert done.exit_code == 2, (arguments, done.output)
        assert all(word in done.stderr for word in words), done.stderr
        assert len(done.stderr.splitlines()) == 1, done.stderr
    counted = CliRunner().invoke(root, ["backfill", "--from", tables.dsn, *since, "--dry-run", "--format", "json"])
    assert json.loads(counted.stdout) == [
        {"service": "agent", "traces": 1, "spans": 2}, {"service": "tool", "traces": 1, "spans": 1},
    ]  # fmt: skip
    with hook_server(answer(403, {"X-ClickHouse-Exception-Code": "516"}, b"Code: 516. Authentication failed")) as wrong:
        place = wrong.url.replace("http://", "clickhouse://ann:secret@").removesuffix("/hook")
        done = CliRunner().invoke(root, ["backfill", "--from", f"{place}/otel.otel_traces", *since])
        assert "refuses the user or password" in done.stderr
        assert "secret" not in done.stderr
    done = tracejury("backfill", "--from", "otlp.json", folder=tmp_path)  # type: ignore[assignment]
    assert "`tracejury replay` sends OTLP" in done.stderr
