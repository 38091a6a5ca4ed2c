"""What went wrong on the way to a channel's service, as one line that says how to fix it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tracejury.schemas.errors import PermanentError, RetryableError, TracejuryError

from .config import ChannelConfig

_FAILS: Final[Mapping[str, str]] = {
    "unknown-host": "its host is unknown: check the address and your DNS",
    "no-connection": "nobody listens there: check the address and your firewall",
    "tls": "its certificate is not trusted, or it speaks no TLS: name its authority in ca_file",
    "timeout": "there was no answer in {seconds:g} s: check the address and your firewall, or raise timeout_seconds",
    "no-answer": "the connection was closed, or what answers is another protocol",
}


def place_of(config: ChannelConfig) -> str:
    """How errors name a channel."""
    return f"channel {config.name} ({config.kind})"


def failed(config: ChannelConfig, reason: str) -> TracejuryError:
    """The error of a `DeliveryError`'s reason."""
    if reason == "refused-address":
        why = "clouds keep credentials at its address: check it, or set allow_link_local"
        return PermanentError(f"{place_of(config)}: {why}")
    why = _FAILS.get(reason, reason).format(seconds=config.timeout_seconds)
    return RetryableError(f"{place_of(config)}: {why}")
