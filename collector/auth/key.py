"""Access keys: what one may do and where, and the token that its holder shows."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

PREFIX: Final = "tj"
"""The beginning of every token, by which scanners for leaked secrets can know it."""

_SECRET_BYTES: Final = 32
_ID_BYTES: Final = 4


class KeyScope(StrEnum):
    """What a key allows. `admin` allows everything within its project."""

    INGEST = "ingest"
    READ = "read"
    LABEL = "label"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class AccessKey:
    """A key without its token. Times are unix nanos; `expires` 0: never.

    `digest`: SHA-256 of the token. A token has 256 random bits, so a slow hash would add nothing.
    """

    id: str
    name: str
    project: str
    scopes: frozenset[KeyScope]
    digest: bytes
    created: int
    expires: int = 0

    def allows(self, scope: KeyScope) -> bool:
        """Whether the key may do what that scope names."""
        return scope in self.scopes or KeyScope.ADMIN in self.scopes

    def is_valid(self, now: int) -> bool:
        """Whether the key has not expired."""
        return not self.expires or now < self.expires


NOBODY: Final = AccessKey("", "", "", frozenset(), secrets.token_bytes(32), 0)
"""Stands in for an unknown key, so that checking one takes as long as checking a known one."""

EVERYBODY: Final = AccessKey("", "", "", frozenset(KeyScope), b"", 0)
"""Whoever asks a collector that has no keys: everything, in the default project."""


def new_key(
    name: str, project: str, scopes: Iterable[KeyScope], created: int, expires: int = 0
) -> tuple[AccessKey, str]:
    """A new key, and its token, which is kept nowhere."""
    key_id = secrets.token_hex(_ID_BYTES)
    token = f"{PREFIX}_{key_id}_{secrets.token_urlsafe(_SECRET_BYTES)}"
    return AccessKey(key_id, name, project, frozenset(scopes), digest_of(token), created, expires), token


def digest_of(token: str) -> bytes:
    """SHA-256 of a token."""
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()


def id_of(token: str) -> str:
    """The id that a token names, "" where it has not the form of one."""
    parts = token.split("_", 2)
    return parts[1] if len(parts) == len(("prefix", "id", "secret")) and parts[0] == PREFIX else ""


def opens(token: str, key: AccessKey) -> bool:
    """Whether the token is that of the key; it takes as long whatever they hold."""
    return hmac.compare_digest(digest_of(token), key.digest)
