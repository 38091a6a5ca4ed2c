"""Endpoints and the holders of their ports."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from tracejury.collector.otlp.receiver.ports import bind, holder, split_endpoint, unusable
from tracejury.schemas.errors import ConfigError


@pytest.mark.parametrize(
    ("endpoint", "parts"),
    [
        ("127.0.0.1:4317", ("127.0.0.1", 4317)),
        ("localhost:0", ("localhost", 0)),
        ("[::1]:65535", ("::1", 65535)),
        ("0.0.0.0:1", ("0.0.0.0", 1)),
    ],
)
def test_endpoints_have_host_and_port(endpoint: str, parts: tuple[str, int]) -> None:
    """IPv6 in brackets."""
    assert split_endpoint(endpoint) == parts


@pytest.mark.parametrize("endpoint", ["4317", ":4317", "host", "host:", "host:x", "host:65536", "host:-1", "host:٣"])
def test_anything_else_is_refused(endpoint: str) -> None:
    """With the text that was given."""
    with pytest.raises(ConfigError, match="is not HOST:PORT"):
        split_endpoint(endpoint)


def test_a_free_port_can_be_bound() -> None:
    """Port 0 picks one."""
    with bind("127.0.0.1:0") as listener:
        assert listener.getsockname()[1] > 0


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_the_holder_of_a_port_is_named(host: str) -> None:
    """By pid and name, from the system's own tables."""
    with bind(f"{host}:0") as listener:
        port = listener.getsockname()[1]
        name = Path("/proc/self/comm").read_text("utf-8").strip()
        assert holder(port) == f"pid {os.getpid()} ({name})"
        with pytest.raises(ConfigError, match=rf"^{host}:{port} is taken by pid {os.getpid()} \("):
            bind(f"{host}:{port}")


def test_a_free_port_has_no_holder() -> None:
    """Then the system's own reason is given."""
    with bind("127.0.0.1:0") as listener:
        port = listener.getsockname()[1]
    assert holder(port) is None
    assert unusable(f"127.0.0.1:{port}", "Permission denied") == f"127.0.0.1:{port} cannot be used: Permission denied"


def test_a_bound_port_without_a_listener_is_not_held() -> None:
    """Only who listens holds a port."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        assert holder(other.getsockname()[1]) is None


@pytest.mark.parametrize("endpoint", ["192.0.2.1:0", "no-such-host.invalid:0"])
def test_hosts_that_are_not_ours_are_refused(endpoint: str) -> None:
    """In one line with the reason."""
    with pytest.raises(ConfigError, match="^" + endpoint.replace(".", r"\.") + " cannot be used: .+$"):
        bind(endpoint)
