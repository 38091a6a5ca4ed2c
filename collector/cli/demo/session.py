"""`tracejury demo`: a collector, the demo program exporting to it, and its findings."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from typing import Any, Final

from tracejury.collector.api.client import ApiClient
from tracejury.collector.app.logs import set_up
from tracejury.collector.app.service import Collector
from tracejury.collector.app.start import PRIVATE
from tracejury.collector.cli import output
from tracejury.collector.cli.failures import Interrupted
from tracejury.collector.config import CollectorConfig, load_config
from tracejury.collector.otlp.receiver.ports import bind
from tracejury.schemas.errors import ConfigError

from .report import AFTER_EXIT, error_line, next_steps, run_report, summary
from .watching import agent_environment, watch_program

DEFAULT_PORTS: Final = {"grpc": 4317, "http": 4318, "api": 8321}


async def demo(*, go_on: bool) -> None:
    """Start a collector, run the program, tell what was found; then serve until SIGINT or SIGTERM if `go_on`.

    Raises:
        ConfigError: the collector cannot start.
        Interrupted: it was stopped before its traces were judged.
        TracejuryError: the program failed, or its traces were not judged in time.
    """
    set_up("WARNING")
    os.umask(PRIVATE)
    stopping = threading.Event()
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, _set_both, stopping, stopped)
    async with Collector(free_config()) as collector:
        output.plain(collector.ready_text)
        if not await asyncio.to_thread(tell, collector, stopping, go_on=go_on):
            raise Interrupted("the demo was stopped before its traces were judged")
        if go_on and not stopped.is_set():
            output.plain("Serving until Ctrl-C.")
            await stopped.wait()


def _set_both(for_thread: threading.Event, for_loop: asyncio.Event) -> None:
    for_thread.set()
    for_loop.set()


def tell(collector: Collector, stopping: threading.Event, *, go_on: bool) -> bool:
    """Run the program and print what is found, as it comes and then as trees; False if stopped before. Blocks.

    `go_on`: the collector serves on afterwards.
    """
    output.plain("A manager and its researcher answer five questions, a trace each. Errors, as they come:")
    with ApiClient(f"http://127.0.0.1:{collector.api_port}") as client:
        judged = watch_program(
            client,
            agent_environment(os.environ, collector.grpc_port),
            stopping,
            lambda row, seconds: output.show(error_line(row, seconds)),
        )
    if not judged:
        return False
    for run, trace in judged:
        output.show(run_report(run, trace))
    output.show(summary(judged))
    output.plain(next_steps(collector.grpc_port, collector.http_port, collector.api_port) if go_on else AFTER_EXIT)
    return True


def free_config() -> CollectorConfig:
    """The default configuration, with a free port in place of each default that is taken."""
    overrides: dict[str, Any] = {}
    for name, port in DEFAULT_PORTS.items():
        endpoint = f"127.0.0.1:{port}"
        try:
            bind(endpoint).close()
        except ConfigError:
            endpoint = "127.0.0.1:0"
        overrides[name] = {"endpoint": endpoint}
    return load_config(None, overrides)
