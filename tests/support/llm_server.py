"""An OpenAI-compatible HTTP server on loopback that plays scripts: what the judges' model calls are tested against.

Left alone it answers every chat completion with what fits the schema of the request (llm_answers). A script tells it,
call by call, to be slow, to stall, to fail, to hang up, or to answer nonsense. It counts instead of keeping, so that
its memory stays flat. As a process: `python tests/support/llm_server.py --port 0 --delay 0.5`; GET /counts tells.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Final

import httptools
import orjson
from llm_answers import answer
from llm_scripts import Call, Play, Script, always

BLOCK_TOKENS: Final = 128
LEAST_CACHED_TOKENS: Final = 1024
CHARACTERS_PER_TOKEN: Final = 4
MOST_BLOCKS: Final = 50_000


@dataclass(slots=True)
class ExportCounts:
    """What the server saw. Tokens are characters / 4; `most_at_once`: calls in flight."""

    calls: int = 0
    in_flight: int = 0
    most_at_once: int = 0
    connections: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    statuses: Counter[str] = field(default_factory=Counter)


class LlmServer:
    """Serves in a thread of its own; `base` is the `api_base`. Change `script` at any time.

    `keys` holds the keys that were sent, `bodies` all requests, if `keep`.
    """

    def __init__(self, script: Script | None = None, *, port: int = 0, keep: bool = False) -> None:
        self.script: Script = script or always()
        self.counts = ExportCounts()
        self.bodies: list[Mapping[str, Any]] = []
        self.keys: set[str] = set()
        self.keep = keep
        self.port = port
        self.tasks: set[asyncio.Task[None]] = set()
        self.transports: set[asyncio.Transport] = set()
        self._prefixes: OrderedDict[bytes, None] = OrderedDict()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="llm-server", daemon=True)

    @property
    def base(self) -> str:
        """The URL that clients are given."""
        return f"http://127.0.0.1:{self.port}/v1"

    def start(self) -> None:
        """Listen; returns when clients can connect."""
        self._thread.start()
        self._run(self._listen())

    def stop(self) -> None:
        """Hang up on everyone."""
        self._run(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def wait_until(self, wanted: Callable[[ExportCounts], bool], seconds: float = 30.0) -> None:
        """Block until the counts are so; fails when that takes too long."""
        deadline = time.monotonic() + seconds
        while not wanted(self.counts):
            assert time.monotonic() < deadline, self.counts
            time.sleep(0.002)

    def _run(self, coroutine: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(30)

    async def _listen(self) -> None:
        self._server = await self._loop.create_server(lambda: _Connection(self), "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _close(self) -> None:
        self._server.close()
        for transport in self.transports:
            transport.abort()
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    def completion(self, call: Call, play: Play) -> dict[str, Any]:
        """The reply's JSON."""
        prompt = call.prompt
        text = play.text
        if text is None:
            text = orjson.dumps(answer(call.schema, prompt, play.findings)).decode() if call.schema else "Fine."
        read, written, cached = tokens(prompt), tokens(text), self._cached(prompt)
        self.counts.input_tokens += read
        self.counts.cached_tokens += cached
        self.counts.output_tokens += written
        reply = {
            "id": f"chatcmpl-{call.number}",
            "object": "chat.completion",
            "created": 1_700_000_000,
            "model": call.body["model"],
            "choices": [
                {"index": 0, "finish_reason": play.finish_reason, "message": {"role": "assistant", "content": text}}
            ],
            "usage": {
                "prompt_tokens": read,
                "completion_tokens": written,
                "total_tokens": read + written,
                "prompt_tokens_details": {"cached_tokens": cached},
            },
        }
        if play.change is not None:
            play.change(reply)
        return reply

    def _cached(self, prompt: str) -> int:
        """Tokens of the longest prefix, in whole blocks, that an earlier prompt had too; the prompt is remembered."""
        size = BLOCK_TOKENS * CHARACTERS_PER_TOKEN
        state, known, unbroken = blake2b(digest_size=8), 0, True
        for start in range(0, len(prompt) - size + 1, size):
            state.update(prompt[start : start + size].encode("utf-8", "replace"))
            digest = state.digest()
            unbroken = unbroken and digest in self._prefixes
            known += unbroken
            self._prefixes[digest] = None
            self._prefixes.move_to_end(digest)
        while len(self._prefixes) > MOST_BLOCKS:
            self._prefixes.popitem(last=False)
        cached = known * BLOCK_TOKENS
        return cached if cached >= LEAST_CACHED_TOKENS else 0


