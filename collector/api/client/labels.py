"""What the command line asks of a collector about human labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

from ....schemas.errors import ConfigError
from ....schemas.wire.labels import AnnotationJson, ImportedJson, QualityPage, QueueItemJson
from .client import Client, in_path

MAX_QUEUE: Final = 500
"""Runs of the queue that can be asked for at once."""

LONGEST: Final = 1_000
"""Characters of what the API filters by."""

PATHS: Mapping[str, str] = {"annotations": "/api/annotations", "scores": "/api/scores", "reviews": "/api/reviews"}
"""Where each kind of label is listed and taken."""


def take(client: Client, kind: str, items: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Take labels of one kind, all or none; what stands then.

    Raises:
        ConfigError: one cannot be said. NotFoundError: what one is about is not stored.
    """
    for item in items:
        for key, value in item.items():
            _encodable(key, value)
    return cast("list[Any]", client.ask("POST", PATHS[kind], json={"items": list(items)})["items"])


def labels(client: Client, kind: str, filters: Mapping[str, str], limit: int) -> tuple[list[Any], bool]:
    """Labels of one kind, latest change first, and whether there are more than `limit`."""
    return client.listed(PATHS[kind], filters, limit)


def withdraw(client: Client, annotation_id: str, trace: str = "") -> AnnotationJson:
    """Take an annotation back. Raises NotFoundError, ConfigError where several traces have one of that id."""
    path = f"/api/annotations/{in_path(annotation_id)}"
    return cast("AnnotationJson", client.ask("DELETE", path, {"trace": trace}, json={}))


def forget(client: Client, named: Mapping[str, str]) -> int:
    """Delete labels for good, by id, trace, run and annotator; how many they were."""
    return int(client.ask("POST", "/api/labels/delete", json=dict(named))["deleted"])


def queue(client: Client, filters: Mapping[str, str]) -> list[QueueItemJson]:
    """What to label next."""
    return cast("list[QueueItemJson]", client.ask("GET", "/api/labels/queue", filters)["items"])


def draw_of(client: Client, trace_id: str, run_id: str, filters: Mapping[str, str]) -> Mapping[str, Any]:
    """How the calibration queue drew an agent run; without its id: the one run of the trace that it holds.

    Asked for is the queue of the trace's service: there it comes no later than in the queue of all, so it is found
    whether or not the queue was narrowed. `filters`: annotator and times of that queue.

    Raises:
        ConfigError: it is not in the queue, or several runs of the trace are. NotFoundError: there is no such trace.
    """
    service = client.trace(trace_id.strip().lower())["service"]
    if len(service) > LONGEST:
        service = ""
    # Whatever share of runs is asked of everybody: what others have reviewed meanwhile was drawn all the same.
    waiting = queue(client, {**filters, "service": service, "overlap": "1", "limit": str(MAX_QUEUE)})
    rows = [r for r in waiting if r["trace_id"] == trace_id.strip().lower() and run_id in ("", r["agent_run_id"])]
    if len(rows) != 1:
        what = f"{len(rows)} runs of this trace: name the run" if rows else "no such run (any more)"
        raise ConfigError(f"your calibration queue has {what}")
    return {
        "agent_run_id": rows[0]["agent_run_id"],
        "stratum": rows[0]["stratum"],
        "probability": rows[0]["probability"],
    }


def quality(client: Client, filters: Mapping[str, str]) -> QualityPage:
    """How judges fare against labels."""
    return cast("QualityPage", client.ask("GET", "/api/labels/quality", filters))


def export(client: Client, filters: Mapping[str, str]) -> Iterator[bytes]:
    """All labels as JSON lines, in pieces."""
    return client.stream("/api/labels/export", filters)


def received(client: Client, trace_id: str) -> Iterator[bytes]:
    """What was received of a trace as OTLP/JSON, in pieces. Raises NotFoundError."""
    return client.stream(f"/api/traces/{in_path(trace_id)}/otlp", {})


def bring(client: Client, items: Sequence[Mapping[str, Any]], *, only_new: bool) -> ImportedJson:
    """Take labels from elsewhere, each for itself; at most 100, of at most 60 KB in all, or one."""
    body = {"items": list(items), "only_new": only_new}
    return cast("ImportedJson", client.ask("POST", "/api/labels/import", json=body))


def _encodable(key: str, value: object) -> None:
    # Bytes of a command line that are no UTF-8 come as halves of surrogate pairs.
    try:
        str(value).encode()
    except UnicodeEncodeError:
        raise ConfigError(f"{key} is not text in UTF-8") from None
