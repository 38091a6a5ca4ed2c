"""One process an embedded store: a lock file that names its holder.

The engine refuses a second process too, but names no cause. The lock is the kernel's (flock), so one that a dead
process left behind blocks nobody; the pid inside is only for the message.
"""

from __future__ import annotations

import errno
import fcntl
import os
import threading
from pathlib import Path

from ...schemas.errors import ConfigError

_held: dict[str, tuple[int, int]] = {}  # folder -> (file descriptor, how many stores of this process use it)
_guard = threading.Lock()


def acquire(folder: str) -> None:
    """Take the folder for this process, making it where it is missing. Stores of one process share it.

    Raises:
        ConfigError: another process holds it (named by its pid), or the folder cannot be written.
    """
    with _guard:
        if folder in _held:
            fd, users = _held[folder]
            _held[folder] = (fd, users + 1)
            return
        _held[folder] = (_lock(folder), 1)


def release(folder: str) -> None:
    """Give the folder back; the last store of this process unlocks it."""
    with _guard:
        fd, users = _held[folder]
        if users > 1:
            _held[folder] = (fd, users - 1)
            return
        del _held[folder]
        os.close(fd)


def lock_file(folder: str) -> Path:
    """The lock's file, beside the folder and not in it: what is inside belongs to the engine."""
    return Path(folder + ".lock")


def _lock(folder: str) -> int:
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        fd = os.open(lock_file(folder), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise ConfigError(f"the store folder {folder} cannot be used: {error.strerror}") from error
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
    except OSError as error:
        holder = os.pread(fd, 32, 0).decode("ascii", "replace").strip()
        os.close(fd)
        if error.errno in (errno.EAGAIN, errno.EACCES):
            raise ConfigError(_held_by(folder, holder)) from None
        raise ConfigError(f"the store folder {folder} cannot be locked: {error.strerror}") from error
    return fd


def _held_by(folder: str, pid: str) -> str:
    who = f"process {pid}" if pid else "another process"
    return (
        f"the store folder {folder} is held by {who}: an embedded store has one owner at a time "
        "(stop it, or ask the running collector with --url)"
    )
