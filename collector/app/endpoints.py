"""Endpoints of a collector process: which listeners it has, and that all are loopback unless there are keys."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence

from tracejury.collector.config import ApiConfig, CollectorConfig
from tracejury.collector.otlp.receiver.grpc_server import GrpcConfig
from tracejury.collector.otlp.receiver.http_config import HttpConfig
from tracejury.collector.otlp.receiver.ports import OTLP_GRPC, OTLP_HTTP, Endpoint, split_endpoint, url_of
from tracejury.collector.otlp.receiver.tls import ListenerTls
from tracejury.schemas.errors import ConfigError

Listener = GrpcConfig | HttpConfig | ApiConfig


def listeners(config: CollectorConfig) -> Sequence[tuple[str, Listener]]:
    """The listeners of the configured role, by the names of their sections."""
    receivers: list[tuple[str, Listener]] = [("grpc", config.grpc), ("http", config.http)]
    return [*(receivers if config.role.receives else ()), ("api", config.api)]


def api_url(config: CollectorConfig, port: int) -> str:
    """Where people reach pages and API; `port`: the bound one."""
    api = config.api
    return api.public_url.rstrip("/") or url_of(api.endpoint, port, secure=api.tls is not None)


def bound_receivers(config: CollectorConfig, grpc_port: int, http_port: int) -> Sequence[Endpoint]:
    """Receivers that listen, by their bound ports (0: not yet)."""
    bound = ((OTLP_GRPC, config.grpc, grpc_port), (OTLP_HTTP, config.http, http_port))
    return [
        Endpoint(name, url_of(section.endpoint, port, secure=section.tls is not None))
        for name, section, port in bound
        if port
    ]


def check_loopback(config: CollectorConfig, *, has_keys: bool) -> None:
    """Refuse endpoints that other machines can reach, unless there are keys or `insecure` is set.

    Raises:
        ConfigError: an endpoint is not loopback and nobody is asked for a key, or it is not HOST:PORT.
    """
    for name, section in listeners(config):
        host, _ = split_endpoint(section.endpoint)
        if not (config.insecure or has_keys or is_loopback(host)):
            raise ConfigError(
                f"{name} endpoint {section.endpoint} can be reached from other machines and there are no keys yet: "
                "make one with `tracejury keys create`, use 127.0.0.1, or --insecure if the network is yours alone"
            )


def check_certificates(config: CollectorConfig) -> None:
    """Read the certificates of all listeners, as these do when they start.

    Raises:
        ConfigError: a file cannot be used.
    """
    for name, section in listeners(config):
        if section.tls is not None:
            ListenerTls(section.tls, f"{name}.tls")


def unencrypted(config: CollectorConfig) -> Sequence[str]:
    """Listeners that other machines can reach without TLS: keys would cross the network in clear text."""
    return [
        name for name, one in listeners(config) if one.tls is None and not is_loopback(split_endpoint(one.endpoint)[0])
    ]


def is_loopback(host: str) -> bool:
    """Whether a host name or address is this machine's own loopback."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
