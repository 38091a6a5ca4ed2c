"""A cassette: every prompt and reply of a command in one file, so that it resumes and can be replayed offline.

JSON lines, one a call that was answered: {"key", "run", "model", "purpose", "schema_name", "messages", "reply"}, of a
recorded call that was issued again with its "request", and before the first call of a model
{"about": {"model", "max_input_tokens"}}. "run" is the `repeat` of the prompt. Failed calls are not on it: they are
tried again the next time. What a client is configured with (keys, addresses, headers) never comes near this file.
"""

from __future__ import annotations

import asyncio
import fcntl
import gzip
import json
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, Literal

from tracejury.judges.llm.client import Client, Prompt, PromptMessage, Reply
from tracejury.schemas.errors import ConfigError, LlmError

from .config import LlmConfig
from .library import LIBRARY
from .litellm_client import UNKNOWN_LIMIT
from .prompt_folder import PromptFolder, PromptsLeftError
from .request_key import earlier_key, request_key

CassetteMode = Literal["auto", "record", "replay", "ask"]


@dataclass(frozen=True, slots=True)
class CassetteOptions:
    """The file (None: memory only), how it is used, and, in mode "ask", where prompts are written and replies read."""

    path: Path | None = None
    mode: CassetteMode = "auto"
    prompts: Path | None = None


@dataclass(frozen=True, slots=True)
class About:
    """A model whose calls are on a cassette; with another limit, or other counts, its prompts would be other ones.

    `sees`: whether it took pictures.
    """

    model: str
    max_input_tokens: int
    sees: bool = False
    missing_keys: ClassVar[str] = ""

    def count_tokens(self, text: str) -> int:
        """Tokens of `text` by the tokenizer that litellm has for the model's name."""
        return int(LIBRARY.module.token_counter(model=self.model, text=text))


class Cassette(AbstractContextManager["Cassette"]):
    """The file, open for reading or for recording as well; for one process at a time. Without a path: memory only.

    Only replies are held in memory. A last line that a killed process left half written is taken off. `replay`: no
    model is asked. `prompts`: a folder that is asked in the place of models; `left`: keys of prompts that wait there.
    """

    def __init__(self, path: Path | None, *, record: bool, replay: bool = False, prompts: Path | None = None) -> None:
        """Read what is there.

        Raises:
            ConfigError: no such file to replay; recording into .gz; another process records; not a cassette.
        """
        self.replies: dict[str, Reply] = {}
        self.about: list[About] = []
        self.replay, self.prompts = replay, prompts
        self.left: set[str] = set()
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

    def answer(self, key: str, model: str, prompt: Prompt) -> Reply | None:
        """The reply to a request, by its key or the one that it had on earlier cassettes."""
        return self.replies.get(key) or self.replies.get(earlier_key(prompt, model))

    def add(self, key: str, model: str, prompt: Prompt, reply: Reply) -> None:
        """Keep a reply, on disk before this returns (a killed process loses none)."""
        self.replies[key] = reply
        entry = {
            "key": key,
            "run": prompt.repeat,
            "model": model,
            "purpose": prompt.purpose,
            "trace_id": prompt.trace_id,
            "run_id": prompt.run_id,
            "schema_name": prompt.schema_name,
            "messages": [_recorded(message) for message in prompt.messages],
            "reply": asdict(reply),
        } | ({"request": prompt.request} if prompt.request else {})
        self._write(entry)

    def all_answered(self) -> None:
        """Stop unless every prompt in the folder has its reply.

        Raises:
            PromptsLeftError: some have none; tells how many.
        """
        if self.left:
            waiting = "prompt waits for its reply" if len(self.left) == 1 else "prompts wait for their replies"
            raise PromptsLeftError(
                f"{len(self.left)} {waiting} in {self.prompts}: "
                "write the answer to each KEY.md to KEY.json, then run this again"
            )

    def close(self) -> None:
        """Close the file; safe to repeat."""
        if self._file is not None:
            self._file.close()
            self._file = None

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
                    self.replies.setdefault(entry["key"], _reply(entry["reply"]))
            except (ValueError, KeyError, TypeError, RecursionError) as error:
                raise ConfigError(f"{path}, line {number}: not a cassette's ({type(error).__name__})") from error
        return size


