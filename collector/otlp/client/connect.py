"""Clients by endpoint and protocol, as the command line names them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from typing import Final
from urllib.parse import unquote, urlsplit

from tracejury.collector.otlp.client_tls import ClientTls
from tracejury.schemas.errors import ConfigError, RetryableError

from .backend_connection import BackendConnection
from .client import OtlpClient

PROTOCOLS: Final = {"grpc": "http://127.0.0.1:4317", "http": "http://127.0.0.1:4318", "json": "http://127.0.0.1:4318"}
"""Each protocol with its default endpoint; `http` is protobuf over HTTP, `json` is JSON over HTTP."""

_TIMEOUT: Final = 30.0


def connect(endpoint: str, protocol: str, headers: Mapping[str, str] | None = None) -> OtlpClient:
    """A client of an endpoint: "host:port", "http://host:port" or, with TLS, "https://host:port".

    For https:// the environment may name certificates (see `ClientTls`). The headers of OTEL_EXPORTER_OTLP_HEADERS
    are sent, too, and take the place of `headers`.

    Raises:
        ConfigError: no such protocol, not an endpoint, or a certificate cannot be used.
    """
    secure, host, port = _address(endpoint, protocol)
    url = f"{'https' if secure else 'http'}://{host}:{port}"
    tls = ClientTls()
    if secure:
        tls = ClientTls.of_environment()
        tls.context()  # its errors name the file
    connection = BackendConnection(
        url,
        headers={**(headers or {}), **_environment_headers()},
        gzip=False,
        timeout=_TIMEOUT,
        ca=tls.ca.read() if tls.ca else None,
        certificate=(tls.cert.path, tls.key.path) if tls.cert and tls.key else None,
    )
    return client_of(connection, grpc=protocol == "grpc")


def _environment_headers() -> dict[str, str]:
    """name=value, separated by commas, percent-encoded (OpenTelemetry specification, "OTLP Exporter Configuration")."""
    pairs = (pair.partition("=") for pair in os.environ.get("OTEL_EXPORTER_OTLP_HEADERS", "").split(","))
    return {unquote(name).strip().lower(): unquote(value).strip() for name, _, value in pairs if name.strip()}


def client_of(connection: BackendConnection, *, grpc: bool) -> OtlpClient:
    """A client over gRPC or HTTP."""
    if grpc:
        from .grpc_client import GrpcClient

        return GrpcClient(connection)
    from .http_client import HttpClient

    return HttpClient(connection)


async def check_listening(endpoint: str, protocol: str) -> None:
    """Raises RetryableError, with a line that helps, where nothing listens at the endpoint."""
    _, host, port = _address(endpoint, protocol)
    try:
        _, writer = await asyncio.open_connection(host.strip("[]"), port)
    except OSError as error:
        raise RetryableError(
            f"nothing listens at {host}:{port}: start it with `tracejury serve`, or name another --endpoint"
        ) from error
    writer.close()
    await writer.wait_closed()


def _address(endpoint: str, protocol: str) -> tuple[bool, str, int]:
    default = PROTOCOLS.get(protocol)
    if default is None:
        raise ConfigError(f"unknown protocol {protocol[:20]!r}: use one of {', '.join(PROTOCOLS)}")
    endpoint = endpoint or default
    try:
        parts = urlsplit(endpoint if "://" in endpoint else f"http://{endpoint}")
        host, port = parts.hostname, parts.port or urlsplit(default).port
    except ValueError:
        host, port = None, None
    if not host or not port or parts.scheme not in {"http", "https"}:
        raise ConfigError(f"not an endpoint: {endpoint[:100]!r} (expected host:port or http://host:port)")
    return parts.scheme == "https", f"[{host}]" if ":" in host else host, port
