"""Signatures: the published vector, secrets, several keys."""

from __future__ import annotations

import base64

import pytest

from tracejury.collector.outbound.webhooks.signing import headers, key_of
from tracejury.schemas.errors import ConfigError


def test_the_published_vector() -> None:
    """What the reference libraries of Standard Webhooks sign for the same secret, id, time and body."""
    key = key_of("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    assert headers([key], "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}') == {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }


def test_two_secrets_sign_side_by_side() -> None:
    """While receivers change over; each signature is the one that its key alone makes."""
    keys = [b"n" * 32, b"o" * 32]
    both = headers(keys, "msg_1", 5, b"{}")["webhook-signature"].split(" ")
    assert both == [headers([key], "msg_1", 5, b"{}")["webhook-signature"] for key in keys]


@pytest.mark.parametrize("size", [24, 64])
def test_secrets_of_allowed_sizes(size: int) -> None:
    """The bounds of the specification are within."""
    assert len(key_of("whsec_" + base64.b64encode(bytes(size)).decode())) == size


@pytest.mark.parametrize(
    "secret",
    [
        "whsec_" + base64.b64encode(bytes(23)).decode(),
        "whsec_" + base64.b64encode(bytes(65)).decode(),
        base64.b64encode(bytes(32)).decode(),
        "whsec_***not base64***",
        "hunter2-hunter2-hunter2-hunter2",
        "",
    ],
)
def test_what_is_no_secret_is_refused_without_being_repeated(secret: str) -> None:
    """One line says how to make one; the value may be a secret all the same."""
    with pytest.raises(ConfigError) as caught:
        key_of(secret)
    assert "openssl rand" in str(caught.value)
    assert not secret or secret.removeprefix("whsec_") not in str(caught.value)
