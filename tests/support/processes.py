"""The installed command as real processes: `tracejury` run to its end, or serving until told to stop."""

from __future__ import annotations

import atexit
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

COMMAND = [sys.executable, "-c", "from tracejury.collector.cli import main; main()"]
PATIENCE = 180.0


def tracejury(
    *args: str, folder: Path, env: Mapping[str, str] | None = None, patience: float = PATIENCE
) -> subprocess.CompletedProcess[str]:
    """`tracejury ARGS` in `folder`, to its end, within so many seconds."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("OTEL_", "TRACEJURY_"))} | dict(env or {})
    return subprocess.run(  # noqa: S603  our own command
        [*COMMAND, *args], cwd=folder, env=environment, capture_output=True, text=True, timeout=patience, check=False
    )


@dataclass(frozen=True, slots=True)
class Serving:
    """A collector that is ready. Ports by name: grpc, http, api, as its role has them."""

    process: subprocess.Popen[str]
    ready_text: str
    ports: Mapping[str, int]

    @property
    def url(self) -> str:
        """Its API."""
        return f"http://127.0.0.1:{self.ports['api']}"

    def stop(self) -> int:
        """SIGTERM; gives the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)


_NEW_STORE = """
import os
from tracejury.collector.store.config import StoreConfig
from tracejury.collector.store.opening import open_store
os.umask(0o077)
open_store(StoreConfig()).close()
"""


@cache
def _new_store() -> Path:
    """A migrated store without rows, as a collector makes it: with a copy of it others need not make its tables."""
    folder = Path(tempfile.mkdtemp(prefix="tracejury-new-store-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    subprocess.run([sys.executable, "-c", _NEW_STORE], cwd=folder, check=True, timeout=PATIENCE)  # noqa: S603  ours
    return folder / ".tracejury"


def put_new_store(folder: Path) -> None:
    """Give a collector in `folder` a store without rows."""
    shutil.copytree(_new_store(), folder / ".tracejury", symlinks=True)


@contextmanager
def serving(folder: Path, *args: str, new_store: bool = False) -> Iterator[Serving]:
    """`tracejury serve` in `folder`, on free ports unless `args` say otherwise.

    `new_store`: where `folder` has no store it makes one itself, instead of getting one without rows.
    """
    if not new_store and not (folder / ".tracejury").exists():
        put_new_store(folder)
    with subprocess.Popen(  # noqa: S603  our own command
        _serve(args), cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield _ready(process, args)
        finally:
            process.kill()


_OFF = """
import time
system, off = {"time": time.time, "time_ns": time.time_ns}, SECONDS
time.time = lambda: system["time"]() + off
time.time_ns = lambda: system["time_ns"]() + off * 10**9
"""


def serving_process(folder: Path, *args: str, env: Mapping[str, str], clock: int = 0) -> Serving:
    """The same with more of an environment, until it is killed; what it logs is appended to `folder`/log.

    `clock`: the seconds by which its clock is off. It is Python's alone: C libraries would wait by it in vain.
    """
    command = _serve(args)
    command[2] = _OFF.replace("SECONDS", str(clock)) + command[2]
    with (folder / "log").open("a") as log:
        process = subprocess.Popen(  # noqa: S603  our own command
            command, cwd=folder, stdout=subprocess.PIPE, stderr=log, text=True, env={**os.environ, **env}
        )
    return _ready(process, args)


def _serve(args: Sequence[str]) -> list[str]:
    free = [option for name in ("grpc", "http", "api") for option in (f"--{name}", "127.0.0.1:0")]
    return [*COMMAND, "serve", *free, *args]


def _ready(process: subprocess.Popen[str], args: Sequence[str]) -> Serving:
    last = "store" if {"receive", "web"} & set(args) else "judges"
    text = until(process, re.compile(rf"^  {last} .*\n", re.MULTILINE))
    names = {"OTLP/gRPC": "grpc", "OTLP/HTTP": "http", "API": "api", "health": "api"}
    found = re.findall(rf"({'|'.join(names)}) .*:(\d+)", text)
    return Serving(process, text, {names[name]: int(port) for name, port in found})


def until(process: subprocess.Popen[str], pattern: re.Pattern[str]) -> str:
    """What the process writes to stdout up to `pattern`; fails when it ends or takes too long."""
    assert process.stdout is not None
    text = ""
    deadline = time.monotonic() + PATIENCE
    output = select.poll()  # select.select takes none beyond 1,023, and the engine has three descriptors a thread
    output.register(process.stdout)
    while not pattern.search(text):
        readable = output.poll(1e3 * max(deadline - time.monotonic(), 0))
        piece = os.read(process.stdout.fileno(), 65536).decode() if readable else ""
        if not piece:
            process.kill()
            raise AssertionError(f"not seen: {pattern.pattern!r} in {text!r}; stderr: {process.communicate()[1]!r}")
        text += piece
    return text
