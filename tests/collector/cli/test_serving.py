"""The commands as real processes: a collector, the demo's program exporting to it, and every question about it."""

from __future__ import annotations

import gzip
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner, Result
from processes import COMMAND, PATIENCE, Serving, serving, tracejury, until

from tracejury.collector.cli.demo.watching import agent_environment
from tracejury.collector.cli.root import root

QUICK = "judging:\n  quiet_seconds: 0.3\n"


@dataclass(frozen=True, slots=True)
class World:
    """A collector with the demo's runs judged. `runs`: what the program printed of each."""

    folder: Path
    serving: Serving
    runs: list[dict[str, str]]

    def ask(self, *args: str) -> Result:
        """`tracejury ARGS` against it."""
        return CliRunner().invoke(root, args, env={"TRACEJURY_URL": self.serving.url})

    def json(self, *args: str) -> Any:
        """The same with `--format json`, read."""
        result = self.ask(*args, "--format", "json")
        assert (result.exit_code, result.stderr) == (0, "")
        return json.loads(result.stdout)

    def get(self, path: str) -> Any:
        """The API's answer."""
        return httpx.get(f"{self.serving.url}{path}", trust_env=False).json()

    @property
    def ids(self) -> set[str]:
        """The traces of its runs; other tests may add more."""
        return {run["trace_id"] for run in self.runs}

    def errors(self) -> list[Any]:
        """All errors in them."""
        rows = self.json("errors", "--profile", "0", "--limit", "1000")
        return [row for row in rows if row["trace_id"] in self.ids]

    def faulty(self) -> str:
        """The trace of a run with a fault."""
        return next(run["trace_id"] for run in self.runs if run["fault"])


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("world")
    (folder / "config.yaml").write_text(QUICK)
    with serving(folder, "--config", "config.yaml") as collector:
        runs = perform(collector)
        made = World(folder, collector, runs)
        # Lists have the state in which a trace was last judged.
        eventually(lambda: made.ids <= {i["trace_id"] for i in made.get("/api/traces?state=settled")["items"]})
        yield made


def perform(collector: Serving) -> list[dict[str, str]]:
    """Let the demo's program export to the collector."""
    program = subprocess.run(
        [sys.executable, "-m", "tracejury.collector.cli.demo.program"],
        env=agent_environment(os.environ, collector.ports["grpc"]),
        capture_output=True,
        timeout=PATIENCE,
        check=True,
    )
    return [json.loads(line) for line in program.stdout.splitlines()]


def trace(collector: Serving, trace_id: str) -> Any:
    return httpx.get(f"{collector.url}/api/traces/{trace_id}", trust_env=False).json()


def eventually(condition: Any) -> None:
    """Wait for what must come."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.2)


def test_ready_names_every_endpoint_and_the_store(world: World) -> None:
    """Bound ports, not the zeros that were asked for."""
    text = world.serving.ready_text
    assert " ready\n" in text
    assert ":0\n" not in text
    assert "chdb:///./.tracejury/db" in text
    assert httpx.get(f"{world.serving.url}/readyz", trust_env=False).json() == {"status": "ready"}


def test_traces_lists_what_the_program_sent(world: World) -> None:
    """Every run with its agents, all settled, latest arrival first."""
    everything = world.json("traces")
    rows = [row for row in everything if row["trace_id"] in world.ids]
    assert {row["trace_id"] for row in rows} == world.ids
    assert all(row["agents"] == ["manager", "researcher"] for row in rows)
    assert {row["state"] for row in rows} == {"settled"}
    assert [row["received"] for row in rows] == sorted((row["received"] for row in rows), reverse=True)
    narrowed = world.json("traces", "--agent", "researcher", "--service", "almanac-agents", "--since", "1h")
    assert {row["trace_id"] for row in narrowed} >= world.ids
    for kind, known in (("service", "almanac-agents"), ("agent", "researcher")):
        refused = world.ask("traces", f"--{kind}", "nobody")
        assert (refused.exit_code, f"no {kind} 'nobody' is stored" in refused.stderr, known in refused.stderr) == (
            2, True, True
        )  # fmt: skip


def test_an_unknown_version_says_where_versions_come_from(world: World) -> None:
    """The demo's program states none."""
    refused = world.ask("rates", "--version", "2.1")
    line = "no version '2.1' is stored; no version is known (versions are those that agents state: "
    assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)
    assert f"{line}the resource attribute service.version of their spans)" in refused.stderr


