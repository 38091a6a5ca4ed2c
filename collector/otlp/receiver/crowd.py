"""The bound on open connections of one listener."""

from __future__ import annotations

import logging
import time

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from tracejury.collector.worker.log_throttle import LogThrottle

log = logging.getLogger(__name__)


class Crowd:
    """The connections that wait for a complete request, those that wait longest first; `most` are open at a time."""

    def __init__(self, name: str, most: int) -> None:
        self._name, self._most = name, most
        self._waiting: dict[HttpToolsProtocol, None] = {}
        self._throttle = LogThrottle(time.monotonic_ns)

    def enter(self, connection: HttpToolsProtocol) -> None:
        """Count a connection as waiting; where too many are open, the one that waits longest is closed."""
        self._waiting[connection] = None
        if len(connection.connections) <= self._most:
            return
        oldest = next(iter(self._waiting))
        del self._waiting[oldest]
        oldest.transport.abort()
        if self._throttle.due(self._name):
            log.warning(
                "%s: more than %d connections are open (setting `connections`): those that wait longest for a complete "
                "request are closed",
                self._name,
                self._most,
            )

    def leave(self, connection: HttpToolsProtocol) -> None:
        """The connection has a complete request, or is closed."""
        self._waiting.pop(connection, None)
