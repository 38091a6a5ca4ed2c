"""Requests of MCP as they are posted."""

from __future__ import annotations

from typing import Any

POSTED = {"accept": "application/json, text/event-stream"}


def request(method: str, number: int = 1, **params: Any) -> dict[str, Any]:
    """A request as it is posted."""
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
