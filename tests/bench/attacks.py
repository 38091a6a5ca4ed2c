"""An honest client beside clients that mean harm: `python tests/bench/attacks.py [--seconds 20] [NAME ...]`.

Prints a line an attack, and fails where an honest export of 300 kB is refused, waits more than a second at the 99th
percentile, or the collector takes more than 1.5 GB of memory.
"""

from __future__ import annotations

import argparse
import gzip
import http.client
import multiprocessing
import resource
import socket
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import TypeAlias

import grpc
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue
from otlp_clients import MEDIA, METHODS
from otlp_parts import json_body, span, text, traces
from processes import Serving, serving
from served import resident

HUGE = 60_000_000
SLOWEST = 1.0  # seconds an honest export may wait, at the 99th percentile
LARGEST = 1500 * 2**20  # bytes that the collector may take
PROCESSES = multiprocessing.get_context("fork")
FILES = 1024  # the usual soft limit

Ports: TypeAlias = Mapping[str, int]
Attack: TypeAlias = Callable[[Ports, Event], None]


def posting(media: str, body: bytes, *, gzipped: bool = False) -> Attack:
    """Post a body again and again at full speed."""
    headers = {"content-type": media} | ({"content-encoding": "gzip"} if gzipped else {})

    def attack(ports: Ports, stop: Event) -> None:
        while not stop.is_set():
            connection = http.client.HTTPConnection("127.0.0.1", ports["http"], timeout=300)
            with suppress(OSError, http.client.HTTPException):
                connection.request("POST", "/v1/traces", body, headers)
                connection.getresponse().read()
            connection.close()

    return attack


def hanging(port: str, first: bytes, again: bytes, connections: int) -> Attack:
    """Keep so many connections, each with a request that never ends; those that are closed are opened again."""

    def attack(ports: Ports, stop: Event) -> None:
        held: list[socket.socket] = []
        while not stop.is_set():
            alive = []
            for held_one in held:
                try:
                    held_one.send(again)
                    with suppress(BlockingIOError):
                        if not held_one.recv(4096):
                            raise ConnectionError
                    alive.append(held_one)
                except OSError:
                    held_one.close()
            held = alive
            while len(held) < connections and not stop.is_set():
                with suppress(OSError):
                    new = socket.create_connection(("127.0.0.1", ports[port]), 5)
                    new.settimeout(0)
                    new.send(first)
                    held.append(new)
            stop.wait(0.5)
        for held_one in held:
            held_one.close()

    return attack


