"""`tracejury mcp` as an agent starts it: the SDK's client, and one of another language, against a real collector."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp_clients import over_http, over_stdio, refusal, told
from mcp_requests import request
from mcp_transcript import OLD, PAGE, PROTOBUF, converse
from processes import COMMAND, Serving, serving, tracejury
from shop_clerk import clerk

from tracejury.collector.mcp.tools import TOOLS

NODE_SDK = Path(__file__).parents[3] / ".node-mcp" / "node_modules" / "@modelcontextprotocol" / "sdk"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """A collector with a judged trace."""
    with serving(tmp_path_factory.mktemp("stdio")) as ready:
        otlp = f"http://127.0.0.1:{ready.ports['http']}/v1/traces"
        httpx.post(otlp, content=clerk().SerializeToString(), headers=PROTOBUF, trust_env=False).raise_for_status()
        deadline = time.monotonic() + 60
        while not httpx.get(f"{ready.url}/api/errors", timeout=30, trust_env=False).json()["items"]:
            assert time.monotonic() < deadline, "not judged in time"
            time.sleep(0.2)
        yield ready


async def test_stdio_and_http_answer_the_same(served: Serving) -> None:
    """One set of tools, and one API behind it."""
    async with over_stdio(served.url) as stdio, over_http(served.url) as http:
        assert (await stdio.list_tools()).tools == (await http.list_tools()).tools
        (first, *_) = (await told(stdio, "list_errors"))["items"]
        for tool, arguments in (
            ("list_errors", {"limit": 1}), ("why", {"id": first["id"]}), ("trace", {"trace": OLD}), ("search", {}),
            ("trace", {"trace": OLD, "span": first["span_id"]}), ("compare", {"first": OLD, "second": OLD}),
        ):  # fmt: skip
            assert await told(stdio, tool, **arguments) == await told(http, tool, **arguments)
        assert await refusal(stdio, "why", id="zz")


async def test_a_label_without_a_key_says_that_it_came_over_mcp(served: Serving) -> None:
    """Nobody takes it for a person's."""
    async with over_stdio(served.url) as client:
        (first, *_) = (await told(client, "list_errors"))["items"]
        label = await told(client, "label", opinion="disagree", id=first["id"], why="tried by hand")
        assert (label["annotator"], label["opinion"]) == ("mcp", "disagree")
        assert (await told(client, "why", id=first["id"]))["label"] == "wrong"


async def test_a_collector_that_is_away_is_one_line() -> None:
    """The server starts, and each answer says it."""
    async with over_stdio("http://127.0.0.1:9") as client:
        assert "start one with `tracejury serve`" in await refusal(client, "list_errors")


def test_junk_on_stdin_costs_no_answer(served: Serving) -> None:
    """Standard output carries MCP alone, a message a line."""
    start: dict[str, Any] = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }
    begun = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    lines = [
        json.dumps(request("initialize", **start)), json.dumps(begun),
        "no JSON", "[]", "\x00", json.dumps({"jsonrpc": "2.0", "id": 2}), json.dumps(request("tools/list", 3)),
    ]  # fmt: skip
    command = [*COMMAND, "mcp", "--url", served.url]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # noqa: S603  ours
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("\n".join(lines) + "\n")
        process.stdin.flush()
        answers: dict[object, dict[str, object]] = {}
        while 3 not in answers:
            answer = json.loads(process.stdout.readline())
            answers[answer.get("id")] = answer
        process.stdin.close()
        assert process.wait(60) == 0
    assert "result" in answers[1]
    assert "result" in answers[3]


def test_without_the_sdk_the_command_says_what_to_install(tmp_path: Path) -> None:
    """In one line."""
    (tmp_path / "mcp").mkdir()
    (tmp_path / "mcp" / "__init__.py").write_text("raise ModuleNotFoundError(name='mcp')\n")
    done = tracejury("mcp", folder=tmp_path, env={"PYTHONPATH": str(tmp_path)})
    assert (done.returncode, done.stderr) == (2, "tracejury: MCP needs its SDK: pip install 'tracejury[mcp]'\n")


@pytest.mark.skipif(shutil.which("node") is None or not NODE_SDK.exists(), reason="needs node and `make mcp-client`")
def test_a_client_of_another_language_understands_it(served: Serving) -> None:
    """The SDK for TypeScript."""
    command = ["node", str(Path(__file__).with_name("client.mjs")), str(NODE_SDK), *COMMAND, "mcp", "--url", served.url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)  # noqa: S603  ours
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["tools"] == list(TOOLS)
    assert said["why"]["trace_id"] == OLD
    assert "=== end of data" in said["trace"]
    assert "unknown parameter 'ids'" in said["wrong"]


async def test_the_transcript_holds(tmp_path: Path) -> None:
    """From a failing run to its fix over MCP alone; tests/support/mcp_transcript.py renews it."""
    page, _ = await converse(tmp_path)
    assert page == PAGE.read_text()
