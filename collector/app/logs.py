"""The collector's log: one line per event, on stderr, safe to show in a terminal."""

from __future__ import annotations

import logging
import sys

from tracejury.schemas.text.terminal import safe

FORMAT = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"


class CleanFormatter(logging.Formatter):
    """Formatter that escapes control characters: span content may stand in a log line."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as one clean line (several where there is a traceback)."""
        return "\n".join(safe(line) for line in super().format(record).split("\n"))


def set_up(level: str = "INFO") -> None:
    """Log tracejury's records to stderr, and only warnings of libraries."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(CleanFormatter(FORMAT))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("tracejury").setLevel(level)
    # Failures of the store are ours to tell, in one line.
    for driver in ("clickhouse_connect", "urllib3"):
        logging.getLogger(driver).setLevel(logging.CRITICAL)
