"""The dead-letter folder: requests that can never be stored, as files within a bound."""

from __future__ import annotations

import hashlib
import json
import re
import threading
import time
from collections.abc import Collection, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Final

from opentelemetry.proto.common.v1.common_pb2 import AnyValue

from tracejury.schemas.batch import Batch

_IS_HEX: Final = re.compile(r"(?:[0-9a-f]{2})+").fullmatch
_SUFFIX: Final = {"protobuf": "pb", "json": "json"}


class DeadLetterFolder:
    """Keeps at most `max_bytes`: the oldest files make room. Safe from several threads.

    A file's name holds the digest of its content, so the same request sent again takes no second file.
    """

    def __init__(self, path: Path, max_bytes: int) -> None:
        """The folder is made when the first file comes."""
        self._path = path
        self._max_bytes = max_bytes
        self._lock = threading.Lock()

    def keep_batch(self, batch: Batch, reason: str) -> Path | None:
        """Write a decoded batch as JSON lines; None where it alone exceeds `max_bytes`. Raises OSError.

        Line 1 says what failed and when; each further line is one span or log record in stored form. It is ASCII
        JSON: whatever could not be stored (lone surrogates, say) survives.
        """
        lines = list(_lines(batch))
        digest = _digest("\n".join(lines).encode())
        head = {"reason": reason, "failed_at": time.time_ns(), "spans": len(batch.spans), "logs": len(batch.logs)}
        tenant = next((item.tenant for items in (batch.spans, batch.logs) for item in items), "")
        data = "\n".join([json.dumps(head), *lines, ""]).encode()
        return self._keep(f"{_of_project(tenant)}batch-{digest}.jsonl", data)

    def keep_body(self, signal: str, encoding: str, body: bytes, tenant: str = "") -> Path | None:
        """Write a request as it came (`.pb` or `.json`); None where it alone exceeds `max_bytes`. Raises OSError.

        The name of the file begins with that of the project.
        """
        kind = re.sub(r"[^a-z]", "", signal) or "body"
        return self._keep(f"{_of_project(tenant)}{kind}-{_digest(body)}.{_SUFFIX.get(encoding, 'bin')}", body)

    def forget(self, tenant: str, trace_ids: Collection[str], texts: Collection[str]) -> int:
        """Remove what a project sent of these traces, or with one of these values; returns how many files changed.

        A batch loses those of its spans and log records, a body is removed. One that is compressed cannot be searched.
        Raises OSError.
        """
        held = {form for an_id in trace_ids for form in _forms_of_id(an_id)}
        held |= {form for text in texts for form in _forms_of_text(text)}
        with self._lock:
            return sum(_without(file, held) for file in self._files(tenant)) if held else 0

    def expire(self, tenant: str, before: int) -> int:
        """Remove files of a project that are older than this (unix nanos); returns how many. Raises OSError."""
        with self._lock:
            old = [file for file in self._files(tenant) if file.stat().st_mtime_ns < before]
            for file in old:
                file.unlink(missing_ok=True)
            return len(old)

    def projects(self) -> set[str]:
        """The projects of the files."""
        names = (file.name for file in self._path.glob("*"))
        return {name.rpartition("+")[0] for name in names}

    def _files(self, tenant: str) -> list[Path]:
        prefix = _of_project(tenant)
        return [f for f in self._path.glob("*") if f.name.rpartition("+")[0] == prefix.rstrip("+") and f.is_file()]

    def _keep(self, name: str, data: bytes) -> Path | None:
        if len(data) > self._max_bytes:
            return None
        with self._lock:
            self._path.mkdir(parents=True, exist_ok=True)
            target = self._path / name
            target.unlink(missing_ok=True)
            self._make_room(len(data))
            draft = target.with_suffix(".draft")
            draft.write_bytes(data)
            return draft.replace(target)

    def _make_room(self, needed: int) -> None:
        files = sorted((f.stat().st_mtime_ns, f.stat().st_size, f) for f in self._path.iterdir() if f.is_file())
        used = sum(size for _, size, _ in files)
        for _, size, file in files:
            if used + needed <= self._max_bytes:
                return
            file.unlink(missing_ok=True)
            used -= size


def _of_project(tenant: str) -> str:
    """The beginning of the names of a project's files; "" of the default one."""
    project = re.sub(r"[^a-z0-9._-]", "", tenant).lstrip(".")
    return f"{project}+" if project else ""


def _forms_of_id(trace_id: str) -> Iterator[bytes]:
    yield trace_id.encode()
    if _IS_HEX(trace_id):
        yield bytes.fromhex(trace_id)
        yield trace_id.upper().encode()


def _forms_of_text(text: str) -> Iterator[bytes]:
    """A whole value as JSON and protobuf (field 1 of `AnyValue`) have it."""
    yield json.dumps(text).encode()
    yield json.dumps(text, ensure_ascii=False).encode("utf-8", "surrogatepass")
    yield AnyValue(string_value=text.encode("utf-8", "replace").decode()).SerializeToString()


def _without(file: Path, held: Collection[bytes]) -> bool:
    """Remove the lines, of a body the file, that hold any of these; whether any did."""
    data = file.read_bytes()
    if not any(one in data for one in held):
        return False
    lines = data.split(b"\n") if file.suffix == ".jsonl" else [data]
    kept = [line for line in lines if not any(one in line for one in held)]
    if kept[:1] == lines[:1] and len([line for line in kept if line]) > 1:  # the first says why
        draft = file.with_suffix(".draft")
        draft.write_bytes(b"\n".join(kept))
        draft.replace(file)
    else:
        file.unlink(missing_ok=True)
    return True


def _lines(batch: Batch) -> Iterator[str]:
    for kind, items in (("span", batch.spans), ("log", batch.logs)):
        for item in items:
            yield json.dumps({kind: asdict(item)}, default=repr)


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()
