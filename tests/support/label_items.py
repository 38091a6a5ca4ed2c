"""What people say, as the requests of tests say it, and the finding that it is about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memory_api import KNOWN, QUIET, Api, finding

FINDING = finding(1)


def post(api: Api, path: str, *items: Mapping[str, Any], **more: Any) -> Any:
    """The JSON, or status and detail of a refusal."""
    answer = api.client.post(path, json={"items": list(items), **more})
    return answer.json() if answer.status_code == 200 else (answer.status_code, answer.json()["detail"])


def agree(**changes: Any) -> dict[str, Any]:
    return {"annotator": "ann", "opinion": "agree", "finding_id": FINDING.id} | changes


def missed(**changes: Any) -> dict[str, Any]:
    item = {"annotator": "ann", "opinion": "missed", "trace_id": KNOWN, "span_id": QUIET, "category": "Goal Deviation"}
    return item | changes
