"""A coding agent that sends log events alone, to a collector as users run it: listed, judged, sent again."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import httpx
from processes import serving, tracejury

from tracejury.collector.api.client import ApiClient
from tracejury.schemas.wire.traces import TraceRowJson

EVENTS: list[tuple[str, dict[str, str]]] = [
    ("user_prompt", {"prompt": "rename it"}),
    ("api_request", {"model": "m", "input_tokens": "40", "output_tokens": "80"}),
    ("tool_result", {"tool_name": "Edit", "success": "false", "error": "String not found", "tool_input": "{}"}),
    ("api_request", {"model": "m", "input_tokens": "45", "output_tokens": "20"}),
]


def test_a_session_of_log_events_is_a_trace(tmp_path: Path) -> None:
    """One trace with its goal, error and session; what is downloaded and sent again adds nothing."""
    (tmp_path / "c.yaml").write_text("judging: {quiet_seconds: 0.3, rootless_seconds: 1.0}\n")
    with serving(tmp_path, "--config", "c.yaml") as ready, ApiClient(ready.url) as client:
        logs = f"http://127.0.0.1:{ready.ports['http']}/v1/logs"
        for number, event in enumerate(EVENTS):
            assert httpx.post(logs, json=request(number, *event)).json() == {}
        row = judged(client)
        assert (row.goal, row.session_id, row.spans, row.turns) == ("rename it", "s1", 4, 2)
        assert (row.input_tokens, row.output_tokens, list(row.agents)) == (85, 100, ["claude-code"])
        assert "String not found" in tracejury("trace", row.trace_id, "--url", ready.url, folder=tmp_path).stdout
        received = httpx.get(f"{ready.url}/api/traces/{row.trace_id}/otlp").text
        (tmp_path / "again.jsonl").write_text(received)
        grpc = f"http://127.0.0.1:{ready.ports['grpc']}"
        tracejury("replay", "again.jsonl", "--endpoint", grpc, folder=tmp_path)
        assert [(r.trace_id, r.spans, r.turns) for r in client.traces({}, 10)[0]] == [(row.trace_id, 4, 2)]


def request(number: int, name: str, said: dict[str, str]) -> dict[str, Any]:
    """A request with one event, as Claude Code sends it."""
    attributes = {"event.name": name, "session.id": "s1", "event.sequence": str(number)} | said
    record = {
        "timeUnixNano": str((1_795_848_817 + number) * 10**9),
        "body": {"stringValue": f"claude_code.{name}"},
        "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()],
    }
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "claude-code"}}]}
    scope = {"name": "com.anthropic.claude_code.events"}
    return {"resourceLogs": [{"resource": resource, "scopeLogs": [{"scope": scope, "logRecords": [record]}]}]}


def judged(client: ApiClient) -> TraceRowJson:
    """The only trace, once all of it is judged."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        rows = client.traces({}, 10)[0]
        if rows and rows[0].judged and rows[0].state == "settled" and rows[0].spans == len(EVENTS):
            return rows[0]
        time.sleep(0.25)
    raise AssertionError("not judged in time")
