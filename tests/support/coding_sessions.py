"""Sessions of a coding agent as Claude Code sends them: log events, each a request of its own."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import httpx

Event = tuple[str, dict[str, str]]

PROMPT: Event = ("user_prompt", {"prompt": "Make `total` count refunds, too."})
CALLED: Event = ("api_request", {"model": "m", "input_tokens": "40", "output_tokens": "80", "request_id": "r1"})


def used(tool: str, success: bool = True, **arguments: str) -> Event:  # noqa: FBT001, FBT002  as the event has it
    """The result of a tool."""
    said = {"tool_name": tool, "success": str(success).lower(), "tool_input": json.dumps(arguments)}
    return ("tool_result", said if success else said | {"error": "exit code 1"})


def replied(text: str, request: str) -> list[Event]:
    """A last request, and its reply."""
    return [
        ("api_request", {"model": "m", "input_tokens": "45", "output_tokens": "20", "request_id": request}),
        ("assistant_response", {"response": text, "request_id": request}),
    ]


RAN = used("Bash", command="python -m pytest tests/test_total.py")
EDITED = used("Edit", file_path="shop/total.py", old_string="paid", new_string="paid - refunded")
UNCHECKED = [PROMPT, CALLED, RAN, CALLED, EDITED, *replied("Done: total counts refunds now.", "r9")]
"""The last edit is followed by no test."""
CHECKED = [PROMPT, CALLED, EDITED, CALLED, RAN, *replied("Done: total counts refunds now.", "r9")]


def send_session(http_port: int, session: str, events: Sequence[Event]) -> None:
    """Send a session's events, each acknowledged."""
    for number, event in enumerate(events):
        body = _request(session, number, *event)
        httpx.post(f"http://127.0.0.1:{http_port}/v1/logs", json=body, trust_env=False).raise_for_status()


def _request(session: str, number: int, name: str, said: dict[str, str]) -> dict[str, Any]:
    attributes = {"event.name": name, "session.id": session, "event.sequence": str(number)} | said
    record = {
        "timeUnixNano": str((1_795_848_817 + number) * 10**9),
        "body": {"stringValue": f"claude_code.{name}"},
        "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()],
    }
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "claude-code"}}]}
    scope = {"name": "com.anthropic.claude_code.events"}
    return {"resourceLogs": [{"resource": resource, "scopeLogs": [{"scope": scope, "logRecords": [record]}]}]}
