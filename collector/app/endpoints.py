"""Endpoints of the collector: which receivers listen, and that all are loopback unless there are keys."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence

from ...schemas.errors import ConfigError
from ..config import CollectorConfig
from ..otlp.receiver.ports import Endpoint, split_endpoint


def bound_receivers(config: CollectorConfig, grpc_port: int, http_port: int) -> Sequence[Endpoint]:
    """Receivers that listen, by their bound ports (0: not yet)."""
    bound = (("OTLP/gRPC", config.grpc.endpoint, grpc_port), ("OTLP/HTTP", config.http.endpoint, http_port))
    return [Endpoint(name, f"http://{split_endpoint(at)[0]}:{port}") for name, at, port in bound if port]


def check_loopback(config: CollectorConfig, *, has_keys: bool) -> None:
    """Refuse endpoints that other machines can reach, unless there are keys or `insecure` is set.

    Raises:
        ConfigError: an endpoint is not loopback and nobody is asked for a key, or it is not HOST:PORT.
    """
    for name, endpoint in (
        ("grpc", config.grpc.endpoint),
        ("http", config.http.endpoint),
        ("api", config.api.endpoint),
    ):
        host, _ = split_endpoint(endpoint)
        if not (config.insecure or has_keys or is_loopback(host)):
            raise ConfigError(
                f"{name} endpoint {endpoint} can be reached from other machines and there are no keys yet: "
                "make one with `tracejury keys create`, use 127.0.0.1, or --insecure if the network is yours alone"
            )


def is_loopback(host: str) -> bool:
    """Whether a host name or address is this machine's own loopback."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
