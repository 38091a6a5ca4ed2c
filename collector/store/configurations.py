"""The configurations by which processes judge on one server, in the order in which they came into use.

Each is a row of `install`, added by the process that begins to judge by another one than the latest: the server's order
of commits tells which is the latest, and no clock.
"""

from __future__ import annotations

import hashlib
import json
import logging
import socket
from collections.abc import Mapping
from typing import Any, Final

from tracejury.schemas.text.moments import iso_time

from .client import Store
from .inserting import store_rows

log = logging.getLogger(__name__)

DETECTORS: Final = "detectors"
"""The part whose value is the version in detectors' judgements."""

_NAME: Final = "configuration"
_LATEST: Final = (
    f"SELECT Value, At FROM install WHERE tenant = '' AND Name = '{_NAME}' ORDER BY _block_number DESC LIMIT 1"
)


def digest(settings: Any) -> str:
    """12 hex digits of settings that JSON can tell."""
    text = json.dumps(settings, sort_keys=True, default=str)
    return hashlib.blake2b(text.encode(), digest_size=6).hexdigest()


def note_configuration(store: Store, parts: Mapping[str, str], now: int) -> str:
    """Keep by what this process judges, on a server; returns a warning where the latest one differs, else "".

    `parts`: a digest or version by name; `now`: unix nanos, for the message. Raises RetryableError, StoreError.
    """
    if store.embedded:
        return ""
    host, rows = socket.gethostname(), store.rows(_LATEST)
    before: dict[str, Any] = json.loads(rows[0][0]) if rows else {}
    if before.get("parts") == parts:
        return ""
    value = json.dumps({"host": host, "parts": dict(parts)}, sort_keys=True)
    store_rows(store, "configurations", "install", ("tenant", "Name", "Value", "At"), [("", _NAME, value, now)])
    if not before:
        return ""
    known = before["parts"]
    differs = ", ".join(sorted(name for name in {*parts, *known} if parts.get(name) != known.get(name)))
    return (
        f"this process judges otherwise than {before['host']} has since {iso_time(rows[0][1])}: {differs} differ; "
        "where that one still runs, give both one configuration and version (docs/storage.md)"
    )


def latest_detectors(store: Store) -> str:
    """The version of the detectors that came into use last; "" for none. Raises RetryableError, StoreError."""
    rows = store.rows(_LATEST)
    return str(json.loads(rows[0][0])["parts"].get(DETECTORS, "")) if rows else ""
