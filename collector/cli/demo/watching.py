"""Runs the demo program against a collector and waits until its runs are judged, over the API."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tracejury.collector.api.client import ApiClient
from tracejury.collector.cli.follow import Follower
from tracejury.schemas.errors import PermanentError, RetryableError
from tracejury.schemas.wire.errors import ErrorJson
from tracejury.schemas.wire.traces import TraceJson

PAUSE = 0.2
PATIENCE = 60.0
"""Seconds until the program's traces must have been judged: they settle after 5 s of quiet."""

LATEST = 100


@dataclass(frozen=True, slots=True)
class DemoResult:
    """One run of the program: what it was, what was put into it ("" for nothing), and its trace."""

    title: str
    fault: str
    trace_id: str


def agent_environment(given: Mapping[str, str], grpc_port: int) -> dict[str, str]:
    """The program's environment: the one variable that an agent needs, and none of the user's own about telemetry."""
    kept = {name: value for name, value in given.items() if not name.startswith("OTEL_")}
    return kept | {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{grpc_port}", "GRPC_VERBOSITY": "NONE"}


def watch_program(
    client: ApiClient,
    environment: Mapping[str, str],
    stopping: threading.Event,
    on_error: Callable[[ErrorJson, float], None],
) -> list[tuple[DemoResult, TraceJson]]:
    """Run the program, tell each error as it comes with the seconds since the start, and give its judged traces.

    Gives nothing when `stopping` is set before they are judged.

    Raises:
        PermanentError: the program failed.
        RetryableError: its traces were not judged in time.
    """
    follower = Follower(client, {})
    list(follower.look())  # from here on: what earlier demos left is not told again
    started = time.monotonic()
    command = [sys.executable, "-m", f"{__package__}.program"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=dict(environment), stdout=pipe, stderr=pipe) as program:  # noqa: S603  ours
        try:
            runs: list[DemoResult] = []
            while not stopping.wait(PAUSE):
                seconds = time.monotonic() - started
                for row in follower.look():
                    on_error(row, seconds)
                if not runs and program.poll() is not None:
                    runs = _performed(program)
                if traces := _settled(client, runs):
                    return list(zip(runs, traces, strict=True))
                if seconds > PATIENCE:
                    raise RetryableError(f"the demo's traces were not judged within {PATIENCE:.0f} s")
        finally:
            program.kill()
    return []


def _performed(program: subprocess.Popen[bytes]) -> list[DemoResult]:
    out, err = program.communicate()
    if program.returncode:
        raise PermanentError(f"the demo's program failed: {err.decode(errors='replace').strip()[-300:]}")
    return [DemoResult(**json.loads(line)) for line in out.splitlines()]


def _settled(client: ApiClient, runs: Sequence[DemoResult]) -> list[TraceJson]:
    """The runs' traces once all have been judged to their end; nothing before."""
    rows, _ = client.traces({}, LATEST)  # it has the state in which a trace was last judged
    judged = {row.trace_id for row in rows if row.state != "open"}
    return [client.trace(run.trace_id) for run in runs] if judged >= {run.trace_id for run in runs} else []
