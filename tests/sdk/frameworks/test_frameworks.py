"""The shortest set-up of each framework, with the real package, a scripted model and a real collector.

The packages stand in an environment of their own (`make frameworks`): they pin other versions than we do. Only
tracejury/_sdk is put on its path, as the distribution tracejury-sdk would.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from llm_scripts import Call, Play
from llm_server import llm_server
from processes import Serving, serving
from sizes import sized

from tracejury.collector.api.client import ApiClient
from tracejury.schemas.wire.traces import TraceJson

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
PYTHON = Path(os.environ.get("TRACEJURY_FRAMEWORKS") or ROOT / ".venv-frameworks") / "bin" / "python"
PACKAGES = {
    "smolagents": ("smolagents", "openinference.instrumentation.smolagents"),
    "openai_agents": ("agents", "openinference.instrumentation.openai_agents"),
    "langgraph": ("langgraph", "langchain", "openinference.instrumentation.langchain"),
    "pydantic_ai": ("pydantic_ai",),
    "strands": ("strands",),
}
PAUSE = 0.25
"""Seconds between looks: asking more often, the collector would do little but answer."""
DELEGATIONS = ("ask_researcher", "researcher")
CALLS = 30
GO_ON = ("openai_agents", "strands")
"""Those whose agents go on at once after a tool has raised an error."""
LIVE_LOOPS = [*((name, "1") for name in GO_ON), *((name, "") for name in PACKAGES)]
LOOPS = {"": "Same call again with the same result", "1": "Same failing call again and again"}
"""The title of a loop, by whether its calls fail."""


@cache
def lacking(framework: str) -> str:
    """Why the framework can't be tried ("" where it can)."""
    if not PYTHON.exists():
        return f"no environment with agent frameworks at {PYTHON.parents[1]}: make frameworks"
    probe = f"import importlib.util as u; print([p for p in {PACKAGES[framework]!r} if not u.find_spec(p)])"
    found = subprocess.run([PYTHON, "-c", probe], capture_output=True, text=True, check=False)  # noqa: S603 - ours
    return "" if found.stdout.strip() == "[]" else f"not installed: {found.stdout.strip() or found.stderr[-200:]}"


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """A collector that settles traces soon."""
    folder = tmp_path_factory.mktemp("collector")
    (folder / "c.yaml").write_text("judging: {quiet_seconds: 0.3, rootless_seconds: 3.0}\n")
    with serving(folder, "--config", "c.yaml") as ready:
        yield ready


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """What the distribution tracejury-sdk would put on the path."""
    (tmp_path / "tracejury").mkdir()
    (tmp_path / "tracejury" / "sdk").symlink_to(ROOT / "tracejury" / "_sdk")
    return tmp_path


def script(call: Call) -> Play:
    """Who may delegate does, who may search does, and then each answers with what it was told."""
    tools = {tool["function"]["name"]: tool["function"]["parameters"] for tool in call.body.get("tools") or ()}
    if not any(message["role"] == "assistant" for message in call.body["messages"]):
        name = next((n for n in tools if n in (*DELEGATIONS, "search")), "")
        return reply(call, name, {next(iter(tools[name]["properties"])): "the Alder Bridge"})
    answer = "The Alder Bridge is 312 metres long."
    return reply(call, "final_answer", {"answer": answer}) if "final_answer" in tools else reply(call, text=answer)


def reply(call: Call, tool: str = "", arguments: Mapping[str, Any] | None = None, text: str = "") -> Play:
    """A reply as a whole or as a stream, as the call asks for it."""
    asked = {"name": tool, "arguments": json.dumps(arguments)}
    calls = [{"index": 0, "id": f"call_{call.number}", "type": "function", "function": asked}] if tool else None
    message = {"role": "assistant", "content": text or None} | ({"tool_calls": calls} if calls else {})
    finish = "tool_calls" if tool else "stop"
    if not call.body.get("stream"):

        def change(body: dict[str, Any]) -> None:
            body["choices"] = [{"index": 0, "finish_reason": finish, "message": message}]

        return Play(change=change, text="")
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
    deltas = [{"index": 0, "delta": message, "finish_reason": None}, {"index": 0, "delta": {}, "finish_reason": finish}]
    lines = [json.dumps({**chunk, "choices": [delta]}) for delta in deltas]
    return Play(raw="".join(f"data: {line}\n\n" for line in [*lines, "[DONE]"]).encode())


def looping(call: Call) -> Play:
    """As `script`, but who may search does so thirty times, each time for the same."""
    searches = [tool for tool in call.body.get("tools") or () if tool["function"]["name"] == "search"]
    asked = sum(message["role"] == "assistant" for message in call.body["messages"])
    if searches and asked < CALLS:
        return reply(call, "search", {"query": "the Alder Bridge"})
    return script(call)


