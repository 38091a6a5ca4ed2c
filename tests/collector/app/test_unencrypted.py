"""Listeners whose keys would cross the network in clear text."""

from __future__ import annotations

from typing import Any

import pytest

from tracejury.collector.app.endpoints import unencrypted
from tracejury.collector.config import CollectorConfig

TLS = {"cert": "tls.crt", "key": "tls.key"}


@pytest.mark.parametrize(
    ("sections", "named"),
    [
        ({}, []),
        ({"grpc": {"endpoint": "0.0.0.0:0"}, "api": {"endpoint": "[::1]:0"}}, ["grpc"]),
        ({"grpc": {"endpoint": "0.0.0.0:0", "tls": TLS}, "http": {"endpoint": "10.0.0.1:0"}}, ["http"]),
        ({"api": {"endpoint": "localhost:0"}, "http": {"endpoint": "collector.example:0", "tls": TLS}}, []),
    ],
)
def test_which_listeners_are_named(sections: dict[str, Any], named: list[str]) -> None:
    """Those beyond loopback without a certificate."""
    assert unencrypted(CollectorConfig.model_validate(sections)) == named
