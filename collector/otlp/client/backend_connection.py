"""The connection to a backend: its endpoint, headers, certificates and time-out."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from tracejury.collector.otlp.secrets import SHORTEST

BINARY: Final = "-bin"
"""Ending of the names of gRPC metadata whose values are bytes (gRPC over HTTP2, "Requests")."""


_WORDS: Final = re.compile(r"[\s,;=]+")


@dataclass(frozen=True, slots=True)
class BackendConnection:
    """Settings of a connection. `headers` may hold secrets; `ca`: PEM, None for the system's authorities.

    `certificate`: paths of the client's own certificate and its key.
    """

    endpoint: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    gzip: bool = True
    timeout: float = 10.0
    ca: bytes | None = None
    certificate: tuple[str, str] | None = None

    @property
    def secrets(self) -> frozenset[str]:
        """Texts of the headers to hide: their values and the words of these, also as errors quote them."""
        found = {
            s for value in self.headers.values() for s in (value, *_WORDS.split(value), *_basic_credentials(value))
        }
        return frozenset(form for s in found if len(s) >= SHORTEST for form in (s, repr(s)[1:-1], json.dumps(s)[1:-1]))


def metadata(key: str, value: str) -> tuple[str, str | bytes]:
    """A header as gRPC metadata; the value of a binary name is decoded from base64, padded or not.

    Raises:
        ValueError: the value is not base64.
    """
    if not key.lower().endswith(BINARY):
        return key, value
    return key, base64.b64decode(value + "=" * (-len(value) % 4), validate=True)


def _basic_credentials(value: str) -> list[str]:
    """User and password of Basic authentication, as a backend may name them."""
    scheme, _, encoded = value.partition(" ")
    try:
        plain = base64.b64decode(encoded, validate=True).decode() if scheme.lower() == "basic" else ""
    except ValueError:
        return []
    return [plain, plain.partition(":")[2]]