def test_an_export_says_what_it_wrote(world: World, tmp_path: Path) -> None:
    """On stdout, but on stderr where that has the data."""
    target = tmp_path / "runs.jsonl"
    to_file = world.ask("export", str(target), "--runs")
    data = target.read_bytes()
    assert len(data.splitlines()) >= 2 * len(world.runs)
    told = f"{len(data.splitlines())} agent runs, {len(data):,} bytes\n"
    assert (to_file.stdout, to_file.stderr) == (f"wrote {target}: {told}", "")
    piped = world.ask("export", "-", "--runs")
    assert (piped.stdout_bytes, piped.stderr) == (data, f"wrote {told}")
    table = tmp_path / "runs.parquet"
    assert world.ask("export", str(table), "--runs").stdout == f"wrote {table}: {table.stat().st_size:,} bytes\n"


def test_a_trace_is_the_tree_of_its_agents(world: World) -> None:
    """Manager and sub-agent, plan and acts, tool calls with arguments and results."""
    shown = world.json("trace", world.runs[0]["trace_id"])
    manager, researcher = shown["agent_runs"]
    assert (manager["role"], researcher["role"], researcher["parent_id"]) == ("manager", "sub-agent", manager["id"])
    assert manager["turns"][0]["kind"] == researcher["turns"][0]["kind"] == "plan"
    calls = [call for turn in researcher["turns"] for call in turn["tool_calls"]]
    assert [call["name"] for call in calls] == ["search", "read_article", "read_article"]
    assert all(call["requested"] and call["executed"] and call["error"] is None for call in calls)
    assert calls[1]["arguments"] == {"article": "Alder Bridge"}
    text = world.ask("trace", world.runs[0]["trace_id"]).stdout
    for part in ("manager (manager, ok)", "researcher (sub-agent, ok)", "tool read_article", "goal: ", "answer: "):
        assert part in text


def test_errors_stand_at_spans_of_their_trace(world: World) -> None:
    """What `errors` lists, `trace` pins, and a span's look-up finds: the same."""
    rows = world.json("errors", "--profile", "recall")
    assert rows
    known = {
        trace_id: world.json("trace", trace_id, "--profile", "recall") for trace_id in {r["trace_id"] for r in rows}
    }
    for row in rows:
        trace = known[row["trace_id"]]
        assert [e for e in trace["errors"] if e["id"] == row["id"]] == [row]
        assert row["finding_ids"][0] in {f["id"] for f in trace["findings"]}
        whole = world.get(f"/api/errors/{row['id'][:12]}?profile=recall")
        assert whole == row | {"findings": whole["findings"], "least_confidence": whole["least_confidence"]}
        assert [f["id"] for f in whole["findings"]] == row["finding_ids"]
        assert world.get(f"/api/errors/{row['finding_ids'][-1]}?profile=recall") == whole
        assert row["service"] == "almanac-agents"
    one = rows[0]
    narrowed = world.json("errors", "--span", one["span_id"], "--trace", one["trace_id"], "--profile", "recall")
    assert one | {"role": "decided at"} in narrowed
    assert all(one["span_id"] in (r["span_id"], r["shown_at"], r["read_at"], *r["repeated_at"]) for r in narrowed)


@pytest.mark.parametrize("flag", ["agent", "judge", "category", "service"])
def test_filters_give_exactly_the_matching_errors(world: World, flag: str) -> None:
    """Each filter alone gives its part of the whole list; by judge also what others lead."""
    rows = world.json("errors", "--profile", "0", "--limit", "1000")
    for value in {row[flag] for row in rows if row[flag]}:
        expected = [row["id"] for row in rows if value in (row["judges"] if flag == "judge" else [row[flag]])]
        shown = world.json("errors", "--profile", "0", "--limit", "1000", f"--{flag}", value)
        assert [row["id"] for row in shown] == expected


@pytest.mark.parametrize(
    "path", ["/api/errors?profile=0", "/api/findings?profile=0", "/api/traces?service=almanac-agents"]
)
def test_pages_join_to_the_whole_list(world: World, path: str) -> None:
    """Small pages by cursor give what one large page gives, each item once."""
    whole = world.get(f"{path}&limit=1000")["items"]
    pages: list[Any] = []
    cursor = ""
    while not pages or cursor:
        page = world.get(f"{path}&limit=3&cursor={cursor}")
        pages += page["items"]
        cursor = page["next"] or ""
    assert pages == whole
    assert len(whole) > 3


