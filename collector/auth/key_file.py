"""The file of keys: JSON with hashes, no tokens. Changes are written whole, by one process at a time."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Final

from filelock import FileLock, Timeout
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from tracejury.judges.llm.problems import place_of, told
from tracejury.schemas.errors import ConfigError
from tracejury.schemas.text.moments import iso_time

from .key import AccessKey, KeyScope

VARIABLE: Final = "TRACEJURY_KEYS"
"""The environment variable with the same JSON, for containers."""

NAME: Final = "tracejury-keys.json"

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LOCK_SECONDS: Final = 10.0

_PROJECT: Final = re.compile(r"([a-z0-9][a-z0-9._-]{0,63})?")

Project = Annotated[str, Field(pattern=rf"^{_PROJECT.pattern}$")]
"""Lower-case letters, digits, dots, hyphens and underscores; "" is the default project."""


class _StoredKey(BaseModel):
    """A key as JSON: digest in hex, times in ISO 8601."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    id: Annotated[str, Field(pattern=r"^[0-9a-f]{8}$")]
    name: Annotated[str, Field(max_length=200)] = ""
    project: Project = ""
    scopes: Annotated[frozenset[KeyScope], Field(min_length=1)]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    created: AwareDatetime
    expires: AwareDatetime | None = None


class _StoredKeys(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    keys: tuple[_StoredKey, ...]


def a_project(name: str) -> str:
    """The name of a project.

    Raises:
        ConfigError: it is none.
    """
    if not _PROJECT.fullmatch(name):
        raise ConfigError(f"{name[:64]!r} is no name of a project: use up to 64 of a-z, 0-9, dot, hyphen, underscore")
    return name


def parse_keys(text: str, place: str) -> tuple[AccessKey, ...]:
    """The keys in a JSON text; `place` names it in messages.

    Raises:
        ConfigError: one line that says where it is wrong; it repeats no value.
    """
    try:
        found = _StoredKeys.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        raise ConfigError(f"{place}: {place_of(first) or 'top level'}: {told(first)}") from None
    keys = tuple(map(_key, found.keys))
    if len({key.id for key in keys}) < len(keys):
        raise ConfigError(f"{place}: two keys have one id")
    return keys


def read_keys(path: Path) -> tuple[AccessKey, ...]:
    """The keys of a file, none where there is no file.

    Raises:
        ConfigError: it cannot be read, or holds something else.
    """
    try:
        return parse_keys(path.read_text("utf-8"), str(path))
    except FileNotFoundError:
        return ()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read the keys in {path}: {getattr(error, 'strerror', None) or error}") from None


def keys_text(keys: Sequence[AccessKey]) -> str:
    """As JSON, one key a line."""
    rows = ",\n".join(json.dumps(_shown(key)) for key in keys)
    return f'{{"keys": [\n{rows}\n]}}\n' if keys else '{"keys": []}\n'


@contextmanager
def changing(path: Path) -> Iterator[list[AccessKey]]:
    """The keys of a file to change in place; they are written when the block ends without an error.

    Raises:
        ConfigError: the file cannot be read or written, or another process is changing it.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{path}.lock", timeout=_LOCK_SECONDS, mode=0o600):
            keys = list(read_keys(path))
            yield keys
            _write(path, keys_text(keys))
    except Timeout:
        raise ConfigError(f"another process is changing {path}: try again") from None
    except OSError as error:
        raise ConfigError(f"cannot write the keys to {path}: {error.strerror or error}") from None


def _write(path: Path, text: str) -> None:
    whole = path.with_name(f"{path.name}.new")
    descriptor = os.open(whole, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    whole.replace(path)


def _key(stored: _StoredKey) -> AccessKey:
    # One that expired before 1970 has expired; 0 would be never.
    expires = max(_nanos(stored.expires), 1) if stored.expires else 0
    digest = bytes.fromhex(stored.sha256)
    return AccessKey(stored.id, stored.name, stored.project, stored.scopes, digest, _nanos(stored.created), expires)


def _nanos(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1) * 1_000


def _shown(key: AccessKey) -> dict[str, object]:
    return {
        "id": key.id,
        "name": key.name,
        "project": key.project,
        "scopes": sorted(key.scopes),
        "sha256": key.digest.hex(),
        "created": iso_time(key.created) or "1970-01-01T00:00:00Z",
        "expires": iso_time(key.expires) if key.expires else None,
    }
