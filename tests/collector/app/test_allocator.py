"""Memory goes back to the system once a burst is over."""

from __future__ import annotations

import ctypes
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from tracejury.collector.app.allocator import WORKED, Allocator

BURST = """
import pathlib, resource
from tracejury.collector.app.allocator import Allocator

def _resident():
    return int(pathlib.Path('/proc/self/statm').read_text().split()[1]) * resource.getpagesize()

allocator = Allocator(lambda: 1.0)
before = _resident()
kept, burst = [], []
for _ in range(200_000):  # what stays lies between what goes, as findings do between spans
    burst.append(bytearray(1000))
    kept.append(bytearray(10))
del burst
full = _resident()
assert allocator.trim()
print(full - before, _resident() - before)
"""


SERVED = """
import os, signal
from tracejury.collector.app import start
from tracejury.collector.config import load_config

class Stopping:
    def trim(self):
        if signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:  # it would not be drained yet
            os.kill(os.getpid(), signal.SIGTERM)

start.Allocator, start.EVERY_SECONDS = Stopping, 0.1
ports = {name: {"endpoint": "127.0.0.1:0"} for name in ("grpc", "http", "api")}
start.run_serve(load_config(None, ports))
"""


def test_a_collector_gives_memory_back_from_time_to_time(tmp_path: Path) -> None:
    """Here it is asked to stop by an attempt, and does."""
    subprocess.run([sys.executable, "-c", SERVED], check=True, cwd=tmp_path, timeout=120)  # noqa: S603  our own


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
def test_what_was_freed_goes_back() -> None:
    """A fifth of the burst at most stays."""
    command = [sys.executable, "-c", BURST]
    done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603  our own
    full, after = map(int, done.stdout.split())
    assert full > 100_000_000
    assert after < full / 5


def test_an_idle_process_does_nothing() -> None:
    """Only what worked may have freed anything."""
    times = iter([WORKED, WORKED, WORKED * 1.5, WORKED * 2])
    allocator = Allocator(lambda: next(times))
    expected = hasattr(ctypes.CDLL(None), "malloc_trim")
    assert [allocator.trim() for _ in range(4)] == ([True, False, False, True] if expected else [False] * 4)
