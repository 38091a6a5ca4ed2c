"""The manifest of a backup: what it is of, and the checksum of each file. It is written last."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from tracejury.schemas.errors import ConfigError

MANIFEST: Final = "manifest.json"
DATA: Final = "data"
"""The folder of the engine's own backup, beside the manifest."""


class Manifest(BaseModel):
    """Of one backup. `made_at`: the moment that it shows, ISO 8601; `files`: bytes and SHA-256 by path in `DATA`.

    `migrations`: the checksums of those that the store had, by name.
    """

    model_config = ConfigDict(frozen=True)

    format: Literal[1] = 1
    tracejury: str
    made_at: str
    database: str
    migrations: Mapping[str, str]
    files: Mapping[str, tuple[int, str]]

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(size for size, _ in self.files.values())

    @classmethod
    def read(cls, backup: Path) -> Manifest:
        """The manifest of a backup. Raises ConfigError: there is none, or it cannot be read."""
        try:
            return cls.model_validate_json((backup / MANIFEST).read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            raise ConfigError(
                f"{backup} is no whole backup: it has no {MANIFEST}, which is written last; choose another one"
            ) from None
        except OSError as error:
            raise ConfigError(f"{backup / MANIFEST} cannot be read: {error.strerror}") from error
        except ValidationError as error:
            raise ConfigError(
                f"{backup / MANIFEST} is damaged, or of a newer tracejury ({error.errors()[0]['msg']})"
            ) from None

    def write(self, backup: Path) -> None:
        """Put it into a backup. Raises OSError."""
        (backup / MANIFEST).write_text(self.model_dump_json(indent=1))

    def verify(self, backup: Path) -> None:
        """Read all files of a backup. Raises ConfigError: one is missing or is not what was written."""
        for name, (size, digest) in self.files.items():
            file = backup / DATA / name
            if ".." in Path(name).parts or not file.is_file():
                raise ConfigError(f"the backup {backup} is damaged: {name} is missing; choose another one")
            if file.stat().st_size != size or _digest(file) != digest:
                raise ConfigError(f"the backup {backup} is damaged: {name} is not what was written; choose another one")


def described(backup: Path) -> Mapping[str, tuple[int, str]]:
    """Bytes and SHA-256 of all files of a backup, by path. Raises OSError."""
    data = backup / DATA
    files = sorted(path for path in data.rglob("*") if path.is_file())
    return {str(path.relative_to(data)): (path.stat().st_size, _digest(path)) for path in files}


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
