"""The identity of an embedded store's files.

The engine goes on with open files after its folder was removed or replaced, so its inserts still succeed; the rows are
gone with the process. Device and inode of each path tell that it is no longer what was opened.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tracejury.schemas.errors import RetryableError


class FolderIdentity:
    """Paths as they were when they were added. Safe from several threads."""

    def __init__(self, paths: Iterable[Path]) -> None:
        """The paths must exist. Raises OSError."""
        self._seen = {path: _identity(path) for path in paths}

    def add(self, paths: Iterable[Path]) -> None:
        """Further paths that must stay what they are now. Raises OSError."""
        self._seen = self._seen | {path: _identity(path) for path in paths}

    def problem(self) -> str:
        """Which path was removed or replaced; "" while all are what they were."""
        for path, seen in self._seen.items():
            try:
                same = _identity(path) == seen
            except OSError as error:
                return f"{path} of the store cannot be found any more ({error.strerror}): restart the collector"
            if not same:
                return f"{path} of the store was replaced: restart the collector"
        return ""

    def check(self) -> None:
        """Raises RetryableError where a path was removed or replaced: what is written now would be lost."""
        if problem := self.problem():
            raise RetryableError(problem, retry_after=_RETRY_SECONDS)


_RETRY_SECONDS = 30.0


def _identity(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_dev, found.st_ino
