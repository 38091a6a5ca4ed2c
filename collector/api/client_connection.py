"""The connection of the API client to a collector."""

from __future__ import annotations

import ipaddress
import os
import ssl
from typing import Final

import httpx

from ...schemas.errors import ConfigError

DEFAULT_URL: Final = "http://127.0.0.1:8321"
_MAX_PORT: Final = 65_535


KEY_VARIABLE: Final = "TRACEJURY_KEY"
"""The environment variable with the key for a collector that asks for one."""


def opened(url: str, timeout: float, transport: httpx.BaseTransport | None) -> httpx.Client:
    """A client for the API at `url`, with the key of the environment; `timeout` in seconds, for each read.

    Raises:
        ConfigError: it is no address of a collector.
    """
    try:
        base = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise ConfigError(f"{url!r} is no address: {error}") from error
    if base.scheme not in {"http", "https"} or not base.host or (base.port or 0) > _MAX_PORT:
        raise ConfigError(f"{url!r} is no address of a collector: write it as {DEFAULT_URL}")
    # A proxy that the environment names is for the outside world, not for a collector on this machine.
    local = _is_loopback(base.host)
    # Reading the certificates that are trusted takes longer than most answers.
    verify = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if local and base.scheme == "http" else True
    key = os.environ.get(KEY_VARIABLE, "").strip()
    headers = {"authorization": f"Bearer {key}"} if key else {}
    return httpx.Client(
        base_url=base, timeout=timeout, transport=transport, trust_env=not local, verify=verify, headers=headers
    )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