def empty_json() -> bytes:
    """Resource groups without anything."""
    return b'{"resourceSpans":[' + b"{}," * (HUGE // 3) + b"{}]}"


def empty_arrays() -> bytes:
    """A span with one attribute, a list of empty values of two bytes."""
    array = b"\x0a\x00" * (HUGE // 2)
    body = span().SerializeToString() + _field(9, _field(1, b"k") + _field(2, _field(5, array)))
    return _field(1, _field(2, _field(2, body)))


def many_values() -> bytes:
    """As many values as are taken."""
    values = ArrayValue(values=[AnyValue(int_value=1)] * 1_000_000)
    return traces(span(attributes=[KeyValue(key="k", value=AnyValue(array_value=values))])).SerializeToString()


def many_events() -> bytes:
    """As many events as are taken, of two bytes each."""
    events = span(events=[{}] * 16_384)
    return traces(*[events] * 120).SerializeToString()


def many_values_json() -> bytes:
    """The same as JSON."""
    values = ArrayValue(values=[AnyValue(int_value=1)] * 1_000_000)
    return json_body(traces(span(attributes=[KeyValue(key="k", value=AnyValue(array_value=values))])))


def _field(number: int, content: bytes) -> bytes:
    size, prefix = len(content), bytearray([number << 3 | 2])
    while size > 127:
        prefix.append(size & 127 | 128)
        size >>= 7
    return bytes(prefix) + bytes([size]) + content


def _unfinished(path: str) -> bytes:
    lines = (f"POST {path} HTTP/1.1", "host: localhost", "content-type: application/json", "content-length: 60000")
    return "".join(f"{line}\r\n" for line in (*lines, "")).encode()


ATTACKS: dict[str, Callable[[], list[Attack]]] = {
    "none": list,
    "empty-json": lambda: [posting(MEDIA["json"], empty_json())] * 2,
    "empty-arrays": lambda: [posting(MEDIA["http"], empty_arrays())] * 2,
    "many-values": lambda: [posting(MEDIA["http"], many_values()), posting(MEDIA["json"], many_values_json())],
    "many-events": lambda: [posting(MEDIA["http"], many_events())] * 4,
    "not-json": lambda: [posting(MEDIA["json"], b'["' + b"\\n" * (HUGE // 2))] * 2,
    "zip-bomb": lambda: [posting(MEDIA["json"], gzip.compress(bytes(500 << 20)), gzipped=True)] * 2,
    "slow-bodies": lambda: [hanging("http", _unfinished("/v1/traces") + b"{", b" ", 1100)],
    "slow-heads": lambda: [hanging(port, b"POST / HTTP/1.1\r\nx: ", b"a", 1100) for port in ("http", "api")],
    "slow-api-bodies": lambda: [hanging("api", _unfinished("/api/judge"), b" ", 1100)],
    "silent-http": lambda: [hanging("http", b"", b"", 2000)],
    "silent-api": lambda: [hanging("api", b"", b"", 2000)],
    "silent-grpc": lambda: [hanging("grpc", b"", b"", 2000)],
}


class Honest:
    """Exports 300 kB every 50 ms, in turn over HTTP and gRPC, and notes how long each took."""

    def __init__(self, collector: Serving) -> None:
        self._collector = collector
        self.seconds: list[float] = []
        self.refused: list[str] = []

    def run(self, stop: Event) -> None:
        """Until told to stop."""
        options = [("grpc.use_local_subchannel_pool", 1)]
        with grpc.insecure_channel(f"127.0.0.1:{self._collector.ports['grpc']}", options) as channel:
            call = channel.unary_unary(METHODS["traces"], request_serializer=None, response_deserializer=None)
            number = 0
            while not stop.is_set():
                number += 1
                body, started = _export(number), time.monotonic()
                try:
                    if number % 2:
                        call(body, timeout=300)
                    else:
                        self._post(body)
                except (grpc.RpcError, OSError, http.client.HTTPException) as error:
                    self.refused.append(str(error)[:200])
                self.seconds.append(time.monotonic() - started)
                time.sleep(0.05)

    def _post(self, body: bytes) -> None:
        # Each time a new connection, as from a process that has just begun.
        connection = http.client.HTTPConnection("127.0.0.1", self._collector.ports["http"], timeout=300)
        connection.request("POST", "/v1/traces", body, {"content-type": MEDIA["http"]})
        answer = connection.getresponse()
        if answer.status != http.client.OK:
            raise OSError(f"{answer.status} {answer.read()!r}")
        connection.close()


def _export(number: int) -> bytes:
    trace = number.to_bytes(16)
    prompt = "The quick brown fox jumps over the lazy dog. " * 22
    return traces(
        *(span(trace_id=trace, span_id=i.to_bytes(8), attributes=[text("input.value", prompt)]) for i in range(1, 291))
    ).SerializeToString()


@contextmanager
def few_files() -> Iterator[None]:
    """The usual soft limit of open files for the processes that are started meanwhile."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(FILES, hard), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, hard), hard))


def run(name: str, seconds: float) -> bool:
    """One attack of so many seconds on a collector of its own; prints its line, and whether it was withstood."""
    attacks = ATTACKS[name]()
    with tempfile.TemporaryDirectory() as folder, few_files(), serving(Path(folder)) as collector:
        stop, honest = PROCESSES.Event(), Honest(collector)
        resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
        attackers = [PROCESSES.Process(target=attack, args=(collector.ports, stop)) for attack in attacks]
        for attacker in attackers:
            attacker.start()
        exporting = threading.Thread(target=honest.run, args=(stop,))
        exporting.start()
        largest, until = 0, time.monotonic() + seconds
        while time.monotonic() < until:
            largest = max(largest, resident(collector))
            time.sleep(0.1)
        stop.set()
        exporting.join()
        for attacker in attackers:
            attacker.kill()
            attacker.join()
        waits = sorted(honest.seconds)
        p99 = waits[min(len(waits) - 1, len(waits) * 99 // 100)]
        withstood = p99 <= SLOWEST and largest <= LARGEST and not honest.refused
        print(
            f"{name}: {len(waits)} exports, p50 {statistics.median(waits):.2f} s, p99 {p99:.2f} s, "
            f"longest {waits[-1]:.2f} s, refused {len(honest.refused)}; resident at most {largest / 2**20:.0f} MiB"
            + ("" if withstood else " - FAILED"),
            *sorted(set(honest.refused))[:3],
            flush=True,
        )
        return withstood


def main() -> None:
    """Run the attacks named, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(ATTACKS))
    parser.add_argument("--seconds", type=float, default=20)
    options = parser.parse_args()
    withstood = [run(name, options.seconds) for name in options.names or ATTACKS]
    sys.exit(not all(withstood))


if __name__ == "__main__":
    main()