@pytest.mark.parametrize("path", ["/api/errors", "/api/findings"])
def test_a_feed_gives_the_list_backwards(world: World, path: str) -> None:
    """With `after`: earliest first, page by page, until there is nothing more."""
    whole = world.get(f"{path}?profile=0&limit=1000")["items"]
    feed: list[Any] = []
    after = "1970-01-01"
    while page := world.get(f"{path}?profile=0&limit=3&after={after}"):
        feed += page["items"]
        after = page["next"]
        if not page["items"]:
            break
    assert feed == whole[::-1]


def test_a_known_span_without_errors_is_an_empty_list(world: World) -> None:
    """And an unknown one exits with 4, in one line."""
    manager = world.json("trace", world.runs[0]["trace_id"])["agent_runs"][0]
    assert world.json("errors", "--span", manager["span_id"]) == []
    unknown = world.ask("errors", "--span", "f" * 16)
    assert (unknown.exit_code, unknown.stdout, unknown.stderr.count("\n")) == (4, "", 1)
    assert world.ask("trace", "f" * 32).exit_code == 4


def test_judging_again_changes_nothing(world: World) -> None:
    """One trace or all: the same errors under the same ids, first seen when they were."""
    before = world.errors()
    (judged,) = world.json("judge", "--trace", world.faulty())
    assert judged["trace_id"] == world.faulty()
    again = {row["trace_id"]: row for row in world.json("judge", "--since", "1h")}
    assert again.keys() >= world.ids
    shown = Counter(row["trace_id"] for row in world.json("errors", "--limit", "1000"))
    assert {i: again[i]["shown"] for i in world.ids} == {i: shown[i] for i in world.ids}
    assert world.errors() == before
    assert world.ask("judge", "--trace", "f" * 32).exit_code == 4


@pytest.mark.parametrize("inherited", ["", "trap '' INT;"])
def test_follow_shows_what_is_new_and_ends_on_ctrl_c(world: World, inherited: str) -> None:
    """Errors of a run that starts after it; Ctrl-C ends it without a sound and with 0, also in the background."""
    since = datetime.now(UTC).isoformat()
    args = [*COMMAND, "errors", "--follow", "--since", since, "--profile", "0", "--format", "json"]
    pipe = subprocess.PIPE
    with subprocess.Popen(  # noqa: S603  our own command
        ["sh", "-c", f'{inherited} exec "$@"', "sh", *args, "--url", world.serving.url],  # noqa: S607  any shell
        stdout=pipe,
        stderr=pipe,
        text=True,
    ) as follower:
        try:
            runs = perform(world.serving)
            traces = "|".join(run["trace_id"] for run in runs if run["fault"])
            text = until(follower, re.compile(f'"trace_id": "({traces})".*\n'))
            follower.send_signal(signal.SIGINT)
            rest, errors = follower.communicate(timeout=PATIENCE)
        finally:
            follower.kill()
    assert (follower.returncode, errors) == (0, "")
    rows = [json.loads(line) for line in (text + rest).splitlines()]
    assert len({row["id"] for row in rows}) == len(rows)
    members = [i for row in rows for i in row["finding_ids"]]
    assert len(set(members)) == len(members)
    assert not {row["trace_id"] for row in rows} & world.ids


@pytest.mark.parametrize("port", ["grpc", "http"])
def test_the_ports_of_otlp_are_told_from_the_apis(world: World, port: str) -> None:
    """Whoever asks one of them reads which it may be, and where the API is."""
    result = CliRunner().invoke(root, ["errors", "--url", f"http://127.0.0.1:{world.serving.ports[port]}"])
    told = f"the port of OTLP/{'gRPC' if port == 'grpc' else 'HTTP'} (by default the API is at http://127.0.0.1:8321)"
    assert (result.exit_code, len(result.stderr.splitlines())) == (1, 1)
    assert told in result.stderr


@pytest.mark.parametrize("protocol", ["grpc", "http", "json"])
def test_replay_sends_stored_traces(world: World, tmp_path: Path, protocol: str) -> None:
    """As often as asked under new ids; each time one more trace with all its spans."""
    (tmp_path / "trace.json.gz").write_bytes(gzip.compress(json.dumps(STORED).encode()))
    port = world.serving.ports["grpc" if protocol == "grpc" else "http"]
    send = ("replay", str(tmp_path), "--endpoint", f"http://127.0.0.1:{port}", "--protocol", protocol)
    for options, spans in (((), 2), (("--fresh-ids",), 2)):
        counts = world.json(*send, *options)
        assert (counts["spans"], counts["rejected"]) == (spans, 0)
    text = world.ask(*send, "--fresh-ids").stdout
    assert "sent 2 spans" in text
    eventually(lambda: sum(row["service"] == "stored" for row in world.json("traces")) >= 3)
    assert world.json("trace", "5b" * 16)["agent_runs"][0]["name"] == "keeper"


