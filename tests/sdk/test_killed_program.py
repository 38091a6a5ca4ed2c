"""A program that is killed in the middle of a tool, with the processor in it: a real collector keeps its manager."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from processes import serving

from tracejury.collector.api.client import ApiClient
from tracejury.schemas.errors import NotFoundError, RetryableError
from tracejury.schemas.wire.traces import TraceJson

PROGRAM = """
import sys, threading
from collections.abc import Iterator
from opentelemetry import trace
from tracejury.collector.cli.demo.agents import Agent, ScriptedReply, ScriptedModel
from tracejury.collector.cli.demo.almanac import DemoTool, delegate
from tracejury.sdk import set_up

provider = set_up("killed", endpoint=sys.argv[1])
tracer = provider.get_tracer("t")

def search(query: str) -> str:
    print(trace.format_trace_id(trace.get_current_span().get_span_context().trace_id), flush=True)
    threading.Event().wait()

def model(tool, arguments):
    return ScriptedModel(iter([ScriptedReply("I will ask."), ScriptedReply("", [(tool, arguments)])]), tool)

tool = DemoTool("search", "Finds bridges.", {"type": "object", "properties": {"query": {"type": "string"}}}, search)
researcher = Agent("researcher", "You search.", [tool], model("search", {"query": "tallest bridge"}), tracer)
helper = delegate("researcher", "Looks things up.", researcher.run)
manager = Agent("manager", "You ask.", [helper], model("researcher", {"task": "Find the tallest bridge."}), tracer)
manager.run("Which bridge is the tallest?")
"""


def until(client: ApiClient, trace_id: str, wanted: Callable[[TraceJson], bool]) -> TraceJson:
    """The trace once it is as wanted."""
    deadline = time.monotonic() + 60
    found: TraceJson | None = None
    while time.monotonic() < deadline:
        try:
            found = client.trace(trace_id)
        except (NotFoundError, RetryableError):
            found = None
        if found is not None and wanted(found):
            return found
        time.sleep(0.25)
    raise AssertionError(found)


def runs(trace: TraceJson) -> list[tuple[str, str, str]]:
    """Name, role and status of each agent run."""
    return [(run.name, run.role, run.status) for run in trace.agent_runs]


def test_a_killed_program_keeps_its_manager(tmp_path: Path) -> None:
    """The tree stands while the tool runs; after SIGKILL it is an incomplete trace, with manager and sub-agent."""
    (tmp_path / "c.yaml").write_text("judging: {quiet_seconds: 0.2, rootless_seconds: 0.5}\n")
    tree = [("manager", "manager", "unfinished"), ("researcher", "sub-agent", "unfinished")]
    with serving(tmp_path, "--config", "c.yaml") as collector, ApiClient(collector.url) as client:
        program = subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-c", PROGRAM, f"http://127.0.0.1:{collector.ports['http']}"],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert program.stdout is not None
        with program:
            trace_id = program.stdout.readline().strip()
            assert trace_id, "the program ended before its tool ran"
            live = until(client, trace_id, lambda t: runs(t) == tree and "search" in str(t.agent_runs))
            assert live.state in {"open", "incomplete"}
            assert program.poll() is None
            program.send_signal(signal.SIGKILL)
            assert program.wait(30) == -signal.SIGKILL
        left = until(client, trace_id, lambda t: t.state == "incomplete")
    assert runs(left) == tree
    manager, researcher = left.agent_runs
    assert researcher.parent_id == manager.id
    assert manager.goal == "Which bridge is the tallest?"
    calls = [call for turn in researcher.turns for call in turn.tool_calls]
    assert [call.name for call in calls] == ["search"]
