"""From a run that fails to the fix, seen through MCP alone: `python tests/support/mcp_transcript.py` writes it down.

The transcript stands in docs/examples/mcp-transcript.md. Times, addresses and the names of fences are blanked in it.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import httpx
from google.protobuf.json_format import MessageToJson, Parse
from mcp import Client
from mcp_clients import over_stdio, text_of
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from processes import serving
from shop_clerk import FAILED, clerk

from tracejury.collector.mcp.quoted import WARNING

PAGE: Final = Path(__file__).parents[2] / "docs" / "examples" / "mcp-transcript.md"
OLD, NEW = "0102030405060708090a0b0c0d0e0f10", "a1" * 16
PROTOBUF: Final = {"content-type": "application/x-protobuf"}
HEAD: Final = f"""# A failing run, why, and the fix, over MCP

What a coding agent asks and is told; `python tests/support/mcp_transcript.py` made this page with a real collector and
`tracejury mcp`. Times and addresses are left out, and so is the line above each answer:

    {WARNING}
"""


def fixed() -> ExportTraceServiceRequest:
    """The clerk's run once it passes the number of the order on."""
    text = MessageToJson(clerk())
    for old, new in (
        (json.dumps(FAILED)[1:-1], "Shipped yesterday."),
        ('\\"arguments\\": {}', '\\"arguments\\": {\\"order_id\\": \\"A-1007\\"}'),
        ('"stringValue": "{}"', '"stringValue": "{\\"order_id\\": \\"A-1007\\"}"'),
        ("Sorry.", "Order A-1007 was shipped yesterday."),
        ('"code": "STATUS_CODE_ERROR"', '"code": "STATUS_CODE_OK"'),
    ):
        assert old in text, old
        text = text.replace(old, new)
    made = Parse(text, ExportTraceServiceRequest())
    for one in made.resource_spans[0].scope_spans[0].spans:
        one.trace_id = bytes.fromhex(NEW)
        one.status.message = ""
    return made


class Conversation:
    """What was asked and answered, as a page."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.page = [HEAD]

    def say(self, text: str) -> None:
        """A line between the answers."""
        self.page.append(f"## {text}\n")

    async def ask(self, tool: str, **arguments: Any) -> Any:
        """The structure of an answer; both are written down."""
        found = await self._client.call_tool(tool, arguments)
        told = blanked(text_of(found).removeprefix(f"{WARNING}\n"))
        self.page.append(f"`{tool}` {json.dumps(arguments)}\n\n```text\n{told}```\n")
        return found.structured_content

    async def until(self, holds: Callable[[Any], bool], tool: str, **arguments: Any) -> None:
        """Ask again and again, and write nothing down."""
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            found = await self._client.call_tool(tool, arguments)
            if not found.is_error and holds(found.structured_content):
                return
            await asyncio.sleep(0.2)
        raise AssertionError(f"{tool} {arguments}: {text_of(found)}")


def blanked(text: str) -> str:
    """A text without what differs from run to run."""
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "…", text)
    text = re.sub(r"=== (end of )?data \w+ ===", r"=== \1data … ===", text)
    return re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:8321", text)


def settled(found: Any) -> bool:
    """Whether a trace is judged and will not grow."""
    return bool(found["judged"]) and found["state"] == "settled"


async def converse(folder: Path) -> tuple[str, float]:
    """The page, and the seconds from sending the failing run until its fix was seen."""
    (folder / "c.yaml").write_text("judging: {quiet_seconds: 1.0}\n")
    with serving(folder, "--config", "c.yaml") as ready:
        async with over_stdio(ready.url) as client, httpx.AsyncClient(trust_env=False) as http:
            otlp = f"http://127.0.0.1:{ready.ports['http']}/v1/traces"
            began = time.monotonic()
            said = Conversation(client)
            (await http.post(otlp, content=clerk().SerializeToString(), headers=PROTOBUF)).raise_for_status()
            await said.until(settled, "trace", trace=OLD)
            said.say("What went wrong?")
            (first, *_) = (await said.ask("list_errors", service="agent", category="Formatting Errors"))["items"]
            said.say("Why?")
            await said.ask("why", id=first["id"])
            said.say("The clerk is repaired, and runs again: is it well?")
            (await http.post(otlp, content=fixed().SerializeToString(), headers=PROTOBUF)).raise_for_status()
            await said.until(settled, "trace", trace=NEW)
            await said.ask("list_errors", trace=NEW)
            await said.ask("search", text=NEW)
            said.say("What does it do otherwise?")
            await said.ask("compare", first=OLD, second=NEW)
            return "\n".join(said.page), time.monotonic() - began


def main() -> None:
    """Write the page."""
    with tempfile.TemporaryDirectory() as folder:
        page, seconds = asyncio.run(converse(Path(folder)))
    PAGE.write_text(page)
    sys.stdout.write(f"{seconds:.1f} s from the failing run to the fix\n")


if __name__ == "__main__":
    main()
