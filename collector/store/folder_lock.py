"""One process an embedded store: a lock file that names its holder.

The engine refuses a second process too, but names no cause. The lock is the kernel's (flock), so one that a dead
process left behind blocks nobody; the pid inside is only for the message.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path

from filelock import FileLock, Timeout

from tracejury.schemas.errors import ConfigError

_guard = threading.Lock()


def acquire(folder: str) -> FileLock:
    """Take the folder for this process, making it where it is missing. Stores of one process share it.

    Raises:
        ConfigError: another process holds it (named by its pid), or the folder cannot be written.
    """
    path = lock_file(folder)
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        # Stores of one process share one lock, which counts them.
        lock = FileLock(
            path, timeout=0, thread_local=False, is_singleton=True, fallback_to_soft=False, on_acquired=_write_pid
        )
        with _guard:
            lock.acquire()
    except Timeout:
        raise ConfigError(_held_by(folder, path)) from None
    except OSError as error:
        raise ConfigError(f"the store folder {folder} cannot be used: {error.strerror}") from error
    return lock


def release(lock: FileLock) -> None:
    """Give the folder back; the last store of this process unlocks it."""
    with _guard:
        lock.release()


def lock_file(folder: str) -> Path:
    """The lock's file, beside the folder and not in it: what is inside belongs to the engine."""
    return Path(folder + ".lock")


def _write_pid(descriptor: int) -> None:
    os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)


def _held_by(folder: str, path: Path) -> str:
    pid = path.read_bytes()[:32].decode("ascii", "replace").strip()
    who = f"process {pid}" if pid else "another process"
    return (
        f"the store folder {folder} is held by {who}: an embedded store has one owner at a time "
        "(stop it, or ask the running collector with --url)"
    )
