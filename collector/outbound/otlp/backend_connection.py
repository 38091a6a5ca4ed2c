"""Backend connections from the configuration and the environment; secrets stay here and in requests."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from pydantic import SecretStr

from tracejury.collector.otlp.client.backend_connection import BINARY, BackendConnection, metadata
from tracejury.collector.otlp.client_tls import ClientTls
from tracejury.schemas.config_base import VARIABLE
from tracejury.schemas.errors import ConfigError

from .config import BackendConfig, ExportConfig

HEADER: Final = re.compile(r"[A-Za-z0-9_.-]+")
VALUE: Final = re.compile(r"[\x20-\x7e]*")
OURS: Final = frozenset({"content-length", "transfer-encoding"})
"""Headers that say how a request is framed: another's would break it."""


def check_exports(config: ExportConfig) -> None:
    """Check all that `build_exports` would refuse, without connecting anywhere.

    Raises:
        ConfigError: one line a problem.
    """
    problems = [problem for number, backend in enumerate(config.otlp) for problem in _problems(backend, number)]
    if problems:
        raise ConfigError("\n".join(problems))


def connection_of(backend: BackendConfig, number: int, environ: Mapping[str, str] = os.environ) -> BackendConnection:
    """The connection to a backend; `number` is its place in the file.

    Raises:
        ConfigError: a variable or a file that it names is not there.
    """
    problems = list(_problems(backend, number, environ))
    if problems:
        raise ConfigError("\n".join(problems))
    return BackendConnection(
        endpoint=backend.endpoint,
        headers={key: _filled(value, environ) for key, value in backend.headers.items()},
        gzip=backend.compression == "gzip",
        timeout=backend.timeout_seconds,
        ca=Path(backend.ca_file).read_bytes() if backend.ca_file else None,
        certificate=(backend.cert_file, backend.key_file) if backend.cert_file else None,
    )


def _problems(backend: BackendConfig, number: int, environ: Mapping[str, str] = os.environ) -> Iterator[str]:
    place = f"export.otlp.{number}"
    for key, value in backend.headers.items():
        if not HEADER.fullmatch(key):
            yield f"{place}.headers: {key[:40]!r} is no name of a header"
        if key.lower() in OURS:
            yield f"{place}.headers.{key}: this one is set by us"
        missing = [name for name in VARIABLE.findall(value.get_secret_value()) if name not in environ]
        yield from (f"{place}.headers.{key}: the environment variable {name} is not set" for name in missing)
        if not missing and not VALUE.fullmatch(_filled(value, environ)):
            yield f"{place}.headers.{key}: its value holds what a header cannot: use printable ASCII"
        elif not missing and backend.protocol == "grpc" and not _is_sendable(key, _filled(value, environ)):
            yield f"{place}.headers.{key}: over gRPC its value must be base64, since its name ends in {BINARY}"
    paths = backend.ca_file, backend.cert_file, backend.key_file
    try:
        ClientTls.named(paths, (f"{place}.ca_file", f"{place}.cert_file", f"{place}.key_file")).context()
    except ConfigError as error:
        yield str(error)


def _is_sendable(key: str, value: str) -> bool:
    try:
        metadata(key, value)
    except ValueError:
        return False
    return True


def _filled(value: SecretStr, environ: Mapping[str, str]) -> str:
    """With the variables in it; white space at its ends is no part of a header's value (RFC 9110, 5.5)."""
    return VARIABLE.sub(lambda found: environ[found[1]], value.get_secret_value()).strip()
