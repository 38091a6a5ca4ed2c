"""What others wait for beside a flood of `/mcp`: `PYTHONPATH=tests/support python tests/bench/mcp_flood.py [KIND ...]`.

One process sends traces over OTLP, another reads `/api/errors`, a third attacks (at the lowest priority: it is to take
the collector's time, not this machine's); without and with the attack in turn. Prints for each kind the medians and
95th percentiles in milliseconds and the factors, the median of the rounds. With `--elsewhere` the attack is on a server
that does nothing: what others wait for then is the attacker's own share of the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any, Final

import httpx
from mcp_requests import POSTED, request
from mcp_transcript import PROTOBUF
from processes import Serving, serving
from served import cpu_seconds
from shop_clerk import clerk

PROCESSES: Final = multiprocessing.get_context("spawn")
TRACES: Final = 300
CLIENTS: Final = 64
MEASURED: Final = ("acknowledged", "/api/errors")
PAUSE: Final = 0.2
"""Seconds between two requests of those who measure."""

SEARCH: Final = request("tools/call", name="search", arguments={"limit": 50})
HUGE: Final = request("tools/call", name="search", arguments={"text": "x" * 1_000, "junk": ["x" * 10] * 4_500})
BEGUN: Final = request(
    "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "flood", "version": "1"}
)

Address = tuple[str, int]
Attack = Callable[[Address], Awaitable[None]]


def posted(body: dict[str, Any]) -> bytes:
    """A request to `/mcp` as it goes over the wire."""
    content = json.dumps(body).encode()
    head = {"host": "localhost", "content-type": "application/json", "content-length": str(len(content))} | POSTED
    lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
    return f"POST /mcp HTTP/1.1\r\n{lines}\r\n".encode() + content


async def answered(reader: asyncio.StreamReader) -> None:
    """Read an answer."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
    await reader.readexactly(int(length.partition(b":")[2]))


def asking(body: dict[str, Any]) -> Attack:
    """Ask again as soon as there is an answer."""
    said = posted(body)

    async def attack(address: Address) -> None:
        reader, writer = await asyncio.open_connection(*address)
        try:
            while True:
                writer.write(said)
                await answered(reader)
        finally:
            writer.close()

    return attack


async def dropping(address: Address) -> None:
    """Begin a session, ask and leave."""
    _, writer = await asyncio.open_connection(*address)
    writer.write(posted(BEGUN) + posted(SEARCH))
    await writer.drain()
    await asyncio.sleep(0.01)
    writer.transport.abort()


async def not_reading(address: Address) -> None:
    """Ask on and on, and read no answer."""
    _, writer = await asyncio.open_connection(*address, limit=1)
    try:
        while True:
            writer.write(posted(SEARCH))
            await writer.drain()
    finally:
        writer.close()


KINDS: Final[dict[str, Attack]] = {
    "calls": asking(SEARCH),
    "listing": asking(request("tools/list")),
    "huge": asking(HUGE),
    "dropped": dropping,
    "unread": not_reading,
}


def attack(kind: str, address: Address, begun: Event) -> None:
    """Until the process is ended."""
    os.nice(19)
    begun.set()

    async def again() -> None:
        while True:
            with suppress(OSError, EOFError, StopIteration):
                await KINDS[kind](address)

    async def together() -> None:
        await asyncio.gather(*(again() for _ in range(CLIENTS)))

    asyncio.run(together())


