"""`tracejury demo`: a collector, the demo program exporting to it, and its findings."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Sequence
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.text import Text

from tracejury.collector.api.client import ApiClient
from tracejury.collector.app.logs import set_up
from tracejury.collector.app.service import Collector
from tracejury.collector.app.start import PRIVATE
from tracejury.collector.cli import output
from tracejury.collector.cli.failures import Interrupted
from tracejury.collector.cli.render.tables import content, headline
from tracejury.collector.cli.render.tree import trace_tree
from tracejury.collector.config import CollectorConfig, load_config
from tracejury.collector.otlp.receiver.ports import bind
from tracejury.schemas.errors import ConfigError
from tracejury.schemas.wire.errors import ErrorJson
from tracejury.schemas.wire.traces import TraceJson

from .watching import DemoResult, agent_environment, watch_program

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


def error_line(row: ErrorJson, seconds: float) -> Text:
    """An error as it came, so many seconds after the program started."""
    return Text.assemble(f"+{seconds:4.1f} s  ", *headline(row), "  “", content(row.evidence, 60, "italic"), "”")


def run_report(run: DemoResult, trace: TraceJson) -> RenderableType:
    """One trace: the fault that was put into it and what was found, as a tree where there is something to see."""
    heading = Text.assemble("\n", (run.title, "bold"), f": {run.fault or 'no fault'}")
    if not trace.errors:
        verdict = Text(f"no errors in {trace.spans} spans", style="yellow" if run.fault else "green")
        return Group(heading, verdict)
    return Group(heading, trace_tree(trace))


def summary(judged: Sequence[tuple[DemoResult, TraceJson]]) -> Text:
    """One line: in how many traces something was found."""
    faulty = [trace for run, trace in judged if run.fault]
    healthy = [trace for run, trace in judged if not run.fault]
    found = sum(1 for trace in faulty if trace.errors)
    dirty = sum(1 for trace in healthy if trace.errors)
    return Text(f"\nerrors in {found} of {len(faulty)} traces with a fault, in {dirty} of {len(healthy)} healthy ones")


AFTER_EXIT: Final = """
`tracejury serve` in this folder shows these traces and takes those of your own agents.
"""


def next_steps(grpc_port: int, http_port: int, api_port: int) -> str:
    """How to point an agent of one's own here, and how to ask."""
    url = "" if api_port == 8321 else f" --url http://127.0.0.1:{api_port}"  # noqa: PLR2004  the client's default
    return f"""
Point your own agent here (anything with OpenInference or OpenTelemetry GenAI instrumentation):
  export OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:{http_port}      # http/protobuf, the default of many SDKs
  export OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:{grpc_port}      # the gRPC exporters
and ask what went wrong:
  tracejury errors --follow{url}
  tracejury traces{url}
"""