@contextmanager
def program(
    framework: str, collector: Serving, path: Path, play: Callable[[Call], Play] = script, **variables: str
) -> Iterator[subprocess.Popen[str]]:
    """The framework's program at work; skips where the framework is not installed."""
    if why := lacking(framework):
        pytest.skip(why)
    with llm_server(play) as llm:
        env = {
            "PATH": os.environ["PATH"],
            "HOME": str(path),
            "PYTHONPATH": str(path),
            "OPENAI_BASE_URL": llm.base,
            "OPENAI_API_KEY": "none",
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{collector.ports['http']}",
        }
        command = [PYTHON, HERE / "programs" / f"{framework}_program.py"]
        with subprocess.Popen(command, env=env | variables, stderr=subprocess.PIPE, text=True) as process:  # noqa: S603
            try:
                yield process
            finally:
                process.kill()


@pytest.mark.parametrize("framework", PACKAGES)
def test_the_shortest_set_up_gives_the_tree(framework: str, collector: Serving, path: Path) -> None:
    """Manager and researcher, the researcher under the manager, its search with arguments and result, no errors."""
    with program(framework, collector, path) as process, ApiClient(collector.url) as client:
        before = ids(client)
        assert process.wait(100) == 0, process.communicate()[1][-3000:]
        trace = until(client, before, lambda t: t.state != "open")
    runs = trace.agent_runs
    assert [(run.name, run.role) for run in runs] == [("manager", "manager"), ("researcher", "sub-agent")]
    assert runs[1].parent_id == runs[0].id
    calls = [call for turn in runs[1].turns for call in turn.tool_calls if call.name == "search"]
    assert len(calls) == 1
    assert "Alder" in json.dumps(calls[0].arguments)
    assert "312 metres" in str(calls[0].result)
    assert trace.state == "settled"
    assert not [f for f in trace.findings if f.severity == "HIGH"]


@pytest.mark.parametrize("framework", list(PACKAGES))
def test_a_killed_program_keeps_its_manager(framework: str, collector: Serving, path: Path) -> None:
    """SIGKILL in the middle of the researcher's tool: both agents were announced, and neither has finished."""
    with program(framework, collector, path, HANG="1") as process, ApiClient(collector.url) as client:
        before = ids(client)
        until(client, before, lambda t: len(t.agent_runs) > 1 and bool(t.agent_runs[1].turns))
        process.kill()
        process.wait(30)
        trace = until(client, before, lambda t: t.state == "incomplete")
    found = [(run.name, run.role, run.status) for run in trace.agent_runs]
    assert found == [("manager", "manager", "unfinished"), ("researcher", "sub-agent", "unfinished")]


@pytest.mark.parametrize(("framework", "fails"), LIVE_LOOPS[:: sized(3, 1)])
def test_a_loop_is_an_error_while_it_runs_and_stays_one(
    framework: str, fails: str, collector: Serving, path: Path, tmp_path: Path
) -> None:
    """The fourth call returns once the loop is listed; thirty calls later, or at the framework's limit, it still is."""
    gate = tmp_path / "seen"
    limits = {"OTEL_BSP_SCHEDULE_DELAY": "1000", "GATE": str(gate), "FAILS": fails}
    with program(framework, collector, path, looping, **limits) as process, ApiClient(collector.url) as client:
        before = ids(client)
        seen = until(client, before, lambda t: any(e.title == LOOPS[fails] for e in t.errors))
        assert seen.agent_runs[0].status == "unfinished"
        gate.touch()
        process.wait(100)
        trace = until(client, before, lambda t: t.state in ("settled", "failed"))
    assert [e.id for e in trace.errors if e.title == LOOPS[fails]] == [
        e.id for e in seen.errors if e.title == LOOPS[fails]
    ]
    assert sum(len(turn.tool_calls) for turn in trace.agent_runs[1].turns) > 4


def ids(client: ApiClient) -> set[str]:
    """The traces there are."""
    return {row.trace_id for row in client.traces({}, 100)[0]}


def until(client: ApiClient, before: set[str], wanted: Callable[[TraceJson], bool]) -> TraceJson:
    """The one trace with agents that came since `before`, once it is as wanted."""
    deadline = time.monotonic() + 60
    trace: TraceJson | None = None
    while time.monotonic() < deadline:
        rows = [row for row in client.traces({}, 100)[0] if row.trace_id not in before and row.agents]
        if len(rows) == 1:
            trace = client.trace(rows[0].trace_id)
            if wanted(trace):
                return trace
        time.sleep(PAUSE)
    raise AssertionError(f"not seen; last: {trace}")


@pytest.mark.parametrize("framework", PACKAGES)
def test_the_documentation_shows_what_is_tested(framework: str) -> None:
    """docs/sdk.md has each set-up, line by line."""
    program = (HERE / "programs" / f"{framework}_program.py").read_text()
    found = re.search(r"# set-up\n(.*?)# end\n", program, re.DOTALL)
    assert found is not None
    lines = [line for line in found[1].splitlines() if line]
    assert len(lines) <= 5
    assert "\n".join(f"    {line}" for line in lines) in (ROOT / "docs" / "sdk.md").read_text()
