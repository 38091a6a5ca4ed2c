"""The start of `tracejury serve`: the store is opened while the rest of the collector is imported."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tracejury.collector.auth.keyring import Keyring
from tracejury.collector.config import CollectorConfig
from tracejury.collector.otlp.receiver.http_config import raise_file_limit
from tracejury.collector.store.opening import open_store
from tracejury.collector.worker.outage_log import OutageLog
from tracejury.collector.worker.worker import Task, Worker

from .allocator import EVERY_SECONDS, Allocator
from .endpoints import check_loopback
from .logs import set_up

log = logging.getLogger(__name__)

SWITCH_SECONDS = 0.001
"""How long a thread may keep the interpreter while another wants it: a request passes through three threads."""

PRIVATE = 0o077
"""The umask: what is stored is for the collector's own user."""


def run_serve(config: CollectorConfig) -> None:
    """`tracejury serve`: run until SIGINT or SIGTERM, then drain.

    Raises:
        ConfigError: what the user must mend before it can start.
    """
    set_up(config.log_level)
    if config.ignored:
        log.info("role %s ignores %s", config.role, ", ".join(config.ignored))
    os.umask(PRIVATE)
    sys.setswitchinterval(SWITCH_SECONDS)
    raise_file_limit()
    has_keys = Keyring(Path(config.keys.file) if config.keys.file else None, closed=bool(config.keys.proxy.header)).asks
    check_loopback(config, has_keys=has_keys)  # a collector that will not start makes no store
    with ThreadPoolExecutor(1, "opening") as beside:
        opening = None if config.relays else beside.submit(open_store, config.store)
        from .service import serve  # meanwhile: neither needs the other

        outage = OutageLog("giving memory back", "has failed", "works again", time.time_ns)
        trimming = Worker("memory", Task(Allocator().trim), outage, every=EVERY_SECONDS, delay=EVERY_SECONDS)
        trimming.start()
        try:
            asyncio.run(serve(config, opening))
        finally:
            trimming.stop(0)
            if opening is not None and opening.exception() is None:
                opening.result().close()