def idle(told: Connection) -> None:
    """A server that answers whatever it reads with nothing; tells its address."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while await reader.read(1 << 16):
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
                await writer.drain()
        writer.close()

    async def serve() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        told.send(server.sockets[0].getsockname())
        await server.serve_forever()

    asyncio.run(serve())


def meter(what: str, ready: dict[str, str], told: Connection) -> None:
    """Ask for the seconds that are sent; answer with the milliseconds of each request."""
    spans = clerk().SerializeToString()
    with httpx.Client(timeout=300, trust_env=False) as http, suppress(EOFError):
        ask: Callable[[], httpx.Response] = {
            "acknowledged": lambda: http.post(ready["otlp"], content=spans, headers=PROTOBUF),
            "/api/errors": lambda: http.get(f"{ready['api']}/api/errors", params={"limit": "10"}),
        }[what]
        while True:
            seconds, took = told.recv(), list[float]()
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                began = time.perf_counter()
                while True:
                    try:
                        ask().raise_for_status()
                        break
                    except httpx.TransportError:
                        continue  # an idle connection was closed for new ones: what that takes counts
                took.append(1e3 * (time.perf_counter() - began))
                time.sleep(PAUSE)
            told.send(took)


@contextmanager
def attacking(kind: str, address: Address) -> Iterator[None]:
    """The attack from a process of its own, once it has begun."""
    begun = PROCESSES.Event()
    process = PROCESSES.Process(target=attack, args=(kind, address, begun), daemon=True)
    process.start()
    try:
        begun.wait()
        time.sleep(2)
        yield
    finally:
        process.kill()
        process.join()


def p95(took: list[float]) -> float:
    """The 95th percentile."""
    return sorted(took)[int(0.95 * (len(took) - 1))]


class Meters:
    """Two processes that ask in turn with the collector's processor time; `found` by what, and whether attacked."""

    def __init__(self, ready: Serving) -> None:
        self._ready = ready
        where = {"otlp": f"http://127.0.0.1:{ready.ports['http']}/v1/traces", "api": ready.url}
        self._pipes = {what: PROCESSES.Pipe() for what in MEASURED}
        for what, (_, far) in self._pipes.items():
            PROCESSES.Process(target=meter, args=(what, where, far), daemon=True).start()
            far.close()
        self.found: dict[tuple[str, bool], list[list[float]]] = {}
        self.cores: dict[bool, list[float]] = {False: [], True: []}

    def ask(self, seconds: float) -> dict[str, list[float]]:
        """Milliseconds of each request of so many seconds, by what."""
        for near, _ in self._pipes.values():
            near.send(seconds)
        return {what: near.recv() for what, (near, _) in self._pipes.items()}

    def note(self, seconds: float, *, attacked: bool) -> None:
        """Ask, and keep the figures."""
        before, began = cpu_seconds(self._ready), time.monotonic()
        for what, took in self.ask(seconds).items():
            self.found.setdefault((what, attacked), []).append(took)
        self.cores[attacked].append((cpu_seconds(self._ready) - before) / (time.monotonic() - began))

    def show(self, kind: str) -> None:
        """Print the figures of a kind, and forget them."""
        for what in MEASURED:
            line: dict[str, object] = {"attack": kind, "what": what}
            for name, figure in (("median", statistics.median), ("p95", p95)):
                alone, flooded = ([figure(took) for took in self.found[what, attacked]] for attacked in (False, True))
                factors = [b / a for a, b in zip(alone, flooded, strict=True)]
                line[f"{name}_ms"] = f"{statistics.median(alone):.0f} to {statistics.median(flooded):.0f}"
                line[f"{name}_factor"] = round(statistics.median(factors), 2)
            line["cores"] = f"{statistics.median(self.cores[False]):.2f} to {statistics.median(self.cores[True]):.2f}"
            print(json.dumps(line), flush=True)
        self.found, self.cores = {}, {False: [], True: []}


def measure(ready: Serving, address: Address, kinds: Sequence[str], seconds: float, rounds: int) -> None:
    """Without and with each kind in turn, at `address`."""
    meters = Meters(ready)
    meters.ask(3)  # connections are open, caches filled
    for kind in kinds:
        for _ in range(rounds):
            meters.note(seconds, attacked=False)
            with attacking(kind, address):
                meters.note(seconds, attacked=True)
            time.sleep(2)  # what the attacker left behind
        meters.show(kind)


def main() -> None:
    """Measure each kind, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--elsewhere", action="store_true", help="attack a server that does nothing")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as ready:
        otlp = f"http://127.0.0.1:{ready.ports['http']}/v1/traces"
        with httpx.Client(timeout=60, trust_env=False) as http:
            for number in range(1, TRACES + 1):
                made = clerk()
                for span in made.resource_spans[0].scope_spans[0].spans:
                    span.trace_id = number.to_bytes(16)
                http.post(otlp, content=made.SerializeToString(), headers=PROTOBUF).raise_for_status()
            time.sleep(15)  # traces settle, and are judged
        address = ("127.0.0.1", ready.ports["api"])
        if args.elsewhere:
            near, far = PROCESSES.Pipe()
            PROCESSES.Process(target=idle, args=(far,), daemon=True).start()
            address = near.recv()
        measure(ready, address, args.kinds or [*KINDS], args.seconds, args.rounds)


if __name__ == "__main__":
    main()
