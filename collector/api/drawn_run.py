"""How the calibration queue of a running collector drew an agent run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tracejury.schemas.errors import ConfigError
from tracejury.schemas.wire.labels import QueueItemJson

from .client import ApiClient

MAX_QUEUE: Final = 500
"""Runs of the label queue that can be asked for at once."""
MAX_FILTER: Final = 1_000
"""Characters of a value that the API filters by."""


def drawn_run(client: ApiClient, trace_id: str, run_id: str, filters: Mapping[str, str]) -> QueueItemJson:
    """How the calibration queue drew an agent run; without its id: the one run of the trace that it holds.

    Asked for is the queue of the trace's service: there it comes no later than in the queue of all, so it is found
    whether or not the queue was narrowed. `filters`: annotator and times of that queue.

    Raises:
        ConfigError: it is not in the queue, or several runs of the trace are.
        NotFoundError: there is no such trace.
    """
    trace_id = trace_id.strip().lower()
    service = client.trace(trace_id).service
    if len(service) > MAX_FILTER:
        service = ""
    # Whatever share of runs is asked of everybody: what others have reviewed meanwhile was drawn all the same.
    waiting = client.label_queue({**filters, "service": service, "overlap": "1", "limit": str(MAX_QUEUE)})
    found = [item for item in waiting if item.trace_id == trace_id and run_id in ("", item.agent_run_id)]
    if len(found) != 1:
        what = f"{len(found)} runs of this trace: name the run" if found else "no such run (any more)"
        raise ConfigError(f"your calibration queue has {what}")
    return found[0]