class _Connection(asyncio.Protocol):
    """One keep-alive connection; its calls are answered one after another."""

    def __init__(self, server: LlmServer) -> None:
        self._server = server
        self._task: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._server.transports.add(transport)
        self._server.counts.connections += 1
        self._start()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  asyncio's signature
        self._server.transports.discard(self._transport)
        if self._task is not None:
            self._task.cancel()

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def _start(self) -> None:
        self._parser = httptools.HttpRequestParser(self)
        self._path, self._key, self._body = "", "", bytearray()

    # The parser's callbacks.
    def on_url(self, url: bytes) -> None:
        self._path += url.decode()

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() == b"authorization":
            self._key = value.decode().removeprefix("Bearer ")

    def on_body(self, body: bytes) -> None:
        self._body += body

    def on_message_complete(self) -> None:
        path, key, body = self._path, self._key, bytes(self._body)
        asyncio.get_running_loop().call_soon(self._start)
        if not path.endswith("/chat/completions"):
            counted = orjson.dumps(self._server.counts)
            self._send(200 if path == "/counts" else 404, counted if path == "/counts" else b"{}")
            return
        self._task = asyncio.get_running_loop().create_task(self._play(orjson.loads(body), key))
        self._server.tasks.add(self._task)
        self._task.add_done_callback(self._server.tasks.discard)

    async def _play(self, body: Mapping[str, Any], key: str) -> None:
        server, counts = self._server, self._server.counts
        call = Call(counts.calls, body, key)
        counts.calls += 1
        counts.in_flight += 1
        server.keys.add(key)
        counts.most_at_once = max(counts.most_at_once, counts.in_flight)
        if server.keep:
            server.bodies.append(body)
        try:
            play = server.script(call)
            if play.stall:
                await asyncio.Event().wait()
            if play.delay:
                await asyncio.sleep(play.delay)
            self._answer(call, play)
        finally:
            counts.in_flight -= 1

    def _answer(self, call: Call, play: Play) -> None:
        self._server.counts.statuses["hang-up" if play.hang_up else str(play.status)] += 1
        if play.hang_up == "before":
            self._transport.abort()
            return
        if play.raw is not None:
            reply = play.raw
        elif play.status == 200:
            reply = orjson.dumps(self._server.completion(call, play))
        else:
            said = f"{play.message}: {call.key}" if play.echo_key else play.message
            reply = orjson.dumps({"error": {"message": said, "type": "error", "code": play.code}})
        extra = "" if play.retry_after is None else f"Retry-After: {play.retry_after:g}\r\n"
        self._send(play.status, reply, extra, cut=play.hang_up == "middle")

    def _send(self, status: int, body: bytes, extra: str = "", *, cut: bool = False) -> None:
        head = f"HTTP/1.1 {status} Scripted\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        self._transport.write(f"{head}{extra}\r\n".encode() + (body[: len(body) // 2] if cut else body))
        if cut:
            self._transport.close()


def tokens(text: str) -> int:
    """A simple count."""
    return len(text) // CHARACTERS_PER_TOKEN + 1


@contextmanager
def llm_server(script: Script | None = None, *, keep: bool = False) -> Iterator[LlmServer]:
    """A server on a free port, stopped at the end."""
    server = LlmServer(script, keep=keep)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def main(arguments: Sequence[str]) -> None:
    """Serve until stopped; the first line of stdout is the `api_base`."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--delay", type=float, default=0.0, help="mean seconds of a call, exponentially spread")
    parser.add_argument("--failures", type=float, default=0.0, help="share of calls that are answered with 500")
    parser.add_argument("--findings", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    chance = random.Random(given.seed)  # noqa: S311  a script, no secret

    def script(_call: Call) -> Play:
        if chance.random() < given.failures:
            return Play(status=500)
        return Play(delay=chance.expovariate(1 / given.delay) if given.delay else 0.0, findings=given.findings)

    server = LlmServer(script, port=given.port)
    server.start()
    sys.stdout.write(server.base + "\n")
    sys.stdout.flush()
    threading.Event().wait()


if __name__ == "__main__":
    main(sys.argv[1:])
