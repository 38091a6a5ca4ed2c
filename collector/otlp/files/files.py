"""Files and folders of stored traces to OTLP requests, told apart by their content.

Understood: OTLP protobuf (an export request of spans or of log records), OTLP JSON, JSON lines of it (the OpenTelemetry
Collector's file exporter), TRAIL's JSON, sessions of coding agents (Claude Code's stream-json and its own files, ATIF),
conversations with messages as of OpenAI's chat API; each also gzipped, and any of them in a zip archive.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, Final

from google.protobuf.message import DecodeError

from tracejury.collector.otlp.codec import otlp_json
from tracejury.collector.otlp.codec.groups import Request, count, rows
from tracejury.collector.otlp.codec.signals import LOGS, SPANS
from tracejury.schemas.errors import PermanentError

from . import atif, chat, claude_session, trail
from .session import request_of

MAX_FILE_BYTES: Final = 512 * 1024 * 1024
"""Default for the size of one file after decompression (of an archive: of all its members)."""

SUFFIXES: Final = frozenset({".pb", ".json", ".jsonl", ".zip", ".gz"})
"""Patterns of the files that are read of a folder; a file named outright is read whatever it is called."""


class BrokenFileError(PermanentError):
    """A file that holds no trace data, or only part of it; the text names it."""


@dataclass(frozen=True, slots=True)
class FileRequest:
    """One request and the file (and member of an archive) that it was read from; `warning`: what it lacks, or ""."""

    name: str
    request: Request
    warning: str = ""


@dataclass(frozen=True, slots=True)
class TraceFile:
    """A file to read; one that was `named` outright must hold trace data, one found in a folder may not.

    `chat`: it must hold conversations, and nothing else.
    """

    path: Path
    named: bool = True
    chat: bool = False


def read(paths: Iterable[Path], *, limit: int = MAX_FILE_BYTES) -> Iterator[FileRequest]:
    """The requests in files, and in folders (recursively, sorted by path), none of them empty.

    Raises:
        BrokenFileError: no such path, a file that is not what it seems to be, or one larger than `limit` bytes.
    """
    for file in find(paths):
        yield from read_file(file, limit=limit)


def find(paths: Iterable[Path], *, chat: bool = False) -> list[TraceFile]:
    """The files that `read` would read, in its order; `chat`: as those of conversations.

    Raises:
        BrokenFileError: a path does not exist.
    """
    files: list[TraceFile] = []
    for path in paths:
        if path.is_dir():
            found = (p for p in path.rglob("*") if p.suffix.lower() in SUFFIXES and p.is_file())
            files += [TraceFile(p, named=False, chat=chat) for p in sorted(found)]
        elif path.exists():
            files.append(TraceFile(path, chat=chat))
        else:
            raise BrokenFileError(f"no such file or folder: {path}")
    return files


def read_file(file: TraceFile, *, limit: int = MAX_FILE_BYTES) -> Iterator[FileRequest]:
    """The requests in one file, none of them empty.

    JSON that is not trace data (an index, annotations) is passed over where it stands in a folder or an archive.

    Raises:
        BrokenFileError: not what it seems to be, or larger than `limit` bytes.
    """
    yield from _requests(str(file.path), _bytes(file.path, limit), limit, strict=file.named, chat_only=file.chat)


def _bytes(path: Path, limit: int) -> bytes:
    try:
        if path.stat().st_size > limit:
            raise _too_large(str(path), limit)
        return path.read_bytes()
    except OSError as error:
        raise BrokenFileError(f"cannot read {path}: {error.strerror}") from error


def _requests(name: str, data: bytes, limit: int, *, strict: bool, chat_only: bool = False) -> Iterator[FileRequest]:
    data = _unzipped(name, data, limit)
    if data.startswith(b"PK\x03\x04"):
        for member, content in _members(name, data, limit):
            yield from _requests(f"{name}:{member}", content, limit, strict=False, chat_only=chat_only)
        return
    warnings: list[str] = []
    as_json = chat_only or _is_json(data)
    found = _from_json(name, data, warnings, chat_only=chat_only) if as_json else _from_protobuf(name, data)
    if found is None and strict:
        raise BrokenFileError(f"{name} is JSON, but neither OTLP nor TRAIL's form of a trace, nor a session")
    for request in found or ():
        if count(request):
            yield FileRequest(name, request, warnings.pop() if warnings else "")


def _is_json(data: bytes) -> bool:
    r"""Whether the bytes are meant as JSON.

    A message in protobuf begins with a line feed, and its length may look like a bracket: "\n{", "\n\xef[".
    """
    begins = data.removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n")[:1] in {b"{", b"["}
    return begins and not (data.startswith(b"\n") and _messages(data))


def _unzipped(name: str, data: bytes, limit: int) -> bytes:
    if not data.startswith(b"\x1f\x8b"):
        return data
    try:
        with gzip.open(io.BytesIO(data)) as stream:
            plain = stream.read(limit + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise BrokenFileError(f"{name} is broken gzip: {error}") from error
    if len(plain) > limit:
        raise _too_large(name, limit)
    return plain


def _members(name: str, data: bytes, limit: int) -> Iterator[tuple[str, bytes]]:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            left = limit
            for info in sorted(archive.infolist(), key=lambda i: i.filename):
                if PurePath(info.filename).suffix.lower() not in SUFFIXES:
                    continue
                with archive.open(info) as member:
                    content = member.read(left + 1)
                left -= len(content)
                if left < 0:
                    raise _too_large(name, limit)
                yield info.filename, content
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, zlib.error) as error:
        raise BrokenFileError(f"{name} is a broken zip archive: {error}") from error


def _from_json(name: str, data: bytes, warnings: list[str], *, chat_only: bool) -> list[Request] | None:
    """The requests in a JSON document or in JSON lines; None where it is something else."""
    found: list[Request] = []
    entries: list[Any] = []
    conversations: list[Any] = []
    known = False
    for document in _documents(name, data, warnings):
        try:
            if chat_only or chat.is_conversation(document):
                conversations.append(document)
            elif claude_session.is_entry(document):
                entries.append(document)
            elif atif.is_trajectory(document):
                found.append(request_of(atif.parse(document)))
            elif trail.is_trail(document):
                found += trail.parse(document)
            elif otlp_json.is_traces(document) or otlp_json.is_logs(document):
                found.append(otlp_json.parse(document))
            else:
                continue
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise BrokenFileError(f"{name} is broken: {_line(error)}") from error
        known = True
    try:
        found += map(request_of, (*claude_session.parse(entries), *chat.parse(conversations)))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise BrokenFileError(f"{name} is broken: {_line(error)}") from error
    return found if known else None


def _documents(name: str, data: bytes, warnings: list[str]) -> Iterator[Any]:
    """The documents of a file. What is cut off in the last line of a session is left out, with a warning."""
    try:
        text = data.decode("utf-8-sig")
        try:
            document = json.loads(text)
        except json.JSONDecodeError as error:
            if not error.msg.startswith("Extra data"):
                raise
            yield from _lines(name, text, warnings)
            return
    except (ValueError, RecursionError) as error:
        raise BrokenFileError(f"{name} is broken JSON: {_line(error)}") from error
    yield from document if isinstance(document, list) else [document]


def _lines(name: str, text: str, warnings: list[str]) -> Iterator[Any]:
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    for number, line in lines:
        try:
            document = json.loads(line)
        except ValueError as error:
            if number < lines[-1][0] or not claude_session.is_entry(json.loads(lines[0][1])):
                raise BrokenFileError(f"{name}, line {number}, is broken JSON: {_line(error)}") from error
            warnings.append(f"{name} ends in the middle of a line: what is before it is sent")
            return
        yield document


def _from_protobuf(name: str, data: bytes) -> list[Request]:
    if found := _messages(data):
        return found
    raise BrokenFileError(f"{name} is broken: neither an OTLP export request nor JSON")


def _messages(data: bytes) -> list[Request]:
    """Spans and log records have the same outline on the wire: what has ids as a span is spans."""
    for signal, told_by in ((SPANS, "trace_id"), (LOGS, "time_unix_nano"), (LOGS, "observed_time_unix_nano")):
        request = signal.request()
        try:
            request.ParseFromString(data)
        except DecodeError:
            continue
        if not data or any(getattr(item, told_by) for _, _, item in rows(request)):
            return [request]
    return []


def _too_large(name: str, limit: int) -> BrokenFileError:
    return BrokenFileError(f"{name} is larger than {limit} bytes after decompression: split it")


def _line(error: Exception) -> str:
    detail = f"missing {error}" if isinstance(error, KeyError) else str(error) or type(error).__name__
    return " ".join(detail.split())[:200]


_TRAILING_COMMA = re.compile(r",(?=\s*[}\]])")


def read_json(path: Path) -> Any:
    """A JSON file, gzipped or not; a comma too many before a bracket, which published annotations have, is mended.

    Raises:
        BrokenFileError: it cannot be read, or is no JSON; names the file.
    """
    try:
        data = path.read_bytes()
        text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8-sig")
        try:
            return json.loads(text)
        except json.JSONDecodeError:
            return json.loads(_TRAILING_COMMA.sub("", text))
    except (OSError, ValueError, EOFError, zlib.error, RecursionError) as error:
        raise BrokenFileError(f"{path} is broken: {' '.join(str(error).split())[:200]}") from error
