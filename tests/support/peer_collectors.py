"""Collectors that ours is measured against, each in a process of its own behind OTLP/gRPC on a free port."""

from __future__ import annotations

import json
import os
import re
import select
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from processes import PATIENCE, Serving, serving
from served import process_cpu

BENCH: Final = Path(__file__).resolve().parents[1] / "bench"
SOURCES: Final = BENCH / "gocollector"
CACHE: Final = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tracejury-bench"


@dataclass(frozen=True, slots=True)
class Peer:
    """A running collector; `ours` where it is tracejury."""

    pid: int
    port: int
    ours: Serving | None = None

    def cpu(self) -> float:
        """Seconds of CPU time that its process has taken."""
        return process_cpu(self.pid)


Start = Callable[[Path], AbstractContextManager[Peer]]


def go_collector(options: dict[str, object]) -> Start:
    """The OpenTelemetry Collector; `options` are those of its persistent queue's storage (`fsync`).

    Raises FileNotFoundError where Go is missing, CalledProcessError where it cannot be built.
    """
    binary = build()

    @contextmanager
    def start(folder: Path) -> Iterator[Peer]:
        port = _free_port()
        (folder / "queue").mkdir()
        (folder / "collector.json").write_text(json.dumps(_configuration(folder, port, options)))
        command = [str(binary), "--config", f"file:{folder / 'collector.json'}"]
        with _process(command, folder) as process:
            _wait_for(port, process)
            yield Peer(process.pid, port)

    return start


@contextmanager
def floor(folder: Path) -> Iterator[Peer]:
    """The server in which the engine decodes OTLP: tests/bench/floor.py."""
    with _process([sys.executable, str(BENCH / "floor.py"), str(folder)], folder) as process:
        assert process.stdout is not None
        readable, _, _ = select.select([process.stdout], [], [], PATIENCE)
        port = int(process.stdout.readline()) if readable else 0
        _wait_for(port, process)
        yield Peer(process.pid, port)


def tracejury(configuration: str = "") -> Start:
    """Ours, by default or by a configuration file's text."""

    @contextmanager
    def start(folder: Path) -> Iterator[Peer]:
        (folder / "tracejury.yaml").write_text(configuration or "{}")
        with serving(folder, "--config", "tracejury.yaml") as collector:
            yield Peer(collector.process.pid, collector.ports["grpc"], collector)

    return start


def built() -> Path:
    """Where the Go collector of these sources is, or will be."""
    digest = sha256(b"".join((SOURCES / name).read_bytes() for name in ("go.mod", "go.sum", "main.go"))).hexdigest()
    return CACHE / f"gocollector-{digest[:16]}"


def build() -> Path:
    """The Go collector, built once for each state of its sources."""
    binary = built()
    if not binary.exists():
        if shutil.which("go") is None:
            raise FileNotFoundError("go")
        sys.stderr.write(f"building the OpenTelemetry Collector into {CACHE}: two minutes ...\n")
        CACHE.mkdir(parents=True, exist_ok=True)
        made = binary.with_suffix(f".{os.getpid()}")
        command = ["go", "build", "-mod=readonly", "-ldflags=-s -w", "-o", str(made), "."]
        subprocess.run(command, cwd=SOURCES, check=True)  # noqa: S603  our own sources, with the Go of the path
        made.rename(binary)
    return binary


def version() -> str:
    """The version of the OpenTelemetry Collector that `build` pins."""
    found = re.search(r"collector/otelcol v(\S+)", (SOURCES / "go.mod").read_text())
    return found[1] if found else "?"


def _configuration(folder: Path, port: int, storage: dict[str, object]) -> dict[str, object]:
    listens = {"endpoint": f"127.0.0.1:{port}", "max_recv_msg_size_mib": 64}
    return {
        "extensions": {"file_storage": {"directory": str(folder / "queue"), **storage}},
        "receivers": {"otlp": {"protocols": {"grpc": listens}}},
        "exporters": {
            "debug": {
                "verbosity": "basic",
                "output_paths": [str(folder / "log")],
                "use_internal_logger": False,
                "sending_queue": {"storage": "file_storage", "queue_size": 100_000, "num_consumers": 4},
            }
        },
        "service": {
            "extensions": ["file_storage"],
            "pipelines": {"traces": {"receivers": ["otlp"], "exporters": ["debug"]}},
            "telemetry": {"metrics": {"level": "none"}, "logs": {"level": "warn"}},
        },
    }


@contextmanager
def _process(command: list[str], folder: Path) -> Iterator[subprocess.Popen[str]]:
    with (
        (folder / "stderr").open("w") as errors,
        subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=errors, text=True) as process,  # noqa: S603
    ):
        try:
            yield process
        finally:
            process.kill()


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _wait_for(port: int, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError(f"{process.args!r} does not listen: see its stderr")
