"""A cassette: every prompt and reply of an evaluation in one file, so that it resumes and can be replayed offline.

JSON lines, one a call that was answered: {"key", "run", "model", "purpose", "schema_name", "messages", "reply"}, and
before the first call of a model {"about": {"model", "max_input_tokens"}}. Failed calls are not on it: the next
evaluation tries them again. What a client is configured with (keys, addresses, headers) never comes near this file.
"""

from __future__ import annotations

import asyncio
import fcntl
import gzip
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, Self

from tracejury.judges.llm.client import Client, Prompt, Reply
from tracejury.schemas.errors import ConfigError, LlmError


def call_key(model: str, prompt: Prompt, run: int) -> str:
    """The key of a reply, 32 hex digits over the model, all that is sent, and the number of the run.

    The run is part of it so that several runs over the same traces are several answers.
    """
    sent = [run, model, prompt.max_tokens, prompt.schema, [(m.role, m.text) for m in prompt.messages]]
    text = json.dumps(sent, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True)
class About:
    """A model whose calls are on a cassette; with another limit its prompts would be other ones."""

    model: str
    max_input_tokens: int


class Cassette:
    """The file, open for reading or for recording as well; for one process at a time. Without a path: memory only.

    Only replies are held in memory. A last line that a killed process left half written is taken off.
    """

    def __init__(self, path: Path | None, *, record: bool) -> None:
        """Read what is there.

        Raises:
            ConfigError: no such file to replay; recording into .gz; another process records; not a cassette.
        """
        self.replies: dict[str, Reply] = {}
        self.about: list[About] = []
        self._file = _open_to_record(path) if record and path else None
        if path and not path.exists():
            raise ConfigError(f"there is no cassette {path} to replay")
        whole = self._load(path) if path else 0
        if self._file is not None:
            self._file.truncate(whole)

    def describe(self, about: About) -> None:
        """Say whose calls follow, unless that is said already."""
        if about not in self.about:
            self.about.append(about)
            self._write({"about": asdict(about)})

    def add(self, key: str, run: int, model: str, prompt: Prompt, reply: Reply) -> None:
        """Keep a reply, on disk before this returns (a killed process loses none)."""
        self.replies[key] = reply
        self._write(_call(key, run, model, prompt, reply))

    def close(self) -> None:
        """Close the file; safe to repeat."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write(self, entry: Mapping[str, Any]) -> None:
        if self._file is not None:
            # ASCII, so that lone surrogates in a trace or in an answer can be written.
            self._file.write(json.dumps(entry, separators=(",", ":")).encode() + b"\n")
            self._file.flush()

    def _load(self, path: Path) -> int:
        """Read all whole lines; returns how many bytes they have."""
        size = 0
        for number, line in enumerate(_lines(path), start=1):
            size += len(line)
            try:
                entry = json.loads(line)
                if "about" in entry:
                    self.about.append(About(**entry["about"]))
                else:
                    self.replies.setdefault(entry["key"], Reply(**entry["reply"]))
            except (ValueError, KeyError, TypeError, RecursionError) as error:
                raise ConfigError(f"{path}, line {number}: not a cassette's ({type(error).__name__})") from error
        return size


@dataclass(frozen=True, slots=True)
class CassetteClient:
    """Answers from a cassette; what is not on it is asked of `inner`, if any, and recorded.

    `run`: the number of the run that it serves. Within a run the same prompt is sent once, even when it is asked twice
    at once; every later answer to it is `known`, as it would be from production's answer cache.
    """

    cassette: Cassette
    inner: Client | None
    model: str
    run: int = 0
    _asked: dict[str, asyncio.Lock] = field(default_factory=dict)

    def of_run(self, run: int) -> CassetteClient:
        """A client of the same cassette for another run."""
        return replace(self, run=run)

    async def complete(self, prompt: Prompt) -> Reply:
        """The recorded reply, or the inner client's.

        Raises:
            LlmError: it is not on the cassette and there is nobody to ask; and what the inner client raises.
        """
        key = call_key(self.model, prompt, self.run)
        again = key in self._asked
        async with self._asked.setdefault(key, asyncio.Lock()):
            reply = self.cassette.replies.get(key)
            if reply is not None:
                return replace(reply, known=again)
            return await self._ask(key, prompt)

    async def _ask(self, key: str, prompt: Prompt) -> Reply:
        if self.inner is None:
            raise LlmError(f"a {prompt.purpose} call of trace {prompt.trace_id or '?'} is not on the cassette")
        reply = await self.inner.complete(prompt)
        self.cassette.add(key, self.run, self.model, prompt, reply)
        return reply


def _call(key: str, run: int, model: str, prompt: Prompt, reply: Reply) -> dict[str, Any]:
    return {
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
    return file


def _lines(path: Path) -> Iterator[Any]:
    """Whole lines; a torn last line is left out."""
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
            yield from (line for line in file if line.endswith(b"\n"))
    except (EOFError, gzip.BadGzipFile) as error:
        raise ConfigError(f"{path} is no gzip file, or not a whole one") from error
