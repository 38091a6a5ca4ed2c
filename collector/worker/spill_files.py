"""Bytes that wait in temporary files: reading them back costs a fraction of what a query costs.

Nothing in them is needed after a restart. A file has no name, so it ends with the process.
"""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
import threading
import time
from pathlib import Path
from typing import IO, Final

from tracejury.schemas.config_base import MIB

from .log_throttle import LogThrottle

log = logging.getLogger(__name__)

SEGMENT_BYTES: Final = 64 * MIB
"""A file takes entries up to about this size, and is given back once none of them is needed any more."""
MOST_BYTES: Final = 2048 * MIB
"""Of all files."""


class SpillSegment:
    """One temporary file. `live`: how many of its entries may still be read."""

    def __init__(self, folder: Path) -> None:
        self._file: IO[bytes] = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115  close() closes it
        self.size = self.live = 0

    def append(self, data: bytes) -> None:
        """Raises OSError."""
        if os.pwrite(self._file.fileno(), data, self.size) < len(data):
            raise OSError("the disk is full")
        self.size += len(data)

    def read(self, offset: int, size: int) -> bytes:
        """Raises OSError, EOFError."""
        data = os.pread(self._file.fileno(), size, offset)
        if len(data) < size:
            raise EOFError("a temporary file is too short")
        return data

    def close(self) -> None:
        """Give its space back."""
        self._file.close()


class SpillEntry:
    """Bytes in a file, appended one after the other; then read once, or dropped."""

    def __init__(self, files: SpillFiles, segment: SpillSegment) -> None:
        """Use `SpillFiles.begin`."""
        self._files, self._segment = files, segment
        self._offset, self._size = segment.size, 0
        self.is_whole = True
        """Whether all of it could be written."""

    def append(self, data: bytes) -> None:
        """Write more; where that is not possible it is not whole, and nothing more is written."""
        if not self.is_whole:
            return
        self._size += len(data)
        try:
            self._files.check(len(data))
            self._segment.append(data)
        except OSError as error:
            self.is_whole = False
            self._files.complain(error)

    def read(self) -> bytes:
        """The bytes, which are dropped. Raises OSError, EOFError."""
        try:
            return self._segment.read(self._offset, self._size)
        finally:
            self.drop()

    def drop(self) -> None:
        """Nobody will read it."""
        self._files.release(self._segment)


class SpillFiles:
    """Files in `folder`. One thread writes, one entry after the other; any thread reads and drops.

    `min_free_bytes`: of the disk, which the files leave to others.
    """

    def __init__(
        self,
        folder: Path,
        *,
        min_free_bytes: int = 0,
        segment_bytes: int = SEGMENT_BYTES,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self._folder, self._min_free = folder, min_free_bytes
        self._segment_bytes, self._most = segment_bytes, most_bytes
        self._segments: list[SpillSegment] = []
        self._lock = threading.Lock()
        self._throttle = LogThrottle(time.monotonic_ns)

    @property
    def size(self) -> int:
        """Bytes of all files."""
        with self._lock:
            return sum(segment.size for segment in self._segments)

    def begin(self) -> SpillEntry | None:
        """An entry to be written; None where that is not possible."""
        try:
            self.check(0)
            with self._lock:
                segment = self._current()
                segment.live += 1
        except OSError as error:
            self.complain(error)
            return None
        return SpillEntry(self, segment)

    def put(self, data: bytes) -> SpillEntry | None:
        """Write an entry; None where that is not possible."""
        entry = self.begin()
        if entry is None:
            return None
        entry.append(data)
        if entry.is_whole:
            return entry
        entry.drop()
        return None

    def check(self, more: int) -> None:
        """Raises OSError where the files would be larger than they may be with so many bytes `more`."""
        if (needed := self.size + more) > self._most:
            raise OSError(
                f"its temporary files would take {needed:,} bytes, and may take {self._most:,} (judging.max_file_bytes)"
            )

    def complain(self, error: OSError) -> None:
        """Log why something cannot be written, now and then."""
        if self._throttle.due("unwritable"):
            log.warning("open traces cannot be kept in %s, and are read from the store: %s", self._folder, error)

    def release(self, segment: SpillSegment) -> None:
        """One entry of the file is not needed any more."""
        with self._lock:
            segment.live -= 1
            if segment.live:
                return
            self._segments.remove(segment)
        segment.close()

    def _current(self) -> SpillSegment:
        self._folder.mkdir(parents=True, exist_ok=True)
        if not self._segments or self._segments[-1].size >= self._segment_bytes:
            free = shutil.disk_usage(self._folder).free
            if free < self._min_free + self._segment_bytes:
                raise OSError(
                    f"its disk has {free // MIB} MiB free: {self._min_free // MIB} MiB must stay free "
                    f"(writer.min_free_bytes) beside a file of {self._segment_bytes // MIB} MiB"
                )
            self._segments.append(SpillSegment(self._folder))
        return self._segments[-1]