@dataclass(frozen=True, slots=True)
class CassetteClient:
    """Answers from a cassette; what is not on it is asked of `inner`, if any, and recorded.

    The same prompt is sent once, even when it is asked twice at once; every later answer to it is `known`, as it would
    be from production's answer cache.
    """

    cassette: Cassette
    inner: Client | None
    model: str
    _asked: dict[str, asyncio.Lock] = field(default_factory=dict)

    async def complete(self, prompt: Prompt) -> Reply:
        """The recorded reply, or the inner client's.

        Raises:
            LlmError: it is not on the cassette and there is nobody to ask; and what the inner client raises.
        """
        key = request_key(prompt, self.model)
        again = key in self._asked
        async with self._asked.setdefault(key, asyncio.Lock()):
            reply = self.cassette.answer(key, self.model, prompt)
            if reply is not None:
                return replace(reply, known=again)
            if self.inner is None:
                of_trace = f" of trace {prompt.trace_id}" if prompt.trace_id else ""
                raise LlmError(f"a {prompt.purpose} call{of_trace} is not on the cassette")
            reply = await self.inner.complete(prompt)
            self.cassette.add(key, self.model, prompt, reply)
            return reply


def _recorded(message: PromptMessage) -> dict[str, Any]:
    """The message with the hashes of its pictures: a cassette is read by people, and holds no content but text."""
    hashes = [picture.digest for picture in message.pictures]
    return {"role": message.role, "text": message.text} | ({"pictures": hashes} if hashes else {})


def _reply(kept: Mapping[str, Any]) -> Reply:
    return Reply(**{**kept, "calls": tuple(kept.get("calls", ()))})


def open_cassette(options: CassetteOptions, config: LlmConfig) -> Cassette:
    """The cassette of a command; `config` names the model, if any. Close it at the end.

    Raises:
        ConfigError: the options do not fit together, or the file cannot be used (see `Cassette`).
    """
    path, mode, prompts = options.path, options.mode, options.prompts
    if mode == "ask" and not (prompts and path and config.on):
        raise ConfigError(
            "--cassette-mode ask needs --prompts DIR, --cassette FILE and --model: a name for who answers"
        )
    if prompts and mode != "ask":
        raise ConfigError("--prompts needs --cassette-mode ask")
    if path is None and mode == "replay":
        raise ConfigError("name the --cassette to replay")
    try:
        if prompts:
            prompts.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"--prompts {prompts}: {error.strerror}") from error
    replay = mode == "replay"
    cassette = Cassette(path, record=config.on and not replay, replay=replay, prompts=prompts)
    if mode == "record" and cassette.replies:
        cassette.close()
        raise ConfigError(f"{path} holds calls already: use --cassette-mode auto to go on with it")
    return cassette


def unasked(cassette: Cassette, config: LlmConfig) -> tuple[About, Client]:
    """The model of a configuration and its client, where only the cassette or a folder of prompts can answer.

    Raises:
        ConfigError: the cassette has no call of the model, or no model is named at all.
    """
    inner: Client | None = None
    if cassette.prompts is not None:
        about = About(config.model, config.max_input_tokens or UNKNOWN_LIMIT)
        cassette.describe(about)
        inner = PromptFolder(cassette.prompts, about.model, about.count_tokens, cassette.left)
    elif known := [about for about in cassette.about if config.model in {"", about.model}]:
        about = replace(known[0], max_input_tokens=config.max_input_tokens or known[0].max_input_tokens)
    elif cassette.about:
        raise ConfigError(f"the cassette has no call of {config.model}")
    else:
        raise ConfigError("no model is named: give --model PROVIDER/NAME, or a --cassette to replay")
    return about, CassetteClient(cassette, inner, about.model)


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
