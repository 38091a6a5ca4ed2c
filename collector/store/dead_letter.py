"""The dead-letter folder: requests that can never be stored, as files within a bound."""

from __future__ import annotations

import hashlib
import json
import re
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Final

from ...schemas.batch import Batch

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
        return self._keep(f"batch-{digest}.jsonl", "\n".join([json.dumps(head), *lines, ""]).encode())

    def keep_body(self, signal: str, encoding: str, body: bytes, tenant: str = "") -> Path | None:
        """Write a request as it came (`.pb` or `.json`); None where it alone exceeds `max_bytes`. Raises OSError.

        The name of the file begins with that of the project.
        """
        kind = re.sub(r"[^a-z]", "", signal) or "body"
        project = re.sub(r"[^a-z0-9._-]", "", tenant).lstrip(".")
        kind = f"{project}+{kind}" if project else kind
        return self._keep(f"{kind}-{_digest(body)}.{_SUFFIX.get(encoding, 'bin')}", body)

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


def _lines(batch: Batch) -> Iterator[str]:
    for kind, items in (("span", batch.spans), ("log", batch.logs)):
        for item in items:
            yield json.dumps({kind: asdict(item)}, default=repr)


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()
