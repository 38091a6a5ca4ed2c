"""Signatures of webhooks by Standard Webhooks 1.0.0 (github.com/standard-webhooks/standard-webhooks, spec/)."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Sequence
from typing import Final

from tracejury.schemas.errors import ConfigError

PREFIX: Final = "whsec_"
LEAST, MOST = 24, 64
"""Bytes of a secret, by the specification."""


def key_of(secret: str) -> bytes:
    """The key in a secret as receivers have it: `whsec_` and base64.

    Raises:
        ConfigError: it is none; the text does not repeat it.
    """
    try:
        key = base64.b64decode(secret.strip().removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not secret.strip().startswith(PREFIX) or not LEAST <= len(key) <= MOST:
        raise ConfigError(
            f"a signing secret is {PREFIX} and base64 of {LEAST} to {MOST} bytes: "
            f'make one with `echo "{PREFIX}$(openssl rand -base64 32)"`'
        )
    return key


def headers(keys: Sequence[bytes], message_id: str, seconds: int, body: bytes) -> dict[str, str]:
    """The three headers of an attempt at `seconds` (unix); one signature a key, the newest first."""
    content = f"{message_id}.{seconds}.".encode() + body
    signed = (base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode() for key in keys)
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(seconds),
        "webhook-signature": " ".join(f"v1,{signature}" for signature in signed),
    }
