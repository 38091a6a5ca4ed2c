"""A cassette: every prompt and reply of an evaluation in one file, so that it resumes and can be replayed offline.

JSON lines, one a call that was answered: {"key", "run", "model", "purpose", "schema_name", "messages", "reply"}.
Failed calls are not on it: the next evaluation tries them again. What a client is configured with (keys, addresses,
headers) never comes near this file.
"""

from __future__ import annotations

import asyncio
import fcntl
import gzip
import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, Self

from ...judges.panel.client import Client, Prompt, Reply
from ...schemas.errors import ConfigError, LlmError


def call_key(model: str, prompt: Prompt, run: int) -> str:
    """What a reply is found by, 32 hex digits: the model, all that is sent, and the number of the run.

    The run is part of it so that several runs over the same traces are several answers.
    """
    sent = [run, model, prompt.max_tokens, prompt.schema, [(m.role, m.text) for m in prompt.messages]]
    text = json.dumps(sent, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


class Cassette:
    """The file, open for reading or for recording as well; for one process at a time.

    Only replies are held in memory. A last line that a killed process left half written is taken off.
    """

    def __init__(self, path: Path, *, record: bool) -> None:
        """Read what is there.

        Raises:
            ConfigError: no such file to replay; recording into .gz; another process records; not a cassette.
        """
        self.path = path
        self.replies: dict[str, Reply] = {}
        self.models: set[str] = set()
        self._file = _open_to_record(path) if record else None
        if record or path.exists():
            self._load()
        else:
            raise ConfigError(f"there is no cassette {path} to replay")

    def add(self, key: str, run: int, model: str, prompt: Prompt, reply: Reply) -> None:
        """Keep a reply, on disk before this returns (a killed process loses none)."""
        self.replies[key] = reply
        self.models.add(model)
        if self._file is not None:
            self._file.write(_line(key, run, model, prompt, reply))
            self._file.flush()

    def close(self) -> None:
        """Close the file; safe to repeat."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _load(self) -> None:
        for number, line in enumerate(_lines(self.path), start=1):
            try:
                call = json.loads(line)
                self.replies.setdefault(call["key"], Reply(**call["reply"]))
                self.models.add(call["model"])
            except (ValueError, KeyError, TypeError, RecursionError) as error:
                raise ConfigError(f"{self.path}, line {number}: not a cassette's ({type(error).__name__})") from error


@dataclass(frozen=True, slots=True)
class CassetteClient:
    """Answers from a cassette; what is not on it is asked of `inner`, if any, and recorded.

    `run`: the number of the run that it serves. The same prompt asked twice at once is sent once.
    """

    cassette: Cassette
    inner: Client | None
    model: str
    run: int = 0
    _asked: dict[str, asyncio.Lock] = field(default_factory=dict)

    def of_run(self, run: int) -> CassetteClient:
        """The same for another run."""
        return replace(self, run=run, _asked={})

    async def complete(self, prompt: Prompt) -> Reply:
        """The recorded reply, or the inner client's.

        Raises:
            LlmError: it is not on the cassette and there is nobody to ask; and what the inner client raises.
        """
        key = call_key(self.model, prompt, self.run)
        async with self._asked.setdefault(key, asyncio.Lock()):
            reply = self.cassette.replies.get(key)
            if reply is None:
                reply = await self._ask(key, prompt)
        self._asked.pop(key, None)
        return reply

    async def _ask(self, key: str, prompt: Prompt) -> Reply:
        if self.inner is None:
            raise LlmError(f"a {prompt.purpose} call of trace {prompt.trace_id or '?'} is not on the cassette")
        reply = await self.inner.complete(prompt)
        self.cassette.add(key, self.run, self.model, prompt, reply)
        return reply


def _line(key: str, run: int, model: str, prompt: Prompt, reply: Reply) -> bytes:
    call = {
        "key": key,
        "run": run,
        "model": model,
        "purpose": prompt.purpose,
        "trace_id": prompt.trace_id,
        "run_id": prompt.run_id,
        "schema_name": prompt.schema_name,
        "messages": [{"role": m.role, "text": m.text} for m in prompt.messages],
        "reply": asdict(reply),
    }
    # ASCII, so that lone surrogates in a trace or in an answer can be written.
    return json.dumps(call, separators=(",", ":")).encode() + b"\n"


def _open_to_record(path: Path) -> BinaryIO:
    if path.suffix == ".gz":
        raise ConfigError(f"{path} can be replayed only: unpack it to record more")
    path.parent.mkdir(parents=True, exist_ok=True)
    file = path.open("a+b")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.close()
        raise ConfigError(f"another process records on the cassette {path}") from error
    _repair(file)
    return file


def _repair(file: BinaryIO) -> None:
    """Take off what stands after the last line feed."""
    end = file.seek(0, 2)
    keep = end
    while keep:
        start = max(0, keep - _BLOCK)
        file.seek(start)
        at = file.read(keep - start).rfind(b"\n")
        if at >= 0:
            keep = start + at + 1
            break
        keep = start
    if keep < end:
        file.truncate(keep)


_BLOCK = 1 << 16


def _lines(path: Path) -> Iterator[Any]:
    """Whole lines; a last one that is torn is passed over, as it is when the file is repaired."""
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
            yield from (line for line in file if line.endswith(b"\n"))
    except (EOFError, gzip.BadGzipFile) as error:
        raise ConfigError(f"{path} is no gzip file, or not a whole one") from error
