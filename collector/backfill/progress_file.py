"""How far a backfill has come, in a file, so that one that was stopped goes on."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from tracejury.schemas.errors import ConfigError

FOLDER: Final = Path(".tracejury") / "backfill"
_DIGITS: Final = 16


@dataclass(frozen=True, slots=True)
class BackfillProgress:
    """The window (unix nanos) and the last trace of which all was acknowledged, with its start; and counts up to there.

    `rejected`: items that the collector refused for good; `bad`: ids and rows that could not be sent.
    """

    since: int
    until: int
    start: int = 0
    trace_id: str = ""
    traces: int = 0
    spans: int = 0
    logs: int = 0
    rejected: int = 0
    bad: int = 0
    finished: bool = False


class ProgressFile:
    """The file of one backfill, told by what it reads and where it sends it."""

    def __init__(self, path: Path | None, *told_by: object) -> None:
        """`path`: None for one in `FOLDER`, whose name follows from `told_by`."""
        digest = hashlib.sha256(json.dumps(told_by, default=str).encode()).hexdigest()[:_DIGITS]
        self.path = path or FOLDER / f"{digest}.json"
        self._told_by = digest

    def load(self) -> BackfillProgress | None:
        """What was saved; None where nothing was.

        Raises:
            ConfigError: the file is that of another backfill, or no such file.
        """
        try:
            saved = json.loads(self.path.read_text())
            told_by = saved.pop("backfill")
            progress = BackfillProgress(**saved)
        except FileNotFoundError:
            return None
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ConfigError(
                f"{self.path} is no progress of a backfill: name another --state, or --restart"
            ) from error
        if told_by != self._told_by:
            raise ConfigError(
                f"{self.path} is of a backfill with another source, filter or endpoint: name another --state"
            )
        return progress

    def save(self, progress: BackfillProgress) -> None:
        """Replace the file as a whole: a process that is killed leaves the one before, or this one."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        new = self.path.with_name(f"{self.path.name}.new")
        with new.open("w") as file:
            json.dump({"backfill": self._told_by, **asdict(progress)}, file)
            file.flush()
            os.fsync(file.fileno())
        new.replace(self.path)

    def remove(self) -> None:
        """Forget it."""
        self.path.unlink(missing_ok=True)