STORED = {
    "resourceSpans": [
        {
            "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "stored"}}]},
            "scopeSpans": [
                {
                    "spans": [
                        {
                            "traceId": "5B" * 16,
                            "spanId": "01" * 8,
                            "name": "keeper.run",
                            "startTimeUnixNano": "1795169386000000000",
                            "endTimeUnixNano": "1795169387000000000",
                            "attributes": [
                                {"key": "openinference.span.kind", "value": {"stringValue": "AGENT"}},
                                {"key": "agent.name", "value": {"stringValue": "keeper"}},
                            ],
                        },
                        {
                            "traceId": "5b" * 16,
                            "spanId": "02" * 8,
                            "parentSpanId": "01" * 8,
                            "name": "chat",
                            "startTimeUnixNano": "1795169386000000001",
                            "endTimeUnixNano": "1795169386000000002",
                            "attributes": [{"key": "openinference.span.kind", "value": {"stringValue": "LLM"}}],
                        },
                    ]
                }
            ],
        }
    ]
}


def test_a_second_collector_on_the_same_ports_or_store_is_refused(world: World) -> None:
    """One clear line each: who holds it."""
    api = f"127.0.0.1:{world.serving.ports['api']}"
    pid = str(world.serving.process.pid)
    free = ["--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0"]
    taken = tracejury("serve", *free, "--api", api, "--store", "chdb:///./other", folder=world.folder)
    held = tracejury("serve", *free, "--api", "127.0.0.1:0", folder=world.folder)
    for result in (taken, held):
        assert (result.returncode, result.stdout, result.stderr.count("\n")) == (1, "", 1)
        assert pid in result.stderr


def test_a_collector_that_will_not_start_makes_no_store(tmp_path: Path) -> None:
    """Although the store is opened early, while the rest is imported."""
    result = tracejury("serve", "--grpc", "0.0.0.0:0", folder=tmp_path)
    assert (result.returncode, result.stdout, len(result.stderr.splitlines())) == (1, "", 1)
    assert list(tmp_path.iterdir()) == []


def test_a_demo_in_a_store_that_is_in_use_is_one_line(world: World) -> None:
    """The line names the collector that holds it, nothing else is printed."""
    result = tracejury("demo", "--exit", folder=world.folder)
    assert (result.returncode, result.stdout, len(result.stderr.splitlines())) == (1, "", 1)
    assert str(world.serving.process.pid) in result.stderr


def test_metrics_and_openapi_are_served(world: World) -> None:
    """Spans that were accepted are counted; the API documents itself."""
    metrics = httpx.get(f"{world.serving.url}/metrics", trust_env=False).text
    assert re.search(r"accepted_spans\S* [1-9]", metrics)
    assert "/api/errors" in httpx.get(f"{world.serving.url}/openapi.json", trust_env=False).json()["paths"]


def test_another_host_name_is_refused(world: World) -> None:
    """DNS rebinding gets nothing from a collector that serves this machine."""
    answer = httpx.get(f"{world.serving.url}/api/errors", headers={"host": "evil.example"}, trust_env=False)
    assert answer.status_code == 421


def test_sigterm_ends_it_cleanly_and_the_store_has_it_all(tmp_path: Path) -> None:
    """Exit code 0, no traceback; the next collector answers from the same store, which only the first one calls new."""
    (tmp_path / "config.yaml").write_text(QUICK)
    with serving(tmp_path, "--config", "config.yaml", new_store=True) as collector:
        assert "db (new: there was none)\n" in collector.ready_text
        runs = perform(collector)
        assert collector.stop() == 0
        assert collector.process.stderr is not None
        assert "Traceback" not in collector.process.stderr.read()
    with serving(tmp_path, "--config", "config.yaml") as collector:
        assert "(new" not in collector.ready_text
        eventually(lambda: all(trace(collector, run["trace_id"]).get("spans") for run in runs))
        assert trace(collector, runs[0]["trace_id"])["spans"] == 17
