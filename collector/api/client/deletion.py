"""The command line's requests to delete traces."""

from __future__ import annotations

from .client import Client, in_path


def delete_trace(client: Client, trace_id: str, *, labels: bool = False) -> int:
    """Delete one trace; the number of traces that went with it. Raises NotFoundError for an unknown id."""
    path = f"/api/traces/{in_path(trace_id)}"
    return int(client.ask("DELETE", path, {"labels": "true"} if labels else {}, json={})["deleted"])


def delete_many(client: Client, *, session: str = "", service: str = "", before: str = "", labels: bool = False) -> int:
    """Delete a session, or what arrived of a service before then (ISO 8601); the number of traces."""
    body = {"session": session, "service": service, "before": before, "labels": labels}
    return int(client.ask("POST", "/api/delete", json=body)["deleted"])
